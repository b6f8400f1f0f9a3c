"""Recorded intervals as the base of an answer: what was recorded, beside what the model makes of the same load.

A question about a recorded load is answered by the record; what it changes is added by the model. Each sample of the
parameters reproduces the record, up to the scatter of single intervals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.parameters import RecordedIntervals
from model.capacity.state import ZIIP_WORK, Anchor, Scenario, engines_in_use

if TYPE_CHECKING:
    from model.capacity.evaluation import System

Array = NDArray[np.float64]

BUSY_SD_SEED, RESPONSE_SD_SEED = 3000, 3100
BUSY_STEPS, BUSY_TOLERANCE = 8, 1e-6
"""Corrections of busy at most until it is the recorded one, and the relative difference that ends them."""
LEAST, MOST = 0.2, 5.0
"""Bounds of a recorded figure over the model's that is taken for the work of the interval, rather than an error."""


def anchor_of(
    system: System, scenario: Scenario, recorded: RecordedIntervals, index: NDArray[np.int64]
) -> Anchor | None:
    """The anchor of some recorded intervals, whose mean load is the scenario; None where nothing was recorded."""
    if recorded.busy is None:
        return None
    base = Anchor(rates=scenario.rates)
    engines = _mean(recorded.engines, index)
    here = replace(scenario, anchor=base, engines=system.engines if engines is None else engines)
    plain = system.usage(replace(here, anchor=None))
    factors = {}
    for name, values in recorded.component_engines.items():
        seen = _mean(values, index)
        modelled = plain.by_series.get(name) if system.engine(name) == "cp" else plain.eligible.get(name)
        if seen is None or modelled is None:
            continue
        if system.engine(name) == "cp" and f"{name}:ziip" in plain.eligible:
            modelled = modelled - plain.eligible[f"{name}:ziip"] * plain.overflow
        with np.errstate(divide="ignore", invalid="ignore"):
            factors[name] = np.where(modelled > 0, np.clip(seen / modelled, LEAST, MOST), 1.0)
    base = replace(base, usage=factors)
    here = replace(here, anchor=base)
    busy = _mean(recorded.busy, index)
    if busy is not None:
        scatter = recorded.busy_sd * system.deviates(BUSY_SD_SEED)[:, None]
        wanted = busy * (1.0 + scatter / np.sqrt(len(index)))
        # Cost and zIIP overflow may depend on busy, so that a correction changes them.
        for _ in range(BUSY_STEPS):
            missing = wanted - system.usage(replace(here, anchor=base)).busy
            base = replace(base, busy=base.busy + missing)
            if (np.abs(missing) <= BUSY_TOLERANCE * wanted).all():
                break
        there_used = system.usage(replace(here, anchor=base))
        base = replace(base, engines=there_used.busy, work=there_used.work)
    state = system.at_rates(replace(here, anchor=base))
    ziip_busy = _mean(recorded.ziip_busy, index)
    if ziip_busy and state.ziip_busy is not None:
        scatter = recorded.ziip_busy_sd * system.deviates(BUSY_SD_SEED + 1)[:, None]
        modelled_ziips = engines_in_use(system.laws[ZIIP_WORK], _on_ziips(system, replace(here, anchor=base)))
        base = replace(base, ziip_busy=ziip_busy * (1.0 + scatter / np.sqrt(len(index))), ziip_modelled=modelled_ziips)
    responses: dict[tuple[str, str], Array] = {}
    percentiles: dict[tuple[str, str], Array] = {}
    there: dict[tuple[str, str], Array] = {}
    waits: dict[tuple[str, str], Array] = {}
    for i, one in enumerate(system.responses):
        key = one.key
        seen = _mean(recorded.response_ms.get(one.class_name), index)
        if seen is None or not np.isfinite(state.response_ms[key]).all():
            continue
        ended = system.stream(scenario, one.class_name) * recorded.seconds
        sd = one.scatter(system.waiting_share(state, one), ended) / np.sqrt(len(index))
        error = np.exp(sd * system.deviates(RESPONSE_SD_SEED + i)[:, None])
        here_ms, share = state.response_ms[key], system.waiting_share(state, one)
        waits[key] = np.ones(share.shape)
        if one.class_name not in system.baselines:
            waits[key] = _wait_factor(seen / here_ms, share, one.interval_wait_sd, sd * np.sqrt(len(index)))
        responses[key], there[key] = seen * error, here_ms * (1.0 + share * (waits[key] - 1.0))
        p90 = _mean(recorded.p90_ms.get(one.class_name), index)
        if p90 is not None and key in state.p90_ms:
            percentiles[key] = p90 / seen * state.response_ms[key] / np.maximum(state.p90_ms[key], 1e-12)
    return replace(base, response=responses, modelled_ms=there, p90=percentiles, waits=waits)


def _wait_factor(off: Array, share: Array, wait_sd: float, sd: Array) -> Array:
    """Factor on the waits of a class with which its response is nearer to the recorded one, (draws, 1).

    The log of recorded over modelled response (``off``) is the waits' as far as their scatter makes that of responses,
    of which waits are a ``share``.
    """
    part = np.minimum((wait_sd * share / np.maximum(sd, 1e-9)) ** 2, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1.0 + (off**part - 1.0) / share
    return np.where(share > 1e-3, np.clip(factor, LEAST, MOST), 1.0)


def recorded_and_modelled(system: System, scenario: Scenario) -> list[dict[str, Any]]:
    """What was recorded of the load of a scenario, and the model's value, which does not use that record.

    Returns
    -------
    list
        ``metric``, ``class`` (empty for the LPAR), ``recorded``, ``modelled`` and ``unit`` of busy, zIIP busy and
        responses.
    """
    index, recorded = np.array(scenario.recorded, np.int64), system.parameters.recorded
    assert recorded is not None
    engines = _mean(recorded.engines, index) or scenario.engines
    state = system.at_rates(replace(scenario, anchor=None, engines=engines))
    busy, ziip_busy = _mean(recorded.busy, index), _mean(recorded.ziip_busy, index)
    rows = [("cpu_busy_pct", "", busy, state.busy, 100.0 / engines, "pct")]
    if state.ziip_busy is not None and scenario.ziips > 0:
        rows.append(("ziip_busy_pct", "", ziip_busy, state.ziip_busy, 100.0 / scenario.ziips, "pct"))
    for one in system.responses:
        seen = _mean(recorded.response_ms.get(one.class_name), index)
        rows.append((*one.key, seen, state.response_ms[one.key], 1.0, "ms"))
    return [
        {
            "metric": metric,
            "class": stream,
            "recorded": factor * seen,
            "modelled": factor * float(modelled[0, 0]) if np.isfinite(modelled[0, 0]) else None,
            "unit": unit,
        }
        for metric, stream, seen, modelled, factor, unit in rows
        if seen is not None
    ]


def _on_ziips(system: System, scenario: Scenario) -> Array:
    """(draws, 1) work on zIIPs."""
    used = system.usage(scenario)
    return np.asarray(used.ziip_work * (1.0 - used.overflow))


def _mean(values: Array | None, index: NDArray[np.int64]) -> float | None:
    """Mean of what was recorded of some intervals; None where nothing was."""
    if values is None:
        return None
    known = values[index]
    return None if np.isnan(known).all() else float(np.nanmean(known))
