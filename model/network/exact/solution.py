"""The steady state of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from model.network.arrays import Arrays, Floats
from model.network.limits import Limit


class Figures(NamedTuple):
    """What a method computes: ``throughput`` (classes,); ``residence`` per transaction, ``busy`` engines and ``using``
    (the part of the residence that the work would take alone) (classes, stations); ``wait`` per transaction and units
    ``held`` (classes, resources). ``method`` names the algorithm."""

    throughput: Floats
    residence: Floats
    busy: Floats
    using: Floats
    wait: Floats
    held: Floats
    method: str

    @classmethod
    def without_waits(cls, net: Arrays, throughput: Floats, residence: Floats, busy: Floats, method: str) -> Figures:
        """Figures of a network whose resources have units for everybody: these are held as long as the residence at the
        stations inside takes."""
        wait = np.zeros_like(net.acquires)
        longer = np.divide(residence, net.demand, out=np.zeros_like(residence), where=net.demand > 0)
        holding = throughput[:, None] * np.einsum("rk,rik->ri", longer, net.inside) * net.largest
        return cls(throughput, residence, busy, net.work, wait, holding, method)


@dataclass(frozen=True)
class Solution:
    """Exact steady state of a network, in seconds and per second.

    Attributes
    ----------
    throughput_per_s, response_s, population : (classes,)
        Transactions that end per second, their mean time inside, and the mean number inside.
    utilisation, residence_s, service_s, queue_length : (classes, stations)
        Busy share of the servers (busy servers at a delay); time per transaction, the part of it that the work would
        take alone, and customers.
    wait_s, held : (classes, resources)
        Wait for a passive resource per transaction, and mean units in use.
    method : str
        The algorithm.
    limits
        Stations, machines and resources in the order in which they saturate.

    A class that more important users leave nothing has an infinite response and no throughput.
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
    limits: tuple[Limit, ...]

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
