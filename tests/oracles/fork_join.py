"""Fork-join: a job splits into one task per branch and is done when the last task is.

In first come, first served branches tasks finish in the order of their jobs, so the unfinished jobs are the longest
queue of all branches: two branches of any speed are a two-dimensional Markov chain. Source: Flatto and Hahn, *SIAM
J. Appl. Math.* 44, 1984; of more equal branches Nelson and Tantawi, *IEEE TC* 37, 1988.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracles.markov_chain import explore, stationary

Floats = NDArray[np.float64]

CHAIN_STATES = 20_000


class ForkJoinResult(NamedTuple):
    """``response`` from fork to join, ``branch_response`` (branches,), ``synchronisation`` mean wait of a task for
    its job.

    ``exact`` says whether ``response`` is; ``error`` is the largest relative error known otherwise.
    """

    throughput: float
    response: float
    branch_response: Floats
    synchronisation: float
    exact: bool
    error: float


def nelson_tantawi(branches: int, load: float) -> float:
    """Response over that of one M/M/1 branch, for identical branches; exact for two, within 5 % up to 32."""
    if branches == 1:
        return 1.0
    h = sum(1 / i for i in range(1, branches + 1)) / 1.5
    return (h + (1 - h) * 4 * load / 11) * (12 - load) / 8


def largest_of_independent(rates: ArrayLike) -> float:
    """Mean of the largest of independent exponential times."""
    mu = [float(r) for r in np.asarray(rates, dtype=float)]
    total = 0.0
    for size in range(1, len(mu) + 1):
        total += (-1) ** (size + 1) * sum(1 / sum(group) for group in combinations(mu, size))
    return total


def fork_join_open(arrival_rate: float, service_rates: ArrayLike) -> ForkJoinResult:
    """Poisson jobs over first come, first served exponential branches.

    Two identical branches by closed form, two different ones by a truncated Markov chain (its error is below 1e-9 of
    the load), more by Nelson-Tantawi scaled to unequal speeds.

    Raises:
        ValueError: a branch is saturated.
    """
    mu = np.asarray(service_rates, dtype=float)
    if np.any(arrival_rate >= mu):
        raise ValueError(f"unstable branch: arrival rate {arrival_rate:g}, slowest branch {mu.min():g}")
    branch = 1 / (mu - arrival_rate)
    rho = float(arrival_rate / mu.min())
    exact, error = len(mu) <= 2, 0.0
    if np.allclose(mu, mu[0], rtol=1e-12):
        response = nelson_tantawi(len(mu), rho) * float(branch[0])
        error = 0.0 if exact else 0.05
    elif len(mu) == 2 and (chain := _two_branches(arrival_rate, float(mu[0]), float(mu[1]))) is not None:
        response = chain
    else:
        # Branches share their arrivals and are thus associated: independence overstates the excess over the slowest.
        independent = largest_of_independent(1 / branch)
        harmonic = sum(1 / i for i in range(1, len(mu) + 1))
        share = (nelson_tantawi(len(mu), rho) - 1) / (harmonic - 1)
        response = float(branch.max()) + share * (independent - float(branch.max()))
        exact, error = False, 0.05
    return ForkJoinResult(arrival_rate, response, branch, response - float(branch.mean()), exact, error)


def _two_branches(rate: float, first: float, second: float) -> float | None:
    """Exact response of two unequal branches, None where the chain would be too long."""
    longest = [int(np.ceil(np.log(1e-11) / np.log(rate / mu))) + 2 for mu in (first, second)]
    if longest[0] * longest[1] > 40 * CHAIN_STATES:
        return None

    def moves(state: tuple[int, int]) -> Iterator[tuple[tuple[int, int], float]]:
        a, b = state
        if a < longest[0] and b < longest[1]:
            yield (a + 1, b + 1), rate
        if a:
            yield (a - 1, b), first
        if b:
            yield (a, b - 1), second

    chain = explore((0, 0), moves, 50 * CHAIN_STATES)
    p = stationary(chain.rates)
    return chain.mean(lambda s: max(s), p) / rate


def fork_join_closed(population: int, delay: float, service_rates: ArrayLike, discipline: str = "ps") -> ForkJoinResult:
    """``population`` users alternate between a delay and a fork-join, exactly, as a Markov chain.

    Under ``ps`` each branch is shared by its tasks; under ``fcfs`` tasks finish in order. Exponential times.

    Raises:
        ValueError: too many states (population to the power of the number of branch subsets).
    """
    mu = tuple(float(m) for m in np.asarray(service_rates, dtype=float))
    branches = len(mu)
    if delay < 0:
        raise ValueError("the delay of a closed fork-join must be zero or more")
    if discipline == "fcfs":

        def in_order(state: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
            outside = population - max(state)
            if outside:
                yield tuple(n + 1 for n in state), outside / delay
            for i, n in enumerate(state):
                if n:
                    new = (*state[:i], n - 1, *state[i + 1 :])
                    # Without a delay whoever is done starts again at once.
                    yield (new if delay > 0 or max(new) == population else tuple(m + 1 for m in new)), mu[i]

        chain = explore((0 if delay > 0 else population,) * branches, in_order)
        p = stationary(chain.rates)
        throughput = mu[0] * chain.mean(lambda s: s[0] > 0, p)
        inside = chain.mean(lambda s: max(s), p)
        queues = [chain.mean(lambda s, i=i: s[i], p) for i in range(branches)]  # type: ignore[misc]
    elif discipline == "ps":
        # A job is the set of its unfinished tasks; jobs with the same set are alike.
        sets = range(1, 1 << branches)

        def shared(state: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
            outside = population - sum(state)
            if outside:
                yield (*state[:-1], state[-1] + 1), outside / delay
            for i in range(branches):
                at = sum(state[s - 1] for s in sets if s >> i & 1)
                for s in sets:
                    if s >> i & 1 and state[s - 1]:
                        new = list(state)
                        new[s - 1] -= 1
                        rest = s & ~(1 << i)
                        if rest or delay == 0:
                            new[rest - 1] += 1
                        yield tuple(new), mu[i] * state[s - 1] / at

        chain = explore((0,) * (len(sets) - 1) + (0 if delay > 0 else population,), shared)
        p = stationary(chain.rates)
        throughput = mu[0] * chain.mean(lambda state: any(state[s - 1] for s in sets if s & 1), p)
        inside = chain.mean(sum, p)
        queues = [
            chain.mean(lambda state, i=i: sum(state[s - 1] for s in sets if s >> i & 1), p)  # type: ignore[misc]
            for i in range(branches)
        ]
    else:
        raise ValueError(f"unknown branch discipline {discipline!r}: ps or fcfs")
    branch = np.array(queues) / throughput
    response = inside / throughput
    return ForkJoinResult(throughput, response, branch, response - float(branch.mean()), True, 0.0)
