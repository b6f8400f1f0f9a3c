"""Draws from fitted moments, spread evenly so that few of them give steady quantiles."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

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
