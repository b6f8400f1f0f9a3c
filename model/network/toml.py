"""Networks as TOML text, both ways.

A time may be given in seconds, milliseconds or microseconds by its key's ending (``mean_s``, ``mean_ms``,
``mean_us``); a bare number where a distribution is expected is the mean, in seconds, of an exponential one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
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
            stations=tuple(_station(t) for t in raw.get("stations", [])),
            classes=tuple(_class(t) for t in raw.get("classes", [])),
            resources=tuple(_plain(Resource, t, "resource") for t in raw.get("resources", [])),
            cecs=tuple(_plain(Cec, t, "cec") for t in raw.get("cecs", [])),
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
        out.extend(f"{toml_key(name)} = {_value(_steps(route))}" for name, route in network.procedures)
    for cls in network.classes:
        out.append("\n[[classes]]")
        table = _differing(cls)
        table.pop("route")
        out.extend(f"{key} = {_value(value)}" for key, value in table.items())
        out.append("route = [")
        out.extend(f"  {_value(step)}," for step in _steps(cls.route))
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
        said = f"{value:g}" if isinstance(value, float) else f"a number of {value.bit_length():,} bits"
        raise NetworkError(f"{key} is {said}; no number in a network is beyond {LARGEST:g}")


def _only(table: Table, what: str, known: str) -> None:
    if not isinstance(table, dict):
        raise NetworkError(f"{what}: a table is expected, got {table!r}")
    unknown = sorted(set(table) - set(known.split()))
    if unknown:
        raise NetworkError(f"{what}: unknown key {unknown[0]!r}; known: {known.replace(' ', ', ')}")


def _plain(cls: type, table: Table, what: str) -> Any:
    _only(table, what, " ".join(f.name for f in fields(cls)))
    if "name" in table:
        what = f"{what} {table['name']!r}"
    _typed(cls, table, what)
    return cls(**table)


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "int | None": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "str": ((str,), "a text in quotes"),
}


def _typed(cls: type, table: Table, what: str) -> None:
    """Refuse a missing key and a value that is no number or text where the field is one."""
    for f in fields(cls):
        if f.name not in table:
            if f.default is MISSING and f.default_factory is MISSING:
                raise NetworkError(f"{what}: {f.name} is missing")
            continue
        value = table[f.name]
        kinds, wanted = _KINDS.get(str(f.type), ((), ""))
        if kinds and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise NetworkError(f"{what}: {f.name} must be {wanted}, got {value!r}")
        if float in kinds and not math.isfinite(value):
            raise NetworkError(f"{what}: {f.name} must be a finite number, got {value}")
        if int in kinds and float not in kinds and value > MOST:
            raise NetworkError(f"{what}: {f.name} must be at most {MOST:,}, got {value:,}")


def _number(table: Table, key: str, default: float, what: str) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NetworkError(f"{what}: {key} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise NetworkError(f"{what}: {key} must be a finite number, got {value}")
    return float(value)


def _whole(table: Table, key: str, default: int, what: str) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise NetworkError(f"{what}: {key} must be a whole number, got {value!r}")
    if value > MOST:
        raise NetworkError(f"{what}: {key} must be at most {MOST:,}, got {value:,}")
    return value


def _station(table: Table) -> Station:
    said = f"station {table.get('name', '')!r}" if isinstance(table, dict) else "station"
    _only(table, said, " ".join(f.name for f in fields(Station)))
    _typed(Station, table, said)
    values = dict(table)
    for key, cls in (("smt", Smt), ("lpar", LparShare), ("overflow", Overflow)):
        if key in values:
            values[key] = _plain(cls, values[key], f"{said} {key}")
    for key in ("speeds", "cost_by_busy"):
        if key in values:
            values[key] = tuple(_number({key: v}, key, 0.0, said) for v in _list(values[key]))
    return Station(**values)


def _class(table: Table) -> TransactionClass:
    said = f"class {table.get('name', '')!r}" if isinstance(table, dict) else "class"
    _only(table, said, " ".join(f.name for f in fields(TransactionClass)))
    _typed(TransactionClass, table, said)
    values = dict(table)
    values["route"] = _route(values["route"], said)
    if not values["route"]:
        raise NetworkError(f"{said}: the route has no steps")
    if "think" in values:
        values["think"] = distribution(values["think"], f"{said} think")
    if "arrivals" in values:
        values["arrivals"] = _arrivals(values["arrivals"], said)
    return TransactionClass(**values)


def _arrivals(table: Table, said: str) -> Arrivals:
    _only(table, f"{said} arrivals", "rate_per_s interarrival batch on off")
    if ("rate_per_s" in table) == ("interarrival" in table):
        raise NetworkError(f"{said} arrivals: give either rate_per_s (Poisson) or interarrival")
    if "rate_per_s" in table:
        if not _number(table, "rate_per_s", 0.0, f"{said} arrivals") > 0:
            raise NetworkError(f"{said} arrivals: rate_per_s must be positive")
        interarrival = Distribution.exponential(1.0 / table["rate_per_s"])
    else:
        interarrival = distribution(table["interarrival"], f"{said} interarrival")
    batch = table.get("batch", 1)
    plain = isinstance(batch, int | float) and not isinstance(batch, bool)
    counts = distribution({"kind": "deterministic", "value_s": batch} if plain else batch, f"{said} batch")
    on, off = (distribution(table[k], f"{said} {k}") if k in table else None for k in ("on", "off"))
    return Arrivals(interarrival=interarrival, batch=counts, on=on, off=off)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_DISTRIBUTIONS = {
    "exponential": "mean", "deterministic": "value", "erlang": "mean phases", "lognormal": "mean scv",
    "hyperexponential": "means probabilities", "empirical": "values weights", "quantiles": "values", "scv": "mean scv",
}  # fmt: skip
"""What each kind of distribution takes: the name of its times, without their unit, and its other keys."""


def _times(table: Table, stem: str, what: str) -> list[float]:
    given = [stem + ending for ending in _UNITS if stem + ending in table]
    if not given:
        raise NetworkError(f"{what}: {stem}_s (or _ms, _us) is missing")
    if len(given) > 1:
        raise NetworkError(f"{what}: give {given[0]} or {given[1]}, not both")
    key = given[0]
    return [_number({key: v}, key, 0.0, what) * _UNITS[key.removeprefix(stem)] for v in _list(table[key])]


def distribution(value: Any, what: str = "distribution") -> Distribution:
    """A distribution from its TOML value; ``what`` is named in errors."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = {"mean_s": value}
    if not isinstance(value, dict):
        raise NetworkError(f"{what}: a time is a number of seconds or a table such as {{ mean_ms = 2 }}, got {value!r}")
    kind = value.get("kind", "exponential")
    if not isinstance(kind, str) or kind not in _DISTRIBUTIONS:
        raise NetworkError(f"{what}: unknown kind {kind!r}; known: {', '.join(_DISTRIBUTIONS)}")
    stem, *others = _DISTRIBUTIONS[kind].split()
    _only(value, f"{what}: {kind}", " ".join(["kind", *(s + e for s in (stem, "plus") for e in _UNITS), *others]))

    def number(key: str) -> float:
        return _number({key: value[key]}, key, 0.0, what)

    def numbers(key: str) -> tuple[float, ...]:
        return tuple(_number({key: v}, key, 0.0, what) for v in _list(value[key]))

    builders: dict[str, Callable[[], Distribution]] = {
        "exponential": lambda: Distribution.exponential(_times(value, "mean", what)[0]),
        "deterministic": lambda: Distribution.deterministic(_times(value, "value", what)[0]),
        "erlang": lambda: Distribution.erlang(_times(value, "mean", what)[0], _whole(value, "phases", 0, what)),
        "lognormal": lambda: Distribution.lognormal(_times(value, "mean", what)[0], number("scv")),
        "hyperexponential": lambda: Distribution.hyperexponential(
            tuple(_times(value, "means", what)), numbers("probabilities")
        ),
        "empirical": lambda: Distribution.empirical(
            tuple(_times(value, "values", what)), numbers("weights") if "weights" in value else None
        ),
        "quantiles": lambda: Distribution.quantiles(tuple(_times(value, "values", what))),
        "scv": lambda: Distribution.with_scv(_times(value, "mean", what)[0], number("scv")),
    }
    plus = _times(value, "plus", what)[0] if any(key.startswith("plus_") for key in value) else 0.0
    try:
        return builders[kind]().shifted(plus)
    except KeyError as missing:
        raise NetworkError(f"{what}: {kind} needs {missing.args[0]}") from missing
    except NetworkError:
        raise
    except (ValueError, TypeError) as error:
        raise NetworkError(f"{what}: {error}") from error


def _names(value: Any, what: str) -> tuple[str, ...]:
    names = _list(value)
    if not all(isinstance(name, str) for name in names):
        raise NetworkError(f"{what}: names in quotes are expected, got {value!r}")
    return tuple(names)


def _route(steps: Any, said: str) -> Route:
    return tuple(_step(step, f"{said} step {index + 1}") for index, step in enumerate(_list(steps)))


def _step(table: Table, said: str) -> Step:
    known = {
        "visit": "visit service count size_bytes holding label",
        "cf": "cf service engine issue mode async_issue threshold_s count size_bytes label",
        "acquire": "acquire units label",
        "release": "release units label",
        "go": "go label",
        "fork": "fork label",
        "switch": "switch label",
        "call": "call times label",
    }
    kind = next((k for k in known if isinstance(table, dict) and k in table), None)
    if kind is None:
        raise NetworkError(f"{said}: a step is one of {', '.join(known)}")
    _only(table, said, known[kind])
    label = table.get("label", "")
    for key in ("label", "visit", "cf", "engine", "acquire", "release", "switch", "call"):
        if key in table and not isinstance(table[key], str):
            raise NetworkError(f"{said}: {key} must be a name in quotes, got {table[key]!r}")
    if kind in ("visit", "cf") and "service" not in table:
        raise NetworkError(f"{said}: service is missing")
    if kind == "visit":
        return Visit(
            station=table["visit"],
            service=distribution(table["service"], said),
            count=_number(table, "count", 1.0, said),
            size_bytes=_number(table, "size_bytes", 0.0, said),
            holding=_names(table.get("holding", []), f"{said} holding"),
            label=label,
        )
    if kind == "cf":
        if "engine" not in table or "issue" not in table:
            raise NetworkError(f"{said}: a cf request needs engine and issue")
        return CfRequest(
            station=table["cf"],
            service=distribution(table["service"], said),
            engine=table["engine"],
            issue=distribution(table["issue"], said),
            mode=table.get("mode", "sync"),
            async_issue=distribution(table["async_issue"], said) if "async_issue" in table else None,
            threshold_s=_number(table, "threshold_s", 0.0, said),
            count=_whole(table, "count", 1, said),
            size_bytes=_number(table, "size_bytes", 0.0, said),
            label=label,
        )
    if kind == "acquire":
        return Acquire(resource=table["acquire"], units=_whole(table, "units", 1, said), label=label)
    if kind == "release":
        return Release(resource=table["release"], units=_whole(table, "units", 1, said), label=label)
    if kind == "go":
        if not isinstance(table["go"], dict):
            raise NetworkError(f'{said}: go takes labels with their probabilities, such as {{ "done" = 0.2 }}')
        return Go(to=tuple((name, _number(table["go"], name, 0.0, said)) for name in table["go"]), label=label)
    if kind == "fork":
        if not isinstance(table["fork"], list):
            raise NetworkError(f"{said}: fork takes a list of branches, each a list of steps")
        return Fork(branches=tuple(_route(b, said) for b in table["fork"]), label=label)
    if kind == "switch":
        return Switch(to=table["switch"], label=label)
    return Call(procedure=table["call"], times=_whole(table, "times", 1, said), label=label)


def _differing(item: Any) -> Table:
    """Fields of a dataclass that differ from their defaults."""
    return {f.name: getattr(item, f.name) for f in fields(item) if getattr(item, f.name) != f.default}


def _steps(route: Route) -> list[Table]:
    return [_step_table(step) for step in route]


def _step_table(step: Step) -> Table:
    table = _differing(step)
    match step:
        case Visit():
            return {"visit": table.pop("station"), **table}
        case CfRequest():
            return {"cf": table.pop("station"), **table}
        case Acquire():
            return {"acquire": table.pop("resource"), **table}
        case Release():
            return {"release": table.pop("resource"), **table}
        case Go():
            return {"go": dict(step.to), **{k: v for k, v in table.items() if k != "to"}}
        case Fork():
            return {"fork": [_steps(b) for b in step.branches], **{k: v for k, v in table.items() if k != "branches"}}
        case Switch():
            return {"switch": table.pop("to"), **table}
        case Call():
            return {"call": table.pop("procedure"), **table}


def _distribution_table(d: Distribution) -> Table:
    first = d.values[0]
    many = list(d.values)
    tables: dict[str, Table] = {
        "exponential": {"mean_s": first},
        "deterministic": {"value_s": first},
        "erlang": {"mean_s": first, "phases": int(d.shape)},
        "lognormal": {"mean_s": first, "scv": d.shape},
        "hyperexponential": {"means_s": many, "probabilities": list(d.weights)},
        "empirical": {"values_s": many, "weights": list(d.weights)},
        "quantiles": {"values_s": many},
    }
    return tables[d.kind] | {"kind": d.kind} | ({"plus_s": d.offset} if d.offset else {})


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
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return _value(_differing(value))
