"""Weights of laws and of grid nodes by family of series, from the evidence of all of them."""

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.capacity.conditions.beliefs import Beliefs, kin
from model.capacity.conditions.laws import CONFIGURATIONS, NODES, Array, explain
from model.capacity.conditions.tables import Tables, number

ROUNDS = 25
SHARED_COUNT = 8.0
"""How many series the weights of all families together count for in each family."""
KIN_COUNT = 2.0
"""How many series the weights of a family count for among the kin of a series."""
FLAT_COUNT = 10.0
LEAST_POINTS = 2
PRIOR_CASES = 2.0
"""How many values left out the laws' own intervals count for."""
KIN_CASES = 6.0
"""How many values left out the widening of a family counts for among kin."""
ROUNDING = 1e-9
LEAST_WIDENING, MOST_WIDENING = 0.6, 4.0


Facts = Mapping[str, Mapping[str, str]]


def weigh(tables: Tables, facts: Facts, only: Container[tuple[str, str]] | None = None) -> dict[str, Array]:
    """Weights by family, shape (CONFIGURATIONS,), summing to one; of the named tables, or of all."""
    beliefs = Beliefs(tables, {}, facts)
    by_family: dict[str, list[Array]] = defaultdict(list)
    by_kin: dict[tuple[str, str], list[Array]] = defaultdict(list)
    for block, table in tables.blocks.items():
        if only is not None and block not in only:
            continue
        for cell in {replace(cell, x=None) for cell in table.values if cell.x is not None}:
            points = table.series(cell)
            if len(points) < 2 or any(y <= 0 for _, y, _ in points) or beliefs.of_response(table, cell, points):
                continue
            at = replace(cell, x=points[0][0])
            series, at_siblings = beliefs.series(table, at, points)
            found = explain(series, points[0][0], at_siblings)
            log = np.full((CONFIGURATIONS // len(NODES), len(NODES)), -np.inf)
            for law in set(found.law.tolist()):
                mine = found.law == law
                log[law] = np.logaddexp.reduce(found.evidence[mine] + np.log(found.share[mine])[:, None], axis=0)
            by_family[beliefs.family(table, cell)].append(log.ravel())
            by_kin[beliefs.family(table, cell), kin(table, cell)].append(log.ravel())
    flat = np.full(CONFIGURATIONS, 1.0 / CONFIGURATIONS)
    everything = [log for found in by_family.values() for log in found]
    if not everything:
        return {}
    overall = _maximise(np.stack(everything), flat, FLAT_COUNT)
    weights = {family: _maximise(np.stack(logs), overall, SHARED_COUNT) for family, logs in by_family.items()}
    for (family, name), logs in by_kin.items():
        if len(logs) > 1:
            weights[name] = _maximise(np.stack(logs), weights[family], KIN_COUNT)
    return weights


@dataclass(frozen=True)
class Judged:
    """What levels left out one by one say of the laws.

    `widening`: how much wider than the laws say intervals must be, by family and kin, to hold 90 % of the values.
    `behind`: families in which the mean of the neighbouring levels was nearer.
    """

    widening: Mapping[str, float]
    behind: tuple[str, ...]


def judged(
    tables: Tables, weights: Mapping[str, Array], facts: Facts, only: Container[tuple[str, str]] | None = None
) -> Judged:
    """The laws of the named tables, or of all, judged by each level that is left out of its table."""
    off_by: dict[str, list[tuple[float, float]]] = defaultdict(list)
    missed: dict[str, list[float]] = defaultdict(list)
    of_kin: dict[tuple[str, str], list[float]] = defaultdict(list)
    for block, table in tables.blocks.items():
        if table.numeric is None or (only is not None and block not in only):
            continue
        rows = [row for row in tables.rows if (row.study or row.system, row.table) == block]
        for system, level in sorted({(cell.system, cell.x) for cell in table.values if cell.x is not None}):
            others = Tables(
                row for row in rows if row.system != system or number(row.condition.get(table.numeric, "")) != level
            )
            kept = others.blocks.get(block)
            if kept is None or kept.numeric != table.numeric:
                continue
            beliefs = Beliefs(others, weights, facts)
            for cell, (y, _) in table.values.items():
                points = kept.series(cell) if (cell.system, cell.x) == (system, level) else []
                if y <= 0 or len(points) < LEAST_POINTS or any(other <= 0 for _, other, _ in points):
                    continue
                belief = beliefs.by_law(kept, cell, points)
                low, middle, high = (math.log(end) for end in belief.quantiles(0.05, 0.5, 0.95))
                off = math.log(y) - middle
                reach = (high if off > 0 else low) - middle
                family, error = beliefs.family(kept, cell), off / reach if off else 0.0
                missed[family].append(error)
                of_kin[family, kin(kept, cell)].append(error)
                off_by[family].append((abs(off), abs(math.log(y / neighbours(points, cell.x)))))
    factors = {family: factor(found) for family, found in missed.items()}
    kin_factors = {name: drawn(found, factors[family]) for (family, name), found in of_kin.items()}
    behind = [family for family, found in off_by.items() if is_behind(found)]
    return Judged(factors | kin_factors, tuple(sorted(behind)))


def neighbours(points: Sequence[tuple[float, float, float]], x: float | None) -> float:
    """The naive answer at a level: the mean of the measured levels on either side of it; NaN without one."""
    if x is None:
        return math.nan
    near = [y for level, y, _ in points if level < x][-1:] + [y for level, y, _ in points if level > x][:1]
    return float(np.mean(near)) if near else math.nan


def is_behind(found: list[tuple[float, float]]) -> bool:
    """Whether of pairs of errors the first are larger than the naive second ones in the median."""
    of_laws, naive = np.median(np.array(found), axis=0)
    return bool(of_laws > naive + ROUNDING)


def factor(missed: list[float]) -> float:
    """How wide intervals must be to hold 90 % of further values, drawn to 1.

    Of n errors over half-widths the one that a further error exceeds with a probability of 10 %: the quantile of
    0.9 (n + 1) / n (conformal prediction; Lei and others 2018, *Journal of the American Statistical Association* 113).
    """
    level = min(0.9 * (len(missed) + 1) / len(missed), 1.0)
    return drawn(missed, 1.0, level, PRIOR_CASES)


def drawn(missed: list[float], prior: float, level: float = 0.9, cases: float = KIN_CASES) -> float:
    """A quantile of errors over half-widths, drawn to a prior that counts for some cases."""
    share = len(missed) / (len(missed) + cases)
    return float(np.clip(share * np.quantile(missed, level) + (1.0 - share) * prior, LEAST_WIDENING, MOST_WIDENING))


def _maximise(log: Array, prior: Array, count: float) -> Array:
    """Mixture weights by expectation and maximisation, under a Dirichlet prior of mean `prior` worth `count` series."""
    weights = prior.copy()
    for _ in range(ROUNDS):
        share = log + np.log(weights + 1e-300)
        share = np.exp(share - share.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        weights = (share.sum(axis=0) + count * prior) / (len(log) + count)
    return weights
