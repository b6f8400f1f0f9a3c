"""The mart of measured points as series of engines in use, whatever address-space groups it has.

A column named ``<group>_cpu_pct`` (percent of one engine) or ``<group>_cpu_us_per_tran`` is the usage of a group of
address spaces; ``total_<workload>_cpu_pct`` is their sum as reported; ``cpu_busy_pct`` times engines is the whole
LPAR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

LPAR = "lpar"
BUSY = "cpu_busy_pct"
LPAR_COST = "cpu_us_per_tran"
INTERNAL_RATE = "itr_tps"
# Views of the same CPU time that overlap the address-space groups: transaction CPU, mobile CPU, the sum over groups.
OVERLAPPING = frozenset({"service", "transaction", "mobile"})
GROUP_FORMS = {"_cpu_pct": "pct", "_cpu_us_per_tran": "us_per_tran"}
REQUIRED = ("system_id", "point", "etr_tps")


@dataclass(frozen=True)
class Series:
    """Usage of one group of address spaces at the points where it is known; arrays of one length."""

    name: str
    total: bool
    point: tuple[str, ...]
    rate: Array
    usage: Array
    error_rel: Array

    @property
    def reference(self) -> float:
        """Engines in use per transaction/s, over all points together."""
        return float(self.usage.sum() / self.rate.sum())


@dataclass(frozen=True)
class SystemPoints:
    """The measured points of one system, in order of rate."""

    system_id: str
    engines: int
    points: tuple[str, ...]
    rate: Array
    series: dict[str, Series]
    responses: dict[str, Array]
    response_error_rel: dict[str, Array]
    metrics: dict[str, tuple[str, ...]]
    conditions: dict[str, str] = field(default_factory=dict)
    intervals: int = 0
    seconds: float = 0.0


def as_frame(points: Any) -> pd.DataFrame:
    """The measured points of the mart as a frame in order of rate, from pandas, Arrow or a list of rows.

    Takes the wide mart (``fct_point``) or the long one (``fct_point_metric``), which has groups of any name.
    Intervals that belong to no run (``is_run`` false) are no measured points and are left out.

    Raises
    ------
    ValueError
        A required column is missing.
    """
    frame = points.to_pandas() if hasattr(points, "to_pandas") else pd.DataFrame(points)
    if {"metric", "value"} <= set(frame.columns):
        frame = widened(frame)
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        present = ", ".join(map(str, frame.columns))
        raise ValueError(f"the frame of measured points lacks {', '.join(missing)}; it has {present}")
    usable = frame["system_id"].notna() & frame["point"].notna() & (frame["etr_tps"] > 0)
    if "is_run" in frame:
        usable &= frame["is_run"].fillna(False).astype(bool)
    frame = frame[usable].copy()
    frame["system_id"] = frame["system_id"].astype(str)
    frame["point"] = frame["point"].astype(str)
    return frame.sort_values(["system_id", "etr_tps"], ignore_index=True)


def widened(metrics: pd.DataFrame) -> pd.DataFrame:
    """The long mart of metrics, one row a point, workload and metric, as one row a point and workload.

    What belongs to the system rather than a workload (``workload`` empty) stands in the rows of each workload.
    """
    keys = [name for name in ("system_id", "point", "condition", "is_run") if name in metrics]
    kept = [name for name in ("value", "value_se", "n_intervals") if name in metrics]
    common, of_workloads = metrics[metrics["workload"].isna()], metrics[metrics["workload"].notna()]
    wide = []
    for frame, index in ((of_workloads, [*keys, "workload"]), (common, keys)):
        spread = frame.pivot(index=index, columns="metric", values=kept)
        named = {
            name if kind == "value" else f"{name}_se": spread[kind, name]
            for kind, name in spread
            if kind != "n_intervals"
        }
        if "n_intervals" in kept and frame is of_workloads:
            named["n_intervals"] = spread["n_intervals"].max(axis=1)
        wide.append(pd.DataFrame(named).reset_index())
    return wide[0].merge(wide[1], on=keys, how="left")


def group_columns(columns: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Group name to its columns and their forms, without zIIP columns and overlapping views of the same CPU time."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for column in columns:
        for suffix, form in GROUP_FORMS.items():
            name = column.removesuffix(suffix)
            if column.endswith(suffix) and name and not name.endswith("ziip") and name not in OVERLAPPING:
                groups.setdefault(name, []).append((column, form))
    return groups


def system_points(
    frame: pd.DataFrame, engines_of: Mapping[str, int | None]
) -> tuple[dict[str, SystemPoints], dict[str, str]]:
    """Every system of the frame that can be calibrated, and the reason for each that cannot.

    A point without CPU figure or response says nothing of the system and is left out of its points. A system is left
    out where no point remains, where a point stands there twice, or where the number of its engines is neither in the
    frame nor in ``engines_of``.
    """
    groups = group_columns(map(str, frame.columns))
    systems, left_out = {}, {}
    for key, part in frame.groupby("system_id", sort=True):
        system = str(key)
        try:
            systems[system] = _one(system, part, groups, engines_of.get(system))
        except _Unusable as reason:
            left_out[system] = str(reason)
    return systems, left_out


def rows_of(frame: pd.DataFrame, observed: Mapping[str, SystemPoints]) -> pd.DataFrame:
    """The rows of the frame that the observed systems are made of."""
    pairs = {(system, point) for system, own in observed.items() for point in own.points}
    kept = [pair in pairs for pair in zip(frame["system_id"], frame["point"], strict=True)]
    return frame[kept].reset_index(drop=True)


class _Unusable(ValueError):
    """A system's points cannot be calibrated."""


def _one(
    system: str, part: pd.DataFrame, groups: dict[str, list[tuple[str, str]]], described: int | None
) -> SystemPoints:
    twice = part[part.duplicated("point")]
    if len(twice):
        raise _Unusable(
            f"point {twice.iloc[0]['point']} of {system} occurs more than once: calibration takes one workload and one "
            "condition a point"
        )
    responses = [str(name) for name in part.columns if str(name).endswith("_response_ms") and part[name].notna().any()]
    usages = [column for columns in groups.values() for column, _ in columns] + [BUSY] * (BUSY in part)
    part = part[(part[[*usages, *responses]].astype(float) > 0).any(axis=1)]
    if not (part[usages].astype(float) > 0).any(axis=None):
        raise _Unusable(f"{system} has rates but no CPU figure at any point")
    measured = part["engines"].dropna() if "engines" in part else pd.Series(dtype=float)
    if not len(measured) and described is None:
        raise _Unusable(f"the number of engines of {system} is not known: column engines is empty")
    engines = round(float(measured.iloc[-1])) if len(measured) else int(described or 0)
    rate = part["etr_tps"].to_numpy(dtype=np.float64)
    points = tuple(part["point"])
    series, metrics = {}, {}
    if BUSY in part and part[BUSY].notna().any():
        of_points = part["engines"].fillna(engines).to_numpy(dtype=np.float64) if "engines" in part else engines
        busy = part[BUSY].to_numpy(dtype=np.float64)
        series[LPAR] = _series(LPAR, True, points, rate, of_points * busy / 100.0, _usage_error(part, BUSY))
        named = (BUSY, INTERNAL_RATE, LPAR_COST)
        metrics[LPAR] = tuple(name for name in named if name in part and part[name].notna().any())
    for name, columns in groups.items():
        usable = [(column, form) for column, form in columns if (part[column].fillna(0) > 0).any()]
        if not usable:
            continue
        column, form = usable[0]
        values = part[column].to_numpy(dtype=np.float64)
        usage = values / 100.0 if form == "pct" else values * rate * 1e-6
        error = _usage_error(part, column) if form == "pct" else _error(part, column)
        series[name] = _series(name, name.startswith("total_"), points, rate, usage, error)
        metrics[name] = tuple(column for column, _ in usable)
    conditions = {}
    if "condition" in part:
        conditions = dict(zip(points, part["condition"].fillna("").astype(str), strict=True))
    return SystemPoints(
        system_id=system,
        engines=engines,
        points=points,
        rate=rate,
        series={name: value for name, value in series.items() if len(value.rate)},
        responses={name: part[name].to_numpy(dtype=np.float64) for name in responses},
        response_error_rel={name: _error(part, name) for name in responses},
        metrics=metrics,
        conditions=conditions,
        intervals=int(part["n_intervals"].fillna(0).sum()) if "n_intervals" in part else 0,
        seconds=float(part["seconds"].fillna(0).sum()) if "seconds" in part else 0.0,
    )


def _error(part: pd.DataFrame, column: str) -> Array:
    """Relative standard error of a column, 0 where unknown."""
    name = f"{column}_se"
    if name not in part:
        return np.zeros(len(part))
    relative = part[name].astype(float) / part[column].astype(float).abs()
    return np.nan_to_num(relative.to_numpy(dtype=np.float64), posinf=0.0, neginf=0.0)


def _usage_error(part: pd.DataFrame, column: str) -> Array:
    """Relative standard error of a usage at a given rate: what of its variation does not come from that of the rate."""
    return np.sqrt(np.maximum(_error(part, column) ** 2 - _error(part, "etr_tps") ** 2, 0.0))


def _series(name: str, total: bool, points: tuple[str, ...], rate: Array, usage: Array, error: Array) -> Series:
    usable = np.isfinite(usage) & (usage > 0)
    kept = tuple(point for point, keep in zip(points, usable, strict=True) if keep)
    return Series(name, total, kept, rate[usable], usage[usable], error[usable])
