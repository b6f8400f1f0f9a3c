"""Universal scalability law: throughput X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1)).

alpha is contention, beta coherency, gamma the throughput of one user (or engine). Source: Gunther, *Guerrilla Capacity
Planning*, 2007.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

Floats = NDArray[np.float64]


class Usl(NamedTuple):
    """Coefficients, with ``sse`` the squared error of the fit (of relative errors where those were fitted)."""

    alpha: float
    beta: float
    gamma: float
    sse: float

    def throughput(self, load: ArrayLike) -> Floats:
        """Throughput at each load."""
        n = np.asarray(load, dtype=float)
        return self.gamma * n / (1 + self.alpha * (n - 1) + self.beta * n * (n - 1))

    @property
    def peak_load(self) -> float:
        """Load of the highest throughput; infinity without coherency cost."""
        return float(np.sqrt((1 - self.alpha) / self.beta)) if self.beta > 0 else np.inf


def fit_usl(load: ArrayLike, throughput: ArrayLike, gamma: float | None = None, relative: bool = False) -> Usl:
    """Least squares with alpha, beta >= 0; ``gamma`` is fitted too unless given.

    ``relative`` counts errors in shares of the throughput measured, for readings whose noise grows with them.

    Raises:
        ValueError: fewer points than coefficients, or a load that is not positive.
    """
    n, x = np.asarray(load, dtype=float), np.asarray(throughput, dtype=float)
    unknowns = 3 if gamma is None else 2
    if len(n) < unknowns or np.any(n <= 0) or np.any(x <= 0):
        raise ValueError(f"a fit of {unknowns} coefficients needs as many points with positive load and throughput")
    # n/x is linear in the coefficients: a start close to the optimum.
    design = np.column_stack((np.ones_like(n), n - 1, n * (n - 1)))
    start = np.linalg.lstsq(design, n / x, rcond=None)[0]
    g0 = gamma if gamma is not None else (1 / start[0] if start[0] > 0 else float(np.max(x / n)))
    p0 = np.array([max(start[1] * g0, 1e-9), max(start[2] * g0, 1e-12), g0])[:unknowns]
    scale = x if relative else float(np.max(x))

    def residual(p: Floats) -> Floats:
        g = p[2] if gamma is None else gamma
        return (g * n / (1 + p[0] * (n - 1) + p[1] * n * (n - 1)) - x) / scale

    fit = least_squares(
        residual, p0, bounds=(0, np.inf), x_scale=np.maximum(np.abs(p0), 1e-9), xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    g = float(fit.x[2]) if gamma is None else gamma
    return Usl(
        float(fit.x[0]), float(fit.x[1]), g, float(np.sum((residual(fit.x) * (1.0 if relative else scale)) ** 2))
    )
