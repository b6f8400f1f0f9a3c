"""One network at many loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from model.network.description import Network
from model.network.errors import NetworkError
from model.network.exact.solution import Solution
from model.network.exact.solve import solve


@dataclass(frozen=True)
class SweepPoint:
    """The network with its rates and users multiplied by ``factor``: its solution, or why it has none (``refused``)."""

    factor: float
    solution: Solution | None
    refused: str = ""


def sweep_load(network: Network, factors: Iterable[float]) -> list[SweepPoint]:
    """Solve the network with arrival rates and numbers of users multiplied by each factor; users are rounded.

    Raises
    ------
    ValueError
        A factor is not positive.
    NetworkError
        No point has an exact solution.
    """
    points = [_point(network, float(factor)) for factor in factors]
    if all(point.solution is None for point in points):
        raise NetworkError(points[0].refused)
    return points


def _point(network: Network, factor: float) -> SweepPoint:
    if not factor > 0:
        raise ValueError(f"factors of a load sweep must be positive, got {factor}")
    classes = []
    for cls in network.classes:
        arrivals = cls.arrivals
        if arrivals is not None:
            arrivals = replace(arrivals, interarrival=arrivals.interarrival.scaled(1 / factor))
        classes.append(replace(cls, arrivals=arrivals, users=round(cls.users * factor)))
    try:
        return SweepPoint(factor, solve(replace(network, classes=tuple(classes))))
    except NetworkError as reason:
        return SweepPoint(factor, None, str(reason))
