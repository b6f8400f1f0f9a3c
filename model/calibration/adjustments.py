"""What-if adjustments as published: `adjustments.toml` names the figures of the reference catalogue they rest on.

A figure is a change in per cent; where several are named, or a figure is printed with its range, the factor is as
uncertain as they are apart.
"""

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.capacity.adjustments import QUANTITIES, Z_90, Adjustment, Factor
from model.systems import catalogue
from model.systems.catalogue import CatalogueError, Figure

FILE = Path(__file__).with_suffix(".toml")
ALONE_SHARE = 0.5
"""A change published as one figure without a range holds within half of itself."""


def read_adjustments() -> dict[str, Adjustment]:
    """All adjustments by name; CatalogueError for an entry that names no figure."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: _adjustment(name, entry) for name, entry in entries.items()}


def _adjustment(name: str, entry: Mapping[str, Any]) -> Adjustment:
    logs: dict[str, list[tuple[float, bool]]] = {}
    sources: dict[str, None] = {}
    for effect in entry["effects"]:
        figures = _figures(name, effect)
        sources.update(dict.fromkeys(f"{effect['system']}: {figure.source}" for figure in figures))
        sign = -1.0 if effect["change"] == "decrease_pct" else 1.0
        bounded = effect.get("bound") == "up to"
        for figure in figures:
            assert figure.number is not None
            change = math.log1p(sign * figure.number / 100.0)
            logs.setdefault(effect["quantity"], []).append((change, bounded))
    factors = {quantity: _factor(found) for quantity, found in logs.items()}
    return Adjustment(name, entry["title"], factors, tuple(sources), entry.get("scope", ""))


def _figures(name: str, effect: Mapping[str, Any]) -> list[Figure]:
    found = [
        figure
        for figure in catalogue.system(effect["system"]).select(
            effect["table"], effect.get("condition", ""), effect.get("metric")
        )
        if figure.number is not None
    ]
    if not found or effect["quantity"] not in QUANTITIES:
        raise CatalogueError(f"adjustment {name}: no figure or quantity: {dict(effect)}")
    return found


def _factor(logs: list[tuple[float, bool]]) -> Factor:
    """The middle of the changes, and a spread so that they make the 90 % interval; "up to" reaches down to none."""
    ends = [log for log, _ in logs] + ([0.0] if any(bounded for _, bounded in logs) else [])
    low, high = min(ends), max(ends)
    if low == high:
        return Factor(low, ALONE_SHARE * abs(low) / Z_90)
    return Factor(0.5 * (low + high), 0.5 * (high - low) / Z_90)
