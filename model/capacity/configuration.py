"""From the keys of a question to other engines, zIIPs, weights, caps and limits than were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import adjustments
from model.capacity.evaluation import System
from model.capacity.lpars import with_cpc
from model.capacity.machine_change import destination, engine_cost, moved
from model.capacity.parameters import Limit
from model.capacity.state import Scenario
from model.capacity.values import QuestionError, must_be_positive, must_be_whole, threads_asked

Array = NDArray[np.float64]
# Letters of a resource's name that SMF 72.3 has (R723DNDE).
RECORDED_NAME = 16
# How many times as many places as inferred, or as few, can be asked for.
MOST_PLACES = 2.0


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
        if not moving and not any(law.engine == "ziip" for law in system.laws.values()):
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

    Raises:
        QuestionError: places that are more than twice, or less than half, of these.
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
    threads = threads_asked(value)
    if system.ziips <= 0:
        raise QuestionError("smt", value, "smt: the records show no zIIPs")
    if threads > system.ziip_pool.threads:
        low, high = (100.0 * float(np.quantile(system.ziip_pool.gain, q) - 1.0) for q in (0.05, 0.95))
        notes.append(f"smt: no second thread was active in the records; assumed gain {low:.0f} to {high:.0f} %")
    return threads


def _adjusted(system: System, question: Mapping[str, Any], notes: list[str]) -> Array:
    """(draws,) factor on the cost that ``adjust.NAME=on`` asks for, uncertain as its sources say."""
    rest, chosen = adjustments.asked(question, system.parameters.adjustments, system.parameters.parts)
    # What is moved to zIIPs is so in the laws of the system already.
    by = adjustments.factor([replace(one, moved=None) for one in chosen], "cpu")
    for one in chosen:
        notes.append(one.note)
        if one.moved and not system.parameters.offloaded:
            from model.capacity.ziip_offload import NO_ZIIPS

            notes.append(f"{adjustments.PREFIX}{one.name}: {NO_ZIIPS}")
        if "cpu" not in one.quantities:
            stays = "does not concern CPU time: engines and response times do not change"
            notes.append(f"{adjustments.PREFIX}{one.name}: {stays}")
    return np.asarray(np.exp(by.log + by.log_sd * system.deviates(len(rest))))
