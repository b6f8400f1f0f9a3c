"""The network of a twin: the LPARs that its stations and classes make, and its uncaptured time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from model.lab.errors import LabError
from model.lab.twin.description import Twin
from model.network import Arrivals, CfRequest, Distribution, Fork, Network, Station, TransactionClass, Visit, demands
from model.network.elements import Route, Step

CP, ZIIP, CF = "cp", "ziip", "cf"


@dataclass(frozen=True, slots=True)
class Partition:
    """An LPAR: its pool of CPs, its zIIPs if any, and the classes that run there.

    `home_classes` end their transactions here; `classes` also holds those that only use its CPs.
    """

    smf_sid: str
    cp: str
    ziip: str
    classes: tuple[str, ...]
    home_classes: tuple[str, ...]


def partitions(network: Network, system_id: str) -> tuple[Partition, ...]:
    """The LPARs of a network, in the order of their CP stations. LabError when no station is of component `cp`."""
    cps = [s for s in network.stations if is_cp(s)]
    if not cps:
        raise LabError(f'network {network.name!r}: no station has component = "cp"')
    work = demands(network).visits
    column = {name: i for i, name in enumerate(network.station_names)}
    home: dict[str, str] = {}
    for row, cls in enumerate(network.classes):
        used = [s.name for s in cps if work[row, column[s.name]] > 0]
        if used:
            visited = [op.name for op in network.operations(cls.name) if op.kind == "visit" and op.name in used]
            home[cls.name] = visited[0] if visited else used[0]
    pools = {s.name: _cp_of(s, cps) for s in network.stations if s.component == ZIIP}
    sids: list[str] = []
    for station in cps:
        sids.append(_sid(station.name if len(cps) > 1 else system_id, sids))
    sharers = []
    for station, sid in zip(cps, sids, strict=True):
        uses = [c for row, c in enumerate(network.class_names) if work[row, column[station.name]] > 0]
        alone = [c for c in network.class_names if c not in home] if station is cps[0] else []
        ziips = [name for name, cp in pools.items() if cp == station.name]
        if len(ziips) > 1:
            raise LabError(f"station {station.name!r}: more than one zIIP pool: {', '.join(ziips)}")
        sharers.append(
            Partition(
                sid,
                station.name,
                ziips[0] if ziips else "",
                tuple(c for c in network.class_names if c in uses or c in alone),
                tuple(c for c in network.class_names if home.get(c) == station.name or c in alone),
            )
        )
    return tuple(sharers)


def is_cp(station: Station) -> bool:
    """Whether a station is an LPAR's pool of general-purpose engines."""
    return station.component == CP or (not station.component and (station.name == CP or station.lpar is not None))


def _cp_of(ziip: Station, cps: list[Station]) -> str:
    """The CPs of the LPAR a zIIP pool belongs to: those it overflows to, the only ones, or those named alike."""
    if ziip.overflow is not None:
        return ziip.overflow.to
    alike = [s for s in cps if s.name.split()[0] == ziip.name.split()[0]]
    if len(cps) > 1 and len(alike) != 1:
        raise LabError(f"station {ziip.name!r}: name the CPs of its LPAR by overflow, or begin both names alike")
    return (alike or cps)[0].name


def _sid(name: str, taken: list[str]) -> str:
    """Four upper-case characters of a name, other than those taken."""
    words = [word for word in name.replace("-", " ").replace("_", " ").split() if word.lower() not in (CP, "cps")]
    letters = "".join(c for c in "".join(words or name.split()).upper() if (c.isalnum() and c.isascii()) or c in "#$@")
    sid = (letters + "0000")[:4]
    for number in range(1, 100):
        if sid not in taken:
            break
        sid = f"{sid[: 4 - len(str(number))]}{number}"
    return sid


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
