"""What no record carries: performance analyzers, ratings, statistics listings, displays and gauges.

Each writer's docstring names its subject, figures and options.
"""

import math
from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.records.interface import Cell, Output, Target, Window, by_subject
from model.lab.samples import levels, peaking_at, split, spread_total

PASSED_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
LEAST_PROCESS_MS = 4.0
QUEUE_SPREAD = 0.02
TRANSACTIONS = 4000


def ims_pa(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """IMS PA's Fast Path transit of an IMS system (the subject).

    It writes `emh_input_queue_ms`, `shared_emh_queue_ms` and `transit_ms`. Queue times are means over the transactions
    that passed the queue, the transit over all. Two rows per interval: of transactions processed where they arrived,
    and of the others.
    """
    rows: list[dict[str, Cell]] = []
    for system, wanted in by_subject(targets).items():
        local, shared, transit = (
            wanted[name].value for name in ("emh_input_queue_ms", "shared_emh_queue_ms", "transit_ms")
        )
        share, process = _mixture(local, shared, transit)
        moved = round(TRANSACTIONS * share)
        process = transit - (local * (TRANSACTIONS - moved) + shared * moved) / TRANSACTIONS
        for count, queue, name in ((TRANSACTIONS - moved, local, "input queue"), (moved, shared, "shared queue")):
            rows += _queued(random, window, system, count, queue, process, name)
    return Output(rows={"ims_pa": rows})


def _mixture(local_ms: float, shared_ms: float, transit_ms: float) -> tuple[float, float]:
    """Share of transactions that went through the shared queue, and the time outside queues that the transit leaves."""
    for share in PASSED_SHARES:
        process = transit_ms - (1 - share) * local_ms - share * shared_ms
        if process >= LEAST_PROCESS_MS:
            return share, process
    raise LabError(f"queues of {local_ms} and {shared_ms} ms do not fit a transit of {transit_ms} ms")


def _queued(
    random: np.random.Generator, window: Window, system: str, count: int, queue_ms: float, process_ms: float, name: str
) -> list[dict[str, Cell]]:
    """Rows of one of the two kinds; means in microseconds such that their totals are those of the printed mean."""
    counts = spread_total(random, count, len(window.spans), QUEUE_SPREAD)
    queues = spread_total(random, round(queue_ms * 1000 * count), len(counts), QUEUE_SPREAD)
    others = spread_total(random, round(process_ms * 1000 * count), len(counts), QUEUE_SPREAD)
    return [
        {
            "imsid": system,
            "trancode": "FASTPATH",
            "start": span.start.isoformat(),
            "transactions": part,
            "input queue": _mean_s(queue, part) if name == "input queue" else None,
            "shared queue": _mean_s(queue, part) if name == "shared queue" else None,
            "total ims": _mean_s(queue + other, part),
        }
        for span, part, queue, other in zip(window.spans, counts, queues, others, strict=True)
    ]


def _mean_s(total_us: int, count: int) -> float:
    return round(total_us / count / 1e6, 12) if count else math.nan


def capacity(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """The capacity of a system as its owner rates it (the subject, such as `MIPS`).

    It writes the rating (option `capacity`, with its `source`). Figures that follow from it, such as MIPS used and MIPS
    by transaction rate, come with the busy time and the rate that other records carry.
    """
    options = targets[0].options
    row: dict[str, Cell] = {
        "smf_sid": window.smf_sid,
        "rating": str(options["rating"]),
        "capacity": float(options["capacity"]),
        "source": str(options["source"]),
    }
    return Output(rows={"capacity": [row]})


COLLECTIONS = 2
WIDTH = 66
COMPUTED = ("Average ",)
LEVELS = ("Current ", "Peak ")
PLACES = 5


def cics_listing(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """`statistic` of CICS as DFHSTUP prints it; the subject is a heading and a label, separated by `: `.

    One page per collection and heading, in one listing. Counts and times add up over the collections of the point,
    peaks are the highest and levels now the last. Averages the marts compute are not written. Option: `applid`.
    """
    applid = str(targets[0].options["applid"])
    headings: dict[str, dict[str, Target]] = {}
    for target in targets:
        heading, _, label = target.subject.partition(": ")
        headings.setdefault(heading, {})[label] = target
    lines = []
    for collection in range(COLLECTIONS):
        moment = setting.clock.local(window.start + (window.end - window.start) * (collection + 1) / (COLLECTIONS + 1))
        lines.append(
            f"1 INTERVAL REPORT   COLLECTION DATE-TIME {moment:%m/%d/%Y-%H:%M:%S}   LAST RESET   APPLID {applid}"
            f"   JOBNAME {applid}"
        )
        for heading, labels in headings.items():
            lines += ["", f"  {heading}", "  " + "-" * len(heading)]
            for label, target in labels.items():
                if not label.startswith(COMPUTED):
                    lines.append(_line(label, _shown(target, collection)))
    return Output(files={f"{window.point.id}.stup.txt": ("\n".join(lines) + "\n").encode()})


def _line(label: str, value: str) -> str:
    dots = " ." * max(2, (WIDTH - len(label)) // 2)
    return f"  {label}{dots} :  {value}"


def _shown(target: Target, collection: int) -> str:
    """What a collection prints: the whole of a level or peak in the last one, a part of a count."""
    label = target.subject.partition(": ")[2]
    places = PLACES if "." in target.figure.value else 0
    ticks = round(target.value * 10**places)
    if label.startswith(LEVELS):
        value = ticks if collection == COLLECTIONS - 1 else ticks // 2
    else:
        value = split(ticks, np.ones(COLLECTIONS))[collection]
    return f"{value / 10**places:.{places}f}"


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
    wanted = {phase: _only(figures, "elapsed_s", phase) for phase, figures in by_subject(targets).items()}
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


def gauges(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """`gauge_min`, `gauge_avg` and `gauge_max` of a gauge (the subject), a row per interval.

    Option: `ticks` per unit, where the level is not whole.
    """
    rows: list[dict[str, Cell]] = []
    for gauge, wanted in by_subject(targets).items():
        ticks = int(next(iter(wanted.values())).options.get("ticks", 1))
        for span, level in zip(window.spans, levels(random, wanted, "gauge", len(window.spans), ticks), strict=True):
            rows.append(
                {
                    "smf_sid": window.smf_sid,
                    "start_utc": span.start.isoformat(),
                    "gauge": gauge,
                    "mean": level.mean / ticks,
                    "minimum": level.low / ticks,
                    "maximum": level.high / ticks,
                }
            )
    return Output(rows={"gauges": rows})
