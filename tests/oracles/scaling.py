"""Throughput against load, measured: several laws fitted, the one that explains the points best is kept.

Besides the universal scalability law, a closed queueing network whose work grows with the load: N users think Z,
queue for m servers with demand D (1 + k max(0, N - N*)), where N* is the load at which the servers saturate. It keeps
the sharp knee that a law without a limit cannot have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from tests.oracles.usl import fit_usl

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScalingFit:
    """A fitted law: ``parameters`` by name and ``sse``, the squared error over the fitted points."""

    name: str
    parameters: dict[str, float]
    sse: float
    throughput: Callable[[ArrayLike], Floats]


def saturating(load: ArrayLike, first: float, ceiling: float, sharpness: float, growth: float) -> Floats:
    """Throughput of a closed system with a limit.

    ``first`` is the throughput of one user alone; ``ceiling`` that of the saturated servers; ``sharpness`` >= 1
    shapes the knee (1 is one server's, large the asymptotes); ``growth`` is the relative growth of the work per user
    beyond the knee.
    """
    n = np.asarray(load, dtype=float)
    knee = ceiling / first
    capacity = ceiling / (1 + growth * np.maximum(n - knee, 0.0))
    linear = first * n
    return np.asarray((linear**-sharpness + capacity**-sharpness) ** (-1 / sharpness))


def fit_saturating(load: ArrayLike, throughput: ArrayLike, relative: bool = False) -> ScalingFit:
    """Least squares of ``saturating``, of relative errors if so wanted; raises ``ValueError`` below four points."""
    n, x = np.asarray(load, dtype=float), np.asarray(throughput, dtype=float)
    if len(n) < 4:
        raise ValueError("the saturating law needs four points")
    scale = float(x.max())
    best = None
    for sharpness in (1.5, 4.0, 10.0):
        start = np.array([float(np.max(x / n)), scale, sharpness, 1e-4])
        fit = least_squares(
            lambda p: (saturating(n, *p) - x) / (x if relative else scale),
            start,
            bounds=([1e-12, 1e-12, 1.0, 0.0], [np.inf, np.inf, 40.0, np.inf]),
            x_scale=np.maximum(start, 1e-4),
        )
        if best is None or fit.cost < best.cost:
            best = fit
    assert best is not None
    p = tuple(float(v) for v in best.x)
    names = ("first", "ceiling", "sharpness", "growth")
    return ScalingFit(
        "closed system with a limit",
        dict(zip(names, p, strict=True)),
        2 * float(best.cost) * (1.0 if relative else scale**2),
        lambda at: saturating(at, *p),
    )


def fit_scaling(load: ArrayLike, throughput: ArrayLike, relative: bool = False) -> ScalingFit:
    """The law with the smaller corrected Akaike criterion (by squared error alone where points are too few for it)."""
    n, x = np.asarray(load, dtype=float), np.asarray(throughput, dtype=float)
    usl = fit_usl(n, x, relative=relative)
    candidates = [
        (3, ScalingFit("universal scalability law", {"alpha": usl.alpha, "beta": usl.beta, "gamma": usl.gamma}, usl.sse,
                       usl.throughput))
    ]  # fmt: skip
    if len(n) >= 4:
        candidates.append((4, fit_saturating(n, x, relative)))
    points = len(n)

    def criterion(unknowns: int, fit: ScalingFit) -> float:
        floor = 1e-6 * (points if relative else float(np.sum(x**2)))
        return points * np.log(max(fit.sse, floor) / points) + 2 * unknowns

    return min(candidates, key=lambda c: criterion(*c))[1]
