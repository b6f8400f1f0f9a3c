"""What predictions rest on, from the published snapshot: measured points, recorded MSU."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from serve.log import Log
from serve.schemas import MeasuredPoint, MeasuredPoints, Versions
from serve.snapshot import Snapshot
from state.catalogue import VERSIONS
from state.files import StateDamaged

log = Log()

_MSU = """
    WITH located AS (
      SELECT smf_sid, any_value(cpc_name) AS machine FROM marts.dim_system
      SEMI JOIN marts.fct_cpc_interval USING (smf_sid) GROUP BY ALL),
    recent AS (
      SELECT *, max(interval_start_local) OVER (PARTITION BY name) AS last FROM marts.fct_msu
      WHERE scope = 'lpar' AND hours_averaged > 3.9)
    SELECT name, system_id, machine, capacity_msu, interval_start_local AS start, r4ha_msu AS msu
    FROM recent LEFT JOIN located ON name = smf_sid
    WHERE interval_start_local > last - INTERVAL 29 DAY
    ORDER BY name, start
"""

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


def recorded_msu(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Four-hour averages of the last four weeks of every LPAR, of whole four hours only, LPAR by LPAR in order.

    Raises
    ------
    SnapshotUnavailable
        when nothing is published, or not what this version reads.
    """
    return snapshot.rows(_MSU)


def registered(path: Path) -> Versions:
    """The versions of the model as the last fit exported them; none where there is no such file, or a damaged one."""
    try:
        versions = VERSIONS.read(path)
        return Versions() if versions is None else Versions.model_validate(versions)
    except (OSError, StateDamaged) as problem:
        log.error("versions_unreadable", problem=str(problem))
    except ValidationError as problem:
        log.error("versions_unreadable", problem=f"{path}: {problem.errors()[0]['msg']}; {VERSIONS.remedy}")
    return Versions()


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
