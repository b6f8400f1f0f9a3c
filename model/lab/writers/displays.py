"""Display output that no record carries: buffer pools, phases of operations, data sets, ratings of capacity."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.samples import peaking_at, spread_total
from model.lab.writers.interface import Cell, Output, Target, Window, by_subject

SETTLE = timedelta(seconds=5)
PARTITION_SPREAD = 0.03


def buffers(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """`buffers_max` of a pool (the subject): one display per interval, the largest of which is the figure."""
    rows: list[dict[str, Cell]] = []
    for pool, wanted in by_subject(targets).items():
        peaks = peaking_at(random, _only(wanted, "buffers_max", pool).value, len(window.spans), 0.03)
        for span, peak in zip(window.spans, peaks, strict=True):
            most = round(peak)
            rows.append(
                {
                    "smf_sid": window.smf_sid,
                    "time_utc": (span.start + timedelta(milliseconds=span.length_ms // 2)).isoformat(),
                    "product": str(targets[0].options.get("product", "VTAM")),
                    "pool": pool,
                    "in_use": int(random.integers(most // 2, most + 1)),
                    "max_used": most,
                }
            )
    return Output(rows={"buffers": rows})


def phases(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """`elapsed_s` of a phase (the subject) of an operation (option `operation`), one after the other.

    A subject `total` is left to the marts; what it has beyond the phases is one phase more, `other`.
    """
    rows: list[dict[str, Cell]] = []
    begin = window.start + SETTLE
    wanted = {phase: _only(found, "elapsed_s", phase) for phase, found in by_subject(targets).items()}
    total = wanted.pop("total", None)
    lengths = {phase: target.value for phase, target in wanted.items()}
    if total is not None:
        rest = total.value - sum(lengths.values())
        printed_to = sum(target.interval.hi - target.value for target in (total, *wanted.values()))
        if rest < -printed_to:
            raise LabError(f"phases take {-rest:g} s longer than their total")
        if rest > printed_to:
            lengths["other"] = rest
    for phase, seconds in lengths.items():
        end = begin + timedelta(seconds=seconds)
        rows.append(
            {
                "smf_sid": window.smf_sid,
                "operation": str(targets[0].options["operation"]),
                "phase": phase,
                "start_utc": begin.isoformat(timespec="milliseconds"),
                "end_utc": end.isoformat(timespec="milliseconds"),
            }
        )
        begin = end
    return Output(rows={"phases": rows})


def data_sets(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """`records_inserted` and `free_space_bytes` of all data sets together, listed after the run.

    Options: `data_sets` (how many), `prefix` (of their names) and `ci_bytes`, of which free space is a multiple.
    """
    wanted = {target.metric: target for target in targets}
    if not set(wanted) <= {"records_inserted", "free_space_bytes"}:
        raise LabError(f"data set statistics cannot write {', '.join(wanted)}")
    options = targets[0].options
    count, interval = int(options["data_sets"]), int(options.get("ci_bytes", 1))
    inserted, free = (
        round(wanted[metric].value) if metric in wanted else 0 for metric in ("records_inserted", "free_space_bytes")
    )
    if free % interval:
        raise LabError(f"free space {free} is no multiple of {interval}")
    rows: list[dict[str, Cell]] = [
        {
            "smf_sid": window.smf_sid,
            "time_utc": (window.end - SETTLE).isoformat(),
            "data_set": f"{options['prefix']}.A{number + 1:05d}",
            "rec_total": records,
            "rec_inserted": records,
            "free_space_bytes": units * interval,
        }
        for number, (records, units) in enumerate(
            zip(
                spread_total(random, inserted, count, PARTITION_SPREAD),
                spread_total(random, free // interval, count, PARTITION_SPREAD),
                strict=True,
            )
        )
    ]
    return Output(rows={"data_sets": rows})


def _only(wanted: dict[str, Target], metric: str, subject: str) -> Target:
    """The one target a subject may have. LabError for another."""
    if set(wanted) != {metric}:
        raise LabError(f"{subject}: cannot write {', '.join(wanted)}")
    return wanted[metric]
