"""What a solver answers about a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Limit(NamedTuple):
    """A station, machine or passive resource that would saturate.

    ``utilisation`` is that of the present rate. ``rate_per_s`` is the total rate, in the present mix, that it cannot
    exceed; for a resource, if whoever holds it waited for nothing else.
    """

    name: str
    kind: str
    utilisation: float
    rate_per_s: float


@dataclass(frozen=True)
class Solution:
    """Steady state of a network, in seconds and per second.

    Arrays follow the order of the network: ``throughput_per_s``, ``response_s`` and ``population`` (classes,);
    ``utilisation`` (busy share of the servers; busy servers at a delay), ``residence_s`` (per transaction, queueing
    included), ``service_s`` (the part of it that the work would take alone) and ``queue_length`` (classes, stations);
    ``wait_s`` and ``held`` (classes, resources): wait for each passive resource per transaction, and mean units in use.
    An engine held for a synchronous request is busy, but the request's residence is at the facility.

    ``exact`` says whether theory gives these figures exactly; otherwise ``known_error`` bounds the relative error of
    the response seen on networks of this kind (the median, and what more than 95 of 100 stay below), ``error_note``
    says where it comes from and ``approximated`` names what of the network is not exact. ``saturated`` names what an
    open class overloads: its responses are infinite.
    """

    network: str
    classes: tuple[str, ...]
    stations: tuple[str, ...]
    resources: tuple[str, ...]
    throughput_per_s: Floats
    response_s: Floats
    population: Floats
    utilisation: Floats
    residence_s: Floats
    service_s: Floats
    queue_length: Floats
    wait_s: Floats
    held: Floats
    method: str
    exact: bool
    known_error: tuple[float, float]
    error_note: str
    limits: tuple[Limit, ...]
    approximated: tuple[str, ...] = ()
    saturated: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def bottleneck(self) -> Limit | None:
        """What saturates first."""
        return self.limits[0] if self.limits else None

    @property
    def second_bottleneck(self) -> Limit | None:
        """What saturates next, once the first is relieved."""
        return self.limits[1] if len(self.limits) > 1 else None

    @property
    def station_utilisation(self) -> Floats:
        """(stations,) all classes together."""
        return np.asarray(self.utilisation.sum(axis=0))


def limits(
    names: list[tuple[str, str]], utilisation: Sequence[float], needed: Sequence[float], total_rate: float
) -> tuple[Limit, ...]:
    """Limits in the order in which they bind; unused ones are left out.

    ``needed`` is the utilisation without what the holders of a resource wait for elsewhere: a resource whose holders
    queue for a full engine is all in use, but more units of it would help nobody.
    """
    used = [
        Limit(name, kind, float(u), float(total_rate / n) if n > 0 else math.inf)
        for (name, kind), u, n in zip(names, utilisation, needed, strict=True)
        if u > 0
    ]
    return tuple(sorted(used, key=lambda limit: (limit.rate_per_s, -limit.utilisation)))
