"""Whether the answers of a system agree with the simulator, which plays the network they stand for at three loads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.ask import SOLVER
from model.capacity.crossing import crossing
from model.capacity.ensemble import System
from model.capacity.figures import resources
from model.capacity.loads import understand
from model.capacity.network import CP, Described, describe
from model.capacity.parts import Scenario
from model.network import Network, Visit
from model.network.simulator.simulate import simulate

Array = NDArray[np.float64]

# How full the fullest resource is at each load.
FILLED = (0.5, 0.7, 0.85)
# Stated errors of the answers against the network they stand for.
BUSY_PCT, RESPONSE_PCT = 1.0, 100.0 * float(SOLVER["relative_error"])
HORIZON, MOST, PRECISION = 60_000, 400_000, 0.02
# A replication this many times as long as a response has seen it often enough, and ended few of them late.
LONG = 100.0
LEAST_FACTOR, MOST_FACTOR = 1e-3, 1e3


def agreement(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Largest differences between prediction and simulation at loads that fill the fullest resource to 50, 70, 85 %.

    A difference counts beyond the simulation's own 95 % half-width. Responses so long that the simulation is not
    ``LONG`` of them, or so seldom that it has no half-width, are not compared, and what such classes use of the engines
    is added to the half-width of busy. A load is left out where the system's fixed work alone fills more.

    Returns:
        ``passed``; ``allowed_pct`` of ``busy`` and ``response``; ``worst_pct``, the largest response error beyond the
        half-width; ``loads``, each with ``filled_pct, etr_tps, busy_error_pct, busy_half_width_pct,
        response_error_pct, class, half_width_pct, not_compared, agrees``.
    """
    ready = System(entry)
    load = understand(ready, {}).as_asked()
    rows = []
    for filled in FILLED:
        scenario = _filled(ready, load.scenario, filled)
        if scenario is not None:
            rows.append(_compared(describe(ready, replace(load, scenario=scenario), name, "validation"), filled))
    beyond = [max(abs(row["response_error_pct"]) - row["half_width_pct"], 0.0) for row in rows]
    return {
        "passed": all(row["agrees"] for row in rows),
        "allowed_pct": {"busy": BUSY_PCT, "response": RESPONSE_PCT},
        "worst_pct": max(beyond, default=0.0),
        "loads": rows,
    }


def _filled(ready: System, scenario: Scenario, filled: float) -> Scenario | None:
    """The scenario with all rates scaled until the fullest resource is that full; None where no rate does it."""

    def beyond(factor: Array) -> Array:
        state = ready.evaluate(replace(scenario, rates=scenario.rates * factor[:, :, None]))
        return np.array([[max(float(used[0, 0]) for used in resources(ready, state).values()) / filled - 1.0]])

    factor = float(crossing(beyond, (1, 1))[0, 0])
    return replace(scenario, rates=scenario.rates * factor) if LEAST_FACTOR < factor < MOST_FACTOR else None


def _compared(found: Described, filled: float) -> dict[str, Any]:
    """One load: the error of busy, and of the response that is furthest off beyond its half-width."""
    result = simulate(found.network, seed=1, horizon=HORIZON, precision=PRECISION, most=MOST)
    busy = result.stations[CP].utilization
    expected = float(found.state.busy[0, 0]) / found.network.station(CP).servers
    busy_error, busy_width = 100.0 * (busy.value / expected - 1.0), 100.0 * busy.half_width / expected
    worst, where, width = 0.0, "", 0.0
    each_s = result.simulated_s / result.replications
    not_compared = []
    for stream, metric in found.response.items():
        simulated = result.classes[stream].response_s
        predicted = 1e-3 * float(found.state.response_ms[metric, stream][0, 0])
        if not each_s >= LONG * predicted or not math.isfinite(simulated.value + simulated.half_width):
            not_compared.append(stream)
            busy_width += 100.0 * _engines(found.network, stream) / float(found.state.busy[0, 0])
            continue
        error, half = 100.0 * (simulated.value / predicted - 1.0), 100.0 * simulated.half_width / predicted
        if not where or abs(error) - half > abs(worst) - width:
            worst, where, width = error, stream, half
    return {
        "filled_pct": 100.0 * filled,
        "etr_tps": float(found.load.scenario.rates[0, 0].sum()),
        "busy_error_pct": busy_error,
        "busy_half_width_pct": busy_width,
        "response_error_pct": worst,
        "class": where,
        "half_width_pct": width,
        "not_compared": not_compared,
        "agrees": abs(busy_error) <= BUSY_PCT + busy_width and abs(worst) <= RESPONSE_PCT + width,
    }


def _engines(network: Network, name: str) -> float:
    """Engines that a class of the network uses of the LPAR."""
    [cls] = [one for one in network.classes if one.name == name]
    visits = [step for step in cls.route if isinstance(step, Visit) and step.station == CP]
    rate = cls.arrivals.rate_per_s if cls.arrivals is not None else 0.0
    return rate * sum(visit.service.mean * visit.count for visit in visits)
