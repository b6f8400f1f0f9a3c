"""Measured points from the published snapshot, for the page and for whoever wants to see what a prediction rests on."""

from __future__ import annotations

import math
from typing import Any

from serve.schemas import MeasuredPoint, MeasuredPoints
from serve.snapshot import Snapshot

NOT_METRICS = {"system_id", "point", "condition", "workload", "etr_tps"}


def measured_points(snapshot: Snapshot, system: str) -> MeasuredPoints:
    """The measured points of `system` (mart `fct_point`) with every numeric column.

    Raises
    ------
    SnapshotUnavailable
        when nothing is published, or not what this version reads.
    """
    published = snapshot.published_at()
    rows = snapshot.rows("SELECT * FROM marts.fct_point WHERE is_run AND system_id = ? ORDER BY etr_tps", [system])
    return MeasuredPoints(
        system=system,
        published_at=published.isoformat() if published else None,
        points=[_point(row) for row in rows],
    )


def _point(row: dict[str, Any]) -> MeasuredPoint:
    numbers = {name: number(value) for name, value in row.items() if name not in NOT_METRICS}
    return MeasuredPoint(
        point=str(row.get("point", "")),
        etr_tps=number(row.get("etr_tps")),
        metrics={name: value for name, value in numbers.items() if value is not None},
    )


def number(value: Any) -> float | None:
    """A finite float, or None for anything else (JSON has no word for NaN)."""
    if isinstance(value, bool) or (not isinstance(value, int | float) and not hasattr(value, "as_tuple")):
        return None
    result = float(value)
    return result if math.isfinite(result) else None
