"""Short names for building networks in these tests."""

from model.network import Arrivals, Distribution, Network, Station, TransactionClass, Visit
from model.network.simulator import Estimate

EXP = Distribution.exponential
#: Options of a run whose figures are within a few per cent.
RUN = {"seed": 7, "horizon": 240_000}


def visit(station, service, **more):
    """A visit; a number is the mean of an exponential service."""
    return Visit(station=station, service=service if isinstance(service, Distribution) else EXP(service), **more)


def open_class(rate, *route, name="a", **more):
    """A Poisson class."""
    return TransactionClass(name=name, arrivals=Arrivals.poisson(rate), route=tuple(route), **more)


def closed_class(users, think, *route, name="a", **more):
    """A closed class with exponential think time (none when 0)."""
    return TransactionClass(name=name, users=users, think=EXP(think) if think else None, route=tuple(route), **more)


def network(stations, *classes, **more):
    """A network of stations (a single one may stand alone) and classes."""
    stations = (stations,) if isinstance(stations, Station) else tuple(stations)
    return Network(name="test", stations=stations, classes=classes, **more)


def agrees(estimate: Estimate, truth: float, within: float = 0.05) -> None:
    """The estimate is within 3.5 standard errors of the truth, and its interval within a share of the truth."""
    assert estimate.half_width <= within * abs(truth), f"{estimate} is too vague for {truth}"
    assert abs(estimate.value - truth) <= 3.5 / 2 * estimate.half_width + 1e-12, f"{estimate} misses {truth}"
