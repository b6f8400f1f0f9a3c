"""Weights of laws and of grid nodes by family of series, from the evidence of all of them."""

from collections import defaultdict
from collections.abc import Container
from dataclasses import replace

import numpy as np

from model.capacity.conditions.beliefs import Beliefs
from model.capacity.conditions.laws import CONFIGURATIONS, NODES, Array, explain
from model.capacity.conditions.tables import Tables

ROUNDS = 25
SHARED_COUNT = 8.0
"""How many series the weights of all families together count for in each family."""
FLAT_COUNT = 10.0


def weigh(tables: Tables, only: Container[tuple[str, str]] | None = None) -> dict[str, Array]:
    """Weights by family, shape (CONFIGURATIONS,), summing to one; of the named tables, or of all."""
    beliefs = Beliefs(tables, {})
    by_family: dict[str, list[Array]] = defaultdict(list)
    for block, table in tables.blocks.items():
        if only is not None and block not in only:
            continue
        for cell in {replace(cell, x=None) for cell in table.values if cell.x is not None}:
            points = table.series(cell)
            if len(points) < 2 or any(y <= 0 for _, y, _ in points):
                continue
            at = replace(cell, x=points[0][0])
            series, at_siblings = beliefs.series(table, at, points)
            found = explain(series, points[0][0], at_siblings)
            log = np.full((CONFIGURATIONS // len(NODES), len(NODES)), -np.inf)
            for law in set(found.law.tolist()):
                mine = found.law == law
                log[law] = np.logaddexp.reduce(found.evidence[mine] + np.log(found.share[mine])[:, None], axis=0)
            by_family[beliefs.family(table, cell)].append(log.ravel())
    flat = np.full(CONFIGURATIONS, 1.0 / CONFIGURATIONS)
    everything = [log for found in by_family.values() for log in found]
    if not everything:
        return {}
    overall = _maximise(np.stack(everything), flat, FLAT_COUNT)
    return {family: _maximise(np.stack(found), overall, SHARED_COUNT) for family, found in by_family.items()}


def _maximise(log: Array, prior: Array, count: float) -> Array:
    """Mixture weights by expectation and maximisation, under a Dirichlet prior of mean `prior` worth `count` series."""
    weights = prior.copy()
    for _ in range(ROUNDS):
        share = log + np.log(weights + 1e-300)
        share = np.exp(share - share.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        weights = (share.sum(axis=0) + count * prior) / (len(log) + count)
    return weights
