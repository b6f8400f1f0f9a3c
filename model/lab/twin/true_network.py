"""The network that runs in truth: as described, with the time nobody is charged for, and its changes."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from model.lab.twin.description import Twin
from model.lab.twin.partitions import Partition, is_cp
from model.network import Arrivals, CfRequest, Distribution, Fork, Network, Station, TransactionClass, Visit
from model.network.elements import Route, Step

UNCAPTURED_VISIT_S = 0.001
"""Length of one piece of fixed uncaptured work."""


def true_network(twin: Twin, lpars: Iterable[Partition]) -> Network:
    """The twin's network with its uncaptured time.

    Work on CPs takes longer by ``per_captured``; fixed uncaptured work is a class of its own on each LPAR, above all
    others.
    """
    network, factor = twin.network, 1 + twin.per_captured
    cps = {s.name for s in network.stations if is_cp(s)}

    def longer(step: Step) -> Step:
        if isinstance(step, Visit) and step.station in cps:
            return replace(step, service=step.service.scaled(factor))
        if isinstance(step, CfRequest) and step.engine in cps:
            more = step.async_issue.scaled(factor) if step.async_issue is not None else None
            return replace(step, issue=step.issue.scaled(factor), async_issue=more)
        return step

    if factor != 1:
        network = _steps_changed(network, longer)
    if not twin.fixed_engines:
        return network
    top = 1 + max(c.priority for c in network.classes)
    fixed = tuple(
        TransactionClass(
            name=uncaptured_class(lpar),
            priority=top,
            arrivals=Arrivals.poisson(twin.fixed_engines / UNCAPTURED_VISIT_S),
            route=(Visit(station=lpar.cp, service=Distribution.exponential(UNCAPTURED_VISIT_S)),),
        )
        for lpar in lpars
    )
    return replace(network, classes=network.classes + fixed)


def uncaptured_class(lpar: Partition) -> str:
    """Name of the class that is an LPAR's fixed uncaptured work."""
    return f"{lpar.cp} uncaptured"


def rerouted(network: Network, old: str, new: str) -> Network:
    """The network whose visits to station `old` go to `new`; `old` is gone."""

    def moved(step: Step) -> Step:
        return replace(step, station=new) if isinstance(step, Visit) and step.station == old else step

    changed = _steps_changed(network, moved)
    return replace(changed, stations=tuple(s for s in network.stations if s.name != old))


def station_changed(network: Network, name: str, change: Callable[[Station], Station]) -> Network:
    """The network with one station changed."""
    return replace(network, stations=tuple(change(s) if s.name == name else s for s in network.stations))


def _steps_changed(network: Network, change: Callable[[Step], Step]) -> Network:
    """The network with every step of its routes changed, those of branches and procedures too."""

    def changed(route: Route) -> Route:
        return tuple(
            replace(step, branches=tuple(map(changed, step.branches))) if isinstance(step, Fork) else change(step)
            for step in route
        )

    return replace(
        network,
        classes=tuple(replace(c, route=changed(c.route)) for c in network.classes),
        procedures=tuple((name, changed(route)) for name, route in network.procedures),
    )
