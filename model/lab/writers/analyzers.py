"""IMS PA's Fast Path transit.

A target's subject is the IMS system. It writes `emh_input_queue_ms`, `shared_emh_queue_ms` and `transit_ms`, means
over the transactions that passed the queue; the transit is over all.
"""

import math
from collections.abc import Sequence

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.samples import spread_total
from model.lab.writers.interface import Cell, Output, Target, Window, by_subject

PASSED_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
LEAST_PROCESS_MS = 4.0
QUEUE_SPREAD = 0.02
TRANSACTIONS = 4000


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
