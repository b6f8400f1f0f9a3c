"""An LPAR among the others of its machine: what they use and leave it, and how full the machine is.

Arrays have the draws first and the loads second, ``(draws, loads)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.cache import cached
from model.capacity.parameters import Machine, SystemParameters
from model.capacity.state import Scenario
from model.queueing.lpar_share import Sharer, Sharing

Array = NDArray[np.float64]

# How far, relatively, what other LPARs take from moment to moment may be from that of pieces as long as the own.
MET = 0.3
# Others that are kept; a question is about one or two.
KEPT_BESIDE = 8


class Beside(NamedTuple):
    """The other LPARs as asked for, the sharing, and engines: what they use, what they leave the LPAR on average, and
    what its work that waits finds from moment to moment; each (draws, loads or 1)."""

    asked: Array | float
    sharing: Sharing | None
    used: Array
    available: Array
    met: Array


class Partition:
    """A system as a logical partition: its machine, if it has one, and the LPARs that it shares that with."""

    def __init__(self, parameters: SystemParameters) -> None:
        self.parameters, self.machine = parameters, parameters.machine
        self.noise = parameters.others_noise
        self.pieces = parameters.others_pieces[:, None]
        self._besides: dict[tuple[Any, ...], Beside] = {}

    def beside(self, scenario: Scenario) -> Beside:
        """What the other LPARs use and leave: about as recorded, under another weight if asked. Rates do not change it,
        so that the same others are looked at once."""
        key = id(scenario.others), scenario.cpc, scenario.engines
        known = self._besides.get(key)
        if known is not None and known.asked is scenario.others:
            return known
        sharing = self.sharing(scenario)
        used = np.asarray(scenario.others, float) * (1.0 + self.noise[:, None])
        left = met = np.array([[scenario.engines]])
        if sharing is not None:
            used = used if scenario.cpc is None else sharing.used(used)
            # A full LPAR always has work for what the others leave it.
            left, met = sharing.steadily_left(used), sharing.limit(used, MET * self.pieces)
        found = self._besides[key] = Beside(scenario.others, sharing, used, left, met)
        if len(self._besides) > KEPT_BESIDE:
            del self._besides[next(iter(self._besides))]
        return found

    def sharing(self, scenario: Scenario) -> Sharing | None:
        """The LPAR among the others of its machine; None where it shares none."""
        m = self.cpc(scenario)
        if m is None:
            return None
        return cached(self.parameters, ("sharing", m, scenario.engines), lambda: self._sharing(m, scenario))

    def cpc(self, scenario: Scenario) -> Machine | None:
        """The machine in a scenario; None where the LPAR shares none."""
        return scenario.cpc or self.machine

    def _sharing(self, m: Machine, scenario: Scenario) -> Sharing:
        """As :meth:`sharing`, where the machine is this one."""
        others = m.others or ((Sharer(m.engines, 1.0 - m.share),) if m.share < 1.0 else ())
        theirs = sum(one.weight for one in others)
        weight = max(m.share / (1.0 - m.share) * theirs, 1e-9) if m.share < 1.0 else 1.0
        most = scenario.engines if m.cap_engines is None else min(scenario.engines, m.cap_engines)
        return Sharing.of(m.engines, m.management, Sharer(most, weight, m.capped), others)

    def is_capped(self, scenario: Scenario) -> bool:
        """Whether the LPAR is held to its share by weight or to a number of engines."""
        m = self.cpc(scenario)
        assert m is not None
        return m.capped or (m.cap_engines is not None and m.cap_engines < scenario.engines)

    def available(self, scenario: Scenario) -> Array:
        """Engines the LPAR can get, (draws, loads): its own, or what the machine leaves it by weight and cap."""
        shape, got = (len(self.noise), scenario.rates.shape[1]), self.beside(scenario).available
        return got if got.shape == shape else np.full(shape, got)

    def busy(self, scenario: Scenario, busy: Array) -> Array | None:
        """Part of the machine in use beside so many engines of the LPAR, (draws, loads); None where it shares none."""
        m = self.cpc(scenario)
        if m is None:
            return None
        return np.asarray((busy + self.beside(scenario).used + m.management) / m.engines)

    def pool(self, scenario: Scenario, used: Array) -> Array:
        """Engines of a pool of its own in which the LPAR's work waits as long as on its machine, (draws, loads)."""
        beside = self.beside(scenario)
        if beside.sharing is None:
            return self.available(scenario)
        return beside.sharing.pool(used, beside.used, beside.met)
