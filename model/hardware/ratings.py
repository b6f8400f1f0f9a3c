"""How fast an engine is: service units a second by machine and number of engines.

An engine delivers less the more engines share its work: the n-way effect, which the vendor states as multiprocessing
factors. With factors f(n) of a machine and ratings s_i listed for n_i engines, an engine of n delivers

    log s(n) = log f(n) + interpolation of (log s_i - log f(n_i)) at log n between the log n_i

so that every listed number is exact. Where the factors of a machine are not published, those of the z13 stand in.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.hardware.machines import Machine, MachineError, NWayFactors, machine, machines

Rows = Sequence[Mapping[str, Any]]

STAND_IN = "z13"
"""The machine whose n-way factors stand in for those that are not published: at 76 engines of a z14, of which an MSU
rating is published, they agree within 0.3 %."""
WORKLOAD_SD = 0.05
"""Assumed relative standard deviation of a workload's speed around the rating, which is a mean over workloads."""
CONFIDENCE_SD = {"high": 0.0, "medium": 0.02, "low": 0.05}
"""Assumed relative standard deviation of a rating by its confidence."""
STAND_IN_SD = 0.02
"""Standard deviation of the logarithm of an n-way ratio, for each e-fold of engines, of factors that stand in: those of
z196 and z13, and those of reduced capacity of z13 and z15, differ by so much."""
N_WAY_SD = 0.06
"""Assumed standard deviation of a workload's n-way effect around the rated one, an exponent of the ratio of engines."""


@dataclass(frozen=True)
class Speed:
    """Service units a second of one engine; ``sd`` is the standard deviation of its logarithm."""

    su_per_s: float
    sd: float
    source: str


@dataclass(frozen=True, slots=True)
class Rating:
    """Service units a second of one engine of an LPAR that has so many."""

    engines: int
    su_per_s: float
    source: str
    confidence: str


@dataclass(frozen=True)
class RatedMachine:
    """A machine with what is rated of it: ``ratings`` ascending by engines, ``n_way`` its factors or the stand-in's."""

    id: str
    title: str
    machine_type: str
    ratings: tuple[Rating, ...]
    n_way: NWayFactors
    stands_in: bool

    def speed(self, engines: float) -> Speed:
        """Speed of one of so many engines."""
        nearest = min(self.ratings, key=lambda rating: abs(math.log(rating.engines / engines)))
        far = abs(math.log(engines / nearest.engines))
        guessed = STAND_IN_SD * far if self.stands_in else 0.0
        sd = math.hypot(WORKLOAD_SD, CONFIDENCE_SD[nearest.confidence], guessed)
        source = f"{self.title}, {nearest.engines} engine{'s' if nearest.engines > 1 else ''}: {nearest.source}"
        if far:
            source += f"; n-way factors: {self.n_way.source}"
        return Speed(self.su_per_s(engines), sd, source)

    def su_per_s(self, engines: float) -> float:
        """Service units a second of one of so many engines, see the formula of the module."""
        at = [math.log(rating.engines) for rating in self.ratings]
        offsets = [math.log(rating.su_per_s) - _log_factor(self.n_way, rating.engines) for rating in self.ratings]
        return math.exp(_log_factor(self.n_way, engines) + _interpolated(math.log(engines), at, offsets))


def _log_factor(n_way: NWayFactors, engines: float) -> float:
    """Logarithm of the multiprocessing factor; beyond the table as its last doubling goes on."""
    factors, most = n_way.factors, len(n_way.factors)
    if engines >= most:
        slope = math.log(factors[-1] / factors[most // 2 - 1]) / math.log(most / (most // 2))
        return math.log(factors[-1] / factors[0]) + slope * math.log(engines / most)
    low = max(int(engines), 1)
    part = math.log(max(engines, 1.0) / low) / math.log((low + 1) / low)
    return math.log(factors[low - 1] / factors[0]) + part * math.log(factors[low] / factors[low - 1])


def _interpolated(x: float, at: Sequence[float], values: Sequence[float]) -> float:
    """Linear interpolation, constant outside."""
    i = bisect_left(at, x)
    if i in (0, len(at)):
        return values[min(i, len(at) - 1)]
    return values[i - 1] + (x - at[i - 1]) / (at[i] - at[i - 1]) * (values[i] - values[i - 1])


def rated_machines(imported: Rows = ()) -> tuple[RatedMachine, ...]:
    """The machines described here, then those of imported rows alone.

    Rows (``model.hardware.imported``) of a machine described here take the place of its ratings.
    """
    rows: dict[str, list[Rating]] = {}
    for row in imported:
        one = Rating(row["engines"], row["su_per_s"], row["source"], row["confidence"])
        rows.setdefault(described_as(str(row["machine"])), []).append(one)
    described = [_rated(one, rows.pop(one.id, [])) for one in map(machine, machines())]
    stand_in = _stand_in()
    others = [RatedMachine(name, name, name, _ascending(some), stand_in, True) for name, some in rows.items()]
    return (*described, *others)


def described_as(name: str) -> str:
    """The id of the machine described here that is called so; the name where there is none."""
    for one in map(machine, machines()):
        if name.casefold() in (one.id.casefold(), one.machine_type.casefold()):
            return one.id
    return name


def _rated(one: Machine, imported: Sequence[Rating]) -> RatedMachine:
    own = Rating(1, one.rating.su_per_s, one.rating.source, one.rating.confidence)
    n_way = one.n_way or _stand_in()
    ratings = _ascending(imported or [own])
    return RatedMachine(one.id, one.title, one.machine_type, ratings, n_way, one.n_way is None)


def _ascending(ratings: Sequence[Rating]) -> tuple[Rating, ...]:
    """Ratings by number of engines; of several for one number the last."""
    return tuple(one for _, one in sorted({one.engines: one for one in ratings}.items()))


def _stand_in() -> NWayFactors:
    factors = machine(STAND_IN).n_way
    assert factors is not None
    return NWayFactors(factors.factors, f"those of the {STAND_IN} stand in", "medium")


def rated(imported: Rows = ()) -> tuple[str, ...]:
    """The machines whose speed is known, by id."""
    return tuple(one.id for one in rated_machines(imported))


def rated_machine(name: str, imported: Rows = ()) -> RatedMachine | None:
    """The machine with this id or type (``z14``, ``3906``); None where it has no rating."""
    for one in rated_machines(imported):
        if name.casefold() in (one.id.casefold(), one.machine_type.casefold()):
            return one
    return None


def most_engines(name: str) -> int | None:
    """The most engines that a machine described here can have; None where that is not published."""
    name = described_as(name)
    if name not in machines():
        return None
    return next((int(one.value) for one in machine(name).facts if one.attribute == "max_cores"), None)


def engine_speed(name: str, engines: float, imported: Rows = ()) -> Speed:
    """Speed of one engine of a machine (``z14``, ``3906``) in an LPAR of so many.

    Raises:
        MachineError: no rating of the machine is known.
    """
    if (one := rated_machine(name, imported)) is None:
        raise MachineError(f"no rating of machine {name!r} is known; known: {', '.join(rated(imported))}")
    return one.speed(engines)


def identity(name: str, imported: Rows = ()) -> str:
    """What tells machines apart by any of their names: the id of the machine called so, or the name of one unknown."""
    one = rated_machine(name, imported)
    return name.casefold() if one is None else one.id


def cpu_rate_adjustment(name: str, engines: int) -> int:
    """CPU rate adjustment of an LPAR with so many engines, as records have it: 1/16 us of an engine per service unit.

    Raises:
        MachineError: no rating of the machine is known.
    """
    return round(16_000_000 / engine_speed(name, engines).su_per_s)
