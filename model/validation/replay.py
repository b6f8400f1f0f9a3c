"""Recorded transactions through the calibrated network: does it reproduce the recorded responses, class by class?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.network_export import CP, NetworkExport
from model.network.description import Network, demands
from model.network.elements import Arrivals, TransactionClass
from model.network.simulator.simulate import replay

Array = NDArray[np.float64]

# A class of which so much was recorded is taken to be recorded whole.
WHOLE = 0.97
FEWEST = 50
# Distance of the responses of a class, relative to the recorded mean, up to which they are reproduced.
ALLOWED = 0.25


class NothingToReplay(ValueError):
    """Too few of the recorded transactions are of the system's classes; the message says which there are."""


@dataclass(frozen=True)
class Transactions:
    """Transactions of one stretch of time: (n,) arrival in seconds from its start, class, CPU and response seconds.

    ``cpu_s`` is NaN where a record has none.
    """

    arrival_s: Array
    classes: NDArray[np.str_]
    cpu_s: Array
    response_s: Array


def replayed(export: NetworkExport, recorded: Transactions, seed: int = 1) -> list[dict[str, Any]]:
    """The recorded responses of each class beside those of the network, and how far apart their distributions are.

    Arrivals are the recorded ones. CPU varies as recorded around the calibrated mean, as a task's record has the time
    of one region only; where none was recorded it is drawn. What else ran comes as it is described, and so does the
    part of a class that was not recorded.

    Returns
    -------
    For each class ``class, transactions, recorded_part, turned_away, recorded`` and ``replayed`` (each ``mean_ms,
    p50_ms, p90_ms, p99_ms``), ``wasserstein``, the mean distance between equal ranks relative to the recorded mean,
    and ``ks``, the largest difference of the distribution functions.

    Raises
    ------
    NothingToReplay
        No class of the network has transactions enough.
    """
    names, counts = np.unique(recorded.classes, return_counts=True)
    chosen = {str(name) for name, n in zip(names, counts, strict=True) if name in export.response and n >= FEWEST}
    if not chosen:
        raise NothingToReplay(
            f"no class of the system ({', '.join(export.response)}) has {FEWEST} recorded transactions; "
            f"recorded: {', '.join(map(str, names)) or 'none'}"
        )
    kept = np.isin(recorded.classes, list(chosen))
    order = np.argsort(recorded.arrival_s[kept], kind="stable")
    arrival, cpu, response = (x[kept][order] for x in (recorded.arrival_s, recorded.cpu_s, recorded.response_s))
    classes = recorded.classes[kept][order]
    arrival = arrival - arrival[0]
    parts = {name: _part(export, name, classes, arrival) for name in chosen}
    network = _with_rest(export.network, parts)
    index = np.array([network.class_names.index(name) for name in classes], np.uint16)
    random_classes = [c.name for c in network.classes if c.arrivals is not None and c.name not in chosen]
    work = {CP: _work(network, classes, cpu)}
    _, left_s = replay(network, arrival, index, work, random_classes=random_classes, seed=seed)
    lasted = left_s - arrival
    return [_row(name, parts[name], response[classes == name], lasted[classes == name]) for name in sorted(chosen)]


def judged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the gate keeps of a replay: ``passed``, ``allowed`` distance, and ``classes`` with the distances of each."""
    kept = ("class", "transactions", "recorded_part", "wasserstein", "ks")
    classes = [{name: row[name] for name in kept} for row in rows]
    return {
        "passed": all(row["wasserstein"] <= ALLOWED for row in classes),
        "allowed": ALLOWED,
        "classes": classes,
    }


def _part(export: NetworkExport, name: str, classes: NDArray[np.str_], arrival: Array) -> float:
    """Part of a class's calibrated rate that the records have, at most 1."""
    rate = next(c.arrivals.rate_per_s for c in export.network.classes if c.name == name and c.arrivals)
    return min(float((classes == name).sum()) / max(float(arrival[-1]), 1e-9) / rate, 1.0)


def _with_rest(network: Network, parts: Mapping[str, float]) -> Network:
    """The network with a further class for what of a class was not recorded."""
    more: list[TransactionClass] = []
    for one in network.classes:
        part = parts.get(one.name, 1.0)
        if part < WHOLE and one.arrivals is not None:
            rest = Arrivals.poisson(one.arrivals.rate_per_s * (1.0 - part))
            more.append(replace(one, name=f"{one.name}, not recorded", arrivals=rest))
    return replace(network, classes=(*network.classes, *more))


def _work(network: Network, classes: NDArray[np.str_], cpu: Array) -> Array:
    """(n,) CPU seconds: as recorded, scaled to the calibrated mean of the class; drawn where nothing was recorded."""
    demand = demands(network).demand_s[:, network.station_names.index(CP)]
    random, work = np.random.default_rng(0), np.zeros(len(classes))
    for name in np.unique(classes):
        own = classes == name
        usual = float(demand[network.class_names.index(str(name))])
        has_cpu = np.isfinite(cpu[own]) & (cpu[own] >= 0)
        mean = float(cpu[own][has_cpu].mean()) if has_cpu.any() else 0.0
        drawn = random.exponential(usual, int(own.sum()))
        work[own] = np.where(has_cpu, cpu[own] * usual / mean, drawn) if mean > 0 else drawn
    return work


def _row(name: str, part: float, recorded: Array, lasted: Array) -> dict[str, Any]:
    done = lasted[np.isfinite(lasted)]
    ranks = np.linspace(0.0, 1.0, 2001)
    a, b = np.quantile(recorded, ranks), np.quantile(done, ranks)
    both = np.sort(np.concatenate([recorded, done]))
    steps = [np.searchsorted(np.sort(x), both, side="right") / len(x) for x in (recorded, done)]
    return {
        "class": name,
        "transactions": len(recorded),
        "recorded_part": part,
        "turned_away": len(lasted) - len(done),
        "recorded": _spread(recorded),
        "replayed": _spread(done),
        "wasserstein": float(np.trapezoid(np.abs(a - b), ranks) / recorded.mean()),
        "ks": float(np.abs(steps[0] - steps[1]).max()),
    }


def _spread(times: Array) -> dict[str, float]:
    marks = np.quantile(times, [0.5, 0.9, 0.99])
    figures = dict(zip(("p50_ms", "p90_ms", "p99_ms"), marks, strict=True))
    return {name: 1e3 * float(value) for name, value in {"mean_ms": times.mean(), **figures}.items()}
