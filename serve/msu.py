"""The forecast of MSU over recorded ones, as JSON has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from model.capacity.forecast import RecordedMsu, forecast_msu


def forecast(bundle: Mapping[str, Any], recorded: Iterable[Mapping[str, Any]], **question: Any) -> dict[str, Any]:
    """The answer of :func:`model.capacity.forecast.forecast_msu` over rows of ``serve.evidence.recorded_msu``."""
    lpars = []
    for name, group in groupby(recorded, key=lambda row: row["name"]):
        rows = list(group)
        lpars.append(
            RecordedMsu(
                lpar=name,
                system=rows[-1]["system_id"],
                machine=rows[-1]["machine"],
                capacity_msu=rows[-1]["capacity_msu"],
                start=np.array([row["start"] for row in rows], "datetime64[s]"),
                r4ha_msu=np.array([row["msu"] for row in rows], float),
            )
        )
    return forecast_msu(bundle, lpars, **question)
