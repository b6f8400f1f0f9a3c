"""Which fields of a network description a method takes into account; all others are refused.

A field that a method does not declare must have its default value, so that an attribute added to a station, class or
step makes every exact method refuse networks that use it until the method declares it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import Acquire, Arrivals, Call, CfRequest, Go, Release, Resource, TransactionClass, Visit

ANY = None
Values = Collection[object] | None
Support = Mapping[type, dict[str, Values]]
"""Element type → its supported fields → their supported values, ``ANY`` for all."""


class UnsupportedError(Exception):
    """A method does not apply to a network; the text is the reason."""


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
