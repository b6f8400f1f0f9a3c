"""Engines, zIIPs and limits as a question changes them, adjustments, and work that is moved to zIIPs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import adjustments
from model.capacity.adjustments import PREFIX, Z_90, Adjustment, choose_adjustments
from model.capacity.cpc import destination, engine_cost, moved, with_cpc
from model.capacity.engines import prior_pool
from model.capacity.parameters import DemandModel, Limit, SystemParameters, cached
from model.capacity.state import ON_ZIIPS, ZIIP_WORK, Scenario, normal_scores
from model.capacity.system import System
from model.capacity.values import ZIIPS, QuestionError, must_be_positive, must_be_whole, smt_threads

Array = NDArray[np.float64]

RECORDED_NAME = 16
"""Longest name of a resource in SMF 72.3 (R723DNDE)."""
MOST_PLACES = 2.0
"""Highest ratio of planned servers of a limit to inferred ones, and of inferred to planned ones."""
MOVED_SEED = 9000
"""First of the seeds of moved work, one for each adjustment."""
NEW_ZIIPS = (
    "ziip_engines: no zIIPs were recorded: the time until work overflows to CPs is not known; the interval includes "
    "this"
)
AS_QUEUED = DemandModel(
    regressor=ZIIP_WORK,
    engine="ziip_busy",
    reference_rate=1.0,
    scale=1.0,
    support=(0.0, math.inf),
    coef=np.array([[0.0, 1.0, 0.0]]),
    noise=np.zeros(1),
    drift=np.zeros(1),
    points=0,
    additive=False,
)
"""Busy zIIP cores as the queue of the pool has them."""
NO_ZIIPS = "there are no zIIPs, so the work stays on CPs: add ziip_engines=1 or more"


def changed(system: System, scenario: Scenario, question: Mapping[str, Any], notes: list[str]) -> Scenario:
    """The scenario on other engines, zIIPs, weights, caps, limits."""
    cost = scenario.cost
    there = destination(system, question)
    if "engines" in question:
        engines = must_be_whole("engines", question["engines"])
        cost = 1.0 if there else engine_cost(system, engines)
        scenario = replace(scenario, engines=float(engines))
        on_cpc = {"physical_cps", "cpc"} & set(question)
        if system.machine is not None and engines > system.machine.engines and not on_cpc:
            notes.append(f"engines: the machine has {system.machine.engines:g}; this answer assumes {engines}")
            scenario = replace(scenario, cpc=replace(system.machine, engines=float(engines)))
    if "ziip_engines" in question:
        ziips = must_be_whole("ziip_engines", question["ziip_engines"], least=0)
        moving = any(str(key).startswith(adjustments.PREFIX) for key in question)
        if not moving and not any(demand.engine == "ziip" for demand in system.demands.values()):
            text = (
                "ziip_engines: no zIIP-eligible work was recorded; add adjust.ziip_offload=0.3 if 30 % is eligible"
            )
            raise QuestionError("ziip_engines", question["ziip_engines"], text)
        scenario = replace(scenario, ziips=float(ziips))
    limits = {}
    for key, value in question.items():
        kind, _, name = str(key).partition(".")
        if kind == "limit":
            limit = _limit(system, key, name)
            limits[limit.name] = must_be_positive(key, value)
            if limit.reached:
                notes.append(_inferred(limit, key, limits[limit.name]))
            else:
                holders = ", ".join(limit.members)
                taken = (
                    f"assumed to be held for the whole response time by {holders}"
                    if holders
                    else "no class with a response time uses it, so nothing changes"
                )
                notes.append(f"{key}: no transaction waited for {limit.name} in the records; {taken}")
    if any(str(key).startswith(adjustments.PREFIX) for key in question):
        cost = cost * _adjusted(system, question, notes)
    if "smt" in question:
        scenario = replace(scenario, threads=_threads(system, question["smt"], notes))
    if there is not None:
        scenario, factor = moved(system, scenario, there, notes)
        cost = cost * factor
    scenario = with_cpc(system, scenario, question, notes)
    return replace(scenario, cost=cost, limits=limits) if cost is not scenario.cost or limits else scenario


def _limit(system: System, key: str, name: str) -> Limit:
    """The limit a key names, of whose name records have the first letters only."""
    for limit in system.limits:
        if limit.name.casefold() in (name.casefold(), name.casefold()[:RECORDED_NAME].rstrip()):
            if limit.kind == "devices":
                text = f"{key}: the number of volumes or processors of {limit.name} cannot be changed"
                raise QuestionError(key, name, text)
            return limit
    names = [one.name for one in system.limits if one.kind != "devices"]
    raise QuestionError(key, name, f"{key}: the records show no limit of this name", names)


def _inferred(limit: Limit, key: str, planned: float) -> str:
    """What to say of the places that are inferred of a limit.

    Raises
    ------
    QuestionError
        places that are more than twice, or less than half, of these.
    """
    places, (lo, hi) = float(limit.inferred[0]), np.quantile(limit.inferred[1:], [0.05, 0.95])
    servers, queues = (float(one[0]) for one in (limit.servers, limit.queues))
    inside = f"{servers:g} in each of {queues:g} queues, " if queues > 1 else ""
    shown = f"{key}: the recorded waits indicate {places:g} servers ({inside}90 %: {lo:g} to {hi:g})"
    ratio = planned / places
    if not 1.0 / MOST_PLACES <= ratio <= MOST_PLACES:
        least, most = places / MOST_PLACES, places * MOST_PLACES
        text = (
            f"{shown}; {planned:g} would be {ratio:.3g} times as many. Allowed: {least:g} to {most:g}. If you know the "
            f"actual number, scale {places:g} by the ratio of the planned number to the actual one"
        )
        raise QuestionError(key, planned, text)
    return f"{shown}; {planned:g} means {ratio:.3g} times as many"


def _threads(system: System, value: Any, notes: list[str]) -> float:
    """Threads of a zIIP core."""
    threads = smt_threads(value)
    if system.ziips <= 0:
        raise QuestionError("smt", value, "smt: the records show no zIIPs")
    if threads > system.ziip_pool.threads:
        low, high = (100.0 * float(np.quantile(system.ziip_pool.gain, q) - 1.0) for q in (0.05, 0.95))
        notes.append(f"smt: no second thread was active in the records; assumed gain {low:.0f} to {high:.0f} %")
    return threads


def _adjusted(system: System, question: Mapping[str, Any], notes: list[str]) -> Array:
    """(draws,) factor on the cost that ``adjust.NAME=on`` asks for, uncertain as its sources say."""
    rest, chosen = adjustments.choose_adjustments(question, system.parameters.adjustments, system.parameters.parts)
    # What is moved to zIIPs is so in the demands of the system already.
    by = adjustments.factor([replace(one, moved=None) for one in chosen], "cpu")
    for one in chosen:
        notes.append(one.note)
        if one.moved and not system.parameters.offloaded:

            notes.append(f"{adjustments.PREFIX}{one.name}: {NO_ZIIPS}")
        if "cpu" not in one.quantities:
            stays = "does not concern CPU time: engines and response times do not change"
            notes.append(f"{adjustments.PREFIX}{one.name}: {stays}")
    return np.asarray(np.exp(by.log + by.log_sd * system.scores(len(rest))))


@dataclass(frozen=True)
class Offload:
    """What of a question moves work to zIIPs: adjustments, and the zIIPs there are then; both may be none."""

    moving: tuple[Adjustment, ...]
    engines: float

    @classmethod
    def of(cls, parameters: SystemParameters, at: Mapping[str, Any]) -> Offload:
        """That of a question, which is refused elsewhere if it says anything wrong."""
        keys = {key: value for key, value in at.items() if str(key).startswith(PREFIX)}
        try:
            chosen = choose_adjustments(keys, parameters.adjustments, parameters.parts)[1] if keys else ()
            recorded = parameters.ziip.engines if parameters.ziip else 0.0
            engines = float(must_be_whole(ZIIPS, at[ZIIPS], least=0)) if ZIIPS in at else recorded
        except QuestionError:
            return cls((), 0.0)
        return cls(tuple(one for one in chosen if one.moved), engines)


def with_ziips(parameters: SystemParameters, at: Mapping[str, Any]) -> SystemParameters:
    """The system as a question has it, with zIIPs where it asks for any, and with the engine time that adjustments
    move to them; the very same where it asks for neither, or where there are no zIIPs to move it to."""
    offload = Offload.of(parameters, at)
    has = parameters.ziip is not None and parameters.ziip.engines > 0
    eligible = any(demand.engine == "ziip" for demand in parameters.demands.values())
    if offload.engines <= 0 or not (offload.moving or (eligible and not has)):
        return parameters
    key = (ZIIPS, tuple((one.name, one.moved) for one in offload.moving), offload.engines)
    return cached(parameters, key, lambda: _offloaded(parameters, offload, has))


def _offloaded(parameters: SystemParameters, offload: Offload, has: bool) -> SystemParameters:
    changed, draws = replace(parameters, offloaded=True), parameters.samples
    if offload.moving:
        changed = _with_moved(changed, _share(offload.moving, draws))
    if not has:
        changed = replace(
            changed,
            ziip=prior_pool(offload.engines, draws),
            demands={**changed.demands, ZIIP_WORK: AS_QUEUED},
            notes=(NEW_ZIIPS, *parameters.notes),
        )
    return changed


def _share(moving: Sequence[Adjustment], draws: int) -> Array:
    """(1 + draws,) of the engine time what is moved, the centre first."""
    left = np.ones(1 + draws)
    for i, one in enumerate(moving):
        assert one.moved is not None
        low, high = one.moved
        spread = 0.5 * (high - low) / Z_90 * normal_scores(1 + draws, MOVED_SEED + i)
        left *= 1.0 - np.clip(0.5 * (low + high) + spread, 0.0, 1.0)
    return 1.0 - left


def _with_moved(parameters: SystemParameters, share: Array) -> SystemParameters:
    """The system with a share of the transactions' time on CPs taken to zIIPs."""
    demands = dict(parameters.demands)
    driving = {*parameters.class_names, *parameters.mixes}
    on_cps = [n for n, demand in demands.items() if demand.regressor in driving and demand.engine == "cp"]
    total = [n for n in on_cps if n in parameters.busy_components] or [n for n in on_cps if demands[n].additive]
    for name in on_cps:
        demand, there = demands[name], f"{name}{ON_ZIIPS}"
        # What was not measured on zIIPs is part of no total but theirs.
        moved = replace(_scaled(demand, share), engine="ziip", additive=name in total, points=0, metrics=())
        demands[there] = _sum(demands[there], moved) if there in demands else moved
        demands[name] = _scaled(demand, 1.0 - share)
    responses = {
        key: replace(response, ziip_series=tuple(f"{name}{ON_ZIIPS}" for name in response.series))
        for key, response in parameters.responses.items()
    }
    return replace(parameters, demands=demands, responses=responses)


def _scaled(demand: DemandModel, by: Array) -> DemandModel:
    return replace(demand, coef=demand.coef * by[:, None])


def _sum(demand: DemandModel, more: DemandModel) -> DemandModel:
    """The sum of two demands of one regressor, uncertain as the first."""
    times, scale = demand.reference_rate / more.reference_rate, more.scale / demand.scale
    fixed, each, curve = more.coef.T
    as_first = [fixed, each * times + curve * (times**2 - times), curve * times**2]
    return replace(demand, coef=demand.coef + scale * np.stack(as_first, axis=1))
