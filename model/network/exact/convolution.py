"""Closed multi-class networks by convolution, exact for every product-form network with load-dependent stations.

The normalising constant is built over the lattice of populations in the log domain, so that nothing overflows and every
term is positive: no cancellation, with hundreds of servers or customers.

A station whose total rate depends only on how many customers it holds has the generating function
F(s) = sum_k s^k / (alpha(1)...alpha(k)) in s = sum_r D_r x_r. Where alpha is constant from c on, F is a polynomial of
degree c - 1 over (1 - s/alpha(c)), which costs c + 1 sweeps of the lattice instead of one per customer.

Sources: Buzen, *Comm. ACM* 16, 1973; Reiser and Kobayashi, *IBM J. R&D* 19, 1975.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.network.kernel_cache import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ClosedResult(NamedTuple):
    """Closed network: ``throughput`` (classes,), the rest (stations, classes).

    ``residence`` is per passage of the network, ``utilisation`` per server (busy servers at a delay).
    """

    throughput: Floats
    queue_length: Floats
    residence: Floats
    utilisation: Floats


class Series(NamedTuple):
    """Generating function of a station: ``log_poly`` coefficients over (1 - ratio s), ``log_ratio`` -inf where none."""

    log_poly: Floats
    log_ratio: float


def multi_server_series(servers: int) -> Series:
    """Series of ``servers`` identical servers."""
    k = np.arange(servers)
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, servers)))))
    return Series(np.log1p(-k / servers) - log_factorial, -float(np.log(servers)))


def load_dependent_series(rates: ArrayLike, customers: int) -> Series:
    """Series of a station that works at ``rates[n-1]`` times one server with n customers, the last beyond."""
    alpha = np.asarray(rates, dtype=float)
    last = alpha[-1]
    if np.all(alpha <= last) and len(alpha) <= customers:
        beta = np.concatenate(([0.0], -np.cumsum(np.log(alpha[:-1]))))
        with np.errstate(divide="ignore"):
            return Series(beta + np.log1p(-np.concatenate(([0.0], alpha[:-1])) / last), -float(np.log(last)))
    full = np.concatenate((alpha, np.full(max(customers - len(alpha), 0), last)))[:customers]
    return Series(np.concatenate(([0.0], -np.cumsum(np.log(full)))), -np.inf)


@kernel()
def _log_add(a: float, b: float) -> float:
    if a == -np.inf:
        return b
    if b == -np.inf:
        return a
    if a < b:
        a, b = b, a
    return a + np.log1p(np.exp(b - a))


@kernel()
def _gather(source: Floats, i: int, log_d: Floats, strides: Ints, counts: Ints) -> float:
    """log of sum_r D_r source(n - e_r) at lattice point i."""
    total = -np.inf
    for r in range(len(strides)):
        if counts[i, r] > 0 and log_d[r] > -np.inf:
            total = _log_add(total, log_d[r] + source[i - strides[r]])
    return total


@kernel()
def _multiply(log_g: Floats, log_d: Floats, log_poly: Floats, log_ratio: float, strides: Ints, counts: Ints) -> Floats:
    """Lattice of G times poly(s)/(1 - ratio s)."""
    points = len(log_g)
    out = log_g + log_poly[0]
    power = log_g.copy()
    for k in range(1, len(log_poly)):
        # Backwards, so that each point still reads the previous power of its neighbours.
        for i in range(points - 1, -1, -1):
            power[i] = _gather(power, i, log_d, strides, counts)
            if log_poly[k] > -np.inf:
                out[i] = _log_add(out[i], log_poly[k] + power[i])
    if log_ratio > -np.inf:
        for i in range(points):
            carried = _gather(out, i, log_d, strides, counts)
            out[i] = _log_add(out[i], log_ratio + carried)
    return out


@kernel()
def _powers_at_top(log_g: Floats, log_d: Floats, degree: int, strides: Ints, counts: Ints) -> Floats:
    """[s^k G](N) for k = 0..degree."""
    power = log_g.copy()
    out = np.empty(degree + 1)
    out[0] = power[-1]
    for k in range(1, degree + 1):
        for i in range(len(power) - 1, -1, -1):
            power[i] = _gather(power, i, log_d, strides, counts)
        out[k] = power[-1]
    return out


class Lattice(NamedTuple):
    """Points 0..N of a population vector in C order, with the step to each neighbour."""

    strides: Ints
    counts: Ints


def lattice(populations: Ints) -> Lattice:
    """The lattice below ``populations`` (classes,)."""
    shape = tuple(int(n) + 1 for n in populations)
    counts = np.stack([a.ravel() for a in np.indices(shape)], axis=1).astype(np.int64)
    strides = np.array([int(np.prod(shape[r + 1 :])) for r in range(len(shape))], dtype=np.int64)
    return Lattice(strides, counts)


def lattice_size(populations: ArrayLike) -> float:
    """Number of lattice points, as a float so that it cannot overflow."""
    return float(np.prod(np.asarray(populations, dtype=float) + 1))


def _logs(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(values)


class Convolution:
    """Normalising constants of one closed network over all populations up to N.

    Args:
        populations: (classes,) customers per class.
        demands: (stations, classes) visits x service.
        servers: (stations,) identical servers, -1 for a delay.
        think_times: (classes,) further delay, default none.
        rates: station index -> capacity with 1, 2, ... customers in multiples of one server, instead of ``servers``.
    """

    def __init__(
        self,
        populations: ArrayLike,
        demands: ArrayLike,
        servers: ArrayLike,
        think_times: ArrayLike | None = None,
        rates: Mapping[int, ArrayLike] | None = None,
    ) -> None:
        self.populations = np.atleast_1d(np.asarray(populations, dtype=np.int64))
        self.demands = np.atleast_2d(np.asarray(demands, dtype=float))
        self.servers = np.asarray(servers, dtype=np.int64)
        classes = len(self.populations)
        self.think_times = np.zeros(classes) if think_times is None else np.asarray(think_times, dtype=float)
        self._log_demands = _logs(self.demands)
        self._lattice = lattice(self.populations)
        customers = int(self.populations.sum())
        self._series: dict[int, Series] = {}
        for k, c in enumerate(self.servers):
            if rates is not None and k in rates:
                self._series[k] = load_dependent_series(rates[k], customers)
            elif 0 < c <= customers:
                self._series[k] = multi_server_series(int(c))
        # A station with a server for everybody is a delay.
        delays = [k for k in range(len(self.servers)) if k not in self._series]
        self._simple = [k for k, s in self._series.items() if len(s.log_poly) == 1]
        self._general = [k for k in self._series if k not in self._simple]
        self._base = self._delay_constant(self.think_times + self.demands[delays].sum(axis=0))
        for k in self._simple:
            self._base = self._times(self._base, k)
        self.log_g = self._base
        for k in self._general:
            self.log_g = self._times(self.log_g, k)

    def _delay_constant(self, times: Floats) -> Floats:
        log_times = _logs(times)
        out = np.zeros(len(self._lattice.counts))
        for r, n in enumerate(self.populations):
            k = np.arange(n + 1)
            log_factorial = np.concatenate(([0.0], np.cumsum(np.log(k[1:]))))
            terms = np.zeros(n + 1)
            terms[1:] = k[1:] * log_times[r]
            out += (terms - log_factorial)[self._lattice.counts[:, r]]
        return out

    def _times(self, log_g: Floats, k: int, series: Series | None = None) -> Floats:
        s = self._series[k] if series is None else series
        return _multiply(log_g, self._log_demands[k], s.log_poly, s.log_ratio, *self._lattice)

    def without(self, k: int) -> Floats:
        """Log constants of the network with station ``k`` left out."""
        log_g = self._base
        if k in self._simple:
            others = [j for j in range(len(self.servers)) if j not in self._series]
            log_g = self._delay_constant(self.think_times + self.demands[others].sum(axis=0))
            for j in self._simple:
                if j != k:
                    log_g = self._times(log_g, j)
        for j in self._general:
            if j != k:
                log_g = self._times(log_g, j)
        return log_g

    def throughput(self) -> Floats:
        """(classes,) at the full population."""
        top = self.log_g[-1]
        strides = self._lattice.strides
        return np.array(
            [np.exp(self.log_g[-1 - strides[r]] - top) if n > 0 else 0.0 for r, n in enumerate(self.populations)]
        )

    def throughput_by_population(self) -> Floats:
        """Single class only: throughput with 1..N customers."""
        if len(self.populations) != 1:
            raise ValueError("throughput by population is defined for one class")
        return np.exp(self.log_g[:-1] - self.log_g[1:])

    def marginal(self, k: int) -> Floats:
        """Probabilities of 0..|N| customers, all classes together, at station ``k``."""
        customers = int(self.populations.sum())
        if k in self._series:
            s = self._series[k]
            log_f = _expand(s, customers)
            rest = self.without(k)
        else:
            log_f = np.concatenate(([0.0], -np.cumsum(np.log(np.arange(1, customers + 1)))))
            others = [j for j in range(len(self.servers)) if j not in self._series and j != k]
            rest = self._delay_constant(self.think_times + self.demands[others].sum(axis=0))
            for j in self._series:
                rest = self._times(rest, j)
        powers = _powers_at_top(rest, self._log_demands[k], customers, *self._lattice)
        return np.exp(log_f + powers - self.log_g[-1])

    def queue_length(self, k: int) -> Floats:
        """(classes,) mean customers at station ``k``: D_r [F' G without k](N - e_r) / G(N)."""
        if k not in self._series:
            return self.demands[k] * self.throughput()
        s = self._series[k]
        slope = np.full(len(self.log_g), -np.inf)
        if s.log_ratio > -np.inf:
            geometric = Series(np.zeros(1), s.log_ratio)
            slope = s.log_ratio + self._times(self.log_g, k, geometric)
        if len(s.log_poly) > 1:
            derived = Series(s.log_poly[1:] + np.log(np.arange(1, len(s.log_poly))), s.log_ratio)
            slope = np.logaddexp(slope, self._times(self.without(k), k, derived))
        out = np.zeros(len(self.populations))
        for r, n in enumerate(self.populations):
            if n > 0 and self.demands[k, r] > 0:
                out[r] = self.demands[k, r] * np.exp(slope[-1 - self._lattice.strides[r]] - self.log_g[-1])
        return out

    def solve(self) -> ClosedResult:
        """Means at the full population."""
        throughput = self.throughput()
        queue = np.array([self.queue_length(k) for k in range(len(self.servers))])
        with np.errstate(divide="ignore", invalid="ignore"):
            residence = np.where(throughput > 0, queue / throughput, 0.0)
        utilisation = self.demands * throughput / np.where(self.servers < 0, 1, self.servers)[:, None]
        return ClosedResult(throughput, queue, residence, utilisation)


def _expand(series: Series, degree: int) -> Floats:
    """Log power series coefficients 0..degree of poly(s)/(1 - ratio s)."""
    poly = np.full(degree + 1, -np.inf)
    kept = min(len(series.log_poly), degree + 1)
    poly[:kept] = series.log_poly[:kept]
    if series.log_ratio > -np.inf:
        for k in range(1, degree + 1):
            poly[k] = np.logaddexp(poly[k], series.log_ratio + poly[k - 1])
    return poly
