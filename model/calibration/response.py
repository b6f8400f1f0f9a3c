"""The response law: an M/M/c CPU part from the system's own usage, and what the measured response leaves for the

rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from model.calibration.usage_law import usage_mean
from model.queueing.multiserver import slowdown

# Repeatability of a mean response; how wrong the CPU part may be, because the engines' queue is not exactly M/M/c;
# and how far the rest may answer to load, as a share of the growth of the stretch.
SCATTER = 0.03
CPU_PART_SD = 0.3
LOAD_SD = 0.25
DOF = 5.0


def fit_response(
    rate: NDArray[np.float64],
    response_ms: NDArray[np.float64],
    error_rel: NDArray[np.float64],
    law: Mapping[str, Any],
    engines: int,
) -> dict[str, Any] | None:
    """The response law of one system; None where no point has both a response and a steady state.

    Args:
        rate: transactions/s at the points where the response is known, shape (n,).
        response_ms: mean response, shape (n,).
        error_rel: relative standard error of the response, shape (n,).
        law: the usage law of the LPAR.
        engines: general CPs of the LPAR.
    """
    offered = np.array([usage_mean(law, value) for value in rate])
    steady = offered < engines
    if not steady.any():
        return None
    rate, response_ms, error_rel, offered = rate[steady], response_ms[steady], error_rel[steady], offered[steady]
    stretches = slowdown(offered, engines)
    cpu_ms = 1e3 * offered / rate * stretches
    rest = np.maximum(response_ms - cpu_ms, 0.0)
    spread = float(np.std(rest, ddof=1)) if len(rest) > 1 else 0.0
    return {
        "other_ms": float(rest.mean()),
        "other_sd_ms": float(np.hypot(CPU_PART_SD * cpu_ms.mean(), spread)),
        "load_sd": LOAD_SD,
        "measured_stretch": float(stretches.mean()),
        "noise_rel": float(max(SCATTER, np.median(error_rel))),
        "quantile": float(stats.t.ppf(0.95, DOF)),
        "points": len(rest),
        "origin": "measured",
    }
