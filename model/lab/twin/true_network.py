"""The network that runs in truth: as described, with a release's demands and the time nobody is charged for."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime

from model.lab.twin.description import Release, Twin
from model.lab.twin.partitions import ZIIP, Partition, is_cp
from model.network import Arrivals, Call, CfRequest, Distribution, Fork, Network, Station, TransactionClass, Visit
from model.network.elements import Route, Step

UNCAPTURED_VISIT_S = 0.001
"""Length of one piece of fixed uncaptured work."""


def network_at(twin: Twin, lpars: Iterable[Partition], moment: datetime) -> Network:
    """The twin's network at a time: fixed uncaptured work is a class of its own on each LPAR, above all others."""
    network = twin.network
    for release in twin.releases:
        if release.from_utc <= moment:
            network = _released(network, release)
    cps = {s.name for s in network.stations if is_cp(s)}
    network = _costing(network, 1 + twin.per_captured, cps, network.class_names)
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


def _released(network: Network, release: Release) -> Network:
    engines = {s.name for s in network.stations if is_cp(s) or s.component == ZIIP}
    since = f" from {release.from_utc:%Y-%m-%d %H:%M}"
    return _costing(network, release.demand_factor, engines, release.classes or network.class_names, since)


def _costing(
    network: Network, factor: float, stations: Collection[str], classes: Collection[str], suffix: str = ""
) -> Network:
    """The network in which work of these classes at these stations takes `factor` times as long.

    Where other classes keep the procedures as they are, the changed ones are called by their name and `suffix`.
    """
    if factor == 1:
        return network

    def costing(step: Step) -> Step:
        if isinstance(step, Visit) and step.station in stations:
            return replace(step, service=step.service.scaled(factor))
        if isinstance(step, CfRequest) and step.engine in stations:
            more = step.async_issue.scaled(factor) if step.async_issue is not None else None
            return replace(step, issue=step.issue.scaled(factor), async_issue=more)
        return step

    every = len(classes) == len(network.classes)
    suffix = "" if every else suffix
    changed = tuple(
        replace(c, route=_mapped(c.route, costing, suffix)) if c.name in classes else c for c in network.classes
    )
    procedures = tuple((name + suffix, _mapped(route, costing, suffix)) for name, route in network.procedures)
    return replace(network, classes=changed, procedures=procedures if every else network.procedures + procedures)


def rerouted(network: Network, old: str, new: str) -> Network:
    """The network whose visits to station `old` go to `new`; `old` is gone."""

    def moved(step: Step) -> Step:
        return replace(step, station=new) if isinstance(step, Visit) and step.station == old else step

    return replace(
        network,
        stations=tuple(s for s in network.stations if s.name != old),
        classes=tuple(replace(c, route=_mapped(c.route, moved, "")) for c in network.classes),
        procedures=tuple((name, _mapped(route, moved, "")) for name, route in network.procedures),
    )


def _mapped(route: Route, change: Callable[[Step], Step], suffix: str) -> Route:
    """A route with every step changed, those in branches too; calls go to the procedures of that suffix."""
    steps: list[Step] = []
    for step in route:
        if isinstance(step, Fork):
            steps.append(replace(step, branches=tuple(_mapped(branch, change, suffix) for branch in step.branches)))
        elif isinstance(step, Call):
            steps.append(replace(step, procedure=step.procedure + suffix))
        else:
            steps.append(change(step))
    return tuple(steps)


def station_changed(network: Network, name: str, change: Callable[[Station], Station]) -> Network:
    """The network with one station changed."""
    return replace(network, stations=tuple(change(s) if s.name == name else s for s in network.stations))
