"""Mixed networks: open and closed classes sharing stations, exact in product form.

The open classes turn each station into a load-dependent one for the closed classes: with open load rho,
f(n) = sum_m C(n+m, m) rho^m / (alpha(1)...alpha(n+m)). For one server that is 1/(1-rho)^(n+1): the closed demands stretch
by 1/(1-rho). Sources: Baskett et al. 1975; Lazowska et al., *Quantitative System Performance*, 1984, section 7.4.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.solvers.convolution import Convolution, Floats


class MixedResult(NamedTuple):
    """``closed_throughput`` (closed classes,); queue lengths, residences and utilisations (stations, classes)."""

    closed_throughput: Floats
    open_queue: Floats
    closed_queue: Floats
    open_residence: Floats
    closed_residence: Floats
    open_utilisation: Floats
    closed_utilisation: Floats


def mixed_product_form(
    open_rates: ArrayLike,
    open_demands: ArrayLike,
    populations: ArrayLike,
    closed_demands: ArrayLike,
    servers: ArrayLike,
    think_times: ArrayLike | None = None,
) -> MixedResult:
    """Exact solution of a mixed product-form network.

    Args:
        open_rates: (open classes,) arrivals per unit time.
        open_demands: (stations, open classes).
        populations: (closed classes,).
        closed_demands: (stations, closed classes).
        servers: (stations,), -1 for a delay.
        think_times: (closed classes,).

    Raises:
        ValueError: the open classes alone saturate a station (named by its index).
    """
    x = np.asarray(open_rates, dtype=float)
    d_open = np.atleast_2d(np.asarray(open_demands, dtype=float))
    n = np.atleast_1d(np.asarray(populations, dtype=np.int64))
    d_closed = np.atleast_2d(np.asarray(closed_demands, dtype=float))
    m = np.asarray(servers, dtype=np.int64)
    load = d_open @ x
    for k in np.flatnonzero((m > 0) & (load >= m)):
        raise ValueError(f"open classes saturate station {k}: load {load[k]:g} on {m[k]} server(s)")
    customers = int(n.sum())
    rates: dict[int, Floats] = {}
    ahead: dict[int, Floats] = {}
    for k in np.flatnonzero((m > 0) & (load > 0)):
        log_f, open_mean = _open_folded(int(m[k]), float(load[k]), customers)
        rates[int(k)] = np.exp(log_f[:-1] - log_f[1:])
        ahead[int(k)] = open_mean
    network = Convolution(n, d_closed, m, think_times, rates)
    closed = network.solve()
    open_queue = np.zeros_like(d_open)
    for k in range(len(m)):
        if load[k] == 0:
            continue
        total = load[k] if m[k] < 0 else float(network.marginal(k) @ ahead[k])
        open_queue[k] = total * x * d_open[k] / load[k]
    with np.errstate(divide="ignore", invalid="ignore"):
        open_residence = np.where(x > 0, open_queue / x, 0.0)
    shown = np.where(m < 0, 1, m)[:, None]
    return MixedResult(
        closed.throughput,
        open_queue,
        closed.queue_length,
        open_residence,
        closed.residence,
        d_open * x / shown,
        d_closed * closed.throughput / shown,
    )


def _open_folded(servers: int, load: float, customers: int) -> tuple[Floats, Floats]:
    """log f(n) for n = 0..customers, and the mean open customers present with n closed ones."""
    log_f, mean = np.empty(customers + 1), np.empty(customers + 1)
    log_load = np.log(load)
    for n in range(customers + 1):
        # Terms decrease geometrically once past the mode; sum until they no longer count.
        log_term = -_log_beta(n, servers)
        peak, total, weighted, m = log_term, 1.0, 0.0, 0
        while True:
            m += 1
            step = np.log((n + m) / m) + log_load - np.log(min(n + m, servers))
            log_term += step
            if log_term > peak:
                total *= np.exp(peak - log_term)
                weighted *= np.exp(peak - log_term)
                peak = log_term
            share = np.exp(log_term - peak)
            total += share
            weighted += m * share
            if step < 0 and m * share < 1e-17 * max(total, weighted) * (1 - np.exp(step)):
                break
        log_f[n] = peak + np.log(total)
        mean[n] = weighted / total
    return log_f, mean


def _log_beta(n: int, servers: int) -> float:
    return float(np.log(np.minimum(np.arange(1, n + 1), servers)).sum())
