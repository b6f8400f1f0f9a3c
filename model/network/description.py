"""The queueing network, described once and read by the exact methods and the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from model.network.elements import Cec, Resource, Route, Station, TransactionClass
from model.network.errors import NetworkError
from model.network.flows import flows
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
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What has been worked out of the network, kept because it cannot change."""

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
        by_class: dict[str, list[Op]] = self.derived.setdefault("operations", {})
        if name not in by_class:
            owner = next(c for c in self.classes if c.name == name)
            ops = lower(name, owner.route, dict(self.procedures))
            fixed = {s.name: (s.overhead_s, s.cost_s_per_byte) for s in self.stations}
            by_class[name] = [_with_overhead(op, *fixed.get(op.name, (0.0, 0.0))) for op in ops]
        return list(by_class[name])

    @classmethod
    def from_toml(cls, text: str) -> Network:
        """A network from TOML text (see docs/network.md for the form)."""
        from model.network.toml import parse

        return parse(text)

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """A network from a TOML file; what is wrong with it is said with the file's name."""
        data = Path(path).read_bytes()
        try:
            return cls.from_toml(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise NetworkError(f"{path}: not UTF-8 text (byte {error.start}): is it a network description?") from error
        except NetworkError as error:
            raise NetworkError(f"{path}: {error}") from error

    def to_toml(self) -> str:
        """The network as TOML text; ``Network.from_toml`` of it gives an equal network."""
        from model.network.toml import render

        return render(self)


def _with_overhead(op: Op, overhead_s: float, cost_s_per_byte: float) -> Op:
    if op.kind != "visit" or op.service is None or not (overhead_s or cost_s_per_byte):
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
    flow = flows(network)
    for row in range(len(network.classes)):
        for at in flow.visited(row):
            op, rate = flow.ops[at], flow.runs[row, at]
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
