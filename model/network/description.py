"""The queueing network, described once and solved by both the analytic solvers and the simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from model.network.elements import Cec, Resource, Route, Station, TransactionClass
from model.network.errors import NetworkError
from model.network.lowering import Op, lower
from model.network.validation import check


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Stations, passive resources and transaction classes.

    Raises :class:`NetworkError` when a name is unknown or used twice, a figure lacks its source, or a route cannot
    be followed.
    """

    name: str
    stations: tuple[Station, ...]
    classes: tuple[TransactionClass, ...]
    resources: tuple[Resource, ...] = ()
    cecs: tuple[Cec, ...] = ()
    procedures: tuple[tuple[str, Route], ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        check(self)

    @property
    def station_names(self) -> tuple[str, ...]:
        """Names of the stations, in order."""
        return tuple(s.name for s in self.stations)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in order."""
        return tuple(c.name for c in self.classes)

    @property
    def resource_names(self) -> tuple[str, ...]:
        """Names of the passive resources, in order."""
        return tuple(r.name for r in self.resources)

    def station(self, name: str) -> Station:
        """The station of that name."""
        return next(s for s in self.stations if s.name == name)

    def operations(self, name: str) -> list[Op]:
        """The route of a class as elementary operations, overheads of its stations included in the service."""
        owner = next(c for c in self.classes if c.name == name)
        ops = lower(name, owner.route, dict(self.procedures))
        fixed = {s.name: (s.overhead_s, s.cost_s_per_byte) for s in self.stations if s.overhead_s or s.cost_s_per_byte}
        return [_with_overhead(op, *fixed[op.name]) if op.name in fixed else op for op in ops] if fixed else ops

    @classmethod
    def from_toml(cls, text: str) -> Network:
        """A network from TOML text (see docs/network.md for the form)."""
        from model.network.toml import parse

        return parse(text)

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """A network from a TOML file."""
        return cls.from_toml(Path(path).read_text(encoding="utf-8"))

    def to_toml(self) -> str:
        """The network as TOML text; ``Network.from_toml`` of it gives an equal network."""
        from model.network.toml import render

        return render(self)


def _with_overhead(op: Op, overhead_s: float, cost_s_per_byte: float) -> Op:
    if op.kind != "visit" or op.service is None:
        return op
    return replace(op, service=op.service.shifted(overhead_s + op.size_bytes * cost_s_per_byte))


@dataclass(frozen=True, slots=True)
class Demands:
    """Mean work of one transaction of each class.

    Arrays have shape (classes, stations), or (classes, resources) for ``acquires``. ``service_s`` and ``scv`` are of
    one visit (NaN and 1 where there is none); ``demand_s`` is visits × service. A class reached only by ``Switch``
    has its own row; a class that switches includes what it does afterwards.
    """

    visits: np.ndarray
    service_s: np.ndarray
    scv: np.ndarray
    demand_s: np.ndarray
    acquires: np.ndarray


def demands(network: Network) -> Demands:
    """Visits, service and demand of each class at each station.

    Solves the flow equations of the lowered routes; a ``heuristic`` coupling-facility request counts as synchronous.
    Raises :class:`NetworkError` when a route never ends.
    """
    shape = (len(network.classes), len(network.stations))
    visits, first, second = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    acquires = np.zeros((len(network.classes), len(network.resources)))
    column = {name: i for i, name in enumerate(network.station_names)}
    resource = {name: i for i, name in enumerate(network.resource_names)}
    programs = {name: network.operations(name) for name in network.class_names}
    starts: dict[str, int] = {}
    ops: list[tuple[Op, int]] = []
    for name, program in programs.items():
        starts[name] = len(ops)
        ops.extend((op, len(ops) - index) for index, op in enumerate(program))
    flow = np.eye(len(ops))
    for at, (op, base) in enumerate(ops):
        for target, weight in _successors(op, at, base, starts):
            flow[target, at] -= weight
    for row, name in enumerate(network.class_names):
        entry = np.zeros(len(ops))
        entry[starts[name]] = 1.0
        try:
            times = np.linalg.solve(flow, entry)
        except np.linalg.LinAlgError:
            times = np.full(len(ops), np.inf)
        if not np.all(np.isfinite(times)) or times.min() < -1e-9 or times.max() > 1e12:
            raise NetworkError(f"class {name!r}: the route never ends")
        for (op, _), rate in zip(ops, times, strict=True):
            if op.kind == "visit" and op.service is not None:
                mean, square = op.service.mean, op.service.second_moment
                if op.extra is not None:
                    square += 2 * mean * op.extra.mean + op.extra.second_moment
                    mean += op.extra.mean
                j = column[op.name]
                visits[row, j] += rate * op.count
                first[row, j] += rate * op.count * mean
                second[row, j] += rate * op.count * square
            elif op.kind == "acquire":
                acquires[row, resource[op.name]] += rate * op.units
    with np.errstate(invalid="ignore", divide="ignore"):
        service = first / visits
        scv = np.where(service > 0, second / visits / service**2 - 1.0, 1.0)
    return Demands(visits, service, scv, first, acquires)


def _successors(op: Op, at: int, base: int, starts: dict[str, int]) -> list[tuple[int, float]]:
    """Where the flow of an operation goes, as (position, weight)."""
    if op.kind in ("end", "join"):
        return []
    if op.kind == "switch":
        return [(starts[op.name], 1.0)]
    if op.kind == "cf_decide":
        return [(at + 1, 1.0)]
    out = [(base + target, weight) for target, weight in op.targets]
    if op.kind == "fork":
        return [*out, (at + 1, 1.0)]
    rest = 1.0 - math.fsum(weight for _, weight in op.targets)
    return [*out, (at + 1, rest)] if rest > 1e-12 else out
