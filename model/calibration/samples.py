"""Draws from fitted moments, spread evenly so that few of them give steady quantiles."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from model.capacity.parameters import ResponseModel

Array = NDArray[np.float64]

DRAWS = 128
Z90 = 1.6448536269514722


def normal_scores(columns: int, name: str, draws: int = DRAWS) -> Array:
    """(draws, columns) independent standard normals by Latin hypercube, with mean 0 and variance 1 in each column.

    ``name`` seeds them: equal names give equal draws.
    """
    sampler = stats.qmc.LatinHypercube(columns, rng=np.random.default_rng(zlib.crc32(name.encode())))
    found = stats.norm.ppf(sampler.random(draws))
    return np.asarray((found - found.mean(axis=0)) / found.std(axis=0))


def normal_samples(centre: float, sd: float, name: str) -> Array:
    """(1 + DRAWS,) samples of a quantity with a normal posterior, the best estimate first."""
    return np.append(float(centre), centre + sd * normal_scores(1, name)[:, 0])


def with_centre(centre: ArrayLike, drawn: ArrayLike) -> Array:
    """(1 + draws, ...) samples, of a best estimate and (draws, ...) of its posterior."""
    return np.concatenate([np.asarray(centre, float)[None], np.asarray(drawn, float)])


def usage_draws(law: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Coefficients, scatter and drift of a usage law: 90 % of them within the law's own 90 % limits."""
    scale = law["quantile"] * law["inflation"] / Z90
    cov = np.asarray(law["cov"], float)
    values, vectors = np.linalg.eigh((cov + cov.T) / 2.0)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    z = normal_scores(5, name)
    relative = np.hypot(law["noise_rel"], law["extra_rel"])
    return {
        "coef": with_centre(law["coef"], np.asarray(law["coef"]) + scale * z[:, :3] @ root.T),
        "noise": np.append(0.0, scale * relative * z[:, 3]),
        "drift": np.append(0.0, scale * law["drift_rel"] * z[:, 4]),
    }


def response_draws(
    law: Mapping[str, Any], metric: str, class_name: str, series: Sequence[str], name: str
) -> ResponseModel:
    """A response law with its samples: rest, its answer to load, scatter."""
    scale = law["quantile"] / Z90
    return ResponseModel(
        metric=metric,
        class_name=class_name,
        series=tuple(series),
        origin=law["origin"],
        points=law["points"],
        rest_ms=normal_samples(law["other_ms"], scale * law["other_sd_ms"], f"{name} rest"),
        load=normal_samples(0.0, scale * law["load_sd"], f"{name} load"),
        noise=normal_samples(0.0, scale * law["noise_rel"], f"{name} noise"),
        measured_slowdown=law["measured_stretch"],
        relative=law.get("relative", ""),
    )
