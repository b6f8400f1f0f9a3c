"""JSON documents: JSON has no number for what is not finite, so such a figure is null there, with its reason beside it.

``{"half_width_pct": inf}`` is written as ``{"half_width_pct": null, "null_reasons": {"half_width_pct": "no upper
limit"}}``. Every document of the project is written here: bundles, versions, validations, answers, nights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

REASONS = "null_reasons"
"""The key of an object that says of its figures by key why they are null; of one in a list by ``key[place]``."""

UNDEFINED = "not defined"


def dumps(value: Any, *, indent: int | None = None, sort_keys: bool = False, ensure_ascii: bool = True) -> str:
    """A document as JSON; dates, paths and whatever else has no form there as text.

    Parameters
    ----------
    value
        Mappings, sequences, dataclasses, NumPy numbers and arrays, and plain values.
    indent, sort_keys, ensure_ascii
        As of :func:`json.dumps`.
    """
    form: dict[str, Any] = {"indent": indent, "sort_keys": sort_keys, "ensure_ascii": ensure_ascii, "allow_nan": False}
    try:
        return json.dumps(value, default=_form, **form)
    except ValueError:
        return json.dumps(finite(value), default=_form, **form)


def finite(value: Any) -> Any:
    """A document with null, and the reason in :data:`REASONS`, for every figure that is not finite."""
    return _finite(value, "", {})


def for_readers(row: Mapping[str, Any]) -> dict[str, Any]:
    """A flat object for a table: a figure that has no limit as these words, without the reasons as a field."""
    words = {key: why for key, why in row.get(REASONS, {}).items() if why != UNDEFINED}
    return {key: words.get(key, value) for key, value in row.items() if key != REASONS}


def reason(number: float) -> str:
    """Why a number that is not finite is no figure."""
    return UNDEFINED if math.isnan(number) else "no upper limit" if number > 0 else "no lower limit"


def not_finite(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Place (``usage.cp.draws[3]``) and number of everything in a document that is not finite."""
    value = _unpacked(value)
    if isinstance(value, float) and not math.isfinite(value):
        yield place, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from not_finite(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from not_finite(item, f"{place}[{i}]")


def _finite(value: Any, place: str, reasons: dict[str, str]) -> Any:
    value = _unpacked(value)
    if isinstance(value, float) and not math.isfinite(value):
        reasons[place] = reason(value)
        return None
    if isinstance(value, Mapping):
        inside: dict[str, str] = {}
        plain = {str(key): _finite(item, str(key), inside) for key, item in value.items()}
        return plain if not inside else plain | {REASONS: {**plain.get(REASONS, {}), **inside}}
    if isinstance(value, list | tuple):
        return [_finite(item, f"{place}[{i}]", reasons) for i, item in enumerate(value)]
    return value


def _unpacked(value: Any) -> Any:
    """NumPy's values as Python's, dataclasses as mappings; all else as it is."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _form(value: Any) -> Any:
    """What JSON does not know as something that it does."""
    unpacked = _unpacked(value)
    return str(value) if unpacked is value else unpacked
