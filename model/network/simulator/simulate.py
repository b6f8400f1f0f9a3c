"""Simulate a network until its answers are precise enough, or replay recorded transactions through it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from model.network import Network, NetworkError
from model.network.arrays import as_arrays
from model.network.limits import overloaded_by_arrivals
from model.network.simulator import summary
from model.network.simulator.program import Program, Trace, compile_network
from model.network.simulator.replication import WARM_UP_DOUBLINGS, Replication, SimulationError
from model.network.simulator.result import SimulationResult
from model.network.simulator.statistics import merge

GROUPS = 32
"""Groups of batches behind each interval, over all replications."""


def simulate(
    network: Network,
    *,
    seed: int,
    replications: int = 8,
    precision: float | None = None,
    horizon: int = 400_000,
    most: int = 200_000_000,
    level: float = 0.95,
    workers: int | None = None,
    most_inside: int = 4_000_000,
    details: bool = False,
    progress: Callable[[int], None] | None = None,
) -> SimulationResult:
    """Simulate ``network`` and estimate its measures with confidence intervals.

    Each of the independent ``replications`` finds its own warm-up, drops it, and runs its share of ``horizon``
    transactions. With ``precision`` (0.01 = 1 %) all go on until the half-width of every class's mean response is
    within that share of it, or ``most`` transactions have run (``result.precise`` says which). The same seed gives
    the same answer on any number of ``workers``. With ``details`` the result also has percentiles by station and what
    slow responses are made of, at up to a fifth of the speed. ``progress`` is called with the transactions measured so
    far, from any of the workers.

    Raises :class:`NetworkError` for a network in which nothing happens and :class:`SimulationError` when more than
    ``most_inside`` transactions pile up or all of them block each other.
    """
    if replications < 1 or horizon < replications or not 0 < level < 1:
        raise ValueError("replications must be at least 1, horizon at least as many, level between 0 and 1")
    program = compile_network(network)
    # Queues that grow for ever do not settle, however long one waits.
    doublings = 1 if overloaded_by_arrivals(as_arrays(network)) else WARM_UP_DOUBLINGS
    sequences = np.random.SeedSequence(seed).spawn(replications)
    each = math.ceil(horizon / replications)

    def after_slice() -> None:
        if progress is not None:
            progress(sum(run.transactions for run in runs))

    threads = workers or min(replications, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        runs = list(pool.map(lambda s: Replication(program, s, most_inside, details=details), sequences))
        list(pool.map(lambda r: r.warm_up(max(500, each // 10), doublings), runs))
        list(pool.map(lambda r: r.measure(each, after_slice), runs))
        precise = precision is None
        while precision is not None:
            groups = _groups(program, runs, level)
            worst = _worst(groups)
            done = sum(r.transactions for r in runs)
            precise = worst <= precision
            if precise or done >= most:
                break
            more = done * min(3.0, max(0.2, 1.2 * (worst / precision) ** 2 - 1))
            share = math.ceil(min(more, most - done) / replications) + 1
            list(pool.map(lambda r, n=share: r.measure(n, after_slice), runs))
    return _result(program, runs, seed, level, precise)


def replay(
    network: Network,
    arrival_s: np.ndarray,
    classes: np.ndarray,
    work_s: Mapping[str, np.ndarray],
    *,
    random_classes: Collection[str] = (),
    seed: int = 0,
    level: float = 0.95,
    details: bool = False,
) -> tuple[SimulationResult, np.ndarray]:
    """Replay recorded transactions under ``network``: the same arrivals and work, another configuration.

    ``arrival_s`` ascends; ``classes`` holds class indices into ``network.classes``; ``work_s`` maps a visit's label,
    or a station (whose recorded total is divided over the visits there), to seconds of each transaction. Service of
    visits not named there is drawn as described. Closed classes of the network run beside the trace, and the classes
    named in ``random_classes``, which arrive as described; no others do. ``details`` as in :func:`simulate`.

    Returns the result and the departure time of each transaction (NaN for one turned away). The recorded
    transactions are the whole population, so estimates have no interval.
    """
    trace = _trace(network, arrival_s, classes, work_s, random_classes)
    program = compile_network(network, trace)
    run = Replication(program, np.random.SeedSequence(seed), 1 << 28, keep_departures=True, details=details)
    run.advance_through_trace()
    run.batches.append(run.take())
    run.batch_s = run.now
    run.settled = True
    return _result(program, [run], seed, level, True), run.tables.trace_left


def _trace(
    network: Network,
    arrival_s: np.ndarray,
    classes: np.ndarray,
    work_s: Mapping[str, np.ndarray],
    random_classes: Collection[str],
) -> Trace:
    arrivals = np.ascontiguousarray(arrival_s, np.float64)
    index = np.ascontiguousarray(classes, np.uint16)
    names = set(network.station_names) | {getattr(s, "label", "") for c in network.classes for s in c.route}
    unknown = sorted(set(work_s) - names)
    if unknown:
        raise NetworkError(f"the trace has work for {unknown[0]!r}, which is neither a station nor a label of a visit")
    if len(arrivals) == 0 or np.any(np.diff(arrivals) < 0) or arrivals[0] < 0:
        raise NetworkError("arrival times of a trace must be zero or more and ascend")
    if len(index) != len(arrivals) or index.max() >= len(network.classes):
        raise NetworkError(f"a trace needs one class index below {len(network.classes)} for each arrival")
    users = [c.name for k, c in enumerate(network.classes) if c.users and np.any(index == k)]
    if users:
        raise NetworkError(
            f"class {users[0]!r} has users, who come of themselves; transactions are replayed in classes without users"
        )
    come = {c.name for k, c in enumerate(network.classes) if c.arrivals is not None and not np.any(index == k)}
    if not set(random_classes) <= come:
        raise NetworkError(
            f"class {min(set(random_classes) - come)!r} cannot run beside the trace: it is in it, or never arrives"
        )
    work = np.empty((len(arrivals), max(1, len(work_s))))
    for column, (name, values) in enumerate(work_s.items()):
        if len(values) != len(arrivals) or not np.all(np.asarray(values) >= 0):
            raise NetworkError(f"work for {name!r} needs one value of zero or more for each arrival")
        work[:, column] = values
    return Trace(arrivals, index, work, tuple(work_s), frozenset(random_classes))


def _groups(program: Program, runs: list[Replication], level: float) -> summary.Groups:
    """Batches of all replications merged into groups long enough to be independent."""
    share = max(1, GROUPS // len(runs))
    rows, seconds = [], []
    for run in runs:
        count = min(share, len(run.batches))
        rows.append(merge(np.stack(run.batches), count))
        seconds.append(merge(np.full((len(run.batches), 1), run.batch_s), count)[:, 0])
    histograms = np.stack([run.tables.histogram for run in runs])
    visits = np.stack([run.tables.visit_histogram for run in runs])
    parts = np.sum([run.tables.parts for run in runs], axis=0)
    return summary.Groups.of(program, level, np.concatenate(seconds), np.concatenate(rows), histograms, visits, parts)


def _worst(groups: summary.Groups) -> float:
    """Largest relative half-width of a mean response over the classes that end transactions."""
    worst = 0.0
    for k in range(len(groups.program.network.classes)):
        estimate = summary.response(groups, k)
        if estimate.value > 0:
            width = estimate.half_width / estimate.value
            worst = max(worst, math.inf if math.isnan(width) else width)
    return worst


def _result(
    program: Program,
    runs: list[Replication],
    seed: int,
    level: float,
    precise: bool,
) -> SimulationResult:
    groups = _groups(program, runs, level)
    # Users go before some of what arrives as often as they were seen to.
    overloaded = {} if program.trace else overloaded_by_arrivals(as_arrays(program.network), summary.throughput(groups))
    stations, resources, machines = summary.stations(groups), summary.resources(groups), summary.machines(groups)
    return SimulationResult(
        network=program.network.name,
        seed=seed,
        replications=len(runs),
        level=level,
        simulated_s=float(groups.seconds.sum()),
        warm_up_s=sum(run.warm_up_s for run in runs),
        settled=all(run.settled for run in runs) and not overloaded,
        overloaded=overloaded,
        transactions=sum(run.transactions for run in runs),
        precise=precise,
        classes=summary.classes(groups),
        stations=stations,
        resources=resources,
        machines=machines,
        limits=summary.limits(groups, stations, resources, machines, overloaded),
    )


__all__ = ["SimulationError", "replay", "simulate"]
