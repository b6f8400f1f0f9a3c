"""Output analysis: warm-up, batch means, confidence intervals, percentiles of log-linear histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit

from model.network.simulator import layout as L
from model.network.simulator.tables import inlined


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the half-width of its confidence interval (NaN when it has none)."""

    value: float
    half_width: float = math.nan

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.half_width

    def scaled(self, factor: float) -> Estimate:
        """The estimate in another unit."""
        return Estimate(self.value * factor, self.half_width * factor)

    def over(self, bottom: Estimate) -> Estimate:
        """The ratio of two estimates, its interval as if they varied independently; NaN where either is zero."""
        if not bottom.value or not self.value:
            return Estimate(math.nan)
        value = self.value / bottom.value
        relative = math.hypot(self.half_width / self.value, bottom.half_width / bottom.value)
        return Estimate(value, abs(value) * relative)

    @classmethod
    def total(cls, estimates: Sequence[Estimate]) -> Estimate:
        """The sum of estimates that vary independently."""
        widths = [0.0 if math.isnan(one.half_width) else one.half_width for one in estimates]
        return cls(sum(one.value for one in estimates), math.hypot(*widths))


def mser5(series: np.ndarray) -> int:
    """Length of the warm-up by MSER-5 (White, Cobb and Spratt 2000), in observations.

    The series is averaged in fives; the truncation minimises the squared standard error of what is left. A minimum in
    the second half means the series is too short to tell: the whole length is given back.
    """
    n = len(series) // 5
    if n < 4:
        return len(series)
    y = series[: 5 * n].reshape(n, 5).mean(axis=1)[::-1]
    k = np.arange(1, n + 1)
    sums, squares = np.cumsum(y), np.cumsum(y * y)
    error = (squares - sums * sums / k) / (k * k)
    kept = k[1:]
    best = n - int(kept[np.argmin(error[1:])])
    return 5 * best if best <= n // 2 else len(series)


def ratio(numerator: np.ndarray, denominator: np.ndarray, level: float) -> Estimate:
    """Ratio of sums over independent groups with its jackknife Student-t interval.

    Arrays of shape (groups,); with fewer than two groups, or a zero denominator, there is no interval.
    """
    top, bottom = float(numerator.sum()), float(denominator.sum())
    if bottom == 0:
        return Estimate(math.nan)
    value = top / bottom
    n = len(numerator)
    rest = bottom - denominator
    if n < 2 or np.any(rest <= 0):
        return Estimate(value)
    pseudo = n * value - (n - 1) * (top - numerator) / rest
    error = float(np.std(pseudo, ddof=1)) / math.sqrt(n)
    return Estimate(value, error * student(level, n - 1))


def mean(values: np.ndarray, level: float) -> Estimate:
    """Mean of independent values with its Student-t interval."""
    n = len(values)
    if n < 2:
        return Estimate(float(values.mean()) if n else math.nan)
    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(float(values.mean()), error * student(level, n - 1))


def student(level: float, degrees: int) -> float:
    """Two-sided Student quantile."""
    return float(stdtrit(degrees, 0.5 + level / 2))


def bucket_edges() -> np.ndarray:
    """Edges of the histogram's buckets in seconds, shape (BUCKETS + 1,)."""
    octave = np.repeat(np.arange(L.OCTAVES), L.BUCKETS_PER_OCTAVE) + L.LOWEST_EXPONENT
    step = np.tile(np.arange(L.BUCKETS_PER_OCTAVE), L.OCTAVES) / L.BUCKETS_PER_OCTAVE
    edges = np.ldexp(1.0 + step, octave)
    edges[0] = 0.0
    return np.append(edges, math.ldexp(1.0, L.LOWEST_EXPONENT + L.OCTAVES))


def percentile(counts: np.ndarray, p: float) -> float:
    """The ``p``-th percentile (0–100) of a histogram, linear within a bucket (0.4 % wide); NaN when empty."""
    total = counts.sum()
    if total == 0:
        return math.nan
    below = np.cumsum(counts)
    wanted = total * p / 100
    at = int(np.searchsorted(below, wanted, side="left"))
    edges = bucket_edges()
    part = (wanted - (below[at] - counts[at])) / counts[at] if counts[at] else 1.0
    return float(edges[at] + (edges[at + 1] - edges[at]) * part)


def merge(batches: np.ndarray, groups: int) -> np.ndarray:
    """Sum consecutive batches, shape (n, …), into ``groups`` groups as equal as they can be."""
    edges = np.linspace(0, len(batches), groups + 1).round().astype(int)
    return np.stack([batches[a:b].sum(axis=0) for a, b in pairwise(edges)])


@inlined
def bucket_of(value, float_view, bits_view):
    """Bucket of a time in seconds; the views are of one number."""
    float_view[0] = value
    bucket = (bits_view[0] >> (52 - L.MANTISSA_BITS)) - ((1023 + L.LOWEST_EXPONENT) << L.MANTISSA_BITS)
    if bucket < 0:
        return 0
    return bucket if bucket < L.BUCKETS else L.BUCKETS - 1
