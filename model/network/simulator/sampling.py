"""Distributions as rows of the engine's tables."""

from __future__ import annotations

import math

import numpy as np

from model.network import Distribution
from model.network.simulator import randoms


class Distributions:
    """The distribution tables, each distinct distribution once."""

    def __init__(self) -> None:
        self.index: dict[Distribution, int] = {}
        self.ints: list[list[int]] = []
        self.floats: list[list[float]] = []
        self.table: list[float] = []

    def add(self, d: Distribution | None) -> int:
        if d is None:
            return -1
        if d not in self.index:
            self.index[d] = len(self.ints)
            ints, floats = self.row(d)
            self.ints.append(ints)
            self.floats.append([*floats, d.offset])
        return self.index[d]

    def row(self, d: Distribution) -> tuple[list[int], list[float]]:
        first = d.values[0]
        if d.kind == "exponential":
            return [randoms.EXPONENTIAL, 0, 0], [first, 0.0]
        if d.kind == "deterministic":
            return [randoms.DETERMINISTIC, 0, 0], [first, 0.0]
        if d.kind == "erlang":
            return [randoms.ERLANG, 0, int(d.shape)], [first / d.shape, 0.0]
        if d.kind == "lognormal":
            if first == 0:
                return [randoms.DETERMINISTIC, 0, 0], [0.0, 0.0]
            variance = math.log1p(d.shape)
            return [randoms.LOGNORMAL, 0, 0], [math.log(first) - variance / 2, math.sqrt(variance)]
        start = len(self.table)
        if d.kind == "quantiles":
            self.table.extend(d.values)
            return [randoms.QUANTILES, start, len(d.values) - 1], [0.0, 0.0]
        accept, alias = alias_table(np.asarray(d.weights))
        values = np.asarray(d.values)
        self.table.extend([*accept, *values, *values[alias]])
        kind = randoms.HYPER if d.kind == "hyperexponential" else randoms.ALIAS
        return [kind, start, len(values)], [0.0, 0.0]


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias table (Vose's construction): acceptance probability and alternative of each cell."""
    n = len(weights)
    scaled = weights * (n / weights.sum())
    accept, alias = np.ones(n), np.arange(n)
    small = [i for i in range(n) if scaled[i] < 1]
    large = [i for i in range(n) if scaled[i] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        accept[low], alias[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return accept, alias
