"""How fast an engine is: service units a second by machine and number of engines, as the vendor's ratings say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.hardware.imported import machines_of
from model.hardware.machines import Machine, MachineError, machine, machines
from model.hardware.n_way import n_way_of

Rows = Sequence[Mapping[str, Any]]

# Assumed relative standard deviations: of a workload's own speed around the rating, which is a mean over workloads,
# and of a rating that is itself assumed.
WORKLOAD_SD, ASSUMED_SD = 0.05, 0.05


@dataclass(frozen=True)
class Speed:
    """Service units a second of one engine; ``sd`` is the standard deviation of its logarithm."""

    su_per_s: float
    sd: float
    source: str


def rated(imported: Rows = ()) -> tuple[str, ...]:
    """The machines whose speed is known, by id: those described here, and those of imported rows."""
    return (*(name for name in machines() if machine(name).service_rates), *(one.id for one in machines_of(imported)))


def engine_speed(name: str, engines: float, imported: Rows = ()) -> Speed:
    """Speed of one engine of a machine (``z14``, ``3906``) in an LPAR of so many.

    From the rating with the nearest number of engines, moved along the machine's n-way effect. Imported rows
    (``model.hardware.imported``) go before what is described here.

    Raises:
        MachineError: no rating of the machine is known.
    """
    found = _named(name, imported)
    nearest = min(found.service_rates, key=lambda rate: abs(math.log(rate.engines / engines)))
    effect, far = n_way_of(found), math.log(engines / nearest.engines)
    sd = math.hypot(WORKLOAD_SD, ASSUMED_SD if nearest.status == "assumed" else 0.0, effect.sd * far)
    source = f"{found.title}, {nearest.engines} engines: {nearest.status}, {nearest.source}"
    return Speed(nearest.su_per_s * math.exp(-effect.exponent * far), sd, source)


def identity(name: str, imported: Rows = ()) -> str:
    """What tells machines apart by any of their names: the id of the machine called so, or the name of one unknown."""
    try:
        return _named(name, imported).id
    except MachineError:
        return name.casefold()


def _named(name: str, imported: Rows) -> Machine:
    for known in (*machines_of(imported), *map(machine, machines())):
        if name.casefold() in (known.id.casefold(), known.machine_type.casefold()) and known.service_rates:
            return known
    raise MachineError(f"no rating of machine {name!r} is known; known: {', '.join(rated(imported))}")
