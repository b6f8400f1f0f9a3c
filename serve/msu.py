"""Recorded MSU from the published snapshot, as the forecast takes them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np

from model.capacity.msu_forecast import RecordedMsu, forecast_msu
from serve.questions import ForecastMsuQuestion, keys
from serve.snapshot import Snapshot

_AVERAGES = """
    WITH located AS (
      SELECT smf_sid, any_value(machine) AS machine FROM marts.fct_machine_interval
      WHERE smf_sid IS NOT NULL GROUP BY ALL),
    recent AS (
      SELECT *, max(interval_start_local) OVER (PARTITION BY name) AS last FROM marts.fct_msu
      WHERE scope = 'lpar' AND hours_averaged > 3.9)
    SELECT name, system_id, machine, capacity_msu, interval_start_local AS start, four_hour_average_msu AS msu
    FROM recent LEFT JOIN located ON name = smf_sid
    WHERE interval_start_local > last - INTERVAL 29 DAY
    ORDER BY name, start
"""


def recorded(snapshot: Snapshot) -> list[RecordedMsu]:
    """The last four weeks of every LPAR, of whole four hours only. Raises SnapshotUnavailable as ``Snapshot.rows``."""
    found = []
    for name, group in groupby(snapshot.rows(_AVERAGES), key=lambda row: row["name"]):
        rows = list(group)
        found.append(
            RecordedMsu(
                lpar=name,
                system=rows[-1]["system_id"],
                machine=rows[-1]["machine"],
                capacity_msu=rows[-1]["capacity_msu"],
                start=np.array([row["start"] for row in rows], "datetime64[s]"),
                four_hour_msu=np.array([row["msu"] for row in rows], float),
            )
        )
    return found


def forecast(bundle: Mapping[str, Any], snapshot: Snapshot, question: ForecastMsuQuestion) -> dict[str, Any]:
    """The answer to a question about MSU to come."""
    return forecast_msu(bundle, recorded(snapshot), system=question.system, at=keys(question.at), weeks=question.weeks)
