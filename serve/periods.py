"""Two periods of a system side by side, as measured: what changed by more than days differ among themselves."""

from __future__ import annotations

import datetime as dt
import math
from itertools import groupby
from statistics import fmean

from serve.evidence import number
from serve.history import CLASS_SUMS
from serve.records import Change
from serve.snapshot import Snapshot

MIN_PAIRS = 3
Z_95 = 1.6448536
LABELS = {
    "cpu_busy_pct": "CPU busy",
    "rate_tps": "transaction rate",
    "cpu_us_per_tran": "CPU per transaction",
    "response_ms": "mean response",
}
"""The metrics of a comparison for readers."""
UNITS = {"cpu_busy_pct": "pct", "rate_tps": "tran/s", "cpu_us_per_tran": "us/tran", "response_ms": "ms"}

# Sums whose ratio is the metric, for each hour of the week, of the LPAR and of each service class. Seconds pass once
# for all LPARs of a system. CPU of regions is in classes of their own: a workload of several classes has that of a
# transaction with its regions.
_HOURS = f"""
    SELECT isodow(interval_start_local) AS weekday, hour(interval_start_local) AS hour, 'cpu_busy_pct' AS metric,
      '' AS class_name, 100 * sum(busy_s) AS above, sum(online_s) AS below
    FROM marts.fct_interval_utilization
    WHERE system_id = $system AND engine_type = 'CP' AND interval_start_local BETWEEN $first AND $last AND {{during}}
    GROUP BY ALL
    UNION ALL
    SELECT weekday, hour, unnest(['rate_tps', 'cpu_us_per_tran', 'response_ms']), class_name,
      unnest([sum(ended / seconds) * max(seconds), sum(cpu_s) * 1e6, sum(response)]),
      unnest([max(seconds), sum(ended), sum(timed)])
    FROM (SELECT isodow(interval_start_local) AS weekday, hour(interval_start_local) AS hour, class_name, {CLASS_SUMS}
          FROM marts.fct_transaction_cost
          WHERE system_id = $system AND class_kind = 'service_class'
            AND interval_start_local BETWEEN $first AND $last AND {{during}} GROUP BY ALL)
    GROUP BY weekday, hour, class_name
    UNION ALL
    SELECT isodow(interval_start_local), hour(interval_start_local), 'cpu_us_per_tran', 'workload ' || workload,
      sum(appl_cp_pct * interval_s) * 1e4, sum(transactions_ended)
    FROM (SELECT *, count(DISTINCT class_name) OVER (PARTITION BY workload) AS members
          FROM marts.fct_transaction_cost
          WHERE system_id = $system AND class_kind = 'service_class' AND workload <> ''
            AND interval_start_local BETWEEN $first AND $last AND {{during}})
    WHERE members > 1 GROUP BY ALL
"""
Sums = tuple[float, float]
Days = tuple[dt.date, dt.date]
Hour = tuple[int, int]


def usual(first: dt.date, last: dt.date, change: dt.date | None = None) -> tuple[Days, Days]:
    """First and last day of the two periods that are compared without others.

    Up to seven days before a change, and as many from it on. Without a change the last seven recorded days and the
    seven before, or fewer that both have.

    Raises
    ------
    ValueError
        a change that is not within the records, or records of fewer than eight days and no change.
    """
    week, day = dt.timedelta(days=7), dt.timedelta(days=1)
    if change is not None:
        if not first < change <= last:
            text = f"change: the date of the change should be from {first + day} to {last}, within the records"
            raise ValueError(text)
        return (max(change - week, first), change - day), (change, min(change + week - day, last))
    if last - first < week:
        days = (last - first).days + 1
        text = f"change: weeks are compared, which takes 8 days; {days} were recorded. Give both periods, or a change"
        raise ValueError(text)
    length = min(week, last - first - week + day)
    return (last - week - length + day, last - week), (last - length + day, last)


def compared(
    snapshot: Snapshot,
    system: str,
    a: tuple[dt.date, dt.date],
    b: tuple[dt.date, dt.date],
    other: str | None = None,
    during: str = "true",
) -> list[Change]:
    """Each metric in both periods (first and last day), over the hours of the week that both have, as the last day may
    have a few hours only.

    A metric is a ratio of sums over these hours, as it is of the LPAR's last seven days. The interval of a change is
    Student's, from how much it would differ without one of the days. `other` names the system of period b;
    `during` is SQL of the intervals that count, such as those of a shift.
    """
    before, after = _by_hour(snapshot, system, *a, during), _by_hour(snapshot, other or system, *b, during)
    changes = []
    for (metric, class_name), hours in before.items():
        pairs = _days(hours, after.get((metric, class_name), {}))
        if pairs and sum(first for (first, _), _ in pairs) > 0:
            changes.append(_change(metric, class_name, pairs))
    return changes


def _by_hour(
    snapshot: Snapshot, system: str, first: dt.date, last: dt.date, during: str
) -> dict[tuple[str, str], dict[Hour, Sums]]:
    limits = {"first": dt.datetime.combine(first, dt.time.min), "last": dt.datetime.combine(last, dt.time.max)}
    sums_by_metric: dict[tuple[str, str], dict[Hour, Sums]] = {}
    with snapshot.cursor() as cursor:
        cursor.execute(_HOURS.format(during=during), {"system": system, **limits})
        rows = sorted(cursor.fetchall(), key=lambda row: (row[3], row[2], row[:2]))
        for weekday, hour, metric, class_name, *sums in rows:
            above, below = (number(one) for one in sums)
            if above is not None and below:
                sums_by_metric.setdefault((metric, class_name), {})[weekday, hour] = above, below
    return sums_by_metric


def _days(before: dict[Hour, Sums], after: dict[Hour, Sums]) -> list[tuple[Sums, Sums]]:
    """The sums of both periods by day of the week, over the hours that both have."""
    common = sorted(before.keys() & after.keys())
    days = [list(hours) for _, hours in groupby(common, key=lambda hour: hour[0])]
    return [(_sums(before, hours), _sums(after, hours)) for hours in days]


def _sums(period: dict[Hour, Sums], hours: list[Hour]) -> Sums:
    return sum(period[hour][0] for hour in hours), sum(period[hour][1] for hour in hours)


def _change(metric: str, class_name: str, pairs: list[tuple[Sums, Sums]]) -> Change:
    a, b = _ratios(pairs)
    change, half = 100.0 * (b / a - 1.0), None
    # The jackknife: what the change would be without each of the days.
    without = [_ratios(pairs[:i] + pairs[i + 1 :]) for i in range(len(pairs)) if len(pairs) >= MIN_PAIRS]
    changes = [100.0 * (later / before - 1.0) for before, later in without if before]
    if (days := len(changes)) >= MIN_PAIRS:
        mean = fmean(changes)
        half = student_95(days - 1) * math.sqrt(sum((one - mean) ** 2 for one in changes) * (days - 1) / days)
    return Change(
        metric=metric,
        class_name=class_name,
        unit=UNITS[metric],
        a=a,
        b=b,
        change_pct=change,
        lo_pct=None if half is None else change - half,
        hi_pct=None if half is None else change + half,
        significant=None if half is None else abs(change) > half,
    )


def _ratios(pairs: list[tuple[Sums, Sums]]) -> tuple[float, float]:
    """A metric in both periods over some days."""
    a, b = zip(*pairs, strict=True)
    before, later = (sum(above for above, _ in side) / sum(below for _, below in side) for side in (a, b))
    return before, later


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
