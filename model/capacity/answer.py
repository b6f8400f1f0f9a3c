"""What every capacity question is answered with: figures with intervals, what limits, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

INTERVAL_PCT = 90
PLAIN = {str, float, int, bool, type(None)}
Array = NDArray[np.float64]


@dataclass
class Estimate:
    """A value with its 90 % limits, in the unit of the value; None for what has no limit."""

    value: float | None
    lo: float | None
    hi: float | None

    @classmethod
    def of(cls, draws: Array) -> Estimate:
        """Value of draw 0 and quantiles over the others; shape (draws,)."""
        return cls.each(draws[:, None])[0]

    @classmethod
    def each(cls, draws: Array) -> list[Estimate]:
        """As :meth:`of` for every load; shape (draws, loads)."""
        return list(map(cls, *cls.limits(draws)))

    @staticmethod
    def limits(draws: Array) -> list[list[float | None]]:
        """Values, lower and upper limits of :meth:`each`."""
        drawn = np.array((draws[1:] if len(draws) > 1 else draws).T, order="C")
        drawn.sort(axis=1)
        most, centre = drawn.shape[1] - 1, draws[0]
        low, high = drawn[:, round(0.05 * most)], drawn[:, round(0.95 * most)]
        limits = np.stack([centre, np.minimum(low, centre), np.maximum(high, centre)])
        rows: list[list[float | None]] = limits.tolist()
        return rows if np.isfinite(limits).all() else [[plain(one) for one in row] for row in limits.tolist()]

    def moved(self, by: float) -> Estimate:
        """The estimate with all three figures moved, none below zero."""
        return Estimate(*(None if one is None else max(0.0, one + by) for one in (self.value, self.lo, self.hi)))

    def to_dict(self) -> dict[str, float | None]:
        """``value``, ``lo``, ``hi``."""
        return asdict(self)


@dataclass
class Output:
    """One figure: metric, condition (``key=value; ...``), value with limits, unit."""

    metric: str
    condition: str
    value: float | None
    lo: float | None
    hi: float | None
    unit: str


@dataclass
class Station:
    """A resource, how much of it is used, and the probability that it is the fullest."""

    resource: str
    utilization_pct: float | None
    lo: float | None
    hi: float | None
    probability: float = 0.0


@dataclass(frozen=True)
class Bottleneck:
    """The fullest resource, the next one, and all resources, fullest first."""

    resource: str
    utilization_pct: float | None
    lo: float | None
    hi: float | None
    probability: float
    next: Station | None = None
    stations: tuple[Station, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The answer to a question about one system at one load.

    ``at`` is the question as understood; ``extrapolated`` says whether it lies outside the data,
    ``distance`` how far: in e-folds, named by what is outside. ``times`` has using and waiting in ms by class and
    resource. ``recorded`` has, of a recorded load without a change, the recorded and the modelled busy and responses.
    """

    system: str
    at: Mapping[str, Any]
    model_version: str
    outputs: tuple[Output, ...]
    bottleneck: Bottleneck
    extrapolated: bool
    notes: tuple[str, ...]
    evidence: Mapping[str, Any]
    distance: Mapping[str, float] = field(default_factory=dict)
    times: Sequence[Mapping[str, Any]] = ()
    recorded: Sequence[Mapping[str, Any]] = ()
    solver: Mapping[str, Any] = field(default_factory=dict)
    interval_pct: int = INTERVAL_PCT

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return cast(dict[str, Any], as_plain(self))

    def output(self, metric: str, condition: str | None = None) -> Output | None:
        """The first figure of this metric (under a condition that contains the text); None where there is none."""
        for output in self.outputs:
            if output.metric == metric and (condition is None or condition in output.condition):
                return output
        return None


def plain(number: float) -> float | None:
    """A finite number, or None."""
    return float(number) if math.isfinite(number) else None


def as_plain(value: Any) -> Any:
    """Tuples as lists, dataclasses as dictionaries and NumPy numbers as Python's, all the way down."""
    if type(value) in PLAIN:
        return value
    if is_dataclass(value):
        return {name: as_plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value
