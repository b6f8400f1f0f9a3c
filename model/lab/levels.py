"""Levels that go up and down: means, lowest and highest by interval, of a quantity known by its mean and extremes."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from model.lab.errors import LabError
from model.lab.samples import mend
from model.lab.split import around_one, split
from model.lab.writers.interface import Target

SPREAD = 0.02


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
    means = mend(random, np.array(split(total, around_one(random, count, SPREAD)), np.int64), total, low, high)
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
