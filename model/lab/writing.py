"""Run the writers that the value rules of a system name, point by point."""

import csv
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from model.lab.errors import LabError
from model.lab.records import (
    collected,
    counted,
    ims_log,
    load_driver,
    printed_classes,
    smf30,
    smf70_1,
    smf74,
    smf110_1,
    storage,
    throughput,
)
from model.lab.records.common import Setting, Span
from model.lab.records.interface import Cell, Output, Target, Window, Writer
from model.lab.targets import why_not_rendered
from model.published.catalogue import System, targets_by_writer
from model.published.plan import LabPlan, Point
from model.published.rules import ACTIVITY

WRITERS: Mapping[str, Writer] = {
    "buffers": collected.buffers,
    "capacity": collected.capacity,
    "cics_listing": collected.cics_listing,
    "data_sets": collected.data_sets,
    "gauges": collected.gauges,
    "ims_log": ims_log.render,
    "ims_pa": collected.ims_pa,
    "load_graphs": load_driver.graphs,
    "load_results": load_driver.results,
    "paging": storage.paging,
    "phases": collected.phases,
    "smf110_1": smf110_1.smf110_1,
    "smf119_70": counted.smf119_70,
    "smf30_steps": smf30.steps,
    "smf70_1": smf70_1.busy_time,
    "smf72_3": printed_classes.render,
    "smf73": smf74.smf73,
    "smf74_1": smf74.smf74_1,
    "smf74_4": smf74.smf74_4,
    "smf88": counted.smf88,
    "storage": storage.storage_in_use,
    "throughput": throughput.render,
}
"""The writers by name, as `writer` of a value rule gives it."""


def writer(name: str) -> Writer:
    """The writer of this name; LabError when there is none."""
    if name not in WRITERS:
        raise LabError(f"no writer {name!r}; known: {', '.join(sorted(WRITERS))}")
    return WRITERS[name]


@dataclass(frozen=True, slots=True)
class Part:
    """What one writer wrote for one point on one system, and the figures it was written for."""

    writer: str
    window: Window
    targets: Sequence[Target]
    output: Output


def window_starts(system: System, setting: Setting) -> dict[str, datetime]:
    """Start of every point that has something to render, UTC: one after the other without a gap."""
    plan, starts = setting.plan, {}
    start = setting.clock.utc(plan.start_local)
    written = {point_id for point_id, _, name in targets_by_writer(system) if name != ACTIVITY}
    for point in plan.points:
        if point.id not in written and why_not_rendered(system, point) is not None:
            continue
        starts[point.id] = start
        count, length_ms = spans_of(plan, point)
        start += timedelta(milliseconds=count * length_ms)
    return starts


def spans_of(plan: LabPlan, point: Point) -> tuple[int, int]:
    """Number and length in ms of a point's intervals."""
    return point.intervals or plan.intervals, point.length_ms or plan.interval_s * 1000


def write_parts(system: System, setting: Setting, seed: int) -> tuple[Part, ...]:
    """What the writers write for all points. Raises LabError where one cannot write what its rules ask for."""
    starts, parts = window_starts(system, setting), []
    for (point_id, smf_sid, name), targets in targets_by_writer(system).items():
        if name == ACTIVITY:
            continue
        point = setting.plan.point(point_id)
        count, length_ms = spans_of(setting.plan, point)
        spans = tuple(Span(starts[point_id] + timedelta(milliseconds=i * length_ms), length_ms) for i in range(count))
        window = Window(system.id, smf_sid, point, spans)
        random = np.random.default_rng([seed, zlib.crc32(f"{system.id} {point_id} {smf_sid} {name}".encode())])
        of_lpar = setting if smf_sid == setting.plan.smf_sid else replace(setting, plan=_lpar(setting.plan, smf_sid))
        try:
            output = writer(name)(of_lpar, window, targets, random)
        except LabError as error:
            raise LabError(f"{system.id} point {point_id}, {name}: {error}") from error
        parts.append(Part(name, window, targets, output))
    return tuple(parts)


def collected_files(parts: Sequence[Part]) -> dict[str, bytes]:
    """Files beside the records, by suffix: collector rows of all points as CSV, and whole files as they are."""
    rows: dict[str, list[dict[str, Cell]]] = {}
    files: dict[str, bytes] = {}
    for part in parts:
        for kind, entries in part.output.rows.items():
            rows.setdefault(kind, []).extend(dict(entry) for entry in entries)
        for suffix, content in part.output.files.items():
            if suffix in files:
                raise LabError(f"two writers write {suffix}")
            files[suffix] = content
    return files | {f"{kind}.csv": _csv(entries) for kind, entries in rows.items() if entries}


def _csv(rows: Sequence[dict[str, Cell]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _lpar(plan: LabPlan, smf_sid: str) -> LabPlan:
    """The plan for another LPAR of the same system."""
    return replace(plan, smf_sid=smf_sid, system_name=smf_sid, lpar_name=smf_sid)
