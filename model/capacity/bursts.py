"""Transactions of a class that come in bursts: at one rate for some time, and then for some time not at all.

The engines are taken to see each as a load of its own, so that waits are means over both: with bursts much longer than
services, and until full engines are as if they had been empty before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.parts import Scenario

Array = NDArray[np.float64]


class Moment(NamedTuple):
    """A load of the engines and how long it lasts in s, (draws, 1), or None for good; usage by series and in all,
    (draws, loads)."""

    scenario: Scenario
    usage: Mapping[str, Array]
    busy: Array
    lasting_s: Array | None


@dataclass(frozen=True)
class Bursts:
    """A stream, by number, whose transactions come for the part ``on`` of the time, in bursts that last ``lasting_s``
    on average, both (draws,)."""

    stream: int
    on: Array
    lasting_s: Array

    def scenarios(self, scenario: Scenario) -> tuple[Scenario, Scenario]:
        """The scenario while a burst lasts and between two of them."""
        shape = (len(self.on), *scenario.rates.shape[1:])
        burst, between = (np.array(np.broadcast_to(scenario.rates, shape)) for _ in range(2))
        burst[:, :, self.stream] /= self.on[:, None]
        between[:, :, self.stream] = 0.0
        return replace(scenario, rates=burst), replace(scenario, rates=between)

    def parts(self, stream: int | None) -> tuple[Array, Array]:
        """Parts of a stream's transactions that come while a burst lasts and between two of them, each (draws, 1)."""
        on = np.ones_like(self.on) if stream == self.stream else self.on
        return on[:, None], 1.0 - on[:, None]
