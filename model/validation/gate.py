"""The gate a model passes before it may be champion: general limits of quality, the same for every system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from model.documents import finite

# Performance studies call measurements within 3 % equivalent (ims10) and repeat them within 1 % (ims14_z14).
TOTAL_MEAN_PCT = 1.0
TOTAL_MAX_PCT = 3.0
PART_MEAN_PCT = 10.0
RESPONSE_MEAN_PCT = 20.0
# Nominal 90 % intervals: fewer than 3 in 4 held is too sure of itself, wider than three mean errors says too little.
COVERAGE = 0.75
SHARPNESS = 3.0
SHARP_ENOUGH_PCT = 2.0
FEWEST = 3


@dataclass(frozen=True)
class Check:
    """One condition of the gate: the figure seen, NaN where there was none, the limit, and whether it holds."""

    name: str
    value: float
    limit: float
    passed: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(finite(asdict(self)))


def checks(table: pd.DataFrame) -> tuple[Check, ...]:
    """The gate's checks on an error table; a model that could not be held to any point does not pass."""
    results = [_at_least("held-out values of totals", float((table["role"] == "total").sum()), FEWEST)]
    total, part, response = (table[table["role"] == role] for role in ("total", "part", "response"))
    if len(total):
        errors, widths = total["error_pct"].abs(), total["half_width_pct"]
        results += [
            _at_most("mean error of totals, %", float(errors.mean()), TOTAL_MEAN_PCT),
            _at_most("largest error of totals, %", float(errors.max()), TOTAL_MAX_PCT),
            _at_least("totals within their 90 % interval", float(total["covered"].mean()), COVERAGE),
            _at_most(
                "mean half-width of totals, %",
                float(widths.mean()),
                max(SHARP_ENOUGH_PCT, SHARPNESS * float(errors.mean())),
            ),
        ]
    if len(part):
        results += [
            _at_most("mean error of address-space groups, %", float(part["error_pct"].abs().mean()), PART_MEAN_PCT),
            _at_least("groups within their 90 % interval", float(part["covered"].mean()), COVERAGE),
        ]
    if len(response):
        results += [
            _at_most("mean error of responses, %", float(response["error_pct"].abs().mean()), RESPONSE_MEAN_PCT),
            _at_least("responses within their 90 % interval", float(response["covered"].mean()), COVERAGE),
        ]
    return tuple(results)


def passed(gate: Iterable[Check]) -> bool:
    """Whether every check holds."""
    return all(check.passed for check in gate)


def _at_most(name: str, value: float, limit: float) -> Check:
    return Check(name, value, limit, bool(value <= limit))


def _at_least(name: str, value: float, limit: float) -> Check:
    return Check(name, value, limit, bool(value >= limit))
