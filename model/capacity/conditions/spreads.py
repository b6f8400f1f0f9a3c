"""What ratios of named levels say of one that is wanted, given how far such ratios spread and how alike they are."""

import math
from dataclasses import dataclass, replace

import numpy as np

from model.capacity.conditions.mixtures import Belief
from model.capacity.conditions.names import ALTERNATIVES, RELEASES
from model.capacity.conditions.tables import SYSTEM

GRID = np.geomspace(0.001, 4.0, 18)
"""Spreads that are integrated over; the prior is log-normal about the median."""
LOG_SPREAD_SD = 0.6
COMMON = (0.0, 0.05, 0.4, 0.7, 0.9, 0.98)
"""Shares of the variance that ratios of the same two levels may have in common across systems."""
NUGGET = 1e-4


@dataclass(frozen=True)
class Seen:
    """A ratio that was measured: its logarithm, and the value, kind and place that it starts from."""

    log: float
    value: float
    block: tuple[str, str]
    kind: str
    metric: str
    system: str
    labels: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Levels:
    """How alike ratios are between levels of a sort, before any is seen.

    `odds` are the prior odds of the shares `COMMON`; `within` is what ratios of one system have in common, of what they
    do not share with other systems; `other_metric` the likeness of ratios of two metrics of one sort. By `slope`
    spreads ln(ratio) may differ for each e-fold between values: an option changes a part of a value, so that what is
    larger for that part changes more (a link's share of a message's time).
    """

    odds: tuple[float, ...]
    within: float = 0.9
    other_metric: float = 0.8
    slope: float = 0.0

    def alike(self, one: Seen, other: Seen) -> tuple[float, float]:
        """How alike two ratios are, 1 for those of one cell: on any systems, and where they are of one system."""
        alike = self.other_metric
        if one.metric == other.metric:
            labels = max(len(one.labels), len(other.labels))
            place = len(one.labels & other.labels) / labels if labels else 1.0
            alike += (1.0 - self.other_metric) * (0.75 + 0.25 * place)
        return alike, alike if one.system == other.system else 0.0


# Releases count as equal unless ratios agree that they are not, options are there because they change something, and
# two systems with one workload, or two parts of a measurement, differ as they always do.
_OF_RELEASES = Levels((20.0, 1.0, 1.0, 1.0, 1.0, 1.0), within=0.3)
_OF_OPTIONS = Levels((1.0, 1.0, 1.0, 1.0, 4.0, 4.0), slope=3.0)
_OF_PARTS = Levels((0.0, 0.0, 0.0, 1.0, 4.0, 16.0))
_OF_SYSTEMS = replace(_OF_PARTS, other_metric=0.97)


def levels_of(key: str) -> Levels:
    """What is known of the levels of a condition, or of `system`."""
    if key in ALTERNATIVES:
        return _OF_RELEASES if key in RELEASES else _OF_OPTIONS
    return _OF_SYSTEMS if key == SYSTEM else _OF_PARTS


def posterior(mine: Seen, used: list[Seen], levels: Levels, prior: float, centre: float) -> Belief:
    """The wanted ratio, over a grid of spreads and common shares: how far ratios spread is not known, so that most are
    nearer and a few farther from the mean than a normal distribution has it.

    Before any ratio is seen its logarithm has the mean `centre` and, in the median, the spread `prior`.
    """
    likeness = np.array([[levels.alike(a, b) for b in [*used, mine]] for a in used])
    likeness = likeness.reshape(len(used), len(used) + 1, 2)
    logs = np.array([entry.log - centre for entry in used])
    values = np.array([math.log(entry.value) if entry.value > 0 else 0.0 for entry in [*used, mine]])
    sloping = levels.slope * (values - values[:-1].mean()) if used and mine.value > 0 else np.zeros(len(used) + 1)
    by_value = np.outer(sloping[:-1], sloping)
    steps = np.log(GRID / prior) / LOG_SPREAD_SD
    log_weights, means, sds = [], [], []
    for common, odd in zip(COMMON, levels.odds, strict=True):
        if odd == 0.0:
            continue
        correlation = common * likeness[:, :, 0] + (1.0 - common) * levels.within * likeness[:, :, 1]
        np.fill_diagonal(correlation, 1.0 + NUGGET)
        correlation += by_value
        covariance, cross = correlation[:, :-1], correlation[:, -1]
        inverse = np.linalg.inv(covariance)
        fit, log_det = logs @ inverse @ logs, np.linalg.slogdet(covariance)[1]
        share = max(1.0 + sloping[-1] ** 2 - float(cross @ inverse @ cross), 0.0)
        misfit = fit / GRID**2 + log_det + 2.0 * len(used) * np.log(GRID) + steps**2
        log_weights.append(math.log(odd) - 0.5 * misfit)
        means.append(np.full_like(GRID, cross @ inverse @ logs))
        sds.append(GRID * math.sqrt(share))
    logs_of, mean, sd = (np.concatenate(parts) for parts in (log_weights, means, sds))
    weight = np.exp(logs_of - logs_of.max())
    weight /= weight.sum()
    middle = float(weight @ mean)
    return Belief(weight, np.full_like(sd, centre + middle), np.hypot(sd, mean - middle), True).of_likely_parts()
