"""What solving a case gives: figures by key, and the network that the simulator can run to check them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from model.network import Network
from tests.cases.metrics import Metrics


@dataclass
class Check:
    """How to check an answer by simulation.

    ``network`` describes the case; ``metrics`` turns station figures of a run (queue and flow, (stations, classes))
    into the figures of the case.
    """

    network: Network
    metrics: Callable[[Any], Metrics]
    horizon: int = 400_000


@dataclass
class Answer:
    """Figures of a case. ``values`` by key of ``expected``; ``exact`` where theory gives them.

    ``untruncated`` are those a simulation is compared with, where the case's own are of a truncated state space.
    """

    metrics: Metrics | None = None
    untruncated: Metrics | None = None
    values: dict[str, Any] = field(default_factory=dict)
    exact: bool = True
    method: str = ""
    note: str = ""
    check: Check | None = None
    passes: Callable[[dict[str, Any]], bool] | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether there are no figures but those of the simulation."""
        return self.metrics is None and not self.values

    def pick(self, key: str, shape_of: Any) -> Any:
        """The figure a key asks for, or None."""
        if key in self.values:
            return self.values[key]
        return None if self.metrics is None else self.metrics.pick(key, shape_of)

    def to_simulate(self, key: str, shape_of: Any) -> Any:
        """The figure that a simulation should give, or None."""
        return self.pick(key, shape_of) if self.untruncated is None else self.untruncated.pick(key, shape_of)


def extras_only(values: dict[str, Any]) -> Metrics:
    """Figures by name alone."""
    empty = np.zeros((0, 0))
    return Metrics(empty, empty, empty, empty, np.zeros(0), [], [], extras=values)
