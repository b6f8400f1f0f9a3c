"""Speed of the simulator: ``python -m benchmarks.simulator [--json]``.

Peers run in the same process on the same work: a bare event loop written for nothing but M/M/18, Ciw and SimPy (group
``bench`` of pyproject.toml; left out with a note where not installed). All on one core. Rates are the best of three
runs; compile times are apart.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from model.network import (
    Acquire,
    Arrivals,
    CfRequest,
    Distribution,
    Network,
    Release,
    Resource,
    Station,
    TransactionClass,
    Visit,
)
from model.network.simulator import replay
from model.network.simulator.program import compile_network
from model.network.simulator.randoms import standard_exponential, stream
from model.network.simulator.replication import Replication

EXP = Distribution.exponential
SERVERS, LOAD = 18, 14.4


def mm18() -> Network:
    """M/M/18 at 80 % busy."""
    return Network(
        name="M/M/18 at 80 % busy",
        stations=(Station(name="cp", servers=SERVERS),),
        classes=(
            TransactionClass(name="a", arrivals=Arrivals.poisson(LOAD), route=(Visit(station="cp", service=EXP(1.0)),)),
        ),
    )


def ten_visits(scheduling: str) -> Network:
    """A transaction with ten visits (engines, I/O, coupling facility, link) inside a region limit."""
    cp = Visit(station="cp", service=EXP(0.0012))
    dasd = Visit(station="dasd", service=EXP(0.0006))
    link = Visit(station="link", service=EXP(0.001))
    request = CfRequest(station="cf", engine="cp", service=EXP(20e-6), issue=EXP(0.0006))
    take, give = Acquire(resource="mxt"), Release(resource="mxt")
    return Network(
        name=f"ten visits, {scheduling} engines",
        stations=(
            Station(name="cp", servers=SERVERS, scheduling=scheduling),  # type: ignore[arg-type]
            Station(name="dasd", servers=8),
            Station(name="cf", servers=2),
            Station(name="link", scheduling="delay"),
        ),
        resources=(Resource(name="mxt", capacity=200),),
        classes=(
            TransactionClass(
                name="a",
                arrivals=Arrivals.poisson(2000.0),
                route=(link, take, cp, dasd, cp, request, cp, dasd, cp, give, link),
            ),
        ),
    )


@njit(error_model="numpy")
def _numpy_exponential(rng: np.random.Generator) -> float:
    return rng.standard_exponential()


def _bare_loop(draw: Callable[[Any], float]) -> Callable[[int, float, int, Any], float]:
    """An event loop for M/M/c and nothing else: two kinds of event, no statistics but the sum of responses."""

    @njit(error_model="numpy")
    def loop(n: int, rate: float, servers: int, rng: Any) -> float:
        done, began = np.full(servers, np.inf), np.zeros(servers)
        ring, mask, head, waiting = np.zeros(1 << 16), (1 << 16) - 1, 0, 0
        arrival = draw(rng) / rate
        first, first_at, busy, total, finished = np.inf, 0, 0, 0.0, 0
        while finished < n:
            if arrival < first:
                now = arrival
                arrival = now + draw(rng) / rate
                if busy == servers:
                    ring[(head + waiting) & mask] = now
                    waiting += 1
                    continue
                slot = 0
                while done[slot] != np.inf:
                    slot += 1
                busy += 1
                began[slot], done[slot] = now, now + draw(rng)
                if done[slot] < first:
                    first, first_at = done[slot], slot
            else:
                now = first
                total += now - began[first_at]
                finished += 1
                if waiting:
                    began[first_at], done[first_at] = ring[head], now + draw(rng)
                    head = (head + 1) & mask
                    waiting -= 1
                else:
                    done[first_at] = np.inf
                    busy -= 1
                first = np.inf
                for slot in range(servers):
                    if done[slot] < first:
                        first, first_at = done[slot], slot
        return total / n

    return loop


_BARE, _BARE_NUMPY = _bare_loop(standard_exponential), _bare_loop(_numpy_exponential)


def bare(n: int) -> None:
    """The hand-written loop with the engine's own generator."""
    _BARE(n, LOAD, SERVERS, stream(np.random.SeedSequence(1)))


def bare_numpy_draws(n: int) -> None:
    """The hand-written loop with NumPy's generator."""
    _BARE_NUMPY(n, LOAD, SERVERS, np.random.default_rng(1))


def engine(network: Network) -> Callable[[int], None]:
    """Run ``n`` transactions of a network through the general engine, statistics and all."""
    program = compile_network(network)

    def work(n: int) -> None:
        Replication(program, np.random.SeedSequence(1), 1 << 22).advance(np.inf, n)

    return work


def ciw(n: int) -> None:
    """The same M/M/18 in Ciw."""
    import ciw as peer

    network = peer.create_network(
        arrival_distributions=[peer.dists.Exponential(LOAD)],
        service_distributions=[peer.dists.Exponential(1.0)],
        number_of_servers=[SERVERS],
    )
    peer.seed(1)
    peer.Simulation(network).simulate_until_max_customers(n, method="Finish")


def simpy(n: int) -> None:
    """The same M/M/18 in SimPy."""
    import simpy as peer

    environment = peer.Environment()
    servers = peer.Resource(environment, SERVERS)
    draws = random.Random(1)

    def customer():
        with servers.request() as request:
            yield request
            yield environment.timeout(draws.expovariate(1.0))

    def arrivals():
        for _ in range(n):
            yield environment.timeout(draws.expovariate(LOAD))
            environment.process(customer())

    environment.process(arrivals())
    environment.run()


def rate(work: Callable[[int], None], n: int, times: int = 3) -> float:
    """Best rate per second of processor time of ``work(n)``, compiled before: all is on one thread, and what else the
    machine does counts less than on the clock."""
    work(min(n, 1000))
    best = 0.0
    for _ in range(times):
        began = time.process_time()
        work(n)
        best = max(best, n / (time.process_time() - began))
    return best


def rates(works: dict[str, Callable[[int], None]], n: int, times: int = 5) -> dict[str, float]:
    """Best rates of several works that take turns, so that whatever else the machine does falls on all of them."""
    best = dict.fromkeys(works, 0.0)
    for _ in range(times):
        for name, work in works.items():
            best[name] = max(best[name], rate(work, n, times=1))
    return best


def replay_seconds(n: int = 10_000_000) -> float:
    """Seconds to replay ``n`` recorded transactions (CPU and I/O each) under 18 engines and a region limit."""
    rng = np.random.default_rng(1)
    network = Network(
        name="replay",
        stations=(Station(name="cp", servers=SERVERS), Station(name="dasd", servers=8)),
        resources=(Resource(name="mxt", capacity=100),),
        classes=(
            TransactionClass(
                name="a",
                route=(
                    Acquire(resource="mxt"),
                    Visit(station="cp", service=EXP(0.0005)),
                    Visit(station="dasd", service=EXP(0.0002)),
                    Visit(station="cp", service=EXP(0.0005)),
                    Release(resource="mxt"),
                ),
            ),
        ),
    )
    arrivals = np.cumsum(rng.exponential(1 / 14_400, n))
    classes = np.zeros(n, np.uint16)
    work = {"cp": rng.exponential(0.001, n), "dasd": rng.exponential(0.0002, n)}
    small = {name: values[:1000] for name, values in work.items()}
    replay(network, arrivals[:1000], classes[:1000], small)
    began = time.perf_counter()
    replay(network, arrivals, classes, work)
    return time.perf_counter() - began


def peak_kib(network: Network, transactions: tuple[int, ...]) -> list[int]:
    """Largest resident size so far after runs of growing length."""
    out = []
    for n in transactions:
        engine(network)(n)
        out.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return out


def measure() -> dict[str, Any]:
    """All figures: customers or transactions per second, ratios, seconds."""
    loops = rates({"engine": engine(mm18()), "bare": bare, "bare, NumPy's draws": bare_numpy_draws}, 3_000_000)
    own, loop, numpy_loop = loops.values()
    out: dict[str, Any] = {
        "mm18_engine_per_s": own,
        "mm18_bare_loop_per_s": loop,
        "mm18_bare_loop_numpy_draws_per_s": numpy_loop,
        "ratio_to_bare_loop": own / loop,
        "ratio_to_bare_loop_numpy_draws": own / numpy_loop,
    }
    for name, peer, n in (("ciw", ciw, 30_000), ("simpy", simpy, 100_000)):
        if importlib.util.find_spec(name) is None:
            out[f"mm18_{name}_per_s"] = None
            continue
        out[f"mm18_{name}_per_s"] = rate(peer, n, times=2)
        out[f"ratio_to_{name}"] = own / out[f"mm18_{name}_per_s"]
    for scheduling in ("fcfs", "ps"):
        out[f"ten_visits_{scheduling}_per_s"] = rate(engine(ten_visits(scheduling)), 1_000_000)
    out["peak_kib_after_1_4_16_million"] = peak_kib(mm18(), (1_000_000, 4_000_000, 16_000_000))
    out["replay_10_million_s"] = replay_seconds()
    return out


def main() -> None:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    figures = measure()
    if parser.parse_args().json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:36s} {value:>14,.3f}" if isinstance(value, float) else f"{name:36s} {value!s:>14}")


if __name__ == "__main__":
    main()
