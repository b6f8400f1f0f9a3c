"""The CPC of an LPAR as a question changes it: machine, engines, weight, caps, LPARs that come or go.

What the LPARs of a machine use adds up: an LPAR that goes takes away what was recorded of it, one that comes brings
what was recorded of it where it was, or what the question says. On another machine, a transaction costs what the
ratings of both say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.base_load import hour_of_week
from model.capacity.parameters import Machine, RecordedIntervals, SystemParameters, Weights, cached
from model.capacity.state import Scenario
from model.capacity.system import System
from model.capacity.values import (
    CPC,
    LPARS,
    QuestionError,
    cap_to_share,
    must_be_finite,
    must_be_positive,
    must_be_whole,
)
from model.hardware.ratings import RatedMachine, Speed, identity, most_engines, rated, rated_machine
from model.queueing.lpar_share import Sharer

Array = NDArray[np.float64]

FEWEST_DIGITS = 4
"""Least length of the end of a name by which a CPC is meant."""
ADDED = "NAME:CPS:WEIGHT:BUSY, such as add_lpar=TEST:4:200:1.5 for 4 logical CPs, weight 200 and 1.5 busy engines"


@dataclass(frozen=True)
class Destination:
    """A machine to move to: the key that names it, its machine type or id, and the speed of one of so many engines."""

    key: str
    machine: str
    speed: Callable[[float], Speed]


def destination(system: System, question: Mapping[str, Any]) -> Destination | None:
    """The machine that a question moves the LPAR to; None for the one measured on, or one of its type.

    Raises
    ------
    QuestionError
        the machine is unknown, or the rating of either is.
    """
    if "machine" in question:
        value, rows = str(question["machine"]), imported(system)
        if is_own(system, value):
            return None
        there = rated_machine(value, rows)
        if there is None:
            text = f"machine: no rating of machine {value!r} is known"
            raise QuestionError("machine", value, text, rated(rows))
        return Destination("machine", value, there.speed)
    if "cpc" in question:
        parameters = lpar_of(system, question["cpc"])[1]
        if is_own(system, parameters.machine_type) or parameters.machine_type == system.parameters.machine_type:
            return None
        return Destination("cpc", parameters.machine_type, lambda engines: speed_of(system, parameters, "cpc", engines))
    return None


def moved(system: System, scenario: Scenario, there: Destination, notes: list[str]) -> tuple[Scenario, Array]:
    """The scenario on another machine, and what work costs there relative to the measured engines, (draws,).

    The other LPARs of the machine move with it.

    Raises
    ------
    QuestionError
        the rating of either machine is not known.
    """
    target, here = there.speed(scenario.engines), speed_of(system, system.parameters, there.key)
    sd = math.hypot(target.sd, here.sd)
    factor = here.su_per_s / target.su_per_s
    cost = np.asarray(factor * np.exp(sd * system.scores(1)), float)
    others = np.asarray(scenario.others, float) * cost[:, None]
    notes.append(
        f"{there.key}: an engine there has {100.0 / factor:.0f} % of the capacity of one here (assumed standard "
        f"deviation {100 * sd:.0f} %), by ratings: there {target.source}; here {here.source}"
    )
    if there.key == "machine":
        most = most_engines(there.machine)
        notes.append(
            "machine: the number of physical engines stays the same unless physical_cps changes it"
            + (f" (it has at most {most})" if most else "")
            + "; zIIPs and the other LPARs of the machine scale by the same ratio"
        )
    each = None if system.msu_per_engine is None else system.msu_per_engine / factor
    return replace(scenario, others=others, ziip_cost=cost, msu_per_engine=each, machine=there.machine), cost


def lpar_of(system: System, cpc: Any) -> tuple[str, SystemParameters]:
    """The first system of the installation that was recorded on a CPC, and its id.

    The CPC is named as the answers name it (``2964-708 …12345``), or by the end of that name, such as ``12345``.

    Raises
    ------
    QuestionError
        there is none; machines that there are, are named.
    """
    by_machine: dict[str, tuple[str, SystemParameters]] = {}
    for name, parameters in installation(system).items():
        if parameters.machine is not None and parameters.recorded is not None:
            by_machine.setdefault(parameters.machine.name, (name, parameters))
    wanted = str(cpc).strip().casefold()
    same = [name for name in by_machine if name.casefold() == wanted] or [
        name for name in by_machine if len(wanted) >= FEWEST_DIGITS and name.casefold().endswith(wanted)
    ]
    if len(same) == 1:
        return by_machine[same[0]]
    raise QuestionError("cpc", cpc, f"cpc: no machine {cpc!r} of the installation is recorded", by_machine)


def installation(system: System) -> Mapping[str, SystemParameters]:
    """The systems of the bundle by id."""
    return system.parameters.installation


def rated_msu(system: System, scenario: Scenario, before: float, physical: float) -> float | None:
    """MSU of an engine where the machine has so many physical ones, and had others before; None without ratings."""
    each = scenario.msu_per_engine or system.msu_per_engine
    name = scenario.machine or system.parameters.machine_type
    machine = rated_machine(name, imported(system)) if name else None
    if each is None or machine is None:
        return None
    return each * machine.su_per_s(physical) / machine.su_per_s(before)


def engine_cost(system: System, engines: float, machine_id: str = "") -> Array:
    """(draws,) cost per transaction on another number of engines, relative to the measured one: the ratio of ratings of
    the machine, without a name the one measured on, and how far that of a workload may be from it.

    Logical CPs of an LPAR within a machine whose engines are recorded change no rating: these share caches and memory
    whatever LPAR uses them, and the cost follows the utilization of the machine instead."""
    machine = rated_machine(machine_id, imported(system)) if machine_id else _rated_here(system)
    here = system.engines
    if machine is not None and not machine_id and system.machine is not None:
        here, engines_there = max(here, system.machine.engines), max(engines, system.machine.engines)
        machine = None if here == engines_there else machine
    effect = system.parameters.n_way
    exponent = effect.unrated if machine is None else effect.rated
    ratio = 1.0 if machine is None else machine.su_per_s(here) / machine.su_per_s(engines)
    return np.asarray(ratio * (engines / system.engines) ** exponent, float)


def n_way_source(system: System, engines: float) -> str:
    """What the cost on another number of engines is from."""
    machine = _rated_here(system)
    if machine is not None and system.machine is not None and engines <= system.machine.engines:
        return "as the machine's physical engines stay as they are"
    if machine is None:
        return "no ratings of this machine are known, so its n-way effect is not in"
    instead = f"; {machine.n_way.source}" if machine.stands_in else ""
    return f"by the multiprocessing factors of the {machine.title}{instead}"


def _rated_here(system: System) -> RatedMachine | None:
    """The machine measured on, if it has a rating."""
    name, rows = system.parameters.machine_type, imported(system)
    return cached(system.parameters, "rated machine", lambda: rated_machine(name, rows)) if name else None


def is_own(system: System, value: Any) -> bool:
    """Whether the machine named is the one measured on."""
    measured, rows = system.parameters.machine_type, imported(system)
    return bool(measured) and identity(str(value), imported=rows) == identity(measured, imported=rows)


def imported(system: System) -> Sequence[Mapping[str, Any]]:
    """Rows of the ratings that the installation imported."""
    return system.parameters.machine_ratings


def speed_of(system: System, parameters: SystemParameters, key: str, engines: float | None = None) -> Speed:
    """Speed of the engines of a system of the installation: the rating in its records, else of its machine's table;
    of another number of engines as the table has it.

    Raises
    ------
    QuestionError
        there is neither.
    """
    name, count = parameters.machine_type, parameters.engines
    machine = rated_machine(name, imported(system)) if name else None
    recorded = parameters.service_units_per_s
    if recorded:
        moved = machine.su_per_s(engines) / machine.su_per_s(count) if machine and engines else 1.0
        return Speed(recorded * moved, 0.0, "the rating in its own records")
    if machine is None:
        text = f"{key}: {name or 'the machine measured on'} has no rating, neither in its records nor in a table"
        raise QuestionError(key, name, f"{text}; add it to machines.csv, see `etalon machines`")
    return machine.speed(engines or count)


@dataclass(frozen=True)
class Lpar:
    """One of the other LPARs of a machine, and the engines it uses, (draws or 1, loads)."""

    sharer: Sharer
    engines: Array


def with_cpc(system: System, scenario: Scenario, question: Mapping[str, Any], notes: list[str]) -> Scenario:
    """The scenario on the machine as the keys of :data:`model.capacity.values.CPC` have it.

    Raises
    ------
    QuestionError
        the records show no machine, a name is unknown, or a value is out of its domain.
    """
    given = [key for key in CPC if key in question]
    if not given:
        return scenario
    if system.machine is None:
        raise QuestionError(
            given[0], question[given[0]], f"{given[0]}: the records show no machine that the LPAR shares with others"
        )
    weight = _weights(system).own
    lpars = _recorded_lpars(system, scenario)
    machine = scenario.cpc or system.machine
    if "cpc" in question:
        machine, lpars, scenario = _moved(system, scenario, question, machine, lpars, notes)
    if "remove_lpar" in question:
        lpars = _without(question["remove_lpar"], machine, lpars, notes)
    if "add_lpar" in question:
        lpars = {**lpars, **_added(system, scenario, question["add_lpar"], machine, lpars, notes)}
    if "weight" in question:
        weight = must_be_positive("weight", question["weight"])
    if any(key in question for key in LPARS):
        machine, scenario = _shared_with(machine, scenario, lpars)
    if "weight" in question or any(key in question for key in LPARS):
        theirs = sum(one.sharer.weight for one in lpars.values()) if lpars else _weight_of_others(system, question)
        machine = replace(machine, share=weight / (weight + theirs) if weight + theirs > 0 else 1.0)
    if "physical_cps" in question:
        machine, scenario = _on_engines(system, scenario, question, machine, notes)
    if "physical_ziips" in question:
        scenario = _on_ziips(system, scenario, question["physical_ziips"], machine)
    machine = _capped(system, replace(scenario, cpc=machine), question, machine, notes)
    return replace(scenario, cpc=machine)


def _weights(system: System) -> Weights:
    weights = system.parameters.weights
    assert weights is not None
    return weights


def _recorded_lpars(system: System, scenario: Scenario) -> dict[str, Lpar]:
    """The other LPARs of the recorded machine by name, with what each uses."""
    machine, recorded = system.machine, system.parameters.recorded
    assert machine is not None
    index = list(scenario.recorded) if recorded is not None else []
    total = np.asarray(scenario.others, float) + np.zeros((1, 1))
    total_recorded = None if recorded is None else recorded.others
    grown = total / max(float(total_recorded[index].mean()), 1e-12) if total_recorded is not None and index else 1.0
    lpars = {}
    for one in machine.others:
        values = None if recorded is None else recorded.lpars.get(one.name)
        used = total * one.part if values is None else grown * float(values[index].mean())
        lpars[one.name] = Lpar(one, np.asarray(used, float))
    return lpars


def _weight_of_others(system: System, question: Mapping[str, Any]) -> float:
    """Weight of all other LPARs; none where these are all gone."""
    if any(key in question for key in LPARS):
        return 0.0
    weights = _weights(system)
    return weights.total - weights.own


def _shared_with(machine: Machine, scenario: Scenario, lpars: Mapping[str, Lpar]) -> tuple[Machine, Scenario]:
    """The machine shared with these LPARs, and the scenario with what they use."""
    used: Array = sum((one.engines for one in lpars.values()), np.zeros((1, 1)))
    centre = max(float(used[0, 0]), 1e-12)
    sharers = tuple(replace(one.sharer, part=float(one.engines[0, 0]) / centre) for one in lpars.values())
    return replace(machine, others=sharers), replace(scenario, others=used)


def _without(value: Any, machine: Machine, lpars: Mapping[str, Lpar], notes: list[str]) -> dict[str, Lpar]:
    """The LPARs but for those named, by a comma where there are several."""
    kept = dict(lpars)
    for name in _names(value):
        same = [one for one in kept if one.casefold() == name.casefold()]
        if not same:
            text = f"remove_lpar: no other LPAR {name!r} on machine {machine.name}"
            raise QuestionError("remove_lpar", name, text, kept)
        gone = kept.pop(same[0])
        notes.append(f"remove_lpar: {same[0]} used {float(gone.engines[0, 0]):.4g} engines, which are now free")
    return kept


def _added(
    system: System, scenario: Scenario, value: Any, machine: Machine, lpars: Mapping[str, Lpar], notes: list[str]
) -> dict[str, Lpar]:
    """LPARs that come: systems of the installation by name, or described; by a comma where there are several."""
    new: dict[str, Lpar] = {}
    for text in _names(value):
        name, *parts = (part.strip() for part in text.split(":"))
        if name.casefold() in (one.casefold() for one in (*lpars, *new, machine.lpar)):
            raise QuestionError("add_lpar", text, f"add_lpar: machine {machine.name} has an LPAR {name} already")
        if not parts:
            new[name] = _of_installation(system, scenario, name, notes)
            continue
        if len(parts) != 3:
            raise QuestionError("add_lpar", text, f"add_lpar: {text!r} should be {ADDED}")
        cps, weight = must_be_whole("add_lpar", parts[0]), must_be_positive("add_lpar", parts[1])
        busy = must_be_finite("add_lpar", parts[2])
        if not 0 <= busy <= cps:
            raise QuestionError("add_lpar", text, f"add_lpar: {busy:g} busy engines should be 0 to its {cps} CPs")
        new[name] = Lpar(Sharer(float(cps), weight, name=name), np.array([[busy]]))
    return new


def _of_installation(system: System, scenario: Scenario, name: str, notes: list[str]) -> Lpar:
    """A system of the installation as another LPAR, with what was recorded of it at the same time."""
    every = installation(system).items()
    systems = {one: other for one, other in every if other.machine is not None and other.recorded is not None}
    parameters = named_system(systems, name)
    if parameters is None or parameters is system.parameters:
        text = f"add_lpar: no system {name!r} with records of its machine; describe it as {ADDED}"
        raise QuestionError("add_lpar", name, text, (one for one in systems if systems[one] is not system.parameters))
    assert parameters.recorded is not None
    used, when = at_the_same_time(system, scenario, parameters.recorded, parameters.recorded.busy)
    faster = relative_work(system, scenario, parameters, "add_lpar")
    notes.append(f"add_lpar: {name} uses {used * faster:.4g} engines here, {when}")
    return Lpar(_as_sharer(parameters, name), np.array([[used * faster]]))


def _as_sharer(parameters: SystemParameters, name: str) -> Sharer:
    """An LPAR as its records define it."""
    there, engines = parameters.machine, parameters.engines
    assert there is not None and parameters.weights is not None
    most = engines if there.cap_engines is None else min(engines, there.cap_engines)
    return Sharer(most, parameters.weights.own, there.capped, name=there.lpar or name)


def relative_work(system: System, scenario: Scenario, parameters: SystemParameters, key: str) -> float:
    """Engines here that do what one engine of another system does; 1 on machines of one type."""
    if parameters.machine_type == system.parameters.machine_type:
        return 1.0
    here = speed_of(system, system.parameters, key, scenario.engines)
    return speed_of(system, parameters, key).su_per_s / here.su_per_s


def _moved(
    system: System,
    scenario: Scenario,
    question: Mapping[str, Any],
    machine: Machine,
    lpars: dict[str, Lpar],
    notes: list[str],
) -> tuple[Machine, dict[str, Lpar], Scenario]:
    """The LPAR on another machine of the installation, with the LPARs of that one."""
    value = str(question["cpc"]).strip()
    if "machine" in question:
        raise QuestionError("cpc", value, f"cpc: {value} determines the machine type; leave out machine")
    name, parameters = lpar_of(system, value)
    there, recorded = parameters.machine, parameters.recorded
    assert there is not None and recorded is not None
    if there.name == machine.name:
        return machine, lpars, scenario
    used, when = at_the_same_time(system, scenario, recorded, recorded.busy)
    members = {name: Lpar(_as_sharer(parameters, name), np.array([[used]]))}
    for one in there.others:
        values = recorded.lpars.get(one.name)
        part = 1.0 if values is not None else one.part
        used, when = at_the_same_time(system, scenario, recorded, recorded.others if values is None else values)
        members[one.name] = Lpar(one, np.array([[used * part]]))
    notes.append(
        f"cpc: the LPARs of machine {there.name} have their use {when}; the weight of this LPAR does not change"
    )
    return (
        replace(
            machine,
            name=there.name,
            engines=there.engines,
            management=there.management,
            ziips=there.ziips,
        ),
        members,
        scenario,
    )


def at_the_same_time(
    system: System, scenario: Scenario, other: RecordedIntervals, values: Array | None
) -> tuple[float, str]:
    """Mean of another system's recorded values in the intervals that a question starts from, and when that was.

    Where nothing was recorded of it then, in the same hours of the week; else in all of its intervals.
    """
    recorded, theirs = system.parameters.recorded, other.times
    assert recorded is not None
    starts, length = recorded.times[list(scenario.recorded)], np.timedelta64(int(other.seconds), "s")
    at = np.searchsorted(theirs, starts, side="right") - 1
    same = at[(at >= 0) & (starts - theirs[np.maximum(at, 0)] < length)]
    hours = hour_of_week(theirs)
    for index, when in (
        (same, "at the same time"),
        (np.flatnonzero(np.isin(hours, hour_of_week(starts))), "in the same hour of the week, on average"),
        (np.arange(len(theirs)), "on average"),
    ):
        some = np.zeros(0) if values is None else values[index]
        if len(some) and not np.isnan(some).all():
            return float(np.nanmean(some)), when
    return 0.0, "on average"


def _on_engines(
    system: System, scenario: Scenario, question: Mapping[str, Any], machine: Machine, notes: list[str]
) -> tuple[Machine, Scenario]:
    """The machine with another number of physical CPs."""
    physical = must_be_whole("physical_cps", question["physical_cps"])
    if physical < scenario.engines:
        text = f"physical_cps: {physical} is fewer than the {scenario.engines:g} logical CPs of the LPAR"
        raise QuestionError("physical_cps", physical, f"{text}; ask with engines={physical} or fewer, too")
    most = most_engines(scenario.machine or system.parameters.machine_type)
    if most is not None and physical > most:
        raise QuestionError(
            "physical_cps", physical, f"physical_cps must be at most {most} on this machine (got {physical})"
        )
    each = rated_msu(system, scenario, machine.engines, physical)
    if each is not None:
        notes.append(
            f"physical_cps: with {physical} engines, one is rated at {each:.4g} MSU, by the model of the machine"
        )
    return replace(machine, engines=float(physical)), replace(scenario, msu_per_engine=each or scenario.msu_per_engine)


def _on_ziips(system: System, scenario: Scenario, value: Any, machine: Machine) -> Scenario:
    """The scenario where the machine has another number of shared zIIPs."""
    physical = must_be_whole("physical_ziips", value, least=0)
    if machine.ziips <= 0 or scenario.ziips <= 0:
        text = "physical_ziips: the records show no zIIPs that the LPAR shares; ask for its own with ziip_engines"
        raise QuestionError("physical_ziips", value, text)
    recorded = system.parameters.recorded
    used = None if recorded is None else recorded.ziip_others
    others = float(used[list(scenario.recorded)].mean()) if used is not None and scenario.recorded else 0.0
    if physical < scenario.ziips:
        text = f"physical_ziips: {physical} is fewer than the {scenario.ziips:g} logical zIIPs of the LPAR"
        raise QuestionError("physical_ziips", value, f"{text}; ask with ziip_engines={physical} or fewer, too")
    # What the others left of the recorded zIIPs is in the recorded waits.
    before, after = (min(scenario.ziips, max(count - others, 0.0)) for count in (machine.ziips, float(physical)))
    return replace(scenario, ziips_left=scenario.ziips * min(after / before, 1.0) if before > 0 else after)


def _capped(
    system: System, scenario: Scenario, question: Mapping[str, Any], machine: Machine, notes: list[str]
) -> Machine:
    """The machine with the caps of the question on the LPAR."""
    if "cap_engines" in question and "cap_msu" in question:
        raise QuestionError(
            "cap_msu", question["cap_msu"], "at: cap_engines and cap_msu both set the cap; give one of them"
        )
    if "cap" in question:
        machine = replace(machine, capped=cap_to_share(question["cap"]))
        if not machine.capped:
            machine = replace(machine, cap_engines=None)
    if "cap_engines" in question:
        most = must_be_positive("cap_engines", question["cap_engines"])
        if most >= scenario.engines:
            notes.append(f"cap_engines: {most:g} engines have no effect, because the LPAR has {scenario.engines:g}")
        machine = replace(machine, cap_engines=most)
    if "cap_msu" in question:
        each = scenario.msu_per_engine or system.msu_per_engine
        if each is None:
            text = "cap_msu: the records have no MSU rating of an engine; ask with cap_engines"
            raise QuestionError("cap_msu", question["cap_msu"], text)
        most = must_be_positive("cap_msu", question["cap_msu"]) / each
        notes.append(
            f"cap_msu: {float(question['cap_msu']):g} MSU are {most:.4g} engines, a cap at every moment; a defined "
            "capacity applies only when the rolling four-hour average (R4HA) reaches it"
        )
        machine = replace(machine, cap_engines=most)
    return machine


def _names(value: Any) -> list[str]:
    return [name.strip() for name in str(value).split(",") if name.strip()]


def named_system(systems: Mapping[str, SystemParameters], name: str) -> SystemParameters | None:
    """A system by its id, its SMF identifier or the name of its LPAR; None where there is none, or are several."""
    wanted = name.casefold()
    same = [
        parameters
        for one, parameters in systems.items()
        if wanted in (one.casefold(), parameters.smf_sid.casefold())
        or wanted == (parameters.machine.lpar.casefold() if parameters.machine else "")
    ]
    return same[0] if len(same) == 1 else None
