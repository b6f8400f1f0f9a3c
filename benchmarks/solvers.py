"""How long the analytic solvers take: one network, and sweeps of a thousand points.

``python -m benchmarks.solvers`` prints milliseconds (the best of several runs) on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from model.network import Arrivals, Distribution, Network, Station, TransactionClass, Visit
from model.network.solvers import solve
from model.network.solvers.amva import FCFS, SHARING, amva
from model.network.solvers.convolution import Convolution, convolution
from model.network.solvers.exact_mva import exact_mva
from model.network.solvers.sweep import sweep

REPEATS = 30


def best_ms(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Shortest of several runs, the first (which may compile) left out, in milliseconds."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1e3 * min(times)


def ten_by_twenty(servers: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Populations, demands, servers and think times of 10 classes at 20 stations."""
    g = np.random.default_rng(7)
    demands = g.exponential(0.05, (20, 10))
    return g.integers(1, 60, 10), demands, g.choice(servers, 20), np.full(10, 1.0)


def _described(n: np.ndarray, d: np.ndarray, m: np.ndarray, z: np.ndarray) -> Network:
    """The same as a network of shared stations."""
    names = [f"s{k}" for k in range(len(m))]
    law = Distribution.exponential
    return Network(
        name="ten classes",
        stations=tuple(Station(name=name, servers=int(c), scheduling="ps") for name, c in zip(names, m, strict=True)),
        classes=tuple(
            TransactionClass(
                name=f"c{r}",
                users=int(n[r]),
                think=law(float(z[r])),
                route=tuple(Visit(station=name, service=law(float(d[k, r]))) for k, name in enumerate(names)),
            )
            for r in range(len(n))
        ),
    )


def measure() -> dict[str, float]:
    """Milliseconds by name."""
    out: dict[str, float] = {}
    for name, servers in (("1 server", (1,)), ("1 to 18 servers", (1, 2, 8, 18)), ("18 servers", (18,))):
        n, d, m, z = ten_by_twenty(servers)
        for label, passes in (("Bard-Schweitzer", 1), ("Linearizer", 3)):
            out[f"10 classes x 20 stations, {name}, {label}"] = best_ms(
                lambda n=n, d=d, m=m, z=z, p=passes: amva(n, d, m, z, passes=p)  # type: ignore[misc]
            )
        described = _described(n, d, m, z)
        out[f"10 classes x 20 stations, {name}, described, solved again"] = best_ms(lambda x=described: solve(x))  # type: ignore[misc]
    n, d, m, z = ten_by_twenty((1, 2, 8, 18))
    ordered = [FCFS] + 19 * [SHARING]
    out["10 classes x 20 stations, 1 to 18 servers, one of them in order, Linearizer"] = best_ms(
        lambda: amva(n, d, m, z, discipline=ordered, service=d / 2)
    )
    opens = np.arange(10) < 4
    out["6 classes beside 4 open ones x 20 stations, 1 to 18 servers, four of them in order, Linearizer"] = best_ms(
        lambda: amva(
            np.where(opens, 0, n), d, m, z, rates=np.where(opens, 1, -1), discipline=4 * ordered[:1] + 16 * [SHARING],
            service=d / 2,
        )
    )  # fmt: skip
    scale = np.linspace(0.1, 2.0, 1000)
    points = np.round(n * scale[:, None])
    out["1,000 populations of that network, Linearizer, per point"] = best_ms(lambda: sweep(points, d, m, z), 3) / 1000
    out["3 classes x 5 stations, exact, 20 x 20 x 20 customers"] = best_ms(
        lambda: exact_mva([20, 20, 20], d[:5, :3], [1] * 5, z[:3]), 5
    )
    out["2 classes x 5 stations of 8 servers, convolution, 40 x 40"] = best_ms(
        lambda: convolution([40, 40], d[:5, :2], [8] * 5, z[:2]), 5
    )
    out["1 class, 300 servers, all populations to 500"] = best_ms(
        lambda: Convolution([500], [[0.444]], [300]).throughput_by_population(), 5
    )
    network = Network(
        name="three tiers",
        stations=tuple(Station(name=n, servers=4, scheduling="ps") for n in "abc"),
        classes=tuple(
            TransactionClass(
                name=c,
                route=tuple(Visit(station=n, service=Distribution.exponential(0.01)) for n in "abc"),
                arrivals=Arrivals.poisson(50),
            )
            for c in "xy"
        ),
    )
    out["a described network of 2 classes and 3 stations, from routes to solution"] = best_ms(lambda: solve(network))
    return out


def main() -> None:
    """Print the table."""
    for name, milliseconds in measure().items():
        print(f"{name:96} {milliseconds:9.3f} ms")


if __name__ == "__main__":
    main()
