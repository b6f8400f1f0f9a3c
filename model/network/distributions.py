"""Distributions of service, think and inter-arrival times, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["exponential", "deterministic", "erlang", "hyperexponential", "lognormal", "empirical", "quantiles"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of non-negative times (seconds) or counts.

    What ``values``, ``weights`` and ``shape`` hold depends on ``kind``; use the class methods, which name them.
    ``offset`` is added to every draw: a part that does not vary.
    """

    kind: Kind
    values: tuple[float, ...]
    weights: tuple[float, ...] = ()
    shape: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown distribution {self.kind!r}; known: {', '.join(KINDS)}")
        if not math.isfinite(self.offset) or self.offset < 0:
            raise ValueError(f"the fixed part of a distribution must be zero or more, got {self.offset}")
        if not self.values:
            raise ValueError(f"{self.kind} needs at least one value")
        if any(not math.isfinite(v) or v < 0 for v in self.values):
            raise ValueError(f"{self.kind}: times must be zero or more, got {', '.join(map(str, self.values[:5]))}")
        if self.kind in ("hyperexponential", "empirical"):
            if len(self.weights) != len(self.values):
                raise ValueError(f"{self.kind}: {len(self.values)} values but {len(self.weights)} weights")
            if any(w < 0 for w in self.weights) or not math.isclose(sum(self.weights), 1.0, abs_tol=1e-9):
                raise ValueError(f"{self.kind}: weights must be non-negative and add up to 1")
        if self.kind == "erlang" and (self.shape < 1 or self.shape != int(self.shape)):
            raise ValueError(f"erlang: phases must be a whole number of at least 1, got {self.shape}")
        if self.kind == "lognormal" and self.shape <= 0:
            raise ValueError(f"lognormal: the squared coefficient of variation must be positive, got {self.shape}")
        if self.kind == "quantiles" and (len(self.values) < 2 or list(self.values) != sorted(self.values)):
            raise ValueError("quantiles: at least two values, ascending, at equally spaced probabilities from 0 to 1")

    @classmethod
    def exponential(cls, mean: float) -> Distribution:
        """Exponential with the given mean."""
        return cls("exponential", (mean,))

    @classmethod
    def deterministic(cls, value: float) -> Distribution:
        """Always the same value."""
        return cls("deterministic", (value,))

    @classmethod
    def erlang(cls, mean: float, phases: int) -> Distribution:
        """Sum of ``phases`` equal exponentials with the given total mean (squared variation 1/phases)."""
        return cls("erlang", (mean,), (), float(phases))

    @classmethod
    def hyperexponential(cls, means: tuple[float, ...], probabilities: tuple[float, ...]) -> Distribution:
        """Exponential of mean ``means[i]`` with probability ``probabilities[i]``."""
        return cls("hyperexponential", tuple(means), tuple(probabilities))

    @classmethod
    def lognormal(cls, mean: float, scv: float) -> Distribution:
        """Log-normal with the given mean and squared coefficient of variation."""
        return cls("lognormal", (mean,), (), scv)

    @classmethod
    def empirical(cls, values: tuple[float, ...], weights: tuple[float, ...] | None = None) -> Distribution:
        """One of ``values``, drawn with ``weights`` (equal when left out)."""
        w = tuple(weights) if weights is not None else (1.0 / len(values),) * len(values)
        return cls("empirical", tuple(values), w)

    @classmethod
    def quantiles(cls, values: tuple[float, ...]) -> Distribution:
        """Continuous, linear between ``values`` taken as the quantiles 0, 1/(n-1), …, 1."""
        return cls("quantiles", tuple(values))

    @classmethod
    def with_scv(cls, mean: float, scv: float) -> Distribution:
        """A two-moment fit: deterministic, Erlang-like mixture, exponential or balanced-means hyper-exponential.

        Below one, the Erlang with the nearest number of phases is taken, so ``scv`` then becomes 1/phases.
        """
        if scv < 0:
            raise ValueError(f"squared coefficient of variation must be zero or more, got {scv}")
        if scv < 1e-6:
            return cls.deterministic(mean)
        if scv < 1 - 1e-9:
            return cls.erlang(mean, max(1, round(1 / scv)))
        if scv <= 1 + 1e-9:
            return cls.exponential(mean)
        p = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2
        return cls.hyperexponential((mean / (2 * p), mean / (2 * (1 - p))), (p, 1 - p))

    @property
    def mean(self) -> float:
        """Expected value."""
        return self.offset + self._varying(1)

    @property
    def second_moment(self) -> float:
        """Expected square."""
        return self._varying(2) + self.offset * (2 * self._varying(1) + self.offset)

    def _varying(self, power: int) -> float:
        """Expected power of what varies beyond ``offset``."""
        m = self.values[0] ** power
        if self.kind == "exponential":
            return math.factorial(power) * m
        if self.kind == "deterministic":
            return m
        if self.kind == "erlang":
            return m * math.prod(1 + i / self.shape for i in range(power))
        if self.kind == "lognormal":
            return m * (1 + self.shape) ** (power * (power - 1) // 2)
        if self.kind in ("hyperexponential", "empirical"):
            each = math.factorial(power) if self.kind == "hyperexponential" else 1
            return math.fsum(each * v**power * w for v, w in zip(self.values, self.weights, strict=True))
        pairs = list(zip(self.values, self.values[1:], strict=False))
        powers = (math.fsum(a**i * b ** (power - i) for i in range(power + 1)) for a, b in pairs)
        return math.fsum(powers) / ((power + 1) * len(pairs))

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: variance over squared mean (0 for a mean of 0)."""
        mean = self.mean
        return max(0.0, self.second_moment / (mean * mean) - 1.0) if mean > 0 else 0.0

    def scaled(self, factor: float) -> Distribution:
        """The same shape with every time multiplied by ``factor``."""
        values = tuple(v * factor for v in self.values)
        return Distribution(self.kind, values, self.weights, self.shape, self.offset * factor)

    def shifted(self, by: float) -> Distribution:
        """The same with ``by`` added to every time."""
        return Distribution(self.kind, self.values, self.weights, self.shape, self.offset + by)
