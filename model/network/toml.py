"""Networks as TOML text, both ways.

A time may be given in seconds, milliseconds or microseconds by its key's ending (``mean_s``, ``mean_ms``,
``mean_us``); a bare number where a distribution is expected is the mean, in seconds, of an exponential one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

import tomli

from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import (
    Acquire,
    Arrivals,
    Call,
    Cec,
    CfRequest,
    Fork,
    Go,
    LparShare,
    Overflow,
    Release,
    Resource,
    Route,
    Smt,
    Station,
    Step,
    Switch,
    TransactionClass,
    Visit,
)
from model.network.errors import NetworkError

Table = dict[str, Any]
LARGEST = 1e12
"""No number in a network is larger."""
MOST = 10_000_000
"""Servers, users, units of a resource or repetitions that a network has at most."""
_UNITS = {"_s": 1.0, "_ms": 1e-3, "_us": 1e-6}


def parse(text: str) -> Network:
    """A network from TOML; raises :class:`NetworkError` naming the table and key that is wrong."""
    try:
        raw = tomli.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"not TOML: {error}") from error
    try:
        _magnitudes(raw, "network")
        _only(raw, "network", "name source stations classes resources cecs procedures")
        return Network(
            name=raw.get("name", "network"),
            source=raw.get("source", ""),
            stations=tuple(_element(Station, t, "station") for t in raw.get("stations", [])),
            classes=tuple(_class(t) for t in raw.get("classes", [])),
            resources=tuple(_element(Resource, t, "resource") for t in raw.get("resources", [])),
            cecs=tuple(_element(Cec, t, "cec") for t in raw.get("cecs", [])),
            procedures=tuple((n, _route(s, f"procedure {n!r}")) for n, s in raw.get("procedures", {}).items()),
        )
    except NetworkError:
        raise
    except RecursionError:
        raise NetworkError("the network is nested too deeply: write nested branches as procedures") from None
    except (ValueError, ArithmeticError, TypeError, KeyError, AttributeError) as error:
        raise NetworkError(f"network {str(raw.get('name', ''))[:80]!r}: {error}") from error


def render(network: Network) -> str:
    """TOML text of a network."""
    out = [f"name = {_value(network.name)}"]
    if network.source:
        out.append(f"source = {_value(network.source)}")
    for heading, items in (("cecs", network.cecs), ("stations", network.stations), ("resources", network.resources)):
        for item in items:
            out.append(f"\n[[{heading}]]")
            out.extend(f"{key} = {_value(value)}" for key, value in _differing(item).items())
    if network.procedures:
        out.append("\n[procedures]")
        out.extend(f"{toml_key(name)} = {_value(route)}" for name, route in network.procedures)
    for cls in network.classes:
        out.append("\n[[classes]]")
        table = _differing(cls)
        table.pop("route")
        out.extend(f"{key} = {_value(value)}" for key, value in table.items())
        out.append("route = [")
        out.extend(f"  {_value(step)}," for step in cls.route)
        out.append("]")
    return "\n".join(out) + "\n"


def _magnitudes(value: Any, key: str) -> None:
    """Refuse numbers that nothing in a network is: they would overflow where they are multiplied."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _magnitudes(inner, name)
    elif isinstance(value, list):
        for inner in value:
            _magnitudes(inner, key)
    elif isinstance(value, int | float) and LARGEST < abs(value) < math.inf:
        text = f"{value:g}" if isinstance(value, float) else f"a number of {value.bit_length():,} bits"
        raise NetworkError(f"{key} is {text}; no number in a network is beyond {LARGEST:g}")


def _only(table: Table, what: str, keys: str) -> None:
    if not isinstance(table, dict):
        raise NetworkError(f"{what}: a table is expected, got {table!r}")
    unknown = sorted(set(table) - set(keys.split()))
    if unknown:
        raise NetworkError(f"{what}: unknown key {unknown[0]!r}; known: {keys.replace(' ', ', ')}")


_STEPS: dict[str, tuple[type, str]] = {
    "visit": (Visit, "station"),
    "cf": (CfRequest, "station"),
    "acquire": (Acquire, "resource"),
    "release": (Release, "resource"),
    "go": (Go, "to"),
    "fork": (Fork, "branches"),
    "switch": (Switch, "to"),
    "call": (Call, "procedure"),
}
"""The step of each key that tells steps apart, and its field that has the value of that key."""
_DISTRIBUTIONS: dict[str, tuple[Callable[..., Distribution], str, dict[str, str]]] = {
    "exponential": (Distribution.exponential, "mean", {}),
    "deterministic": (Distribution.deterministic, "value", {}),
    "erlang": (Distribution.erlang, "mean", {"phases": "int"}),
    "lognormal": (Distribution.lognormal, "mean", {"scv": "float"}),
    "hyperexponential": (Distribution.hyperexponential, "means", {"probabilities": "tuple[float, ...]"}),
    "empirical": (Distribution.empirical, "values", {"weights": "tuple[float, ...]"}),
    "quantiles": (Distribution.quantiles, "values", {}),
    "scv": (Distribution.with_scv, "mean", {"scv": "float"}),
}
"""What makes each kind of distribution: a function of times, their name without unit, and of other keys."""
_OPTIONAL = ("weights",)


def _element(cls: type, table: Table, what: str, first: Mapping[str, str] | None = None) -> Any:
    """An element of a network; ``first`` has the keys of fields that are not called as in the description."""
    keys = {f.name: f.name for f in fields(cls)} | dict(first or {})
    if not first and isinstance(table, dict) and isinstance(table.get("name"), str):
        what = f"{what} {table['name']!r}"
    _only(table, what, " ".join(keys.values()))
    values = {}
    for f in fields(cls):
        key = keys[f.name]
        if key in table:
            values[f.name] = _field(str(f.type), table[key], key, what)
        elif f.default is MISSING and f.default_factory is MISSING:
            raise NetworkError(f"{what}: {key} is missing")
    return cls(**values)


def _field(kind: str, value: Any, key: str, what: str) -> Any:
    """A value of a field whose annotation is ``kind``; what has rules of its own is left to the network's checks."""
    match kind.removesuffix(" | None"):
        case "int":
            return _number(value, key, what, whole=True)
        case "float":
            return _number(value, key, what)
        case "str":
            return _text(value, key, what)
        case "tuple[float, ...]":
            return tuple(_number(one, key, what) for one in _list(value))
        case "tuple[str, ...]":
            return _names(value, f"{what} {key}")
        case "Distribution":
            return distribution(value, f"{what} {key}")
        case "Arrivals":
            return _arrivals(value, what)
        case "Route":
            return _route(value, what)
        case "Smt":
            return _element(Smt, value, f"{what} {key}")
        case "LparShare":
            return _element(LparShare, value, f"{what} {key}")
        case "Overflow":
            return _element(Overflow, value, f"{what} {key}")
        case "tuple[tuple[str, float], ...]":
            if not isinstance(value, dict):
                raise NetworkError(f'{what}: {key} takes labels with their probabilities, such as {{ "done" = 0.2 }}')
            return tuple((name, _number(chance, name, what)) for name, chance in value.items())
        case "tuple[tuple[Step, ...], ...]":
            if not isinstance(value, list):
                raise NetworkError(f"{what}: {key} takes a list of branches, each a list of steps")
            return tuple(_route(branch, what) for branch in value)
    return value


def _number(value: Any, key: str, what: str, whole: bool = False) -> Any:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise NetworkError(f"{what}: {key} must be a {'whole ' if whole else ''}number, got {value!r}")
    if not math.isfinite(value):
        raise NetworkError(f"{what}: {key} must be a finite number, got {value}")
    if whole and value > MOST:
        raise NetworkError(f"{what}: {key} must be at most {MOST:,}, got {value:,}")
    return value if whole else float(value)


def _text(value: Any, key: str, what: str) -> str:
    if not isinstance(value, str):
        raise NetworkError(f"{what}: {key} must be a text in quotes, got {value!r}")
    return value


def _arrivals(table: Table, what: str) -> Arrivals:
    _only(table, f"{what} arrivals", "rate_per_s interarrival batch on off")
    if ("rate_per_s" in table) == ("interarrival" in table):
        raise NetworkError(f"{what} arrivals: give either rate_per_s (Poisson) or interarrival")
    if "rate_per_s" in table:
        rate = _number(table["rate_per_s"], "rate_per_s", f"{what} arrivals")
        if not rate > 0:
            raise NetworkError(f"{what} arrivals: rate_per_s must be positive")
        interarrival = Distribution.exponential(1.0 / rate)
    else:
        interarrival = distribution(table["interarrival"], f"{what} interarrival")
    batch = table.get("batch", 1)
    plain = isinstance(batch, int | float) and not isinstance(batch, bool)
    counts = distribution({"kind": "deterministic", "value_s": batch} if plain else batch, f"{what} batch")
    on, off = (distribution(table[k], f"{what} {k}") if k in table else None for k in ("on", "off"))
    return Arrivals(interarrival=interarrival, batch=counts, on=on, off=off)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _times(table: Table, stem: str, what: str) -> tuple[float, ...]:
    given = [stem + ending for ending in _UNITS if stem + ending in table]
    if not given:
        raise NetworkError(f"{what}: {stem}_s (or _ms, _us) is missing")
    if len(given) > 1:
        raise NetworkError(f"{what}: give {given[0]} or {given[1]}, not both")
    key = given[0]
    return tuple(_number(v, key, what) * _UNITS[key.removeprefix(stem)] for v in _list(table[key]))


def distribution(value: Any, what: str = "distribution") -> Distribution:
    """A distribution from its TOML value; ``what`` is named in errors."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = {"mean_s": value}
    if not isinstance(value, dict):
        raise NetworkError(f"{what}: a time is a number of seconds or a table such as {{ mean_ms = 2 }}, got {value!r}")
    kind = value.get("kind", "exponential")
    if not isinstance(kind, str) or kind not in _DISTRIBUTIONS:
        raise NetworkError(f"{what}: unknown kind {kind!r}; known: {', '.join(_DISTRIBUTIONS)}")
    make, stem, others = _DISTRIBUTIONS[kind]
    _only(value, f"{what}: {kind}", " ".join(["kind", *(s + e for s in (stem, "plus") for e in _UNITS), *others]))
    if missing := [key for key in others if key not in value and key not in _OPTIONAL]:
        raise NetworkError(f"{what}: {kind} needs {missing[0]}")
    times = _times(value, stem, what)
    given = [_field(others[key], value[key], key, what) for key in others if key in value]
    plus = _times(value, "plus", what)[0] if any(key.startswith("plus_") for key in value) else 0.0
    try:
        return make(times if stem.endswith("s") else times[0], *given).shifted(plus)
    except (ValueError, TypeError, IndexError) as error:
        raise NetworkError(f"{what}: {error}") from error


def _names(value: Any, what: str) -> tuple[str, ...]:
    names = _list(value)
    if not all(isinstance(name, str) for name in names):
        raise NetworkError(f"{what}: names in quotes are expected, got {value!r}")
    return tuple(names)


def _class(table: Table) -> TransactionClass:
    cls: TransactionClass = _element(TransactionClass, table, "class")
    if not cls.route:
        raise NetworkError(f"class {cls.name!r}: the route has no steps")
    return cls


def _route(steps: Any, what: str) -> Route:
    return tuple(_step(step, f"{what} step {index + 1}") for index, step in enumerate(_list(steps)))


def _step(table: Table, what: str) -> Step:
    kind = next((k for k in _STEPS if isinstance(table, dict) and k in table), None)
    if kind is None:
        raise NetworkError(f"{what}: a step is one of {', '.join(_STEPS)}")
    cls, field = _STEPS[kind]
    step: Step = _element(cls, table, what, {field: kind})
    return step


def _differing(item: Any) -> Table:
    """Fields of a dataclass that differ from their defaults."""
    return {f.name: getattr(item, f.name) for f in fields(item) if getattr(item, f.name) != f.default}


def _step_table(step: Step) -> Table:
    kind, field = next((kind, field) for kind, (cls, field) in _STEPS.items() if type(step) is cls)
    table = _differing(step)
    first = table.pop(field)
    return {kind: dict(first) if kind == "go" else first, **table}


def _distribution_table(d: Distribution) -> Table:
    _, stem, others = _DISTRIBUTIONS[d.kind]
    by_key = {"phases": int(d.shape), "scv": d.shape, "probabilities": d.weights, "weights": d.weights}
    times = {f"{stem}_s": d.values if stem.endswith("s") else d.values[0]}
    return times | {key: by_key[key] for key in others} | {"kind": d.kind} | ({"plus_s": d.offset} if d.offset else {})


def toml_key(name: str) -> str:
    """A name as a key of TOML: bare where it can be."""
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else toml_text(name)


def toml_text(text: str) -> str:
    """A text as a string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, int | float):
        # A float of numpy is one, too, but says so.
        return repr(float(value)) if isinstance(value, float) else repr(value)
    if isinstance(value, Distribution):
        return _value(_distribution_table(value))
    if isinstance(value, Step):
        return _value(_step_table(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return _value(_differing(value))
