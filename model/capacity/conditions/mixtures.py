"""What is believed of one value: a mixture of normal or log-normal distributions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DRAWS = 100
MOST_AWAY = 1.5
CLOSE, LEAST_SD = 1e-9, 1e-300
"""Quantiles are found within this share of the range of the belief (Newton's method, by halves where that is slower;
Press and others 2007, *Numerical Recipes*, 9.4); a part of a smaller standard deviation is one value."""
ROUNDING = 1e-12
FARTHEST = 37.0
"""Standard deviations beyond which a normal distribution has no tail left."""
MIDDLE: Array = np.array([0.5])
LEAST_INSIDE = 1e-4
"""Chance of a value between two ends, from which on a belief says where."""
KEPT_WEIGHT = 1e-3
_SHARES: Array = (np.arange(DRAWS) + 0.5) / DRAWS
_INVERSE: Array = np.array([NormalDist().inv_cdf(share) for share in _SHARES])


def student(degrees: float) -> float:
    """How many times as far as the normal 90 % limits those are that rest on so few degrees of freedom (Student)."""
    # Loaded where it is needed: processes that evaluate start in less time without it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.95)) / NormalDist().inv_cdf(0.95)


@dataclass(frozen=True)
class Belief:
    """Weights, means and standard deviations of the parts, shapes (parts,): of the value, or of its logarithm.

    A logarithmic belief may be of a part of a time (`rest` is the other part), or of a rate whose time it is
    (`population` over the time). It is known that the value is not below `least` and not above `most`.
    """

    weight: Array
    mean: Array
    sd: Array
    logarithmic: bool = False
    rest: float = 0.0
    population: float | None = None
    least: float = -math.inf
    most: float = math.inf

    @classmethod
    def of(cls, mean: float, sd: float) -> "Belief":
        """One distribution: log-normal above zero, else normal."""
        if mean > 0:
            return cls(np.ones(1), np.array([np.log(mean)]), np.array([sd / mean]), True)
        return cls(np.ones(1), np.array([mean]), np.array([sd]))

    @classmethod
    def perhaps(cls, chance: float, values: Sequence[float]) -> "Belief":
        """Zero, but with a chance one of some values, which are as likely as each other."""
        weight = np.array([1.0 - chance, *(chance / len(values) for _ in values)])
        return cls(weight, np.array([0.0, *values]), np.zeros(len(values) + 1))

    def widened(self, factor: float) -> "Belief":
        """The same with distances from its median `factor` times as large, those of logarithms at most `MOST_AWAY`."""
        middle, most = self._quantiles(MIDDLE)[0], MOST_AWAY if self.logarithmic else np.inf
        away = np.clip(factor * (self.mean - middle), -most, most)
        wider = replace(self, mean=middle + away, sd=np.minimum(factor * self.sd, most))
        if factor * max(np.abs(self.mean - middle).max(), self.sd.max()) <= most:
            return wider
        return replace(wider, mean=wider.mean + middle - wider._quantiles(MIDDLE)[0])

    def scaled(self, factor: float, relative_sd: float) -> "Belief":
        """Multiplied by a factor above zero, known to a relative standard deviation."""
        if self.population is not None:
            return replace(self, population=self.population * factor, sd=np.hypot(self.sd, relative_sd))
        if self.logarithmic:
            return replace(self, mean=self.mean + np.log(factor), sd=np.hypot(self.sd, relative_sd))
        return replace(self, mean=self.mean * factor, sd=np.hypot(self.sd, self.mean * relative_sd) * factor)

    def times(self, factor: "Belief") -> "Belief":
        """The product with a factor above zero of which is believed something else: a logarithmic belief."""
        if not self.logarithmic:
            return self.scaled(factor.median(), factor.relative_sd())
        weight = np.multiply.outer(self.weight, factor.weight).ravel()
        mean, sd = np.add.outer(self.mean, factor.mean).ravel(), np.hypot.outer(self.sd, factor.sd).ravel()
        return replace(self, weight=weight, mean=mean, sd=sd).of_likely_parts()

    def of_likely_parts(self) -> "Belief":
        """The belief without parts that hardly weigh anything."""
        kept = self.weight > KEPT_WEIGHT * self.weight.max()
        return replace(self, weight=self.weight[kept], mean=self.mean[kept], sd=self.sd[kept])

    def of_population(self, population: float, rest: float) -> "Belief":
        """The rate at which a population passes a cycle of which this is a part, and `rest` the other."""
        return replace(self, population=population, rest=rest)

    def bounded(self, least: float, most: float) -> "Belief":
        """The same where it is known that the value lies between two ends."""
        return replace(self, least=least, most=most)

    def of_value(self) -> "Belief":
        """The belief with parts of the value itself, to be mixed with those of other values; without ends."""
        free = self.bounded(-math.inf, math.inf)
        if not self.logarithmic or (self.population is None and self.rest == 0.0):
            return free
        lower, middle, upper = (np.log(free._values(self.mean + side * self.sd)) for side in (-1.0, 0.0, 1.0))
        return Belief(self.weight, middle, np.abs(upper - lower) / 2.0, True)

    def draws(self, seed: int) -> Array:
        """`DRAWS` values in random order, which are quantiles at even steps."""
        return np.random.default_rng(seed).permutation(self._at(_SHARES, self._roughly))

    def quantiles(self, *shares: float) -> tuple[float, ...]:
        """The values below which these shares of the belief lie.

        That a value lies between two ends makes nothing surer than the ends do: no quantile is nearer to the median
        than without them.
        """
        return tuple(self._at(np.array(shares), self._quantiles).tolist())

    def median(self) -> float:
        """The middle value."""
        return self.quantiles(0.5)[0]

    def reach(self) -> float:
        """Half the width of the middle 90 % of the logarithm; 0 at zero."""
        low, high = self.quantiles(0.05, 0.95)
        return math.log(high / low) / 2.0 if low > 0.0 else 0.0

    def relative_sd(self) -> float:
        """Half the width of the middle 68 %, relative to the median; 0 at zero."""
        low, middle, high = self.quantiles(0.16, 0.5, 0.84)
        return (high - low) / 2.0 / abs(middle) if middle else 0.0

    def log_sd(self) -> float:
        """The standard deviation of the logarithm, of a logarithmic belief: far-off parts count more than they do in
        the middle 68 %."""
        weight = self.weight / self.weight.sum()
        return math.sqrt(weight @ (self.sd**2 + (self.mean - weight @ self.mean) ** 2))

    def _values(self, found: Array) -> Array:
        if self.logarithmic:
            times = self.rest + np.exp(found)
            found = times if self.population is None else self.population / times
        return np.asarray(found, dtype=np.float64)

    def _at(self, shares: Array, quantiles: Callable[[Array], Array]) -> Array:
        """Quantiles of the value, by those of its parts; the nearest end where next to nothing is between the ends."""

        def free(shares: Array) -> Array:
            found = self._values(quantiles(shares if self.population is None else 1.0 - shares))
            return np.clip(found, self.least, self.most)

        if math.isinf(self.least) and math.isinf(self.most):
            return free(shares)
        under, over = self._below(self.least), self._below(self.most)
        inside = free(under + shares * (over - under) if over - under >= LEAST_INSIDE else shares)
        farther = np.where(shares < 0.5, np.minimum(free(shares), inside), np.maximum(free(shares), inside))
        return np.where(shares == 0.5, inside, farther)

    def _below(self, value: float) -> float:
        """The chance of less than a value, whatever is known of its ends."""
        if math.isinf(value):
            return float(value > 0)
        time = value if self.population is None else self.population / value if value > 0 else math.inf
        if self.logarithmic:
            time = math.log(time - self.rest) if time > self.rest else -math.inf
        below = float(_normal_cdf((time - self.mean) / np.maximum(self.sd, LEAST_SD)) @ self.weight / self.weight.sum())
        return below if self.population is None else 1.0 - below

    def _roughly(self, shares: Array) -> Array:
        """Quantiles of the parts by `DRAWS` points of each."""
        points = (self.mean[:, None] + self.sd[:, None] * _INVERSE).ravel()
        order = np.argsort(points)
        below = np.cumsum(np.repeat(self.weight / self.weight.sum() / DRAWS, DRAWS)[order])
        return np.asarray(points[order][np.searchsorted(below, shares)], dtype=np.float64)

    def _quantiles(self, shares: Array) -> Array:
        wanted = shares * self.weight.sum()
        if not self.sd.any():
            order = np.argsort(self.mean)
            found = np.searchsorted(np.cumsum(self.weight[order]), wanted * (1.0 - ROUNDING))
            return np.asarray(self.mean[order][np.minimum(found, len(order) - 1)], dtype=np.float64)
        low = np.full(len(shares), (self.mean - 6.0 * self.sd).min())
        high = np.full(len(shares), (self.mean + 6.0 * self.sd).max())
        order, near = np.argsort(self.mean), CLOSE * (high - low)
        first = np.searchsorted(np.cumsum(self.weight[order]), wanted)
        place, step = self.mean[order][np.minimum(first, len(order) - 1)], high - low
        sd = np.maximum(self.sd, LEAST_SD)
        heights = np.where(self.sd > 0.0, self.weight / sd, 0.0)
        while (going := step > near).any():
            z = (place[:, None] - self.mean) / sd
            missing = wanted - _normal_cdf(z) @ self.weight
            low, high = np.where(missing > 0.0, place, low), np.where(missing > 0.0, high, place)
            newton = place + missing / np.maximum(_normal_density(z) @ heights, LEAST_SD)
            faster = (low <= newton) & (newton <= high) & (np.abs(newton - place) <= step / 2.0)
            step = np.where(going, np.where(faster, np.abs(newton - place), (high - low) / 2.0), step)
            place = np.where(going, np.where(faster, newton, (low + high) / 2.0), place)
        return np.asarray(place, dtype=np.float64)


def sample_quantiles(values: Array | Sequence[float], *shares: float) -> list[float]:
    """Quantiles of a sample as `np.quantile` has them, which loads masked arrays for it: a tenth of a command."""
    ordered = np.sort(values)
    return list(np.interp(np.array(shares) * (len(ordered) - 1), np.arange(len(ordered)), ordered).tolist())


def _normal_cdf(z: Array) -> Array:
    """Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.2.17; error below 7.5e-8."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(z))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = _normal_density(z) * poly
    return np.where(z > 0, 1.0 - tail, tail)


def _normal_density(z: Array) -> Array:
    z = np.clip(z, -FARTHEST, FARTHEST)
    return np.asarray(np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi), dtype=np.float64)
