"""What-if adjustments as published: `adjustments.toml` names the figures of the reference catalogue they rest on.

A figure is a change in per cent; where several are named, or a figure is printed with its range, the factor is as
uncertain as they are apart.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model.capacity.adjustments import QUANTITIES, Z_90, Adjustment, Factor
from model.published import catalogue
from model.published.catalogue import CatalogueError, Figure

FILE = Path(__file__).with_suffix(".toml")
MOVED = "moved"
"""What an effect changes that moves engine time from CPs to zIIPs."""
ALONE_SHARE = 0.5
"""A change published as one figure without a range holds within half of itself."""


def read_adjustments() -> dict[str, Adjustment]:
    """All adjustments by name; CatalogueError for an entry that names no figure."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: _adjustment(name, entry) for name, entry in entries.items()}


def _adjustment(name: str, entry: Mapping[str, Any]) -> Adjustment:
    changes: dict[str, list[float]] = {}
    sources: dict[str, None] = {}
    for effect in entry["effects"]:
        found = changes.setdefault(effect["quantity"], [])
        if effect["quantity"] not in (*QUANTITIES, MOVED):
            raise CatalogueError(f"adjustment {name}: no such quantity: {dict(effect)}")
        if effect.get("bound") == "up to":
            found.append(0.0)
        if "source" in effect:
            found += [share / 100.0 for share in effect["of_pct"]]
            sources[effect["source"]] = None
            continue
        figures = _figures(name, effect["system"], effect)
        sources.update(dict.fromkeys(f"{effect['system']}: {figure.source}" for figure in figures))
        found += _changes(name, effect, figures)
    moved = changes.pop(MOVED, None)
    factors = {quantity: _factor(found) for quantity, found in changes.items()}
    shares = (min(moved), max(moved)) if moved else None
    return Adjustment(name, entry["title"], factors, tuple(sources), entry.get("scope", ""), shares)


def _changes(name: str, effect: Mapping[str, Any], figures: Sequence[Figure]) -> list[float]:
    """The changes that the figures of an effect say, as parts of one, in order."""
    sign = -1.0 if effect["change"] == "decrease_pct" else 1.0
    found = [sign * float(figure.value) / 100.0 for figure in figures]
    if "beside" not in effect:
        return found
    # Both were measured against the same: what one is beside the other, of each pair of figures.
    other = _changes(name, {"change": effect["change"]}, _figures(name, effect["system"], effect, "beside"))
    return [1.0 - (1.0 + one) / (1.0 + base) for one, base in zip(found, other, strict=True)]


def _figures(name: str, system: str, effect: Mapping[str, Any], condition: str = "condition") -> list[Figure]:
    found = [
        figure
        for figure in catalogue.system(system).select(effect["table"], effect.get(condition, ""), effect.get("metric"))
        if figure.number is not None
    ]
    if not found:
        raise CatalogueError(f"adjustment {name}: no figure: {dict(effect)}")
    return found


def _factor(changes: list[float]) -> Factor:
    """The middle of the changes, and a spread so that they make the 90 % interval."""
    low, high = math.log1p(min(changes)), math.log1p(max(changes))
    if low == high:
        return Factor(low, ALONE_SHARE * abs(low) / Z_90)
    return Factor.between(low, high)
