"""Two periods of a system side by side, as measured: what changed by more than days differ among themselves."""

from __future__ import annotations

import datetime as dt
import math
from statistics import fmean, stdev

from serve.history import CLASS_FIGURES, CLASS_SUMS
from serve.records import Change
from serve.snapshot import Snapshot

FEWEST_PAIRS = 3
Z_95 = 1.6448536
UNITS = {"cpu_busy_pct": "pct", "rate_tps": "tran/s", "cpu_us_per_tran": "us/tran", "response_ms": "ms"}

# A row for each day of the week and each metric of the LPAR and of each service class.
_WEEKDAYS = f"""
    SELECT isodow(interval_start_local) AS weekday, 'cpu_busy_pct' AS metric, '' AS class_name,
      100 * sum(busy_s) / sum(online_s) AS value
    FROM marts.fct_interval_utilization
    WHERE system_id = $system AND engine_type = 'CP' AND interval_start_local BETWEEN $first AND $last GROUP BY ALL
    UNION ALL
    SELECT weekday, unnest(['rate_tps', 'cpu_us_per_tran', 'response_ms']), class_name,
      unnest([rate_tps, cpu_us_per_tran, response_ms])
    FROM (SELECT weekday, class_name, {CLASS_FIGURES}
          FROM (SELECT isodow(interval_start_local) AS weekday, class_name, {CLASS_SUMS}
                FROM marts.fct_transaction_cost
                WHERE system_id = $system AND class_kind = 'service_class'
                  AND interval_start_local BETWEEN $first AND $last GROUP BY ALL)
          GROUP BY ALL)
"""


def compared(
    snapshot: Snapshot, system: str, a: tuple[dt.date, dt.date], b: tuple[dt.date, dt.date], other: str | None = None
) -> list[Change]:
    """Each metric in both periods (first and last day), over the days of the week that both have.

    The interval of a change is Student's, from how much the days of the week differ in it. `other` names the system
    of period b.
    """
    before, after = _by_weekday(snapshot, system, *a), _by_weekday(snapshot, other or system, *b)
    changes = []
    for (metric, class_name), days in before.items():
        later = after.get((metric, class_name), {})
        pairs = [(days[day], later[day]) for day in sorted(set(days) & set(later))]
        if pairs and sum(first for first, _ in pairs) > 0:
            changes.append(_change(metric, class_name, pairs))
    return changes


def _by_weekday(
    snapshot: Snapshot, system: str, first: dt.date, last: dt.date
) -> dict[tuple[str, str], dict[int, float]]:
    limits = {"first": dt.datetime.combine(first, dt.time.min), "last": dt.datetime.combine(last, dt.time.max)}
    found: dict[tuple[str, str], dict[int, float]] = {}
    with snapshot.cursor() as cursor:
        cursor.execute(_WEEKDAYS, {"system": system, **limits})
        for weekday, metric, class_name, value in sorted(cursor.fetchall(), key=lambda row: (row[2], row[1], row[0])):
            if value is not None and math.isfinite(value):
                found.setdefault((metric, class_name), {})[weekday] = float(value)
    return found


def _change(metric: str, class_name: str, pairs: list[tuple[float, float]]) -> Change:
    mean_a, mean_b = fmean(a for a, _ in pairs), fmean(b for _, b in pairs)
    change = 100.0 * (mean_b / mean_a - 1.0)
    half = None
    if len(pairs) >= FEWEST_PAIRS:
        scatter = stdev(b - mean_b / mean_a * a for a, b in pairs)
        half = 100.0 * student_95(len(pairs) - 1) * scatter / mean_a / math.sqrt(len(pairs))
    return Change(
        metric=metric,
        class_name=class_name,
        unit=UNITS[metric],
        a=mean_a,
        b=mean_b,
        change_pct=change,
        lo_pct=None if half is None else change - half,
        hi_pct=None if half is None else change + half,
        significant=None if half is None else abs(change) > half,
    )


def student_95(freedom: int) -> float:
    """The 95 % quantile of Student's t for two degrees of freedom or more, by Cornish and Fisher's expansion.

    It is 1.2 % low at two, and less than 0.1 % from five on. Without it the service would have to load scipy.
    """
    z = Z_95
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
