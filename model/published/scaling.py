"""Changes of the figures of an answer by factors, each with its uncertainty.

Every route that answers for something else than was measured (a rate, a count, an option, a sibling) ends here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from model.capacity.adjustments import ITR, POPULATIONS, RATES, TRANSACTIONS, Factor, is_work, quantity_of, scaled
from model.capacity.answer import Answer, Output
from model.published.definitions import OVER_INTERVAL
from model.published.observations import TRANSACTION_COUNTS

WORK_SD = 0.05
"""Standard deviation of the logarithm of the work of a transaction, for each e-fold of the load."""
WITH_ENGINE_TIME = ("msu",)
"""Metrics in proportion to engine time that adjustments do not change."""

Change = Callable[[Output], Factor | None]


def scale(
    answer: Answer, change: Change, at: Mapping[str, Any], notes: Sequence[str] = (), outputs: Sequence[Output] = ()
) -> Answer:
    """An answer to another question: every figure times its factor (None leaves it), with notes that come first.

    `outputs` are the figures to change, where they are not all of the answer.
    """
    factors = ((output, change(output)) for output in outputs or answer.outputs)
    changed = tuple(output if factor is None else scaled(output, factor) for output, factor in factors)
    return replace(answer, at=dict(at), outputs=changed, notes=(*notes, *answer.notes), extrapolated=True)


def with_engine_time(factor: Factor) -> Change:
    """The changes where a transaction takes a factor more engine time: that of engine time, and the inverse of ITR."""
    factors = {"cpu": factor, "itr": replace(factor, log=-factor.log)}

    def change(output: Output) -> Factor | None:
        if output.metric in WITH_ENGINE_TIME:
            return factor
        return factors.get(quantity_of(output.metric, output.unit) or "")

    return change


def with_rate(growth: float) -> Factor:
    """The growth of work with the transactions, whose engine time may change with the load."""
    log = math.log(growth)
    return Factor(log, WORK_SD * abs(log))


def with_load(output: Output, growth: Factor | None) -> Factor | None:
    """The factor on a figure under a growth of the load; None for figures that stay."""
    if growth is None or not goes_with_rate(output.metric, output.unit):
        return None
    return replace(growth, log_sd=0.0) if _is_load(output.metric, output.unit) else growth


def goes_with_rate(metric: str, unit: str) -> bool:
    """Whether a metric is in proportion to the transactions: rates, users, work, totals of a run or an interval."""
    of_run = metric in TRANSACTION_COUNTS or (metric, unit) in OVER_INTERVAL
    return of_run or _is_load(metric, unit) or is_work(metric, unit)


def _is_load(metric: str, unit: str) -> bool:
    """Whether a metric is the load itself: a rate, or a number of users."""
    return metric in (*RATES, *POPULATIONS) or (unit == TRANSACTIONS and metric != ITR)


def unchanged(answer: Answer, changed: Sequence[Output]) -> tuple[str, ...]:
    """The note on figures that a load does not change."""
    moved = {new.metric for old, new in zip(answer.outputs, changed, strict=True) if old is not new}
    still = sorted({output.metric for output in changed} - moved)
    return (f"not changed by the load, as far as is known: {', '.join(still)}",) if still else ()
