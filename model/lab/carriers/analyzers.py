"""Extracts of performance analyzers: CICS PA's summary by workload manager class, IMS PA's Fast Path transit.

`cics_pa`: a target's subject is `service class NAME` or `report class NAME`. It carries `tasks`, `response_avg_s`,
`response_stddev_s` (of the sample) and `response_max_s`; the 90 % peak follows from them in the marts. Every task is
made; the rows are their statistics by interval.

`ims_pa`: the subject is the IMS system. It carries `emh_input_queue_ms`, `shared_emh_queue_ms` and `transit_ms`, means
over the transactions that passed the queue; the transit is over all.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from model.lab.carriers.interface import Cell, Output, Target, Window, by_subject
from model.lab.errors import LabError
from model.lab.printed import prints_as
from model.lab.records.common import Setting
from model.lab.samples import Moments, sample, spread_total

TICKS_PER_S = 10_000
LEAST_TICKS = (0, 1, 10, 50)
FEW = 12
PEAK = 1.282
AWAY = (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9)
PASSED_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
LEAST_PROCESS_MS = 4.0
QUEUE_SPREAD = 0.02
TRANSACTIONS = 4000


def cics_pa(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """Rows of every class, one per interval with at least two tasks."""
    rows: list[dict[str, Cell]] = []
    for subject, wanted in by_subject(targets).items():
        kind, _, name = subject.rpartition(" ")
        if kind not in ("service class", "report class"):
            raise LabError(f"{subject!r} is neither a service class nor a report class")
        times = random.permutation(_tasks(random, wanted)) / TICKS_PER_S
        count = max(1, min(len(window.spans), len(times) // FEW))
        for span, part in zip(window.spans, np.array_split(times, count), strict=False):
            rows.append(
                {
                    "applid": str(targets[0].options.get("applid", "")),
                    "class kind": kind,
                    "wlm class": name,
                    "start_utc": span.start.isoformat(),
                    "tasks": len(part),
                    "response average": round(float(part.mean()), 9),
                    "response deviation": round(float(part.std(ddof=1)), 9),
                    "response maximum": float(part.max()),
                }
            )
    return Output(rows={"cics_pa_classes": rows})


def _tasks(random: np.random.Generator, wanted: Mapping[str, Target]) -> np.ndarray:
    """Response times of all tasks, in ticks."""
    size = round(wanted["tasks"].value)
    mean_s, deviation_s, part = _agreeing(wanted)
    mean, deviation = mean_s * TICKS_PER_S, deviation_s * TICKS_PER_S
    half_unit = (wanted["response_stddev_s"].interval.hi - wanted["response_stddev_s"].value) * TICKS_PER_S * part
    reasons = ""
    for low in LEAST_TICKS:
        high = round(wanted["response_max_s"].value * TICKS_PER_S)
        moments = Moments(size, round(mean * size), deviation**2 * (size - 1), low, high)
        try:
            return sample(random, moments, deviation * half_unit * (size - 1))
        except LabError as error:
            reasons = str(error)
    raise LabError(reasons)


def _agreeing(wanted: Mapping[str, Target]) -> tuple[float, float, float]:
    """Mean and deviation in seconds that round to the printed ones and give the printed peak; how far they may miss."""
    mean, deviation = wanted["response_avg_s"], wanted["response_stddev_s"]
    for away in AWAY:
        moved = [target.value + away * (target.interval.hi - target.value) for target in (mean, deviation)]
        peak = wanted.get("response_peak90_s")
        if peak is None or prints_as(moved[0] + PEAK * moved[1], peak.figure.value):
            return moved[0], moved[1], (1 - abs(away)) / 2
    raise LabError(f"no mean and deviation printed as {mean.value} and {deviation.value} give the 90 % peak")


def ims_pa(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """Two rows per interval and IMS system: of transactions processed where they arrived, and of the others."""
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
