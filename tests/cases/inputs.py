"""Inputs of a case read with their usual variations: scalars for lists, demands for visits x service, missing
defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class CaseError(ValueError):
    """A case that cannot be read; the message names the field."""


def first(model: dict[str, Any], *names: str, default: Any = None) -> Any:
    """The first field that is there."""
    for name in names:
        if name in model:
            return model[name]
    return default


def need(model: dict[str, Any], *names: str) -> Any:
    """The first field that is there; raises ``CaseError`` where none is."""
    value = first(model, *names)
    if value is None:
        raise CaseError(f"model of type {model.get('type')!r} needs {' or '.join(names)}")
    return value


def vector(value: Any, size: int | None = None) -> Floats:
    """A vector; a scalar is repeated to ``size``."""
    out = np.atleast_1d(np.asarray(value, dtype=float))
    return np.repeat(out, size) if size is not None and len(out) == 1 and size > 1 else out


def by_class(value: Any, classes: int) -> Floats:
    """(classes, stations); one row serves all classes."""
    out = np.atleast_2d(np.asarray(value, dtype=float))
    return np.repeat(out, classes, axis=0) if len(out) == 1 and classes > 1 else out


def servers_of(model: dict[str, Any], stations: int) -> NDArray[np.int64]:
    """Servers per station, -1 for a delay: from ``servers``, else ``scheduling`` or a station named as infinite
    server."""
    given = first(model, "servers", "m")
    names = station_names(model, stations)
    kinds = [str(s).upper() for s in first(model, "scheduling", "discipline_by_station", default=[])]
    out = vector(1 if given is None else given, stations).astype(np.int64)
    for k in range(stations):
        kind = kinds[k] if len(kinds) == stations else ""
        name = names[k].lower()
        if kind in ("IS", "INF", "DELAY") or (
            given is None and ("(is)" in name or name.startswith(("delay", "think")))
        ):
            out[k] = -1
    return np.where(out < 1, -1, out)


def station_names(model: dict[str, Any], stations: int) -> list[str]:
    """Names as given, else numbered."""
    given = first(model, "stations", "station_names")
    if given is not None and len(given) == stations:
        return [str(s) for s in given]
    return [f"station {k + 1}" for k in range(stations)]


def visits_service(model: dict[str, Any], classes: int, suffix: str = "") -> tuple[Floats, Floats]:
    """(classes, stations) visits and service of one visit, from either demands or their two factors."""
    service = first(
        model, f"service{suffix}", f"service_mean{suffix}", f"mean_service{suffix}", f"service_times{suffix}"
    )
    rates = first(model, f"service_rates{suffix}", f"service_rate{suffix}")
    if service is None and rates is not None:
        service = 1.0 / np.asarray(rates, dtype=float)
    if service is not None:
        s = by_class(service, classes)
        v = by_class(first(model, f"visits{suffix}", default=np.ones_like(s)), classes)
        if len(s) == 1 < len(v):
            s = np.repeat(s, len(v), axis=0)
        return v, s
    d = by_class(need(model, f"demands{suffix}", f"demand{suffix}", f"service{suffix}"), classes)
    return np.ones_like(d), d
