"""What can be asked of a system that was measured at conditions: its keys, with the levels known of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.capacity.adjustments import POPULATIONS, RATES
from model.capacity.bundle import has_conditions
from model.published.counts import counts_of
from model.published.observations import ALTERNATIVES
from model.published.populations import users_of
from model.published.rates import PER_SECOND
from model.published.siblings import sibling_of
from model.published.tables import number
from model.published.think_time import measured_cycle
from model.published.variants import options_of


@dataclass(frozen=True)
class Condition:
    """A key of a question.

    `levels` are those known of it, ascending; `today` is what the configuration has, where it is a count or a load that
    was measured at one level. One that `selects` is no condition of the run: its levels are parts of one measurement (a
    component, a field of a report), and it picks their figures.
    """

    key: str
    levels: tuple[str, ...] = ()
    is_number: bool = False
    today: float | None = None
    selects: bool = False


def conditions_of(bundle: Mapping[str, Any], system: str) -> list[Condition]:
    """The conditions of a system's studies and configuration, and its load; none where laws know nothing of it."""
    from model.published.model import published

    if not has_conditions(bundle, system):
        return []
    studies = published(bundle["conditions"])
    users = users_of(bundle, system)
    measured = studies.keys(system)
    # One population goes by several names.
    people = [key for key in measured if key in POPULATIONS]
    others = set(people) - {users.key if users is not None and users.key in people else people[0]} if people else set()
    # A level of another table may be a name.
    numeric = {key for key in studies.numbers(system) if all(map(number, measured.get(key, ())))}
    conditions = [
        Condition(key, levels, key in numeric, selects=key not in numeric and key not in ALTERNATIVES)
        for key, levels in measured.items()
        if key not in others and (key in numeric or len(levels) > 1)
    ]
    conditions += [Condition(*option) for option in options_of(bundle, system).items() if option[0] not in measured]
    today = configured(bundle, system).items()
    return [*sorted(conditions, key=_order), *_load(bundle, system), *(_as_today(*one) for one in today)]


def configured(bundle: Mapping[str, Any], system: str) -> dict[str, float]:
    """What was measured at one level and may be asked at others: think time, file size and counts, as measured."""
    users = users_of(bundle, system)
    cycle = measured_cycle(bundle, system, users) if users is not None else {}
    return {**cycle, **counts_of(bundle, system)}


def _as_today(key: str, x: float) -> Condition:
    return Condition(key, (f"{x:.12g}",), is_number=True, today=x)


def _order(one: Condition) -> tuple[bool, bool]:
    return one.selects, not one.is_number


def _load(bundle: Mapping[str, Any], system: str) -> list[Condition]:
    """The rate, where one was measured; engines, where a sibling's network answers."""
    if (entry := bundle["systems"].get(system)) is not None:
        return [Condition("etr_tps", is_number=True), _as_today("engines", entry.engines)]
    if (by := sibling_of(bundle, system)) is not None:
        return [_as_today("etr_tps", by.rate), _as_today("engines", by.engines)]
    users = users_of(bundle, system)
    rows = (row for row in bundle["conditions"]["rows"] if row["system"] == system)
    of_rate = any(row["metric"] in RATES and row["unit"] == PER_SECOND for row in rows)
    if users is not None and users.unit != PER_SECOND:
        return []
    return [Condition("etr_tps", is_number=True)] if of_rate else []
