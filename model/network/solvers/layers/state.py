"""What the layers pass to each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.network.solvers.arrays import Floats
from model.network.solvers.reduction import Reduced, unhindered


@dataclass
class LayerState:
    """Figures of the last round; (classes,), (classes, stations) or (classes, resources).

    ``facility`` is the time of a visit, ``hold`` that for which requests hold an engine besides its own work,
    ``blocked`` that for which a full station holds up a server, ``waited_before`` the same time by that station,
    ``saving`` the time that branches run side by side, ``uneven`` what arrivals that are not Poisson add. ``hindered``
    is how much of what those at a station on average would delay a visit does delay it, ``unlimited`` the residence
    without limits, ``alike`` (stations,) whether all classes wait alike. ``asked`` is what the stations were asked for,
    ``visits`` times, where a residence is known that; ``curves`` (customers,) what each of the others can do.
    ``tried`` (classes,) are transactions a second with those that a full station turns away, ``reached`` the part of
    them that is not turned away before it comes to a station. ``denied`` (classes,) is time for which requests hold
    engines on which their queue is said to be shorter.
    """

    throughput: Floats
    residence: Floats
    uneven: Floats
    busy: Floats
    using: Floats
    facility: Floats
    hold: Floats
    blocked: Floats
    waited_before: Floats
    saving: Floats
    wait: Floats
    held: Floats
    hindered: Floats
    unlimited: Floats
    alike: NDArray[np.bool_]
    asked: Floats
    visits: Floats
    curves: dict[int, Floats]
    tried: Floats
    reached: Floats
    denied: Floats

    @classmethod
    def of(cls, net: Reduced) -> LayerState:
        """Before the first round: nobody waits."""
        classes, stations = net.demand.shape
        resources = len(net.network.resources)
        guess = unhindered(net)
        return cls(
            throughput=guess,
            residence=net.demand.copy(),
            uneven=np.zeros((classes, stations)),
            busy=guess[:, None] * net.demand,
            using=net.demand.copy(),
            facility=np.nan_to_num(net.service),
            hold=np.zeros((classes, stations)),
            blocked=np.zeros((classes, stations)),
            waited_before=np.zeros((classes, stations)),
            saving=np.zeros(classes),
            wait=np.zeros((classes, resources)),
            held=np.zeros((classes, resources)),
            hindered=np.ones((classes, stations)),
            unlimited=net.demand.copy(),
            alike=np.ones(stations, dtype=bool),
            asked=net.demand.copy(),
            visits=net.visits,
            curves={},
            tried=guess.copy(),
            reached=np.ones((classes, stations)),
            denied=np.zeros(classes),
        )

    def response(self) -> Floats:
        """(classes,) time of a transaction, without thinking."""
        return self.residence.sum(axis=1) + self.wait.sum(axis=1) - self.saving

    def stretch(self, net: Reduced) -> Floats:
        """(classes, stations) residence per second of demand, 0 where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num(np.where(net.demand > 0, self.residence / net.demand, 0.0), posinf=1e9)
