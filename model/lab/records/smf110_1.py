"""CICS tasks (SMF 110.1) with their dictionary, and the summary by WLM class that CICS PA makes of them.

A target's subject is `service class NAME` or `report class NAME`. It writes `tasks`, `response_avg_s`,
`response_stddev_s` (of the sample), `response_peak90_s` and `response_max_s`. Every task has one class of each kind, so
the classes are made of cells that share neither: one that is all of some class has its statistics, the one left over
has what the other classes it belongs to leave it.

Options: `applid`; `release` of CICS; `cells`, each with `service_class`, `report_class` and, where known,
`transaction`. Records of the second half of the run are compressed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product

import numpy as np
import pyarrow as pa

from ingest.formats.cics.dictionary import Entry, full_dictionary
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from model.lab.errors import LabError
from model.lab.records.common import Setting, tod
from model.lab.records.interface import Cell, Output, Target, Window, by_subject
from model.lab.samples import Moments, Ticks, sample
from model.published.printed import Interval, prints_as


def dictionary_of(fields: Collection[str]) -> list[Entry]:
    """The entries of these fields, numbered and placed as in a region that leaves the others out of its records."""
    by_name = {(entry.group, entry.nickname): entry for entry in full_dictionary() if entry.nickname in fields}
    entries: list[Entry] = []
    offset = 0
    for connector, entry in enumerate(by_name.values(), start=1):
        entries.append(entry._replace(connector=connector, offset=offset))
        offset += entry.length
    return entries


TICKS_PER_S = 10_000
US_PER_TICK = 1_000_000 // TICKS_PER_S
LEAST_TICKS = (0, 1, 10, 50)
PLACES = (0.5, 0.35, 0.65, 0.2, 0.8, 0.05, 0.95)
PEAK = 1.282
#: What a task's record says: who, when, and its classes. Nothing is known of what the tasks did.
FIELDS = ("TRAN", "TTYPE", "START", "STOP", "TRANNUM", "RTYPE", "SRVCLSNM", "RPTCLSNM")
KINDS = {"service_class": "service class", "report_class": "report class"}
FEWEST_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of a class or a cell: number of tasks, sum of their times in s, of the squares in s^2, maximum."""

    tasks: int
    total: Interval
    squares: Interval
    longest: float

    def less(self, other: "Sums") -> "Sums":
        """What remains when the tasks of another are taken out; the maximum stays."""
        return Sums(
            self.tasks - other.tasks,
            Interval(self.total.lo - other.total.hi, self.total.hi - other.total.lo),
            Interval(self.squares.lo - other.squares.hi, self.squares.hi - other.squares.lo),
            self.longest,
        )


def smf110_1(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A dump with the dictionary and a record for every task, and the summary of each interval."""
    options = targets[0].options
    wanted = by_subject(targets)
    cells = [{key: str(value) for key, value in cell.items()} for cell in options["cells"]]
    times = tasks(random, wanted, cells)
    order = random.permutation(np.repeat(np.arange(len(cells)), [len(part) for part in times]))
    drawn = [iter(random.permutation(part)) for part in times]
    response = np.array([next(drawn[cell]) for cell in order], np.int64)
    ended = np.linspace(0.0, window.seconds, len(order), endpoint=False) + window.seconds / (2 * len(order))
    region = Region(
        window.smf_sid,
        str(options["applid"]),
        str(options["applid"]),
        str(options["release"]),
        utc_offset_tod=setting.clock.offset_tod,
    )
    dump = _dump(setting, window, region, _task_rows(window, cells, order, response, ended))
    summary = _summary(window, region.applid, cells, order, response, ended)
    return Output(files={f"{window.point.id}.cics.smf": dump}, rows={"cics_pa_classes": summary})


def tasks(
    random: np.random.Generator, wanted: Mapping[str, Mapping[str, Target]], cells: Sequence[Mapping[str, str]]
) -> list[Ticks]:
    """Response times of the tasks of each cell, in ticks. LabError where no tasks have the statistics printed."""
    members = {
        subject: [i for i, cell in enumerate(cells) if subject in (f"{KINDS[key]} {cell[key]}" for key in KINDS)]
        for subject in wanted
    }
    printed = {subject: _printed(figures) for subject, figures in wanted.items()}
    whole_classes = {parts[0]: _whole_class(wanted[subject]) for subject, parts in members.items() if len(parts) == 1}
    rest = [i for i in range(len(cells)) if i not in whole_classes]
    if len(rest) > 1:
        raise LabError(f"{len(rest)} of the cells are no class of their own")
    made = {cell: _sampled(random, sums) for cell, sums in whole_classes.items()}
    for place in product(PLACES, PLACES):
        for cell in rest:
            made[cell] = _sampled(random, _at(_left_over(cell, members, printed, whole_classes), place))
        if all(_agrees(figures, [made[i] for i in members[subject]]) for subject, figures in wanted.items()):
            return [made[i] for i in range(len(cells))]
    raise LabError(f"no tasks have all the statistics printed of {', '.join(wanted)}")


def _printed(figures: Mapping[str, Target]) -> Sums:
    """What the printed mean and deviation of a class admit."""
    count = round(figures["tasks"].value)
    mean, deviation = figures["response_avg_s"].interval, figures["response_stddev_s"].interval
    total = Interval(count * mean.lo, count * mean.hi)
    squares = Interval(
        (count - 1) * deviation.lo**2 + total.lo**2 / count, (count - 1) * deviation.hi**2 + total.hi**2 / count
    )
    return Sums(count, total, squares, figures["response_max_s"].value)


def _whole_class(figures: Mapping[str, Target]) -> Sums:
    """A mean and a deviation that round to those printed of a class and give its 90 % peak."""
    known = _printed(figures)
    mean, deviation = figures["response_avg_s"].interval, figures["response_stddev_s"].interval
    for place in product(PLACES, PLACES):
        m, d = (item.lo + share * (item.hi - item.lo) for item, share in zip((mean, deviation), place, strict=True))
        peak = figures.get("response_peak90_s")
        if peak is None or prints_as(m + PEAK * d, peak.figure.value) == "rounded":
            total, squares = known.tasks * m, (known.tasks - 1) * d**2 + known.tasks * m**2
            return Sums(known.tasks, Interval(total, total), Interval(squares, squares), known.longest)
    raise LabError(f"no mean and deviation printed as {mean} and {deviation} give the 90 % peak")


def _at(sums: Sums, place: tuple[float, float]) -> Sums:
    """One value each within what is known of the sum and of the squares."""
    total = sums.total.lo + place[0] * (sums.total.hi - sums.total.lo)
    squares = sums.squares.lo + place[1] * (sums.squares.hi - sums.squares.lo)
    return Sums(sums.tasks, Interval(total, total), Interval(squares, squares), sums.longest)


def _left_over(
    cell: int, members: Mapping[str, Sequence[int]], printed: Mapping[str, Sums], known: Mapping[int, Sums]
) -> Sums:
    """What all classes that hold the cell leave it."""
    leaves = []
    for subject, parts in members.items():
        if cell in parts:
            rest = printed[subject]
            for part in parts:
                if part != cell:
                    rest = rest.less(known[part])
            leaves.append(rest)
    if not leaves or len({rest.tasks for rest in leaves}) != 1:
        raise LabError("the classes do not agree on how many tasks they share")
    total = Interval(max(rest.total.lo for rest in leaves), min(rest.total.hi for rest in leaves))
    squares = Interval(max(rest.squares.lo for rest in leaves), min(rest.squares.hi for rest in leaves))
    return Sums(leaves[0].tasks, total, squares, min(rest.longest for rest in leaves))


def _sampled(random: np.random.Generator, sums: Sums) -> Ticks:
    """Whole ticks with this sum, these squares and this maximum."""
    total = round(sums.total.lo * TICKS_PER_S)
    mean = total / sums.tasks
    around = sums.squares.lo * TICKS_PER_S**2 - sums.tasks * mean**2
    high = round(sums.longest * TICKS_PER_S)
    reasons = ""
    for low in LEAST_TICKS:
        try:
            return sample(random, Moments(sums.tasks, total, around, low, high), 1e-7 * around + high)
        except LabError as error:
            reasons = str(error)
    raise LabError(reasons)


def _agrees(figures: Mapping[str, Target], parts: Sequence[Ticks]) -> bool:
    """Whether the statistics of these times print as those of the class."""
    times = np.concatenate(parts) / TICKS_PER_S
    mean, deviation = float(times.mean()), float(times.std(ddof=1))
    made = {
        "tasks": float(len(times)),
        "response_avg_s": mean,
        "response_stddev_s": deviation,
        "response_peak90_s": mean + PEAK * deviation,
        "response_max_s": float(times.max()),
    }
    return all(prints_as(made[metric], target.figure.value) for metric, target in figures.items())


def _task_rows(
    window: Window, cells: Sequence[Mapping[str, str]], order: np.ndarray, response: Ticks, ended: np.ndarray
) -> pa.Table:
    """The task records, in the order in which the tasks ended."""
    stop = np.uint64(tod(window.start)) + np.rint(ended * 1e6).astype(np.uint64) * np.uint64(4096)
    start = stop - response.astype(np.uint64) * np.uint64(US_PER_TICK * 4096)
    columns = {name: [cell.get(name, "") for cell in cells] for name in ("transaction", *KINDS)}
    return pa.table(
        {
            "tran": pa.array([columns["transaction"][i] for i in order]),
            "ttype": pa.array(["TO"] * len(order)),
            "start": pa.array(start),
            "start_raw": pa.array(start),
            "stop": pa.array(stop),
            "stop_raw": pa.array(stop),
            "trannum": pa.array(np.arange(1, len(order) + 1), pa.uint32()),
            "rtype": pa.array(["T"] * len(order)),
            "srvclsnm": pa.array([columns["service_class"][i] for i in order]),
            "rptclsnm": pa.array([columns["report_class"][i] for i in order]),
        }
    )


def _dump(setting: Setting, window: Window, region: Region, rows: pa.Table) -> bytes:
    """The dictionary, then the tasks of each interval; from the middle of the run on they are compressed."""
    entries = dictionary_of(FIELDS)
    local = setting.clock.local
    parts = encode_dictionary(region, entries, local(window.start))
    stops = np.asarray(rows.column("stop"))
    for number, span in enumerate(window.spans):
        inside = (stops >= tod(span.start)) & (stops < tod(span.end))
        compressed = 2 * number >= len(window.spans) - 1
        parts += encode_performance(region, entries, rows.filter(inside), local(span.end), compressed=compressed)
    return b"".join(parts)


def _summary(
    window: Window,
    applid: str,
    cells: Sequence[Mapping[str, str]],
    order: np.ndarray,
    response: Ticks,
    ended: np.ndarray,
) -> list[dict[str, Cell]]:
    """A row per class and interval with at least two tasks."""
    rows: list[dict[str, Cell]] = []
    borders = [_seconds(window, span.end) for span in window.spans[:-1]]
    interval = np.searchsorted(borders, ended, side="right")
    for key, kind in KINDS.items():
        names = np.array([cell[key] for cell in cells])[order]
        for name in dict.fromkeys(cell[key] for cell in cells):
            for number, span in enumerate(window.spans):
                times = response[(names == name) & (interval == number)] / TICKS_PER_S
                if len(times) < FEWEST_IN_A_ROW:
                    continue
                rows.append(
                    {
                        "applid": applid,
                        "class kind": kind,
                        "wlm class": name,
                        "start_utc": span.start.isoformat(),
                        "tasks": len(times),
                        "response average": round(float(times.mean()), 9),
                        "response deviation": round(float(times.std(ddof=1)), 9),
                        "response maximum": float(times.max()),
                    }
                )
    return rows


def _seconds(window: Window, moment: datetime) -> float:
    return (moment - window.start) / timedelta(seconds=1)
