"""Dataclasses whose arrays have posterior samples: as plain JSON values, and with every such array changed.

Arrays of type :data:`Samples` have posterior samples along their first axis, ``(1 + samples, ...)``: the best estimate
first. A number in place of such an array stands for the same value in every sample. Arrays of type :data:`Intervals`
have one value for each recorded interval, NaN where nothing was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Samples = Annotated[Array, "samples"]
"""(1 + samples, ...), the best estimate first."""
Intervals = Annotated[Array, "intervals"]
"""(..., intervals)."""
T = TypeVar("T")

ZERO, ONE = cast(Any, 0.0), cast(Any, 1.0)
"""Defaults of samples: the same number in each."""


class ParametersError(ValueError):
    """Plain values are no parameters of a system; the message names the place and what is expected there."""


def read(kind: type[T], value: Mapping[str, Any], place: str) -> T:
    """Plain JSON values as a dataclass.

    Raises
    ------
    ParametersError
        a field is missing, unknown or of another type.
    """
    return cast(T, _read(kind, value, place))


def filled(value: T, size: int) -> dict[str, Any]:
    """Fields of a dataclass whose samples were a number or a single sample, with ``size`` samples, by name."""
    kind: Any = type(value)
    hints, changed = _hints(kind), {}
    for name in _stored(kind):
        before = getattr(value, name)
        after = _mapped(hints[name], before, lambda one: _filled(one, size))
        if after is not before:
            changed[name] = after
    return changed


def to_plain(value: Any) -> Any:
    """Parameters as plain JSON values; fields without a value are left out."""
    return _plain(type(value), value)


def map_samples(value: T, change: Callable[[Array], Array]) -> T:
    """Parameters, or a part of them, with ``change`` applied to every array of samples."""
    return cast(T, _mapped(type(value), value, change))


def joined(parts: Sequence[T]) -> T:
    """Parameters that differ in their samples alone as one, with the samples of all, one after the other."""
    columns: list[list[Array]] = []
    for part in parts:
        columns.append([])
        map_samples(part, lambda one: columns[-1].append(one) or one)  # type: ignore[func-returns-value]
    arrays = iter(zip(*columns, strict=True))

    def one_after_the_other(_: Array) -> Array:
        each = next(arrays)
        return np.concatenate([each[0], *(one[1:] for one in each[1:])])

    return map_samples(parts[0], one_after_the_other)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _stored(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.metadata.get("stored", True))


@cache
def _form(kind: Any) -> tuple[str, Any]:
    """How values of a type are read: a word, and the type of its parts."""
    if kind in (Samples, Intervals):
        return get_args(kind)[1], None
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return "optional", next(one for one in parts if one is not type(None))
    if origin is tuple:
        return "tuple", parts
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "mapping", parts[1]
    return ("dataclass" if is_dataclass(kind) else "plain"), kind


def _read(kind: Any, value: Any, place: str) -> Any:
    """A value of plain JSON as a type."""
    form, part = _form(kind)
    try:
        if form == "optional":
            return None if value is None else _read(part, value, place)
        if form == "samples":
            return _samples(value)
        if form == "intervals":
            return np.array(value, float)
        if form == "tuple":
            kinds = [part[0]] * len(value) if part[-1] is Ellipsis else part
            each = enumerate(zip(kinds, value, strict=True))
            return tuple(_read(one, item, f"{place}[{i}]") for i, (one, item) in each)
        if form == "mapping":
            return {str(key): _read(part, item, f"{place}.{key}") for key, item in value.items()}
        if form == "dataclass":
            return _dataclass(kind, value, place)
        return _scalar(kind, value)
    except ParametersError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ParametersError(f"{place}: {error}") from error


def _scalar(kind: Any, value: Any) -> Any:
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind in (int, str, bool) and type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    if kind is float:
        raise TypeError(f"{value!r} is no number")
    return value


def _samples(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return float(value)
    centre, drawn = np.asarray(value["centre"], float), value["draws"]
    if not len(drawn):
        return float(centre) if centre.ndim == 0 else centre[None]
    return np.concatenate([centre[None], np.asarray(drawn, float)])


def _dataclass(kind: type, value: Mapping[str, Any], place: str) -> Any:
    hints, stored = _hints(kind), {one.name: one for one in fields(kind)}
    if unknown := value.keys() - stored.keys():
        raise ParametersError(f"{place}: {min(unknown)} is no field of {kind.__name__}")
    for one in stored.values():
        if one.name not in value and one.default is MISSING and one.default_factory is MISSING:
            raise ParametersError(f"{place}: {one.name} is missing")
    return kind(**{name: _read(hints[name], item, f"{place}.{name}") for name, item in value.items()})


def _plain(kind: Any, value: Any) -> Any:
    form, part = _form(kind)
    if form == "optional":
        return None if value is None else _plain(part, value)
    if form == "samples":
        alike = bool((value[1:] == value[0]).all())
        return {"centre": value[0].tolist(), "draws": [] if alike else value[1:].tolist()}
    if form == "intervals":
        return np.asarray(np.where(np.isnan(value), None, value)).tolist()
    if form == "tuple":
        kinds = [part[0]] * len(value) if part[-1] is Ellipsis else part
        return [_plain(one, item) for one, item in zip(kinds, value, strict=True)]
    if form == "mapping":
        return {key: _plain(part, item) for key, item in value.items()}
    if form == "dataclass":
        hints = _hints(kind)
        plain = {name: _plain(hints[name], getattr(value, name)) for name in _stored(kind)}
        return {name: item for name, item in plain.items() if item is not None}
    return value


def _mapped(kind: Any, value: Any, change: Callable[[Array], Array]) -> Any:
    """A value with every array of samples changed; the very same where it has none, or nothing changes."""
    form, part = _form(kind)
    if value is None or form in ("plain", "intervals"):
        return value
    if form == "optional":
        return _mapped(part, value, change)
    if form == "samples":
        return change(value)
    if form == "dataclass":
        hints = _hints(kind)
        new = {}
        for name in _stored(kind):
            before = getattr(value, name)
            after = _mapped(hints[name], before, change)
            if after is not before:
                new[name] = after
        return replace(value, **new) if new else value
    if form == "tuple":
        kinds = [part[0]] * len(value) if part[-1] is Ellipsis else part
        made = tuple(_mapped(one, item, change) for one, item in zip(kinds, value, strict=True))
        return value if all(a is b for a, b in zip(made, value, strict=True)) else made
    mapped = {key: _mapped(part, item, change) for key, item in value.items()}
    return value if all(mapped[key] is item for key, item in value.items()) else mapped


def _filled(value: Any, size: int) -> Array:
    """Samples of a number, or of one sample."""
    if isinstance(value, np.ndarray) and len(value) == size:
        return value
    return np.repeat(np.atleast_1d(np.asarray(value, float)), size, axis=0)
