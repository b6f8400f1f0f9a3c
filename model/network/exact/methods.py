"""The exact methods, in the order in which they are tried, and which fields of a description each supports.

A field that a method does not declare must have its default value, so that an attribute added to a station, class or
step makes every exact method refuse networks that use it until the method declares it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any

from model.network.arrays import Arrays
from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import (
    Acquire,
    Arrivals,
    Call,
    Cec,
    CfRequest,
    Go,
    LparShare,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    Switch,
    TransactionClass,
    Visit,
)
from model.network.errors import UnsupportedError
from model.network.exact.chain import markov_chain
from model.network.exact.product_form import product_form
from model.network.exact.single_queue import one_poisson_queue
from model.network.exact.solution import Figures

ANY = None
Values = Collection[object] | None
Support = Mapping[type, dict[str, Values]]
"""Element type → its supported fields → their supported values, ``ANY`` for all."""


def every(*names: str) -> dict[str, Values]:
    """Fields supported with all their values."""
    return dict.fromkeys(names, ANY)


# What all exact methods read; they check its values themselves.
COMMON: Support = {
    Network: every("name", "stations", "classes", "resources", "procedures", "source", "derived"),
    TransactionClass: every("name", "route", "arrivals", "users", "think", "priority", "weight"),
    Distribution: every("kind", "values", "weights", "shape", "offset"),
    Arrivals: every("interarrival", "batch", "on", "off"),
    Resource: every("name", "capacity", "kind", "scheduling", "queue_limit"),
    Visit: every("station", "service", "count", "size_bytes", "holding", "label"),
    CfRequest: every("station", "service", "engine", "issue", "async_issue", "threshold_s", "count", "size_bytes",
                     "label") | {"mode": {"async"}},
    Acquire: every("resource", "units", "label"),
    Release: every("resource", "units", "label"),
    Go: every("to", "label"),
    Call: every("procedure", "times", "label"),
}  # fmt: skip


def check(network: Network, support: Support) -> None:
    """Raise ``UnsupportedError`` where the network uses an element, field or value outside of ``support``."""
    _check(network, f"network {network.name!r}", support)


def _check(element: Any, where: str, support: Support) -> None:
    kind = type(element)
    supported = next((support[base] for base in kind.__mro__ if base in support), None)
    if supported is None:
        raise UnsupportedError(f"{where} has a {kind.__name__}")
    for field in fields(element):
        value = getattr(element, field.name)
        allowed = supported.get(field.name, (_default(field),))
        if allowed is not ANY and value not in allowed:
            text = f"{field.name} = {value!r}" if isinstance(value, str | int | float) else field.name
            raise UnsupportedError(f"{where} has {text if hasattr(element, 'name') else f'{kind.__name__} {text}'}")
        for part in _elements(value):
            name = getattr(part, "name", "")
            what = "class" if isinstance(part, TransactionClass) else type(part).__name__.lower()
            _check(part, f"{what} {name!r}" if name else where, support)


def _elements(value: object) -> Iterator[Any]:
    if is_dataclass(value):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _elements(part)


def _default(field: Field[Any]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


@dataclass(frozen=True)
class Method:
    """An exact method: its ``name`` in messages, what of a description it ``supports``, and ``solve``, which raises
    ``UnsupportedError`` with the reason where it does not apply after all."""

    name: str
    supports: Support
    solve: Callable[[Arrays], Figures]

    def figures(self, net: Arrays) -> Figures:
        """Figures of the network; ``UnsupportedError`` with the reason where the method does not apply."""
        check(net.network, self.supports)
        return self.solve(net)


_STATION = every("name", "servers", "component", "source")
_IN_ORDER = {"fcfs", "hol", "preemptive", "delay"}
_ALL = {*_IN_ORDER, "ps", "dps", "priority_ps"}

METHODS = (
    Method(
        "product form",
        {
            **COMMON,
            Station: _STATION
            | every("speeds", "cost_by_busy", "overhead_s", "cost_s_per_byte", "smt", "capacity", "when_full")
            | {"scheduling": _ALL},
            Smt: every("gain", "packing"),
            Switch: every("to", "label"),
        },
        product_form,
    ),
    Method(
        "M/G/1 or M/M/c/K",
        {
            **COMMON,
            Station: _STATION
            | every("speeds", "overhead_s", "cost_s_per_byte", "capacity")
            | {"scheduling": _IN_ORDER, "when_full": {"reject"}},
        },
        one_poisson_queue,
    ),
    Method(
        "Markov chain",
        {
            **COMMON,
            Station: _STATION
            | every("speeds", "cost_by_busy", "smt", "lpar", "overflow", "capacity")
            | {"scheduling": _ALL, "when_full": {"reject"}},
            Network: COMMON[Network] | every("cecs"),
            Smt: every("gain", "packing"),
            # Polarity only places the work; without low_cost that changes no time.
            LparShare: every("cec", "weight", "cap", "polarity") | {"low_cost": {1.0}},
            Overflow: every("to", "waiting"),
            Cec: every("name", "engines"),
        },
        markov_chain,
    ),
)
"""All exact methods. A new attribute of a description belongs into ``supports`` of those that take it into account."""
