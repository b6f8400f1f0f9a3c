"""Measured points as the mart gives them, made from the published values or from a law the test knows."""

from __future__ import annotations

import csv
import re
from collections import defaultdict

import numpy as np
import pandas as pd

from tests.shared import shared

PUBLISHED = {"cics53-18cp": 18, "cics52-18cp": 18, "ims14-ff-haldb-z13": 4, "ims14-ff-haldb-z14": 4}
TABLES = {"cics_rate_cpu", "table16_ff_haldb"}
COLUMNS = {
    "etr_tps",
    "cpu_busy_pct",
    "itr_tps",
    "cpu_us_per_tran",
    "tor_cpu_pct",
    "aor_cpu_pct",
    "for_cpu_pct",
    "total_cics_cpu_pct",
    "ims_cpu_us_per_tran",
    "ims_connect_cpu_us_per_tran",
    "dependent_regions_cpu_us_per_tran",
    "total_ims_response_ms",
}


def published_points() -> pd.DataFrame:
    """The mart of measured points of the four published systems, as their records yield it."""
    rows: dict[tuple[str, str], dict[str, object]] = defaultdict(dict)
    with shared("evidence/measurements.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["scenario_id"] not in PUBLISHED or row["table"] not in TABLES or row["metric"] not in COLUMNS:
                continue
            if "quantity=delta" in row["condition"]:
                continue
            named = re.search(r"point=(\d+)", row["condition"])
            rows[row["scenario_id"], named.group(1) if named else "80"][row["metric"]] = float(row["value"])
    frame = pd.DataFrame(
        [
            {"system_id": system, "point": point, "condition": f"point={point}", "engines": float(PUBLISHED[system])}
            | values
            | {"n_intervals": 5, "seconds": 1500.0, "is_run": True}
            for (system, point), values in sorted(rows.items())
        ]
    )
    cics = frame["system_id"].str.startswith("cics")
    # The top TOR figure contradicts its row's total; the records carry the value that agrees with it.
    top = cics & (
        (frame["tor_cpu_pct"] + frame["aor_cpu_pct"] + frame["for_cpu_pct"] - frame["total_cics_cpu_pct"]).abs() > 1
    )
    frame.loc[top, "tor_cpu_pct"] = frame["total_cics_cpu_pct"] - frame["aor_cpu_pct"] - frame["for_cpu_pct"]
    # Busy below the top rate is derived from the share of the top point, 97 % busy.
    share = 1499.40 / (97.0 * 18)
    frame.loc[cics, "cpu_busy_pct"] = frame["total_cics_cpu_pct"] / 18 / share
    frame.loc[cics, "itr_tps"] = frame["etr_tps"] / (frame["cpu_busy_pct"] / 100)
    frame.loc[cics, "cpu_us_per_tran"] = 18 * frame["cpu_busy_pct"] * 1e4 / frame["etr_tps"]
    return frame[frame["cpu_us_per_tran"].notna()].reset_index(drop=True)


def made_points(
    system: str,
    rates: list[float],
    *,
    fixed: float,
    demand_us: float,
    engines: int = 8,
    noise: float = 0.0,
    seed: int = 1,
) -> pd.DataFrame:
    """Points of a known law: ``fixed`` engines plus ``demand_us`` of CPU a transaction, in two groups."""
    rate = np.array(rates)
    scatter = np.exp(noise * np.random.default_rng(seed).standard_normal(len(rates)))
    usage = (fixed + demand_us * 1e-6 * rate) * scatter
    return pd.DataFrame(
        {
            "system_id": system,
            "point": [str(i + 1) for i in range(len(rates))],
            "condition": [f"point={i + 1}" for i in range(len(rates))],
            "engines": float(engines),
            "etr_tps": rate,
            "cpu_busy_pct": 100 * usage / engines,
            "itr_tps": rate * engines / usage,
            "cpu_us_per_tran": 1e6 * usage / rate,
            "front_cpu_pct": 100 * 0.3 * usage,
            "back_cpu_pct": 100 * 0.7 * usage,
            "total_work_cpu_pct": 100 * usage,
            "n_intervals": 5,
            "seconds": 600.0,
        }
    )
