"""Draws from fitted moments, spread evenly so that few of them give steady quantiles."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

DRAWS = 128
Z90 = 1.6448536269514722


def normals(columns: int, name: str, draws: int = DRAWS) -> Array:
    """(draws, columns) independent standard normals by Latin hypercube, with mean 0 and variance 1 in each column.

    ``name`` seeds them: equal names give equal draws.
    """
    sampler = stats.qmc.LatinHypercube(columns, rng=np.random.default_rng(zlib.crc32(name.encode())))
    found = stats.norm.ppf(sampler.random(draws))
    return np.asarray((found - found.mean(axis=0)) / found.std(axis=0))


def around(centre: float, sd: float, name: str) -> dict[str, Any]:
    """A quantity with a normal posterior, as a bundle holds it."""
    return {"centre": float(centre), "draws": (centre + sd * normals(1, name)[:, 0]).tolist()}


def known(value: float) -> dict[str, Any]:
    """A quantity without uncertainty, as a bundle holds it."""
    return {"centre": float(value), "draws": []}


def usage_draws(law: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Coefficients, scatter and drift of a usage law: 90 % of them within the law's own 90 % limits."""
    scale = law["quantile"] * law["inflation"] / Z90
    cov = np.asarray(law["cov"], float)
    values, vectors = np.linalg.eigh((cov + cov.T) / 2.0)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    z = normals(5, name)
    relative = np.hypot(law["noise_rel"], law["extra_rel"])
    return {
        "coef": (np.asarray(law["coef"]) + scale * z[:, :3] @ root.T).tolist(),
        "noise": (scale * relative * z[:, 3]).tolist(),
        "drift": (scale * law["drift_rel"] * z[:, 4]).tolist(),
    }


def response_draws(
    law: Mapping[str, Any], metric: str, stream: str, series: Sequence[str], name: str
) -> dict[str, Any]:
    """A response law as the ensemble evaluates it: rest, its answer to load, scatter."""
    scale = law["quantile"] / Z90
    return {
        "metric": metric,
        "stream": stream,
        "series": list(series),
        "origin": law["origin"],
        "points": law["points"],
        "rest_ms": around(law["other_ms"], scale * law["other_sd_ms"], f"{name} rest"),
        "load": around(0.0, scale * law["load_sd"], f"{name} load"),
        "noise": around(0.0, scale * law["noise_rel"], f"{name} noise"),
        "measured_slowdown": law["measured_stretch"],
        **({"relative": law["relative"]} if "relative" in law else {}),
    }
