"""Laws of one metric over one numeric condition, each averaged by how well it explains the values.

A law is linear in its coefficients, scatter is relative: ln y = ln f(x) + e. A discrepancy around the law, a Gaussian
process of ln x, follows what the law cannot and grows with the distance from the data. Scatter, discrepancy and its
smoothness are integrated over on a grid; the weights of laws and grid nodes come of the marginal likelihood, which is
that of the law made linear at its best coefficients.

The values `y` and the condition `x` are those of one series, shapes (n,), both above zero.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SCATTERS = (0.0002, 0.001, 0.004, 0.016, 0.06, 0.25)
DISCREPANCIES = (0.01, 0.05, 0.25, 1.0)
REACHES = (1.5, 2.0)
"""Reach in ln(x) of the discrepancy where it is rough (exponential covariance) and where it is smooth (Matern 3/2)."""
COEFFICIENT_SD = 2.0
RATIO_SD = 0.7
STEPS = 3
ROBUST = ("constant", "affine")
OUTLIER_SD, OUTLIER_SHARE, LEAST_WITH_OUTLIER = 1.0, 0.05, 4
"""One value of a long enough series may be an outlier of this standard deviation in ln(y), with this prior odds."""
LEAST_SHARE = 0.02
"""A law is kept above this share of every measured value."""
NODES: Array = np.array(
    [(scatter, 0.0, 0) for scatter in SCATTERS]
    + [(scatter, size, kind) for scatter in SCATTERS for size in DISCREPANCIES for kind in (0, 1)]
)

Columns = Callable[[Array], list[Array]]
# x is relative to the geometric mean of the measured conditions.
LAWS: Mapping[str, Columns] = {
    "constant": lambda x: [np.ones_like(x)],
    "proportional": lambda x: [x],
    "affine": lambda x: [np.ones_like(x), x],
    "inverse": lambda x: [np.ones_like(x), 1.0 / x],
    "root": lambda x: [np.ones_like(x), np.sqrt(x)],
    "logarithm": lambda x: [np.ones_like(x), np.log(x)],
    "saturating": lambda x: [np.ones_like(x), 2.0 * x / (1.0 + x)],
}
SIBLING, SIBLING_AND_CONSTANT, POWER = "sibling", "sibling and constant", "power"
NAMES = (*LAWS, POWER, SIBLING, SIBLING_AND_CONSTANT)
CONFIGURATIONS = len(NAMES) * len(NODES)


@dataclass(frozen=True)
class Series:
    """Values of one metric over a numeric condition, and the same metric of siblings at these and any conditions.

    `siblings` hold, for one relative each, its value at every `x` and the relative standard deviation of that value.
    """

    x: Array
    y: Array
    se: Array
    siblings: tuple[tuple[Array, Array], ...] = ()


@dataclass(frozen=True)
class Explained:
    """What every configuration says: log evidence, and mean and standard deviation of ln y at the asked condition.

    All of shape (instances, nodes); `law` is the index in `NAMES` of each instance.
    """

    law: NDArray[np.int64]
    share: Array
    evidence: Array
    mean: Array
    sd: Array


def explain(series: Series, at: float, at_siblings: tuple[tuple[float, float], ...] = ()) -> Explained:
    """Fit every law to a series and predict at a condition; siblings are (value, relative sd) there."""
    reference = float(np.exp(np.mean(np.log(series.x))))
    scale = float(np.exp(np.mean(np.log(series.y))))
    x, z, here = series.x / reference, series.y / scale, np.array([at / reference])
    noise = series.se / series.y
    kernels = _kernels(x, x), _kernels(x, here)[:, :, 0]
    law, share, found = [], [], []

    def add(name: str, part: float, said: tuple[Array, Array, Array]) -> None:
        law.append(NAMES.index(name))
        share.append(part)
        found.append(said)

    doubted = _without_outlier(x, z, noise)
    for name, columns in LAWS.items():
        design, there = np.stack(columns(x), 1), np.stack(columns(here), 1)[0]
        add(name, 1.0, _linear(design, there, z, noise, kernels))
        if doubted is not None and name in ROBUST:
            add(name, OUTLIER_SHARE, _linear(design, there, z, doubted, kernels))
    add(POWER, 1.0, _power(x, z, here[0], noise, kernels))
    count = len(series.siblings)
    for (values, sds), (value, value_sd) in zip(series.siblings, at_siblings, strict=True):
        level = float(np.exp(np.mean(np.log(values))))
        column, there = values / level, np.array([value / level])
        both = np.hypot(noise, sds)
        said = _linear(column[:, None], there, z, both, kernels, value_sd, RATIO_SD, 1.0)
        add(SIBLING, 1.0 / count, said)
        pair = np.stack([np.ones_like(x), column], 1)
        said = _linear(pair, np.array([1.0, there[0]]), z, both, kernels, value_sd)
        add(SIBLING_AND_CONSTANT, 1.0 / count, said)
    evidence, mean, sd = (np.array(part) for part in zip(*found, strict=True))
    return Explained(np.array(law), np.array(share), evidence, mean + np.log(scale), sd)


def _without_outlier(x: Array, z: Array, noise: Array) -> Array | None:
    """The noise with the value discounted that lies furthest off its neighbours; None for a short series."""
    count = len(x)
    if count < LEAST_WITH_OUTLIER:
        return None
    place, values = np.log(x), np.log(z)
    off = [abs(values[i] - np.interp(place[i], np.delete(place, i), np.delete(values, i))) for i in range(count)]
    discounted = noise.copy()
    discounted[int(np.argmax(off))] = OUTLIER_SD
    return discounted


def _kernels(one: Array, other: Array) -> Array:
    """Correlation of the discrepancy at every grid node, shape (nodes, one, other)."""
    apart = np.abs(np.log(one)[:, None] - np.log(other)[None, :])
    smooth = np.sqrt(3.0) * apart / REACHES[1]
    both = np.stack([np.exp(-apart / REACHES[0]), (1.0 + smooth) * np.exp(-smooth)])
    return both[NODES[:, 2].astype(int)]


def _linear(
    design: Array,
    there: Array,
    z: Array,
    noise: Array,
    kernels: tuple[Array, Array],
    there_sd: float = 0.0,
    prior_sd: float = COEFFICIENT_SD,
    centre: float = 0.0,
) -> tuple[Array, Array, Array]:
    """Log evidence, mean and standard deviation of ln y of a linear law at every grid node, by Gauss-Newton steps."""
    least = LEAST_SHARE * z
    relative = design / z[:, None]
    wanted = relative.sum(axis=0)
    start = np.linalg.solve(relative.T @ relative + 1e-6 * np.eye(design.shape[1]), wanted)
    coefficients = np.tile(start, (len(NODES), 1))
    fitted = np.maximum(coefficients @ design.T, least)
    for _ in range(STEPS):
        tangent = design[None] / fitted[:, :, None]
        residual = np.log(z) - np.log(fitted) + np.einsum("hnp,hp->hn", tangent, coefficients - centre)
        said = _regression(prior_sd * tangent, residual, noise, kernels)
        coefficients = centre + prior_sd**2 * np.einsum("hnp,hn->hp", tangent, said.solved)
        fitted = np.maximum(coefficients @ design.T, least)
    end = np.maximum(coefficients @ there, LEAST_SHARE * z.min())
    slope = prior_sd * there[None] / end[:, None]
    return _predicted(said, prior_sd * tangent, slope, np.log(end), kernels, there_sd)


def _power(x: Array, z: Array, at: float, noise: Array, kernels: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """A power of the condition: affine in logarithms as it stands."""
    design = np.broadcast_to(np.stack([np.ones_like(x), np.log(x)], 1), (len(NODES), len(x), 2))
    slope = np.broadcast_to(np.array([1.0, np.log(at)]), (len(NODES), 2))
    said = _regression(design, np.broadcast_to(np.log(z), (len(NODES), len(x))), noise, kernels)
    mean = np.einsum("hp,hnp,hn->h", slope, design, said.solved)
    return _predicted(said, design, slope, mean, kernels, 0.0)


@dataclass(frozen=True)
class _Regression:
    residual: Array
    covariance: Array
    solved: Array
    inverse: Array

    def evidence(self) -> Array:
        """Log density of the residuals, by node."""
        _, log_det = np.linalg.slogdet(self.covariance)
        misfit = np.einsum("hn,hn->h", self.solved, self.residual)
        return -0.5 * (misfit + log_det + self.residual.shape[1] * np.log(2.0 * np.pi))


def _regression(design: Array, residual: Array, noise: Array, kernels: tuple[Array, Array]) -> _Regression:
    """Residuals under unit-normal coefficients, discrepancy and scatter, at every node."""
    count = residual.shape[1]
    own = NODES[:, 0, None] ** 2 + noise[None, :] ** 2
    covariance = np.einsum("hnp,hmp->hnm", design, design) + NODES[:, 1, None, None] ** 2 * kernels[0]
    covariance = covariance + own[:, :, None] * np.eye(count)
    inverse = np.linalg.inv(covariance)
    return _Regression(residual, covariance, np.einsum("hnm,hm->hn", inverse, residual), inverse)


def _predicted(
    said: _Regression, design: Array, slope: Array, mean: Array, kernels: tuple[Array, Array], there_sd: float
) -> tuple[Array, Array, Array]:
    """Evidence, mean with the discrepancy, and standard deviation of one more measurement."""
    across = NODES[:, 1, None] ** 2 * kernels[1]
    cross = np.einsum("hnp,hp->hn", design, slope) + across
    before = np.einsum("hp,hp->h", slope, slope) + NODES[:, 1] ** 2
    explained = np.einsum("hn,hnm,hm->h", cross, said.inverse, cross)
    variance = np.maximum(before - explained, 0.0) + NODES[:, 0] ** 2 + there_sd**2
    return said.evidence(), mean + np.einsum("hn,hn->h", across, said.solved), np.sqrt(variance)
