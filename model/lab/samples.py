"""Totals divided without loss, and whole-number samples and levels whose statistics are the published ones.

A sample is built in ticks (the resolution of the clock or counter that took it). A shape with a longer and longer tail
is scaled to the mean and the deviation asked for until it fits between the extremes; what rounding to ticks changed is
mended by moving single ticks.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from model.lab.errors import LabError
from model.lab.records.interface import Target


def split(total: int, weights: npt.ArrayLike) -> list[int]:
    """Integers proportional to `weights` that add up to `total` exactly (largest remainder; ties to the earlier part).

    Raises ValueError for a negative total, a negative weight, or weights that are all zero.
    """
    shares = np.asarray(weights, dtype=float).tolist()
    if total < 0 or not shares or min(shares) < 0 or sum(shares) <= 0:
        raise ValueError(f"cannot divide {total} by weights {shares}")
    scale = total / sum(shares)
    quotas = [share * scale for share in shares]
    parts = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(parts)), key=lambda i: (parts[i] - quotas[i], i))
    # What is missing is less than one each, unless the total has more digits than a float.
    each, missing = divmod(total - sum(parts), len(parts))
    for rank, index in enumerate(by_remainder):
        parts[index] += each + (rank < missing)
    return parts


def around_one(random: np.random.Generator, count: int, deviation: float) -> np.ndarray:
    """`count` factors with mean 1 and about the given relative standard deviation, none beyond three of them."""
    factors = 1 + deviation * np.clip(random.standard_normal(count), -3, 3)
    return factors / factors.mean()


def below(factors: np.ndarray, level: float, ceiling: float) -> np.ndarray:
    """`factors` drawn towards 1 as far as `level` times the largest needs to stay under `ceiling`."""
    largest = float(factors.max()) - 1
    room = ceiling / level - 1
    if largest <= room:
        return factors
    return 1 + (factors - 1) * max(0.0, room) / largest


Ticks = npt.NDArray[np.int64]

TAILS = (0.05, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.3, 2.6, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
CAPPED = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
STEPS = 4000
NEARLY = 1e-9
MOST = 9.0


@dataclass(frozen=True, slots=True)
class Moments:
    """What a sample has to show, in ticks: size, sum, and squared deviations from the mean, between two extremes.

    Both extremes are attained. `above` limits how many values may exceed `limit`.
    """

    size: int
    total: int
    squares: float
    low: int
    high: int
    limit: float = math.inf
    above: int = 0


def spread_total(random: np.random.Generator, total: int, count: int, deviation: float = 0.02) -> list[int]:
    """`count` whole numbers of about the same size that add up to `total`."""
    return split(total, around_one(random, count, deviation)) if total else [0] * count


def peaking_at(random: np.random.Generator, peak: float, count: int, deviation: float = 0.02) -> list[float]:
    """`count` values of which the largest, at a random place, is `peak`."""
    values = [peak * (1 - min(abs(deviation * random.standard_normal()), 0.5)) for _ in range(count)]
    values[int(random.integers(count))] = peak
    return values


def sample(random: np.random.Generator, wanted: Moments, tolerance: float) -> Ticks:
    """A sorted sample with the moments asked for, `squares` to within `tolerance`.

    Raises LabError when no such sample exists, or none of the shapes tried fits.
    """
    free = wanted.size - 2
    mean = wanted.total / wanted.size
    rest_total = wanted.total - wanted.low - wanted.high
    rest_squares = wanted.squares - (wanted.low - mean) ** 2 - (wanted.high - mean) ** 2
    if free < 1:
        return np.array(sorted((wanted.low, wanted.high))[: wanted.size], np.int64)
    centre = rest_total / free
    around = rest_squares - free * (centre - mean) ** 2
    if around < -NEARLY * max(wanted.squares, 1.0) - tolerance or not wanted.low <= centre <= wanted.high:
        raise LabError(f"no sample has these moments: {wanted}")
    for tail, capped in product(TAILS, CAPPED):
        values = _shaped(free, tail, capped, centre, math.sqrt(max(around, 0.0) / free), wanted)
        if values is None or int((values > wanted.limit).sum()) > wanted.above:
            continue
        whole = mend(random, np.rint(values).astype(np.int64), rest_total, wanted.low, wanted.high)
        whole = tune(random, whole, mean, rest_squares, wanted.low, wanted.high, tolerance)
        if abs(squares(whole, mean) - rest_squares) <= tolerance:
            return np.sort(np.concatenate([whole, np.array([wanted.low, wanted.high], np.int64)]))
    raise LabError(f"no shape tried fits a sample with these moments: {wanted}")


def squares(values: npt.ArrayLike, mean: float) -> float:
    """Sum of the squared deviations from a mean."""
    return float(((np.asarray(values, float) - mean) ** 2).sum())


def with_median(random: np.random.Generator, wanted: Moments, median: tuple[int, int], tolerance: float) -> Ticks:
    """A sorted sample with the moments asked for and the two given values (the same twice, where odd) in its middle.

    Below and above the median the values follow powers of their rank, whose exponents are found by bisection.
    Raises LabError when no such sample exists.
    """
    half = (wanted.size - 1) // 2 if median[0] == median[1] and wanted.size % 2 else wanted.size // 2 - 1
    middle = [median[0]] if wanted.size % 2 else list(median)
    if half < 1 or (wanted.size % 2 and median[0] != median[1]):
        raise LabError(f"no sample of {wanted.size} has its median between {median[0]} and {median[1]}")
    fixed = np.array([wanted.low, *middle, wanted.high], np.int64)
    mean = wanted.total / wanted.size
    rest_total, rest_squares = wanted.total - int(fixed.sum()), wanted.squares - squares(fixed, mean)
    low = np.repeat([wanted.low, median[-1]], half - 1)
    high = np.repeat([median[0], wanted.high], half - 1)
    below, above = MOST, -MOST
    values = np.zeros(2 * (half - 1))
    for _ in range(60):
        exponent = (below + above) / 2
        values = _around_median(low, high, exponent, rest_total)
        if squares(values, mean) > rest_squares:
            below = exponent
        else:
            above = exponent
    whole = mend(random, np.rint(values).astype(np.int64), rest_total, low, high)
    whole = tune(random, whole, mean, rest_squares, low, high, tolerance)
    if abs(squares(whole, mean) - rest_squares) > tolerance:
        raise LabError(f"no sample with median {median} has these moments: {wanted}")
    return np.sort(np.concatenate([whole, fixed]))


def _around_median(low: Ticks, high: Ticks, exponent: float, total: int) -> npt.NDArray[np.float64]:
    """Values between their bounds: below the median by a power of the rank, above it by the one that gives the sum."""
    half = len(low) // 2
    ranks = np.tile((np.arange(half) + 1.0) / (half + 1), 2)
    least, most = -MOST, MOST
    values = np.zeros(len(low))
    for _ in range(60):
        other = (least + most) / 2
        powers = np.repeat(np.exp([exponent, other]), half)
        values = low + (high - low) * ranks**powers
        if values.sum() > total:
            least = other
        else:
            most = other
    return values


def mend(random: np.random.Generator, values: Ticks, total: int, low: npt.ArrayLike, high: npt.ArrayLike) -> Ticks:
    """The values moved by single ticks, within their bounds, until they add up to `total`."""
    least, most = np.broadcast_to(low, values.shape), np.broadcast_to(high, values.shape)
    mended = np.clip(values, least, most)
    while (missing := total - int(mended.sum())) != 0:
        step = 1 if missing > 0 else -1
        room = np.flatnonzero(mended < most if step > 0 else mended > least)
        if not len(room):
            raise LabError(f"{len(values)} values within their bounds cannot add up to {total}")
        mended[random.permutation(room)[: abs(missing)]] += step
    return mended


def tune(
    random: np.random.Generator,
    values: Ticks,
    mean: float,
    wanted: float,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    tolerance: float,
) -> Ticks:
    """The values with ticks moved from one to another, which keeps their sum, until the squared deviations fit."""
    least, most = np.broadcast_to(low, values.shape), np.broadcast_to(high, values.shape)
    tuned = values.copy()
    for _ in range(STEPS):
        missing = wanted - squares(tuned, mean)
        if abs(missing) <= tolerance or len(tuned) < 2:
            break
        giver = int(random.integers(len(tuned)))
        receiver = int(np.abs(tuned - tuned[giver] - (missing / 2 - 1)).argmin())
        changed = tuned.copy()
        changed[receiver] += 1
        changed[giver] -= 1
        inside = changed[receiver] <= most[receiver] and changed[giver] >= least[giver] and receiver != giver
        if inside and abs(wanted - squares(changed, mean)) < abs(missing):
            tuned = changed
    return tuned


def _shaped(
    count: int, tail: float, capped: float, centre: float, deviation: float, wanted: Moments
) -> npt.NDArray[np.float64] | None:
    """Lognormal quantiles, the largest part `capped` to one value, scaled to a centre and a deviation.

    None where they leave the extremes.
    """
    # Listing what the lab can render must not load SciPy.
    from scipy.special import ndtri

    if deviation < 0.3:
        return np.full(count, centre)
    shape = np.exp(tail * ndtri((np.arange(count) + 0.5) / count))
    shape = np.minimum(shape, shape[count - 1 - int(capped * count)])
    scatter = float(shape.std())
    if scatter == 0.0:
        return None
    values = centre + (shape - shape.mean()) * deviation / scatter
    fits = values[0] >= wanted.low - 0.5 and values[-1] <= wanted.high + 0.5
    return np.clip(values, wanted.low, wanted.high) if fits else None


LEVEL_SPREAD = 0.02


class Level(NamedTuple):
    """One interval of a gauge."""

    mean: int
    low: int
    high: int


def levels(
    random: np.random.Generator, wanted: Mapping[str, Target], prefix: str, count: int, ticks: int = 1
) -> list[Level]:
    """`count` intervals in ticks; `wanted` has `<prefix>_min`, `<prefix>_max` and `<prefix>_avg`, or
    some of them. Both extremes are attained in one interval each. LabError when the mean does not lie between them.
    """
    by_end = {end: target.value * ticks for end in ("min", "avg", "max") if (target := wanted.get(f"{prefix}_{end}"))}
    low, high = (round(by_end.get(end, by_end.get("avg", next(iter(by_end.values()))))) for end in ("min", "max"))
    mean = by_end.get("avg", (low + high) / 2)
    if not low <= mean <= high:
        raise LabError(f"a mean of {mean} does not lie between {low} and {high}")
    total = round(mean * count)
    means = mend(random, np.array(split(total, around_one(random, count, LEVEL_SPREAD)), np.int64), total, low, high)
    lowest, highest = random.integers(count, size=2)
    return [
        Level(
            mean=int(means[i]),
            low=low if i == lowest else _between(random, low, int(means[i])),
            high=high if i == highest else _between(random, high, int(means[i])),
        )
        for i in range(count)
    ]


def _between(random: np.random.Generator, end: int, mean: int) -> int:
    """A whole number between a mean and an extreme, nearer to the mean."""
    return mean + round((end - mean) * float(random.uniform(0, 0.5)))
