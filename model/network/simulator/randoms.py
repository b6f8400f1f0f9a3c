"""Random numbers inside compiled code: xoshiro256++ streams and draws from the network's distributions.

The generator is Blackman and Vigna's xoshiro256++ (2019); exponentials come from the ziggurat of Marsaglia and Tsang
(2000) with 256 layers and 53-bit mantissas. One state of four words is one independent stream."""

from __future__ import annotations

import math

import numpy as np

from model.network import Distribution
from model.network.simulator import randoms
from model.network.simulator.tables import compiled, inlined

EXPONENTIAL, DETERMINISTIC, ERLANG, HYPER, LOGNORMAL, ALIAS, QUANTILES = range(7)
"""Codes of the distributions in column 0 of the integer table."""

_R = 7.69711747013104972
_V = 0.0039496598225815571993
_TO_UNIT = 1.0 / 9007199254740992.0


def _ziggurat() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Acceptance limits, widths and densities of the 256 layers of the exponential density."""
    limit, width, density = np.zeros(256, np.uint64), np.zeros(256), np.zeros(256)
    scale = 2.0**53
    edge = previous = _R
    base = _V / math.exp(-edge)
    limit[0] = int(edge / base * scale)
    width[0], width[255] = base / scale, edge / scale
    density[0], density[255] = 1.0, math.exp(-edge)
    for layer in range(254, 0, -1):
        edge = -math.log(_V / edge + math.exp(-edge))
        limit[layer + 1] = int(edge / previous * scale)
        previous = edge
        density[layer], width[layer] = math.exp(-edge), edge / scale
    return limit, width, density


_LIMIT, _WIDTH, _DENSITY = _ziggurat()


def stream(sequence: np.random.SeedSequence) -> np.ndarray:
    """State of one stream, uint64[4], from a seed sequence."""
    return sequence.generate_state(4, np.uint64)


@inlined
def _rotated(x, k):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@inlined
def next_word(rng):
    """The next 64 random bits of a stream."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    word = _rotated(s0 + s3, 23) + s0
    t = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = _rotated(s3, 45)
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, s3
    return word


@inlined
def uniform(rng):
    """A uniform number in [0, 1)."""
    return np.float64(next_word(rng) >> np.uint64(11)) * _TO_UNIT


@inlined
def standard_exponential(rng):
    """An exponential number with mean 1."""
    while True:
        word = next_word(rng) >> np.uint64(3)
        layer = word & np.uint64(255)
        word >>= np.uint64(8)
        x = np.float64(word) * _WIDTH[layer]
        if word < _LIMIT[layer]:
            return x
        if layer == 0:
            return _R - math.log(1.0 - uniform(rng))
        low = _DENSITY[layer]
        if low + (_DENSITY[layer - np.uint64(1)] - low) * uniform(rng) < math.exp(-x):
            return x


@compiled
def standard_normal(rng):
    """A standard normal number (Box and Muller)."""
    return math.sqrt(2.0 * standard_exponential(rng)) * math.cos(2.0 * math.pi * uniform(rng))


@compiled
def draw_other(d, dist_i, dist_f, table, rng):
    """A draw from distribution ``d`` of the tables when it is not exponential, without its fixed part."""
    kind = dist_i[d, 0]
    if kind == DETERMINISTIC:
        return dist_f[d, 0]
    if kind == ERLANG:
        total = 0.0
        for _ in range(dist_i[d, 2]):
            total += standard_exponential(rng)
        return total * dist_f[d, 0]
    if kind == LOGNORMAL:
        return math.exp(dist_f[d, 0] + dist_f[d, 1] * standard_normal(rng))
    start, n = dist_i[d, 1], dist_i[d, 2]
    place = uniform(rng) * n
    if kind == QUANTILES:
        cell = np.int64(place)
        low = table[start + cell]
        return low + (table[start + cell + 1] - low) * (place - cell)
    cell = np.int64(place)
    part = place - cell
    value = table[start + n + cell] if part < table[start + cell] else table[start + 2 * n + cell]
    if kind == HYPER:
        return value * standard_exponential(rng)
    return value


@inlined
def draw(d, dist_i, dist_f, table, rng):
    """A draw from distribution ``d`` of the tables."""
    if dist_i[d, 0] == EXPONENTIAL:
        return dist_f[d, 2] + dist_f[d, 0] * standard_exponential(rng)
    return dist_f[d, 2] + draw_other(d, dist_i, dist_f, table, rng)


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
