"""The ensemble at every recorded interval of a system, beside what was measured: residuals, and whether they drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from model.capacity.answer import Estimate
from model.capacity.question import prepare_system
from model.capacity.question_keys import system_entry
from model.capacity.state import Scenario
from model.capacity.values import QuestionError

HELD_OUT_FROM = 0.7
"""Validation predicts the days from this part of the history on from those before."""
MOST_INTERVALS = 2000


def residuals(bundle: Mapping[str, Any], system: str) -> dict[str, Any]:
    """Measured and predicted busy of recorded intervals, evenly chosen, 2,000 at most.

    Raises:
        QuestionError: an unknown system, or one without a history.
    """
    parameters = system_entry(bundle, system)
    history = parameters.recorded
    if history is None:
        raise QuestionError("system", system, f"system: {system} has measured points but no history")
    ready = prepare_system(parameters)
    starts = history.times
    chosen = np.arange(0, len(starts), max(1, -(-len(starts) // MOST_INTERVALS)))
    rates = history.rates[:, chosen].T
    extra = {name: values[chosen][None] for name, values in history.extra.items()}
    others = 0.0 if history.others is None else history.others[chosen][None]
    scenario = Scenario(rates=rates[None], engines=ready.engines, ziips=ready.ziips, extra=extra, others=others)
    busy = 100.0 * ready.usage(scenario).busy / ready.engines
    found = [Estimate.of(busy[:, i]) for i in range(len(chosen))]
    days = starts.astype("datetime64[D]")
    known = np.unique(days)
    split = known[min(int(len(known) * HELD_OUT_FROM), len(known) - 1)]
    measured = np.zeros(0) if history.cpu_busy_pct is None else history.cpu_busy_pct[chosen]
    return {
        "system": system,
        "start_local": [str(start) for start in starts[chosen]],
        "held_out": (days[chosen] >= split).tolist(),
        "rate_tps": rates.sum(axis=1).tolist(),
        "measured_busy_pct": [float(value) if np.isfinite(value) else None for value in measured],
        "predicted_busy_pct": [one.value for one in found],
        "lo": [one.lo for one in found],
        "hi": [one.hi for one in found],
    }
