"""Computed against expected figures, leaf by leaf, within a case's tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

EPSILON = 1e-12


def leaves(value: Any) -> list[float]:
    """The numbers of a nested value, in order."""
    if isinstance(value, dict):
        return [x for v in value.values() for x in leaves(v)]
    if isinstance(value, list | tuple | np.ndarray):
        return [x for v in value for x in leaves(v)]
    return [float(value)] if isinstance(value, int | float | np.number) else []


def plain(value: Any) -> Any:
    """Numpy values as JSON ones; what is not finite becomes a string."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else str(float(value))
    return value


def allowed(tolerance: dict[str, Any], key: str, expected: float) -> float:
    """Absolute difference allowed for one figure: ``rel``, ``abs``, or one (absolute) of its own."""
    if key in tolerance and isinstance(tolerance[key], dict):
        return allowed(tolerance[key], "", expected)
    if key in tolerance:
        return float(tolerance[key]) + EPSILON
    limits = []
    if "abs" in tolerance:
        limits.append(float(tolerance["abs"]))
    if "rel" in tolerance:
        limits.append(float(tolerance["rel"]) * abs(expected))
    return max(limits, default=1e-6 * abs(expected)) + EPSILON


def difference(computed: Any, expected: Any) -> float:
    """Largest relative difference over the leaves (absolute where zero is expected); infinite where shapes differ."""
    a, b = leaves(computed), leaves(expected)
    if len(a) != len(b):
        return float("inf")
    return max((abs(x - y) / abs(y) if y else abs(x) for x, y in zip(a, b, strict=True)), default=0.0)


def within(computed: Any, expected: Any, tolerance: dict[str, Any], key: str) -> bool:
    """Whether every leaf is within the tolerance."""
    a, b = leaves(computed), leaves(expected)
    if len(a) != len(b):
        return False
    return all(abs(x - y) <= allowed(tolerance, key, y) for x, y in zip(a, b, strict=True))
