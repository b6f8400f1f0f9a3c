"""Random twins, family by family: networks nobody fitted, loaded so that something is well used at the peak."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.twin.description import Twin, hour_factors
from model.network import (
    Acquire,
    Arrivals,
    Cec,
    CfRequest,
    Distribution,
    LparShare,
    Network,
    Overflow,
    Release,
    Resource,
    Route,
    Smt,
    Station,
    TransactionClass,
    Visit,
    demands,
)
from model.network.elements import Scheduling

START = datetime(2026, 9, 7, tzinfo=UTC)
DAYS = 21
PEAK = (0.4, 0.58)
"""How far the busiest pool or limit is used in the worst hour, before uncaptured time and noise."""
SOURCE = "drawn"
WORKLOADS = ("CICS", "IMS", "DB2", "WEB")


@dataclass(slots=True)
class Draft:
    """A twin being drawn; `loads` are the keys of each class but its rate, `think_s` how long users of a class think in
    the worst hour, `batch` how many transactions of a class come at once."""

    random: np.random.Generator
    stations: list[Station] = field(default_factory=list)
    classes: list[TransactionClass] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    cecs: list[Cec] = field(default_factory=list)
    loads: dict[str, dict[str, Any]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    asks: dict[str, dict[str, Any]] = field(default_factory=dict)
    think_s: dict[str, float] = field(default_factory=dict)
    batch: dict[str, Distribution] = field(default_factory=dict)

    def between(self, low: float, high: float) -> float:
        """A number between two, equally likely in its logarithm, of three digits."""
        return float(f"{np.exp(self.random.uniform(np.log(low), np.log(high))):.3g}")

    def time(self, low_ms: float, high_ms: float) -> Distribution:
        """A service time with a mean between two, and some variation."""
        mean_s = self.between(low_ms, high_ms) / 1000
        return Distribution.with_scv(mean_s, float(self.random.choice([0.5, 1.0, 1.0, 2.0, 4.0])))

    def lpar(self, name: str, servers: int, share: LparShare | None = None) -> None:
        """Add the CPs of an LPAR."""
        scheduling: Scheduling = "priority_ps" if self.random.random() < 0.5 else "ps"
        self.stations.append(Station(name=name, component="cp", servers=servers, scheduling=scheduling, lpar=share))

    def work(self, cp: str, low_ms: float = 2.0, high_ms: float = 12.0) -> tuple[Visit, Visit, Visit]:
        """CPU before and after some I/O."""
        ios = float(self.random.integers(1, 9))
        io = Visit(station="dasd", service=Distribution.exponential(self.between(0.3, 0.9) / 1000), count=ios)
        return (
            Visit(station=cp, service=self.time(low_ms, high_ms)),
            io,
            Visit(station=cp, service=self.time(low_ms / 2, high_ms / 2)),
        )

    def add(self, name: str, route: Route, importance: int = 0, often: float = 1.0, **load: Any) -> None:
        """Add a class that comes so often beside others; its importance follows from how many came before it."""
        importance = importance or min(5, 1 + len(self.classes))
        arrivals = Arrivals.poisson(often * self.between(1, 4))
        self.classes.append(TransactionClass(name=name, route=route, priority=10 - importance, arrivals=arrivals))
        self.loads[name] = {
            "service_class": name.upper()[:8],
            "importance": importance,
            "workload": str(self.random.choice(WORKLOADS)),
            "growth_pct_per_week": round(float(self.random.uniform(0, 2)), 1),
            "hour_of_week": str(self.random.choice(["office", "office", "flat", "night"]))
            if importance > 1
            else "office",
            "noise_cv": round(float(self.random.uniform(0.03, 0.15)), 2),
            **load,
        }

    def mix(self, cp: str, count: int, prefix: str = "class") -> None:
        """Add some classes of plain work."""
        for number in range(count):
            self.add(f"{prefix}{number + 1}", self.work(cp))


def _cics(d: Draft) -> None:
    d.lpar("cp", int(d.random.integers(3, 7)))
    d.resources += [Resource(name="MXT", kind="mxt", capacity=int(d.random.integers(30, 90)))]
    d.resources += [Resource(name="QR", kind="tcb", capacity=1, instances=int(d.random.integers(3, 7)))]
    before, io, after = d.work("cp", 1.0, 4.0)
    visits = tuple(replace(v, holding=("QR",)) if isinstance(v, Visit) else v for v in (before, io, after))
    route = (Acquire(resource="MXT"), visits[0], io, visits[2], Release(resource="MXT"))
    d.add("inquiry", route, workload="CICS")
    d.add("update", (Acquire(resource="MXT"), *d.work("cp"), Release(resource="MXT")), workload="CICS")
    d.mix("cp", 1)
    capacity = d.resources[0].capacity
    d.asks["limit"] = {"limit": {"MXT": capacity + 20}, "growth_pct": 20, "when": "peak"}


def _ziip(d: Draft) -> None:
    smt = Smt(gain=d.between(1.15, 1.45), packing="dense")
    d.lpar("cp", int(d.random.integers(3, 6)))
    engines = int(d.random.integers(1, 4))
    d.stations.append(
        Station(
            name="ziip",
            component="ziip",
            servers=engines,
            scheduling="ps",
            smt=smt,
            overflow=Overflow(to="cp", waiting=int(d.random.integers(0, 4))),
            source=SOURCE,
        )
    )
    for number in (1, 2):
        before, io, after = d.work("cp", 2.0, 6.0)
        d.add(f"java{number}", (before, Visit(station="ziip", service=d.time(1.0, 4.0)), io, after), workload="WEB")
    d.mix("cp", 1)
    d.asks["ziip"] = {"ziip_engines": engines + 1, "growth_pct": 20, "when": "peak"}
    d.asks["one-thread"] = {"smt": 1, "when": "peak"}


def _lpars(d: Draft) -> None:
    d.cecs.append(Cec(name="machine", engines=float(d.random.integers(5, 9))))
    engines = int(d.cecs[0].engines)
    d.lpar("PRDA cp", engines - 1, LparShare(cec="machine", weight=600.0))
    d.lpar("PRDB cp", engines - 2, LparShare(cec="machine", weight=400.0))
    d.mix("PRDA cp", 2, "alpha")
    d.mix("PRDB cp", 2, "beta")
    d.asks["one-class"] = {"growth_pct": {"alpha1": 40}, "when": "peak"}
    d.asks["weight"] = {"weight": 800, "growth_pct": 15, "when": "peak"}


def _facility(d: Draft) -> None:
    d.lpar("cp", int(d.random.integers(3, 7)))
    d.stations[0] = replace(d.stations[0], scheduling="fcfs")
    d.stations.append(Station(name="cf", component="cf", servers=2))
    for number in (1, 2):
        requests = CfRequest(
            station="cf",
            engine="cp",
            service=Distribution.exponential(d.between(5, 20) * 1e-6),
            issue=Distribution.exponential(5e-6),
            count=int(d.random.integers(3, 20)),
        )
        before, io, after = d.work("cp", 1.0, 5.0)
        d.add(f"sharing{number}", (before, requests, io, after), workload="DB2")
    d.mix("cp", 1)


def _users(d: Draft) -> None:
    d.lpar("cp", int(d.random.integers(2, 9)))
    d.mix("cp", 4)
    for name in ("class2", "class3"):
        d.think_s[name] = d.between(0.5, 10.0)
    d.asks["one-class"] = {"growth_pct": {"class2": 60}, "when": "peak"}


def _many(d: Draft) -> None:
    """Up to a dozen classes, some of whose transactions are a hundred times as long as others'."""
    d.lpar("cp", int(d.random.integers(4, 13)))
    count = int(d.random.integers(8, 13))
    for number in range(count):
        size_ms = d.between(0.4, 40.0)
        route = d.work("cp", size_ms, size_ms)
        d.add(f"class{number + 1}", route, importance=1 + 5 * number // count, often=1 / size_ms)


def _production(d: Draft) -> None:
    """Two LPARs of a machine as production has them: CPU in the classes of CICS and IMS regions, a TCB that no record
    names, two kinds of work in a service class, service times that vary much, arrivals in batches, batch, lost days."""
    d.cecs.append(Cec(name="machine", engines=float(d.random.integers(6, 10))))
    engines = int(d.cecs[0].engines)
    for lpar, fewer, weight in (("PRDA", 1, 600.0), ("PRDB", 2, 400.0)):
        cp, name = f"{lpar} cp", lpar[-1].lower()
        share = LparShare(cec="machine", weight=weight)
        d.stations.append(
            Station(name=cp, component="cp", servers=engines - fewer, scheduling="priority_ps", lpar=share)
        )
        d.resources.append(Resource(name=f"QR {lpar}", kind="tcb", capacity=1, instances=int(d.random.integers(3, 7))))
        for kind in ("inquiry", "update"):
            before, io, after = (_varied(d, visit) for visit in d.work(cp, 1.0, 6.0))
            visits = (replace(before, holding=(f"QR {lpar}",)), io, replace(after, holding=(f"QR {lpar}",)))
            _of_regions(d, f"{kind} {name}", visits, "CICSHI", "CICS", "CICSRGN", 2)
        _of_regions(
            d, f"message {name}", tuple(_varied(d, v) for v in d.work(cp, 2.0, 8.0)), "IMSHI", "IMS", "IMSMPR", 2
        )
        d.add(
            f"query {name}",
            tuple(_varied(d, v) for v in d.work(cp, 2.0, 8.0)),
            3,
            workload="DDF",
            service_class="DDFMED",
        )
        d.add(
            f"job {name}", tuple(_varied(d, v) for v in d.work(cp, 60.0, 200.0)), 5, 0.02, workload="BATCH",
            service_class="BATCHLOW", hour_of_week="flat",
        )  # fmt: skip
    d.more["missing_days"] = [(START + timedelta(days=int(d.random.integers(2, DAYS - 3)))).date()]
    d.asks["one-class"] = {"growth_pct": {"message a": 50}, "when": "peak"}
    d.asks["weight"] = {"weight": 800, "growth_pct": 15, "when": "peak"}


def _varied(d: Draft, visit: Visit) -> Visit:
    """A visit whose service varies as production's does."""
    scv = float(d.random.choice([1.5, 2.5, 4.0, 6.0]))
    return replace(visit, service=Distribution.with_scv(visit.service.mean, scv))


def _of_regions(
    d: Draft, name: str, route: Route, service_class: str, workload: str, region: str, importance: int
) -> None:
    """A class whose transactions come in batches of a few, and run in regions."""
    d.add(name, route, importance, workload=workload, service_class=service_class, region=region, hour_of_week="office")
    d.batch[name] = Distribution.with_scv(d.between(1.0, 3.0), 0.5)


FAMILIES: Mapping[str, tuple[int, Callable[[Draft], None]]] = {
    "cics": (0, _cics),
    "ziip-smt": (3, _ziip),
    "lpars-weights": (4, _lpars),
    "coupling-facility": (6, _facility),
    "users": (12, _users),
    "many-classes": (13, _many),
    "production": (14, _production),
}
"""What random twins are drawn from, by name, with the number of the family in the seed."""


def random_twin(family: str, seed: int) -> Twin:
    """The twin of a family and seed, the same each time. LabError for a family that does not exist."""
    if family not in FAMILIES:
        raise LabError(f"no family {family!r} of twins; known: {', '.join(FAMILIES)}")
    number, describe = FAMILIES[family]
    d = Draft(np.random.default_rng([seed, number]))
    describe(d)
    d.stations.append(Station(name="dasd", component="dasd", servers=24))
    network = Network(
        name=f"{family} {seed}",
        stations=tuple(d.stations),
        classes=tuple(d.classes),
        resources=tuple(d.resources),
        cecs=tuple(d.cecs),
    )
    network = _loaded(d, network, d.random.uniform(*PEAK))
    rates = {c.name: float(f"{c.arrivals.rate_per_s:.4g}") for c in network.classes if c.arrivals}
    network = replace(network, classes=tuple(_with_users(d, c, rates) for c in network.classes))
    asks = {"growth30": {"growth_pct": 30, "when": "peak"}}
    if not d.cecs:
        engines = network.station("cp").servers + 1
        asks["engines"] = {"engines": engines, "growth_pct": 30, "when": "peak"}
    content = {
        "system_id": f"{family.replace('-', '')}{seed}",
        "start_utc": START,
        "days": DAYS,
        "interval_s": 900,
        "seed": seed,
        **d.more,
        "classes": {name: {**d.loads[name], "rate_per_s": rate} for name, rate in rates.items()},
        "uncaptured": {
            "fixed_engines": round(float(d.random.uniform(0.02, 0.15)), 3),
            "per_captured": round(float(d.random.uniform(0.03, 0.1)), 3),
        },
        "ask": {name: {"at": at} for name, at in {**asks, **d.asks}.items()},
    }
    return Twin.of(content, network)


def _with_users(d: Draft, c: TransactionClass, rates: Mapping[str, float]) -> TransactionClass:
    """A class with as many users as send its rate in the worst hour, at least five, where it is to have users."""
    if c.name not in d.think_s:
        return c
    think_s = d.think_s[c.name]
    users = max(5, round(rates[c.name] * float(hour_factors(d.loads[c.name]["hour_of_week"]).max()) * think_s))
    return replace(c, arrivals=None, users=users, think=Distribution.exponential(think_s))


def _loaded(d: Draft, network: Network, peak: float) -> Network:
    """The network at rates with which the busiest pool or limit is used by `peak` in the worst hour."""
    work = demands(network).demand_s
    rates = np.array([c.arrivals.rate_per_s for c in network.classes if c.arrivals is not None])
    factors = np.array([hour_factors(d.loads[c.name]["hour_of_week"]) for c in network.classes])
    weeks = DAYS / 7 - 0.5
    growth = np.array([(1 + d.loads[c.name]["growth_pct_per_week"] / 100) ** weeks for c in network.classes])
    by_hour = (work * (rates * growth)[:, None]).T @ factors
    limits = {s.name: float(s.servers) for s in network.stations}
    engines = np.array([limits[name] for name in network.station_names])
    used = (by_hour / engines[:, None]).max(axis=1)
    for cec in network.cecs:
        members = [i for i, s in enumerate(network.stations) if s.lpar is not None]
        weights = np.array([network.stations[i].lpar.weight for i in members])  # type: ignore[union-attr]
        parts = cec.engines * weights / weights.sum()
        used[members] = np.maximum(used[members], (by_hour[members] / parts[:, None]).max(axis=1))
    holdings = [_held_s(c.route) for c in network.classes]
    for resource in network.resources:
        serial = np.array([h.get(resource.name, 0.0) for h in holdings]) * rates * growth
        used = np.append(used, (serial @ factors).max() / (resource.capacity * resource.instances))
    scale = peak / used.max()
    classes = tuple(
        replace(c, arrivals=_arrivals(float(f"{rate * scale:.4g}"), d.batch.get(c.name)))
        for c, rate in zip(network.classes, rates, strict=True)
    )
    return replace(network, classes=classes)


def _arrivals(rate_per_s: float, batch: Distribution | None) -> Arrivals:
    """Poisson arrivals, of several at once where these are given."""
    if batch is None:
        return Arrivals.poisson(rate_per_s)
    return Arrivals(interarrival=Distribution.exponential(batch.mean / rate_per_s), batch=batch)


def _held_s(route: Route) -> dict[str, float]:
    """Seconds of service for which each resource is held, by name."""
    seconds: dict[str, float] = {}
    open_: set[str] = set()
    for step in route:
        if isinstance(step, Acquire):
            open_.add(step.resource)
        elif isinstance(step, Release):
            open_.discard(step.resource)
        elif isinstance(step, Visit):
            for name in open_ | set(step.holding):
                seconds[name] = seconds.get(name, 0.0) + step.count * step.service.mean
    return seconds
