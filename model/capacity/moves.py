"""A system on another machine: what a transaction costs there, by the ratings of both, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from model.capacity.derived import derived
from model.capacity.ensemble import System
from model.capacity.parts import Scenario
from model.capacity.questions import QuestionError
from model.hardware.machines import MachineError
from model.hardware.ratings import RatedMachine, Speed, engine_speed, identity, rated, rated_machine

Array = NDArray[np.float64]


def moved(system: System, scenario: Scenario, value: Any, notes: list[str]) -> tuple[Scenario, Array]:
    """The scenario on the machine named, and what work costs there relative to the measured engines, (draws,).

    The other LPARs of the machine move with it.

    Raises:
        QuestionError: the rating of either machine is not known.
    """
    try:
        there = engine_speed(str(value), scenario.engines, imported=imported(system))
    except MachineError:
        text = f"machine: no rating of machine {value!r} is known"
        raise QuestionError("machine", value, text, rated(imported(system))) from None
    here = _here(system, value)
    sd = math.hypot(there.sd, here.sd)
    factor = here.su_per_s / there.su_per_s
    cost = np.asarray(factor * np.exp(sd * system.deviates(1)), float)
    others = np.asarray(scenario.others, float) * cost[:, None]
    notes.append(
        f"machine: an engine there does {100.0 / factor:.0f} % of the work of one here (standard deviation "
        f"{100 * sd:.0f} %, assumed), by ratings: there {there.source}; here {here.source}"
    )
    notes.append(
        "machine: as many physical engines as here; zIIPs and the machine's other LPARs move at the same ratio"
    )
    each = None if system.msu_per_engine is None else system.msu_per_engine / factor
    return replace(scenario, others=others, ziip_cost=cost, msu_per_engine=each, machine=str(value)), cost


def engine_cost(system: System, engines: float, machine_id: str = "") -> Array:
    """(draws,) cost per transaction on another number of engines, relative to the measured one: the ratio of ratings of
    the machine, without a name the one measured on, and how far that of a workload may be from it."""
    machine = rated_machine(machine_id, imported(system)) if machine_id else _rated_here(system)
    effect = system.entry["n_way"]["unrated" if machine is None else "rated"]
    exponent = np.append(effect["centre"], effect["draws"])
    ratio = 1.0 if machine is None else machine.su_per_s(system.engines) / machine.su_per_s(engines)
    return np.asarray(ratio * (engines / system.engines) ** exponent, float)


def n_way_source(system: System) -> str:
    """What the cost on another number of engines is from."""
    machine = _rated_here(system)
    if machine is None:
        return "no ratings of this machine are known, so its n-way effect is not in"
    instead = f"; {machine.n_way.source}" if machine.stands_in else ""
    return f"by the multiprocessing factors of the {machine.title}{instead}"


def _rated_here(system: System) -> RatedMachine | None:
    """The machine measured on, if it has a rating."""
    name, rows = str(system.entry.get("machine", "")), imported(system)
    return derived(system.entry, "rated machine", lambda: rated_machine(name, rows)) if name else None


def is_own(system: System, value: Any) -> bool:
    """Whether the machine named is the one measured on."""
    own, rows = str(system.entry.get("machine", "")), imported(system)
    return bool(own) and identity(str(value), imported=rows) == identity(own, imported=rows)


def imported(system: System) -> Sequence[Mapping[str, Any]]:
    """Rows of the ratings that the installation imported."""
    return cast(Sequence[Mapping[str, Any]], system.entry.get("machine_ratings", ()))


def _here(system: System, value: Any) -> Speed:
    """Speed of the measured engines: the rating in the records, else that of the machine's table."""
    if system.service_units_per_s:
        return Speed(system.service_units_per_s, 0.0, "the rating in its own records")
    known = str(system.entry["machine"])
    try:
        return engine_speed(known, system.engines, imported=imported(system))
    except MachineError:
        text = f"machine: {known or 'the machine measured on'} has no rating, neither in its records nor in a table"
        raise QuestionError("machine", value, text) from None
