"""Waits of a calibrated system's work for its engines, in the order in which work gets them.

Arrays have the draws first and the loads second, ``(draws, loads)``; what is by response or by priority level has that
before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.capacity import queues
from model.capacity.bursts import Moment
from model.capacity.fading import held_off
from model.capacity.parts import CAPTURED, CAPTURED_BUT_ZIIP, Scenario, stacked

if TYPE_CHECKING:
    from model.capacity.ensemble import System

Array = NDArray[np.float64]


def waits(system: System, always: Moment, service: Array) -> tuple[Array, Array, Array, Array]:
    """Of each response at a load that lasts, (responses, draws, loads): the wait for engines of a ``service`` of so
    many ms, its stretch behind short pieces, the work that shares engines with it, and these."""
    level, *_, offered, pool = stretched = _of_responses(system, always)
    queued = _queued(system, always, stretched, service)
    if system.bursts is not None:
        parts = np.array([system.bursts.parts(system.numbers.get(one.stream)) for one in system.responses])
        each = (_queued(system, one, _of_responses(system, one), service) for one in moments(system, always))
        in_bursts = sum(parts[:, i] * one for i, one in enumerate(each))
        queued = np.where(np.isfinite(queued), in_bursts, queued)
    return queued, level, offered, pool


def moments(system: System, always: Moment) -> list[Moment]:
    """The loads that engines see one after the other: while bursts last, and between them."""
    if system.bursts is None:
        return [always]
    loads = [(one, system.usage(one)) for one in system.bursts.scenarios(always.scenario)]
    lasting_s = system.bursts.lasting_s[:, None]
    return [Moment(one, used.by_series, used.busy, lasting_s) for one, used in loads]


def _of_responses(system: System, moment: Moment) -> Array:
    """What waits of each response, (5, responses, draws, loads), as :func:`stretches` has it by level."""
    levels = [system.level(one.series) for one in system.responses]
    places, found = stretches(system, moment, set(levels))
    return found[:, [places[level] for level in levels]]


def _queued(system: System, moment: Moment, stretched: Array, service: Array) -> Array:
    """Waits for engines in ms at one load, (responses, draws, loads), from what waits of each."""
    laws, (level, longer, ahead, offered, pool) = system.of_responses, stretched
    if system.to_its_end:
        idle, full = queues.leaning(offered, pool)
        more = laws.factor * idle + laws.behind * full
        return np.asarray(1e3 * _mean_size(system, moment.scenario, moment.usage) * (level - 1.0) * more)
    crowded = laws.behind + laws.crowded * np.minimum(offered / pool, 1.0)
    behind = (ahead if system.all_ranked else np.where(np.isnan(ahead), service, ahead)) * crowded * longer
    return np.asarray(service * laws.factor * (level - 1.0) + behind)


def _mean_size(
    system: System, scenario: Scenario, usage: Mapping[str, Array], below: float = np.inf, work: Array | None = None
) -> Array:
    """Mean seconds of CPU of the transactions above a level that are on the engines, (draws, loads); what else
    there is of the ``work`` on these counts as nothing."""
    shape = (system.draws, scenario.rates.shape[1])
    used, sizes = np.zeros(shape), np.zeros(shape)
    for name, law in system.laws.items():
        if law.driver in system.numbers and law.part and law.engine == "cp" and law.level < below:
            rate = np.maximum(system.stream(scenario, law.driver), 1e-12)
            used, sizes = used + usage[name], sizes + usage[name] ** 2 / rate
    return np.asarray(sizes / np.maximum(used if work is None else work, 1e-12))


def stretches(system: System, moment: Moment, asked: set[int] | None = None) -> tuple[dict[int, int], Array]:
    """What waits at each priority level, or each that is ``asked``, (5, levels, draws, loads), with the place of each
    level in it.

    Stretch of work behind short pieces, and what long ones add; in draws without priorities one for all, and
    nothing. With it the mean CPU time of what is more important, in ms (not a number without priorities), the work
    that shares the engines, and the engines.
    """
    scenario, usage, busy, lasting_s = moment
    whole = system.partition.pool(scenario, busy)
    if lasting_s is not None:
        services = lasting_s / np.maximum(_mean_size(system, scenario, usage), 1e-12)
        busy = queues.building_up(busy, whole, services)
    users = _elsewhere(system, scenario)
    left = together = np.ones(busy.shape)
    if system.in_line or not system.all_ranked:
        left = held_off(busy, whole, _fading(users, usage, list(users), busy))
        together = queues.shortened(queues.stretch(busy, whole), left)
    if not system.in_line and not system.some_ranked:
        return {law.level: 0 for law in system.laws.values()}, stacked(
            (1, *busy.shape), together, 0.0, np.nan, busy, whole
        )
    usage = usage if lasting_s is not None else done(system, scenario, usage, busy, whole)
    levels = sorted({law.level for law in system.laws.values() if law.engine == "cp"})
    here = [[n for n in system.capacity if n in usage and system.laws[n].level == level] for level in levels]
    own = stacked(busy.shape, *(sum((usage[n] for n in names), np.zeros(busy.shape)) for names in here))
    until = np.cumsum(own, axis=0)
    pool = np.minimum(whole, system.partition.pool(scenario, until))
    if lasting_s is not None:
        until = queues.building_up(until, pool, services)
        own = np.diff(until, axis=0, prepend=0.0)
    above = until - own
    if asked is not None and not asked.issuperset(levels):
        kept = [i for i, level in enumerate(levels) if level in asked]
        levels, here = [levels[i] for i in kept], [here[i] for i in kept]
        own, until, above, pool = (np.broadcast_to(one, own.shape)[kept] for one in (own, until, above, pool))
    places = {level: i for i, level in enumerate(levels)}
    if system.in_line:
        in_line = queues.shortened(queues.stretch_in_line(own, whole, above, busy), left)
        return places, stacked(own.shape, in_line, 0.0, np.nan, busy, whole)
    fading = stacked(busy.shape, *(_fading(users, usage, names, own[i]) for i, names in enumerate(here)))
    short, longer = queues.by_importance(own, pool, above, fading)
    sizes = (_mean_size(system, scenario, usage, level, above[i]) for i, level in enumerate(levels))
    ahead = 1e3 * stacked(busy.shape, *sizes)
    ranked = system.priorities[:, None]
    in_draws_without = (together, 0.0, np.nan, busy, whole)
    return places, np.where(
        ranked, stacked(own.shape, short, longer, ahead, until, pool), stacked(own.shape, *in_draws_without)
    )


def done(
    system: System, scenario: Scenario, usage: Mapping[str, Array], busy: Array, pool: Array
) -> Mapping[str, Array]:
    """The usage, with no more uncaptured time than comes with the work that so many engines do: the least important
    work, which is not done, drives none."""
    over = busy > pool
    if not over.any():
        return usage
    cost = np.asarray(scenario.cost, float).reshape(-1, 1)
    driven = [n for n in system.capacity if system.laws[n].driver in (CAPTURED, CAPTURED_BUT_ZIIP) and n in usage]
    fixed = {name: system.laws[name].usage(np.zeros(busy.shape)) * cost for name in driven}
    always = sum(fixed.values(), np.zeros(busy.shape))
    part = np.clip((pool - always) / np.maximum(busy - always, 1e-12), 0.0, 1.0)
    least = {name: np.where(over, fixed[name] + part * (usage[name] - fixed[name]), usage[name]) for name in driven}
    return {**usage, **least}


def _elsewhere(system: System, scenario: Scenario) -> dict[str, Array]:
    """Users who are neither on the engines nor waiting for them, (draws, loads), by series of CPs."""
    found: dict[str, Array] = {}
    for stream, think_s in scenario.thinking(system.streams).items():
        for response in (one for one in system.responses if one.stream == stream):
            away_s = think_s + np.maximum(response.rest_ms, 0.0)[:, None] / 1e3
            users = np.where(think_s > 0, system.stream(scenario, stream) * away_s, np.inf)
            found |= {name: users for name in response.series if system.engine(name) == "cp"}
    return found


def _fading(users: Mapping[str, Array], usage: Mapping[str, Array], names: Sequence[str], work: Array) -> Array | float:
    """Part of the ``work`` of some series that stays away for each that is inside beyond their mean number: a
    class has its part of those inside, and fewer of its users are left to come."""
    parts = (
        (usage[name] / np.maximum(work, 1e-12)) ** 2 / np.maximum(users[name], 1e-9) for name in names if name in users
    )
    return sum(parts, np.zeros(()))
