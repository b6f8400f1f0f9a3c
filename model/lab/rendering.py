"""Render a reference system as the records that would have carried its numbers."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from ingest import codec
from ingest import registry as layouts
from model.hardware.machines import machine
from model.lab.construct import construct
from model.lab.errors import LabError
from model.lab.manifest import RenderedPoint, iso, manifest
from model.lab.measure import checks
from model.lab.records.clock import Clock
from model.lab.records.common import Record, Setting
from model.lab.records.smf30 import address_spaces
from model.lab.records.smf70_1 import cpu_activity
from model.lab.records.smf72_3 import workload_activity
from model.lab.records.tables import to_tables
from model.lab.targets import point_targets, why_not_rendered
from model.systems import catalogue
from model.systems.catalogue import System

DEFAULT_SEED = 20171
RUN_COLUMNS = ("system_id", "smf_sid", "point", "condition", "start_utc", "end_utc")
GROUP_COLUMNS = ("system_id", "smf_sid", "kind", "pattern", "workload", "address_space_group")

Progress = Callable[[str], None]


def renderable() -> tuple[str, ...]:
    """Reference systems with at least one point that can be rendered, sorted."""
    found = []
    for system_id in catalogue.systems():
        system = catalogue.system(system_id)
        if system.lab is not None and any(why_not_rendered(system, point) is None for point in system.lab.points):
            found.append(system_id)
    return tuple(found)


def render(
    system_id: str,
    out_dir: Path | str,
    *,
    seed: int = DEFAULT_SEED,
    registry: layouts.Registry | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write `<system>.smf`, `.runs.csv`, `.groups.csv` and `.lab.json` into `out_dir` and return their paths.

    The dump is a stream of records with RDWs: for every measured point several intervals, each with an SMF 70.1, the
    SMF 72.3 of all classes and an SMF 30 for every address space. Over a point's intervals the ratios of sums give the
    published figures to their printed digits; the manifest (`.lab.json`) lists each with what was constructed, the
    exceptions with their arithmetic, and everything assumed. The same arguments give the same bytes. `progress` is
    called with a line of text as each step begins.

    Raises CatalogueError for an unknown system and LabError for one that cannot be rendered.
    """
    tell = progress or (lambda _: None)
    system = catalogue.system(system_id)
    setting = setting_of(system)
    points = []
    for point in construct_points(system, setting, seed):
        tell(f"{system_id}: point {point.targets.point.id}, {len(point.intervals)} intervals")
        points.append(point)
    if not points:
        raise LabError(f"{system_id}: no point can be rendered")
    known = registry or layouts.load()
    tables = to_tables(records_of(setting, points), known)
    count = sum(table.num_rows for name, table in tables.items() if name.endswith("_header"))
    tell(f"{system_id}: encoding {count} records")
    contents = {
        f"{system_id}.smf": codec.encode_dump(tables, known),
        f"{system_id}.runs.csv": _csv(RUN_COLUMNS, _runs(system, setting, points)),
        f"{system_id}.groups.csv": _csv(GROUP_COLUMNS, _groups(system, setting, points)),
    }
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    described = manifest(system, setting, points, seed, digests)
    contents[f"{system_id}.lab.json"] = (json.dumps(described, indent=2) + "\n").encode()
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, content) for name, content in contents.items()]


def setting_of(system: System) -> Setting:
    """The setting a system's records are written in. Raises LabError when nothing says how to render it."""
    if system.lab is None or system.machine is None:
        raise LabError(f"{system.id}: nothing says how to render it (no lab section or no machine)")
    return Setting(system.lab, machine(system.machine), Clock(system.lab.utc_offset_hours))


def construct_points(system: System, setting: Setting, seed: int) -> Iterator[RenderedPoint]:
    """Every point that can be rendered, constructed and checked, one after the other in time without a gap.

    Raises LabError when a constructed value misses a published one.
    """
    plan = setting.plan
    start = setting.clock.utc(plan.start_local)
    for point in plan.points:
        if why_not_rendered(system, point) is not None:
            continue
        targets = point_targets(system, point)
        intervals = construct(system.id, plan, targets, start, seed)
        yield RenderedPoint(targets, intervals, checks(setting, targets, intervals))
        start += timedelta(seconds=plan.intervals * plan.interval_s)


def records_of(setting: Setting, points: Sequence[RenderedPoint]) -> Iterator[Record]:
    """All records of the points, interval by interval, in the order they would have been written."""
    for point in points:
        for interval in point.intervals:
            yield cpu_activity(setting, interval)
            yield from workload_activity(setting, interval)
            yield from address_spaces(setting, interval)


def _runs(system: System, setting: Setting, points: Sequence[RenderedPoint]) -> Iterator[tuple[str, ...]]:
    for point in points:
        first, last = point.intervals[0], point.intervals[-1]
        yield (
            system.id,
            setting.plan.smf_sid,
            point.targets.point.id,
            point.targets.point.condition,
            iso(first.start),
            iso(last.end),
        )


def _groups(system: System, setting: Setting, points: Sequence[RenderedPoint]) -> Iterator[tuple[str, ...]]:
    """Rows for the transaction classes, and for the report class and job names of every group with a known CPU."""
    plan = setting.plan
    workloads = {entry.name: entry.workload for entry in plan.service_classes}
    head = (system.id, plan.smf_sid)
    for entry in plan.transactions:
        yield (*head, "transaction_class", entry.report_class, workloads[entry.service_class], entry.name or "")
    for group in plan.groups:
        if all(point.targets.groups[group.name] is None for point in points):
            continue
        yield (*head, "report_class", group.report_class, group.workload, group.name)
        for region in group.regions:
            pattern = region.jobname.split("#")[0] + "%" if "#" in region.jobname else region.jobname
            yield (*head, "job_name", pattern, group.workload, group.name)


def _csv(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def _write(path: Path, content: bytes) -> Path:
    """Write a file so that it is never seen half written."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    return partial.replace(path)
