"""Laws of one metric over one numeric condition, each averaged by how well it explains the values.

A law is linear in its coefficients, scatter is relative: ln y = ln f(x) + e. A discrepancy around the law, a Gaussian
process of ln x, follows what the law cannot and grows with the distance from the data. Scatter, discrepancy and its
smoothness are integrated over on a grid; laws and grid nodes are weighed by a prior, which says what laws a condition
gives reason for, and by the marginal likelihood, which is that of the law made linear at its best coefficients.

The values `y` and the condition `x` are those of one series, shapes (n,), both above zero.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SCATTERS = (0.001, 0.004, 0.016, 0.06, 0.25)
"""Figures of three printed digits show no smaller scatter, however exactly a law goes through them."""
DISCREPANCIES = (0.01, 0.05, 0.25, 1.0)
REACHES = (1.5, 2.0)
"""Reach in ln(x) of the discrepancy where it is rough (exponential covariance) and where it is smooth (Matern 3/2)."""
COEFFICIENT_SD = 1.0
RATIO_SD = 0.7
POWER_SD = 0.5
MOST_SD = 1.0
"""Largest standard deviation of ln(y) that a law is believed to leave."""
FALLING, LEAST_FALL = 5.0, 0.01
"""What a falling law loses in log evidence where a value is not expected to fall, and from which fall on."""
STEPS = 3
OUTLIER_SD, OUTLIER_SHARE, LEAST_WITH_OUTLIER = 1.0, 0.1, 4
"""One value of a long enough series may be an outlier of this standard deviation in ln(y), with these prior odds."""
NODE_STEPS, LEAST_EVIDENCE = 5, 1e-300
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
SIBLING, SIBLING_AND_CONSTANT, POWER, FULL = "sibling", "sibling and constant", "power", "full"
NAMES = (*LAWS, POWER, SIBLING, SIBLING_AND_CONSTANT, FULL)
ROBUST = ("constant", "affine", SIBLING)
"""Laws beside which an outlier can be seen."""
REASON = 10.0
"""Prior odds of a law that the condition gives reason for."""


@dataclass(frozen=True)
class Series:
    """Values of one metric over a numeric condition, and the same metric of siblings at these and any conditions.

    `siblings` hold, for one relative each, its value at every `x` and the relative standard deviation of that value.
    `rising`: whether the value is not expected to fall with the condition. `x` is in ascending order. Where the values
    are responses to users, `think` is how long each thinks between requests, in the unit of the values; else 0.
    """

    x: Array
    y: Array
    se: Array
    siblings: tuple[tuple[Array, Array], ...] = ()
    rising: bool = False
    think: float = 0.0


@dataclass(frozen=True)
class Explained:
    """What every configuration says: log evidence, and mean and standard deviation of ln y at the asked condition.

    All of shape (instances, nodes); `law` is the index in `NAMES` of each instance.
    """

    law: NDArray[np.int64]
    evidence: Array
    mean: Array
    sd: Array


@dataclass(frozen=True)
class _Instance:
    """A law with the columns of its (at most two) coefficients at the measured conditions.

    `sibling` is the place of the relative whose curve it is, and `level` what that is relative to. `offset` is what the
    law adds to its columns: of users who think so long, and of whom at most so many were measured.
    """

    law: str
    share: float
    columns: list[Array]
    noise: Array
    sibling: int | None = None
    level: float = 1.0
    prior_sd: float = COEFFICIENT_SD
    centre: float = 0.0
    think: float = 0.0
    most: float = 1.0
    offset: Array | float = 0.0

    def there(self, x: float, at_siblings: Sequence[tuple[float, float]]) -> list[float]:
        """The columns at another condition."""
        if self.think:
            return [1.0, x]
        if self.sibling is None:
            return [float(column[0]) for column in LAWS[self.law](np.array([x]))]
        return [1.0] * (len(self.columns) - 1) + [at_siblings[self.sibling][0] / self.level]


class Fitted:
    """All laws fitted to a series, to be asked at any number of conditions."""

    def __init__(self, series: Series) -> None:
        self._reference = float(np.exp(np.mean(np.log(series.x))))
        self._scale = float(np.exp(np.mean(np.log(series.y))))
        self._x = x = series.x / self._reference
        z, noise = series.y / self._scale, series.se / series.y
        self._instances = instances = [_Instance(name, 1.0, columns(x), noise) for name, columns in LAWS.items()]
        one, part = np.ones_like(x), 1.0 / max(len(series.siblings), 1)
        for i, (values, sds) in enumerate(series.siblings):
            level = float(np.exp(np.mean(np.log(values))))
            column, both = values / level, np.hypot(noise, sds)
            instances += [
                _Instance(SIBLING, part, [column], both, i, level, RATIO_SD, 1.0),
                _Instance(SIBLING_AND_CONSTANT, part, [one, column], both, i, level),
            ]
        if series.think:
            instances += list(_filling(x, noise, series.think / self._scale))
        if len(x) >= LEAST_WITH_OUTLIER:
            instances += [doubted for instance in instances if instance.law in ROBUST for doubted in _doubted(instance)]
        kernels = _kernels(x, x)
        self._linear = _Linear(instances, z, kernels)
        self._power = _Power(x, z, noise, kernels)
        falls = np.concatenate((self._linear.falls, self._power.falls))
        self._law = np.array([NAMES.index(name) for name in (*(instance.law for instance in instances), POWER)])
        share = np.array([*(instance.share for instance in instances), 1.0])
        self._evidence = np.concatenate((self._linear.evidence, self._power.evidence)) + np.log(share)[:, None]
        self._evidence -= FALLING * np.asarray(series.rising & (falls > LEAST_FALL), dtype=np.float64)

    def at(self, condition: float, at_siblings: Sequence[tuple[float, float]] = ()) -> Explained:
        """What the laws predict at a condition; siblings are (value, relative standard deviation) there."""
        here = condition / self._reference
        across = NODES[:, 1, None] ** 2 * _kernels(self._x, np.array([here]))[:, :, 0]
        there, there_sd = np.zeros((len(self._instances), 2)), np.zeros(len(self._instances))
        offset = np.array([instance.think * (here / instance.most - 1.0) for instance in self._instances])
        for i, instance in enumerate(self._instances):
            columns = instance.there(here, at_siblings)
            there[i, : len(columns)] = columns
            there_sd[i] = 0.0 if instance.sibling is None else at_siblings[instance.sibling][1]
        said = self._linear.at(there, offset, there_sd, across), self._power.at(here, across)
        mean, sd = (np.concatenate(both) for both in zip(*said, strict=True))
        return Explained(self._law, self._evidence, mean + np.log(self._scale), sd)

    def by_node(self, reasonable: Collection[str] = ()) -> Array:
        """Log evidence of every grid node over all laws, up to a constant, shape (nodes,)."""
        log = self._evidence + np.log(prior(reasonable)[self._law])
        most = log.max()
        return np.asarray(np.log(np.exp(log - most).sum(axis=0) + LEAST_EVIDENCE), dtype=np.float64)


def prior(reasonable: Collection[str] = (), nodes: Array | None = None) -> Array:
    """Weights of laws and grid nodes before any value is seen, shape (laws, nodes); some laws have a reason.

    `nodes` are the weights of the nodes, which are equal without.
    """
    odds = np.array([REASON if name in reasonable else 1.0 for name in NAMES])
    return np.outer(odds / odds.sum(), node_weights(()) if nodes is None else nodes)


def node_weights(shown: Sequence[Array]) -> Array:
    """Weights of grid nodes, of what other series show of them (log evidence, shape (nodes,) each), by expectation
    maximization: all nodes alike count for as much as one series.
    """
    alike = np.full(len(NODES), 1.0 / len(NODES))
    weights = alike
    for _ in range(NODE_STEPS if len(shown) else 0):
        by_series = np.exp(np.stack(shown)) * weights
        weights = alike + (by_series / by_series.sum(axis=1, keepdims=True)).sum(axis=0)
        weights /= weights.sum()
    return weights


def _doubted(instance: _Instance) -> Iterator[_Instance]:
    """A law with each of the values discounted as an outlier."""
    count = len(instance.noise)
    for i in range(count):
        noise = instance.noise.copy()
        noise[i] = OUTLIER_SD
        yield replace(instance, share=instance.share * OUTLIER_SHARE / count, noise=noise)


def _filling(x: Array, noise: Array, think: float) -> Iterator[_Instance]:
    """Users of whom none waits up to some measured number, and who from the next one on are more than a resource
    serves: response = users / most throughput - think (the asymptotic bounds of Denning and Buzen 1978, *ACM Computing
    Surveys* 10). The coefficients are the response of who does not wait, and that of the most users by
    their number.
    """
    most = float(x[-1])
    for full in range(1, len(x)):
        beyond = (np.arange(len(x)) >= full).astype(np.float64)
        columns, offset = [1.0 - beyond, beyond * x], think * beyond * (x / most - 1.0)
        yield _Instance(FULL, 1.0 / (len(x) - 1), columns, noise, think=think, most=most, offset=offset)


def _kernels(one: Array, other: Array) -> Array:
    """Correlation of the discrepancy at every grid node, shape (nodes, one, other)."""
    apart = np.abs(np.log(one)[:, None] - np.log(other)[None, :])
    smooth = np.sqrt(3.0) * apart / REACHES[1]
    both = np.stack([np.exp(-apart / REACHES[0]), (1.0 + smooth) * np.exp(-smooth)])
    return both[NODES[:, 2].astype(int)]


class _Linear:
    """Linear laws at every grid node, by Gauss-Newton steps; `falls` is how much ln y does, (instances, nodes)."""

    def __init__(self, instances: list[_Instance], z: Array, kernels: Array) -> None:
        design = np.zeros((len(instances), len(z), 2))
        offset = np.stack([np.broadcast_to(instance.offset, z.shape) for instance in instances])
        for i, instance in enumerate(instances):
            for j, column in enumerate(instance.columns):
                design[i, :, j] = column
        prior_sd, centre = (
            np.array([getattr(instance, name) for instance in instances])[:, None, None]
            for name in ("prior_sd", "centre")
        )
        around = _Around(np.stack([instance.noise for instance in instances]), kernels)
        least, log_z = LEAST_SHARE * z, np.log(z)
        relative = design / z[:, None]
        transposed = relative.transpose(0, 2, 1)
        wanted = transposed @ (1.0 - offset / z)[:, :, None]
        start = np.linalg.solve(transposed @ relative + 1e-6 * np.eye(2), wanted)[:, :, 0]
        coefficients = np.repeat(start[:, None], len(NODES), axis=1)
        fitted = np.maximum(coefficients @ design.transpose(0, 2, 1) + offset[:, None], least)
        for _ in range(STEPS):
            tangent = design[:, None] / fitted[..., None]
            residual = log_z - np.log(fitted) + _times(tangent, coefficients - centre)
            self._said = around.regression(prior_sd[..., None] * tangent, residual)
            coefficients = centre + prior_sd * self._said.coefficients
            fitted = np.maximum(coefficients @ design.transpose(0, 2, 1) + offset[:, None], least)
        self._prior_sd, self._coefficients, self._least = prior_sd, coefficients, LEAST_SHARE * z.min()
        self._of_users = np.array([instance.think > 0.0 for instance in instances])
        self.evidence = self._said.evidence()
        self.falls = np.log(fitted[..., 0] / fitted[..., -1])

    def at(self, there: Array, offset: Array, there_sd: Array, across: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of ln y where the columns are `there`; (instances, nodes)."""
        parts = self._coefficients * there[:, None]
        # Of users a resource may be full for, the response is the longer one: of who waits for it, or for nothing.
        waits = parts[..., 1] + offset[:, None] > parts[..., 0]
        longer = np.stack([~waits, waits], axis=-1) | ~self._of_users[:, None, None]
        end = np.maximum((parts * longer).sum(axis=2) + waits * offset[:, None], self._least)
        slope = self._prior_sd * longer * there[:, None] / end[..., None]
        return self._said.predicted(slope, np.log(end), there_sd, across)


class _Power:
    """A power of the condition: affine in logarithms as it stands."""

    def __init__(self, x: Array, z: Array, noise: Array, kernels: Array) -> None:
        design = np.broadcast_to(np.stack([np.ones_like(x), POWER_SD * np.log(x)], 1), (1, len(NODES), len(x), 2))
        around = _Around(noise[None], kernels)
        self._said = around.regression(design, np.broadcast_to(np.log(z), (1, len(NODES), len(x))))
        self.evidence = self._said.evidence()
        self.falls = -POWER_SD * self._said.coefficients[..., 1] * np.log(x[-1] / x[0])

    def at(self, x: float, across: Array) -> tuple[Array, Array]:
        """As of `_Linear`."""
        slope = np.broadcast_to(np.array([1.0, POWER_SD * np.log(x)]), (1, len(NODES), 2))
        return self._said.predicted(slope, (slope * self._said.coefficients).sum(axis=2), np.zeros(1), across)


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[..., None])[..., 0]


def _determinant(matrices: Array) -> Array:
    """Of symmetric matrices, shape (..., 2, 2)."""
    return np.asarray(matrices[..., 0, 0] * matrices[..., 1, 1] - matrices[..., 0, 1] ** 2, dtype=np.float64)


def _solved(matrices: Array, vectors: Array) -> Array:
    """Symmetric matrices, shape (..., 2, 2), solved for vectors, shape (..., 2), by Cramer's rule."""
    first, last, beside = matrices[..., 0, 0], matrices[..., 1, 1], matrices[..., 0, 1]
    x, y = vectors[..., 0], vectors[..., 1]
    solved = np.stack((last * x - beside * y, first * y - beside * x), axis=-1)
    return np.asarray(solved / _determinant(matrices)[..., None], dtype=np.float64)


class _Around:
    """Discrepancy and scatter around the laws."""

    def __init__(self, noise: Array, kernels: Array) -> None:
        distinct, place = np.unique(noise, axis=0, return_inverse=True)
        own = NODES[:, 0, None] ** 2 + distinct[:, None] ** 2
        covariance = NODES[:, 1, None, None] ** 2 * kernels + own[..., None] * np.eye(noise.shape[1])
        self.inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)[place]
        self.log_det = np.linalg.slogdet(covariance)[1][place]

    def regression(self, design: Array, residual: Array) -> "_Regression":
        """The best two unit-normal coefficients of residuals, and how sure they are."""
        weighted = self.inverse @ design
        information = design.swapaxes(2, 3) @ weighted + np.eye(2)
        coefficients = _solved(information, _times(weighted.swapaxes(2, 3), residual))
        return _Regression(self, coefficients, residual - _times(design, coefficients), weighted, information)


@dataclass(frozen=True)
class _Regression:
    around: _Around
    coefficients: Array
    left: Array
    weighted: Array
    information: Array

    def evidence(self) -> Array:
        """Log density of the residuals."""
        log_det = self.around.log_det + np.log(_determinant(self.information))
        misfit = (self.left * _times(self.around.inverse, self.left)).sum(axis=2) + (self.coefficients**2).sum(axis=2)
        return np.asarray(-0.5 * (misfit + log_det + self.left.shape[2] * np.log(2.0 * np.pi)), dtype=np.float64)

    def predicted(self, slope: Array, mean: Array, there_sd: Array, across: Array) -> tuple[Array, Array]:
        """Mean with the discrepancy, and standard deviation of one more measurement.

        `across` is the covariance of the discrepancy there with that at the measured conditions, (nodes, n).
        """
        kriging = _times(self.around.inverse, across)
        rest = slope - _times(self.weighted.swapaxes(2, 3), across)
        unsure = (rest * _solved(self.information, rest)).sum(axis=2)
        discrepancy = np.maximum(NODES[:, 1] ** 2 - (across * kriging).sum(axis=2), 0.0)
        sd = np.sqrt(discrepancy + np.maximum(unsure, 0.0) + NODES[:, 0] ** 2 + there_sd[:, None] ** 2)
        return mean + (kriging * self.left).sum(axis=2), np.minimum(sd, MOST_SD)
