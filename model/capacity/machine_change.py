"""A system on another machine: what a transaction costs there, by the ratings of both, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.cache import cached
from model.capacity.evaluation import System
from model.capacity.parameters import SystemParameters
from model.capacity.state import Scenario
from model.capacity.values import QuestionError
from model.hardware.ratings import RatedMachine, Speed, identity, most_engines, rated, rated_machine

Array = NDArray[np.float64]

FEWEST_DIGITS = 4
"""Least length of the end of a name by which a CPC is meant."""


@dataclass(frozen=True)
class Destination:
    """A machine to move to: the key that names it, its machine type or id, and the speed of one of so many engines."""

    key: str
    machine: str
    speed: Callable[[float], Speed]


def destination(system: System, question: Mapping[str, Any]) -> Destination | None:
    """The machine that a question moves the LPAR to; None for the one measured on, or one of its type.

    Raises:
        QuestionError: the machine is unknown, or the rating of either is.
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

    Raises:
        QuestionError: the rating of either machine is not known.
    """
    target, here = there.speed(scenario.engines), speed_of(system, system.parameters, there.key)
    sd = math.hypot(target.sd, here.sd)
    factor = here.su_per_s / target.su_per_s
    cost = np.asarray(factor * np.exp(sd * system.deviates(1)), float)
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

    Raises:
        QuestionError: there is none; machines that there are, are named.
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
    own, rows = system.parameters.machine_type, imported(system)
    return bool(own) and identity(str(value), imported=rows) == identity(own, imported=rows)


def imported(system: System) -> Sequence[Mapping[str, Any]]:
    """Rows of the ratings that the installation imported."""
    return system.parameters.machine_ratings


def speed_of(system: System, parameters: SystemParameters, key: str, engines: float | None = None) -> Speed:
    """Speed of the engines of a system of the installation: the rating in its records, else of its machine's table;
    of another number of engines as the table has it.

    Raises:
        QuestionError: there is neither.
    """
    name, count = parameters.machine_type, parameters.engines
    machine = rated_machine(name, imported(system)) if name else None
    own = parameters.service_units_per_s
    if own:
        moved = machine.su_per_s(engines) / machine.su_per_s(count) if machine and engines else 1.0
        return Speed(own * moved, 0.0, "the rating in its own records")
    if machine is None:
        text = f"{key}: {name or 'the machine measured on'} has no rating, neither in its records nor in a table"
        raise QuestionError(key, name, f"{text}; add it to machines.csv, see `etalon machines`")
    return machine.speed(engines or count)
