"""What an exact method does not declare is refused, above all what a description gains after it was written."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import pytest

from model.network import (
    Acquire,
    Arrivals,
    Distribution,
    Fork,
    Network,
    NetworkError,
    Release,
    Resource,
    Station,
    TransactionClass,
    Visit,
)
from model.network.errors import UnsupportedError
from model.network.exact import METHODS, solve
from model.network.exact.methods import check
from model.network.scheduling import DISCIPLINES
from model.network.simulator import simulate
from tests.model.network.simulator.build import closed_class, network, open_class, visit
from tests.shared import shared


@dataclass(frozen=True, slots=True, kw_only=True)
class StationWithSetUp(Station):
    """A station with an attribute that no exact method knows."""

    setup_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWithDeadline(TransactionClass):
    """A class with an attribute that no exact method knows."""

    deadline_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitWithRetries(Visit):
    """A step with an attribute that no exact method knows."""

    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkWithCalendar(Network):
    """A network with an attribute that no exact method knows."""

    calendar: tuple[float, ...] = ()


def by_station(**more: float) -> Network:
    return network(StationWithSetUp(name="q", **more), open_class(0.4, visit("q", 1.0)))


def by_class(**more: float) -> Network:
    like = open_class(0.4, visit("q", 1.0))
    known = {field.name: getattr(like, field.name) for field in dataclasses.fields(like)}
    return network(Station(name="q"), ClassWithDeadline(**known, **more))


def by_step(**more: int) -> Network:
    return network(
        Station(name="q"), open_class(0.4, VisitWithRetries(station="q", service=Distribution.exponential(1.0), **more))
    )


def by_network(**more: tuple[float, ...]) -> Network:
    like = network(Station(name="q"), open_class(0.4, visit("q", 1.0)))
    return NetworkWithCalendar(name=like.name, stations=like.stations, classes=like.classes, **more)


@pytest.mark.parametrize(
    ("described", "attribute", "message"),
    [
        (by_station, {"setup_s": 0.5}, r"'q' has setup_s = 0.5"),
        (by_class, {"deadline_s": 2.0}, r"class 'a' has deadline_s = 2.0"),
        (by_step, {"retries": 3}, r"class 'a' has VisitWithRetries retries = 3"),
        (by_network, {"calendar": (1.0,)}, r"network 'test' has calendar"),
    ],
    ids=["station", "class", "step", "network"],
)
def test_a_new_attribute_is_refused_by_every_method_until_it_is_declared(described, attribute, message) -> None:
    assert solve(described()).response_s[0] == pytest.approx(1 / 0.6)
    with pytest.raises(NetworkError, match=message + r".*etalon simulate"):
        solve(described(**attribute))
    for method in METHODS:
        with pytest.raises(UnsupportedError, match=message):
            check(described(**attribute), method.supports)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A kind of step that no exact method knows."""

    seconds: float


def test_a_new_kind_of_step_and_a_new_scheduling_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(Station(name="q"), open_class(0.4, visit("q", 1.0)))
    net.operations("a")
    object.__setattr__(net.classes[0], "route", (*net.classes[0].route, Pause(seconds=1.0)))
    with pytest.raises(NetworkError, match="class 'a' has a Pause"):
        solve(net)
    monkeypatch.setitem(DISCIPLINES, "lcfs", DISCIPLINES["fcfs"])
    with pytest.raises(NetworkError, match="station 'q' has scheduling = 'lcfs'"):
        solve(network(Station(name="q", scheduling="lcfs"), open_class(0.4, visit("q", 1.0))))


def test_methods_declare_fields_that_there_are() -> None:
    for method in METHODS:
        for kind, declared in method.supports.items():
            assert declared.keys() <= {field.name for field in dataclasses.fields(kind)}, (method.name, kind)


def test_a_preemptive_queue_before_a_station_that_blocks_is_refused() -> None:
    net = Network.load(shared("faults/preemptive_then_block.toml"))
    with pytest.raises(NetworkError, match=r"when_full = 'block' \(.*Markov chain\).*etalon simulate"):
        solve(net)
    simulated = simulate(net, seed=1, precision=0.01).classes
    assert simulated["high"].response_s.value == pytest.approx(2.408, rel=0.02)
    assert simulated["low"].response_s.value == pytest.approx(3.687, rel=0.02)


def batches(station: Station) -> Network:
    varied = Arrivals(interarrival=Distribution.exponential(5.0), batch=Distribution.exponential(2.0))
    return network(station, TransactionClass(name="a", route=(visit(station.name, 1.0),), arrivals=varied))


LIMITED = (Acquire(resource="mxt"), visit("q", Distribution.deterministic(1.0)), Release(resource="mxt"))


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (network(Station(name="q"), open_class(0.4, Fork(branches=((visit("q", 0.5),),)))), "has a Fork"),
        (network(Station(name="q", servers=2), open_class(0.4, visit("q", Distribution.lognormal(1.0, 2.0)))),
         "lognormal times have no exponential phases"),
        (network(Station(name="q"), open_class(0.4, *LIMITED), resources=(Resource(name="mxt", capacity=2),)),
         r"transactions may wait for 'mxt' \(product form\)"),
        (network((Station(name="q", scheduling="preemptive"), Station(name="p")),
                 open_class(0.4, visit("q", 0.5), visit("p", 0.01, count=25), priority=1),
                 open_class(0.1, visit("q", 1.0), name="b")), "25 visits in a row have too many states"),
        (batches(Station(name="q")), "batches of arrivals vary"),
        (network(Station(name="q"), *(closed_class(300, 1.0, visit("q", 1.0 + r), name=f"c{r}") for r in range(3))),
         "too many states"),
    ],
    ids=["fork", "times", "resource", "visits", "batches", "populations"],
)  # fmt: skip
def test_what_has_no_exact_solution_is_refused_with_the_feature_and_what_to_do(net: Network, message: str) -> None:
    with pytest.raises(NetworkError, match=rf"no exact solution: .*{message}.*`etalon simulate MODEL.toml`"):
        solve(net)


def test_overload_is_refused_with_what_is_overloaded() -> None:
    net = network(Station(name="q"), open_class(1.25, visit("q", 1.0)))
    with pytest.raises(NetworkError, match=r"no steady state: arrivals load q by 125 % of what it can do"):
        solve(net)
    # A station that turns work away has a steady state at any load.
    full = network(replace(net.stations[0], capacity=1), *net.classes)
    assert solve(full).throughput_per_s[0] == pytest.approx(1.25 / 2.25)
