"""Recorded intervals as the base of an answer: what was recorded, beside what the model makes of the same load.

A question about a recorded load is answered by the record; what it changes is added by the model. Each sample of the
parameters reproduces the record, up to the scatter of single intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.parts import ZIIP_WORK, Anchor, Scenario

if TYPE_CHECKING:
    from model.capacity.ensemble import System

Array = NDArray[np.float64]

BUSY_SD_SEED, RESPONSE_SD_SEED = 3000, 3100
LEAST, MOST = 0.2, 5.0
"""Bounds of a recorded figure over the model's that is taken for the work of the interval, rather than an error."""


def anchor_of(
    system: System, scenario: Scenario, profile: Mapping[str, Any], index: NDArray[np.int64]
) -> Anchor | None:
    """The anchor of some recorded intervals, whose mean load is the scenario; None where nothing was recorded."""
    recorded = profile.get("recorded")
    if recorded is None:
        return None
    base = Anchor(rates=scenario.rates)
    engines = _mean(recorded["capacity"], index)
    here = replace(scenario, anchor=base, engines=system.engines if engines is None else engines)
    plain = system.usage(replace(here, anchor=None))
    factors = {}
    for name, values in recorded["engines"].items():
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
    used = system.usage(here)
    busy = _mean(recorded["busy"], index)
    if busy is not None:
        scatter = float(profile.get("busy_sd", 0.0)) * system.deviates(BUSY_SD_SEED)[:, None]
        base = replace(base, busy=busy * (1.0 + scatter / np.sqrt(len(index))) - used.busy)
    state = system.at_rates(replace(here, anchor=base))
    ziip_busy = _mean(recorded["ziip_busy"], index)
    if ziip_busy and state.ziip_busy is not None:
        scatter = float(profile.get("ziip_busy_sd", 0.0)) * system.deviates(BUSY_SD_SEED + 1)[:, None]
        modelled_ziips = np.asarray(system.laws[ZIIP_WORK].usage(_on_ziips(system, replace(here, anchor=base))))
        base = replace(
            base, ziip_busy=ziip_busy * (1.0 + scatter / np.sqrt(len(index))), ziip_modelled=modelled_ziips
        )
    responses: dict[tuple[str, str], Array] = {}
    percentiles: dict[tuple[str, str], Array] = {}
    there: dict[tuple[str, str], Array] = {}
    for i, one in enumerate(system.responses):
        key = (one.metric, one.stream)
        seen = _mean(recorded["response_ms"].get(one.stream), index)
        if seen is None or not np.isfinite(state.response_ms[key]).all():
            continue
        sd = one.scatter(system.waiting_share(state, one)) / np.sqrt(len(index))
        error = np.exp(sd * system.deviates(RESPONSE_SD_SEED + i)[:, None])
        responses[key], there[key] = seen * error, state.response_ms[key]
        p90 = _mean(recorded["p90_ms"].get(one.stream), index)
        if p90 is not None and key in state.p90_ms:
            percentiles[key] = p90 / seen * state.response_ms[key] / np.maximum(state.p90_ms[key], 1e-12)
    return replace(base, response=responses, modelled_ms=there, p90=percentiles)


def _on_ziips(system: System, scenario: Scenario) -> Array:
    """(draws, 1) work on zIIPs."""
    used = system.usage(scenario)
    return np.asarray(used.ziip_work * (1.0 - used.overflow))


def _mean(values: list[float | None] | None, index: NDArray[np.int64]) -> float | None:
    """Mean of what was recorded of some intervals; None where nothing was."""
    if values is None:
        return None
    known = np.array([np.nan if values[i] is None else values[i] for i in index], float)
    return None if np.isnan(known).all() else float(np.nanmean(known))
