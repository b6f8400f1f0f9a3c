"""Mean responses of users who do not think, where a limit admits so many transactions of some classes at a time.

The users of a class pass a cycle of the driver's own time Z and the response R (Little's law), and a class that its
limit of m holds back has m transactions inside all the time (utilization law):

    X[c] = N[c] / (Z + R[c])        h[c] = m / X[c]

X is the measured throughput, N the number of users, h the time inside the limit. N follows from a run of the same users
at a requested rate, where each sends as often as any other. Inside the limit transactions meet the same queues as the
other classes do: responses grew since that run, in which hardly anyone waited for the limit, by h over the response.

Source: Lazowska and others 1984, *Quantitative System Performance*, chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from model.published.names import ASKING, CLASS_LIMIT, REQUESTED_RATE, TRANSACTION_COUNTS, UNPACED
from model.published.observations import WORKLOAD
from model.published.tables import Cell, Table, Tables, number

MEAN_RESPONSE = "response_avg_s"
"""The name that the marts have for a mean response."""
LEAST_SD = 0.25
"""Least standard deviation of the logarithm of the growth: the time inside a limit is not all of a response."""
CYCLE_SD = 0.1
"""Relative standard deviation of the mean cycle of a class, as how the users divide is inferred."""
BEHIND = 0.9
"""A class with less than this share of the throughput of every class without a limit is held back by its limit."""

Facts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Limited:
    """A mean response in s with its standard deviation, and the note that says what it follows from."""

    mean_s: float
    sd_s: float
    note: str


def is_unpaced(facts: Mapping[str, str]) -> bool:
    """Whether the users of a system send as fast as they are answered."""
    return facts.get(REQUESTED_RATE) == UNPACED


def has_mean_responses(table: Table) -> bool:
    """Whether a table has mean responses of transactions."""
    return MEAN_RESPONSE in table.mart_metrics.values()


def mean_response(tables: Tables, facts: Facts, cell: Cell) -> Limited | None:
    """The mean response of a class that was not measured; None where limits of its system do not determine it."""
    own, table, levels = facts.get(cell.system, {}), tables.blocks[cell.block], dict(cell.factors)
    if not is_unpaced(own) or len(levels) != 1 or table.mart_metrics.get(cell.metric) != MEAN_RESPONSE:
        return None
    (key, name), counts, rate, users = *levels.items(), _counts(table, cell), tables.rate(cell), _users(own)
    rates = {level: count * rate / sum(counts.values()) for level, count in counts.items()} if rate else {}
    places = {level: capacity for level in rates if (capacity := _places(own, level)) is not None}
    free = [level for level in rates if level not in places]
    if name not in rates or users is None or not free:
        return None
    held_back = [level for level in places if rates[level] < BEHIND * min(rates[other] for other in free)]
    for system in sorted(facts):
        paced = replace(cell, system=system)
        before = {level: table.values.get(paced.at_level(key, level), (0.0,))[0] for level in rates}
        sent = _counts(table, paced)
        if not _alike(own, facts[system]) or sent.keys() != rates.keys() or not all(before.values()):
            continue
        cycles = {level: users * sent[level] / sum(sent.values()) / rates[level] for level in rates}
        growth = np.log([places[level] / rates[level] / before[level] for level in held_back])
        if not len(growth):
            return None
        factor, sd = float(np.exp(growth.mean())), max(float(growth.std(ddof=1)) if len(growth) > 1 else 0.0, LEAST_SD)
        waits = cycles[name] - float(np.mean([cycles[level] for level in free])) if name in held_back else 0.0
        mean = before[name] * factor + waits
        if mean <= 0:
            return None
        of_cycle = CYCLE_SD * cycles[name] if name in held_back else 0.0
        full = ", ".join(f"{level} ({places[level]:g} at a time)" for level in sorted(held_back))
        note = (
            f"full limits of {key}: {full}. Mean responses follow from the cycles of {users:g} users, who divide as in "
            f"{system}"
        )
        return Limited(mean, float(np.hypot(before[name] * factor * sd, of_cycle)), note)
    return None


def _counts(table: Table, cell: Cell) -> dict[str, float]:
    """The transactions of a run by class, whatever became of them."""
    ((key, _),) = cell.factors
    totals: dict[str, float] = {}
    for other, (value, _) in table.values.items():
        level = other.level(key)
        if other.system == cell.system and level is not None and other.metric in TRANSACTION_COUNTS:
            totals[level] = totals.get(level, 0.0) + value
    return {level: count for level, count in totals.items() if count > 0}


def _places(facts: Mapping[str, str], level: str) -> float | None:
    """How many transactions of a class its configured limit admits at a time; None without a limit."""
    limits = {
        name.removeprefix(CLASS_LIMIT): number(fact) for name, fact in facts.items() if name.startswith(CLASS_LIMIT)
    }
    return next((places for names, places in limits.items() if level in names.split("_")), None)


def _users(facts: Mapping[str, str]) -> float | None:
    """The users of a system, of which its configuration names one sort."""
    counts = [count for name, fact in facts.items() if name.endswith(ASKING) and (count := number(fact)) is not None]
    return counts[0] if len(counts) == 1 else None


def _alike(own: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether a run had as many users of the same workload, at a requested rate."""
    paced = number(other.get(REQUESTED_RATE, "")) is not None
    return paced and other.get(WORKLOAD) == own.get(WORKLOAD) is not None and _users(own) == _users(other)
