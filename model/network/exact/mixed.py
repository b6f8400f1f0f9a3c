"""Mixed networks: open and closed classes sharing stations, exact in product form.

The open classes turn each station into a load-dependent one for the closed classes: with open load rho,
f(n) = sum_m C(n+m, m) rho^m / (alpha(1)...alpha(n+m)). For one server that is 1/(1-rho)^(n+1): the closed demands
stretch by 1/(1-rho). Sources: Baskett et al. 1975; Lazowska et al., *Quantitative System Performance*, 1984, section
7.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.network.arrays import Floats
from model.network.exact.convolution import Convolution
from model.network.kernel_cache import kernel


class MixedResult(NamedTuple):
    """``closed_throughput`` (closed classes,); queue lengths and residences (stations, classes); ``busy``
    (stations,) engines at work."""

    closed_throughput: Floats
    open_queue: Floats
    closed_queue: Floats
    open_residence: Floats
    closed_residence: Floats
    busy: Floats


def mixed_product_form(
    open_rates: ArrayLike,
    open_demands: ArrayLike,
    populations: ArrayLike,
    closed_demands: ArrayLike,
    servers: ArrayLike,
    think_times: ArrayLike | None = None,
    curves: Mapping[int, tuple[Floats, Floats]] | None = None,
) -> MixedResult:
    """Exact solution of a mixed product-form network.

    Args:
        open_rates: (open classes,) arrivals per unit time.
        open_demands: (stations, open classes).
        populations: (closed classes,).
        closed_demands: (stations, closed classes).
        servers: (stations,), -1 for a delay.
        think_times: (closed classes,).
        curves: station index -> capacity with 1, 2, ... customers in multiples of one server, and engines busy then,
            instead of ``servers``.

    Raises:
        ValueError: the open classes alone saturate a station (named by its index).
    """
    special = curves or {}
    x = np.asarray(open_rates, dtype=float)
    d_open = np.atleast_2d(np.asarray(open_demands, dtype=float))
    n = np.atleast_1d(np.asarray(populations, dtype=np.int64))
    d_closed = np.atleast_2d(np.asarray(closed_demands, dtype=float))
    m = np.asarray(servers, dtype=np.int64)
    load = d_open @ x
    capacity = {
        k: np.asarray(special[k][0], dtype=float) if k in special else np.arange(1.0, m[k] + 1)
        for k in range(len(m))
        if m[k] > 0
    }
    for k, alpha in capacity.items():
        if load[k] >= alpha[-1]:
            raise ValueError(f"open classes saturate station {k}: load {load[k]:g} on a capacity of {alpha[-1]:g}")
    customers = int(n.sum())
    folded: dict[int, Floats] = {k: capacity[k] for k in special}
    ahead: dict[int, Floats] = {}
    at_work: dict[int, Floats] = {}
    for k, alpha in capacity.items():
        used = special[k][1] if k in special else alpha
        if load[k] > 0:
            log_f, ahead[k], at_work[k] = open_folded(alpha, used, float(load[k]), customers)
            folded[k] = np.exp(log_f[:-1] - log_f[1:])
        elif k in special:
            beyond = np.full(max(customers - len(used), 0), used[-1])
            at_work[k] = np.concatenate(([0.0], used, beyond))[: customers + 1]
    network = Convolution(n, d_closed, m, think_times, folded)
    closed = network.solve()
    open_queue = np.zeros_like(d_open)
    for k in range(len(m)):
        if load[k] == 0:
            continue
        total = load[k] if m[k] < 0 else float(network.marginal(k) @ ahead[k])
        open_queue[k] = total * x * d_open[k] / load[k]
    with np.errstate(divide="ignore", invalid="ignore"):
        open_residence = np.where(x > 0, open_queue / x, 0.0)
    busy = load + d_closed @ closed.throughput
    for k in special:
        busy[k] = float(network.marginal(k) @ at_work[k])
    return MixedResult(
        closed.throughput,
        open_queue,
        closed.queue_length,
        open_residence,
        closed.residence,
        busy,
    )


@kernel()
def open_folded(capacity: Floats, used: Floats, load: float, customers: int) -> tuple[Floats, Floats, Floats]:
    """log f(n) for n = 0..customers, and the mean open customers present, and engines ``used``, with n closed ones.

    A closed class finds a capacity of f(n - 1) / f(n) with n of its own.
    """
    log_f, mean, at_work = np.empty(customers + 1), np.empty(customers + 1), np.empty(customers + 1)
    levels = len(capacity)
    log_alpha = np.log(capacity)
    log_load = np.log(load)
    beta = 0.0
    for n in range(customers + 1):
        # Terms decrease geometrically once past the mode; sum until they no longer count.
        log_term = -beta
        beta += log_alpha[min(n, levels - 1)]
        peak, total, weighted, m = log_term, 1.0, 0.0, 0
        working = used[min(n, levels) - 1] if n > 0 else 0.0
        while True:
            m += 1
            step = np.log((n + m) / m) + log_load - log_alpha[min(n + m, levels) - 1]
            log_term += step
            if log_term > peak:
                total *= np.exp(peak - log_term)
                weighted *= np.exp(peak - log_term)
                working *= np.exp(peak - log_term)
                peak = log_term
            share = np.exp(log_term - peak)
            total += share
            weighted += m * share
            working += used[min(n + m, levels) - 1] * share
            if m >= levels and step < 0 and m * share < 1e-17 * max(total, weighted) * (1 - np.exp(step)):
                break
        log_f[n] = peak + np.log(total)
        mean[n], at_work[n] = weighted / total, working / total
    return log_f, mean, at_work
