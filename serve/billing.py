"""Billing months: the rolling four-hour average by LPAR, capacity group, CPC and product, its highest hours and what
they are made of."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pydantic import BaseModel, Field

from model.prices import Prices
from serve import cpcs
from serve.cpcs import NAMES
from serve.evidence import number
from serve.snapshot import Snapshot

SCOPES = ("cpc", "capacity_group", "lpar", "product")
MOST_HOURS = 20
NOTE = (
    "SCRT decides the bill: it reads the records of every LPAR for the whole month. These figures average the loaded "
    "records by hours, as SCRT does, and apply the limits of defined and group capacity."
)

_MONTHS = """
    SELECT billing_month, count(DISTINCT hour_local) AS hours, min(hour_local) AS first, max(hour_local) AS last
    FROM marts.fct_msu_hour GROUP BY ALL ORDER BY billing_month
"""
_PEAKS = f"""
    SELECT scope, name, cpc, coalesce(any_value(cpc_name), cpc) AS cpc_name, any_value(system_id) AS system,
      max(billable_msu) AS peak_msu,
      arg_max(hour_local, (billable_msu, -epoch(hour_local))) AS peak_at, max(r4ha_msu) AS r4ha_msu,
      avg(msu) AS mean_msu, sum(msu) AS msu_hours, max(limit_msu) AS limit_msu,
      count(*) FILTER (r4ha_msu > limit_msu) AS hours_above_limit, count(*) FILTER (capped_pct > 0) AS hours_capped,
      count(*) AS hours
    FROM marts.fct_msu_hour LEFT JOIN ({NAMES}) USING (cpc)
    WHERE billing_month = ? AND {{during}} GROUP BY scope, name, cpc
"""
_HOURS = """
    SELECT hour_local, r4ha_msu, billable_msu, msu, limit_msu, capped_pct, lpars FROM marts.fct_msu_hour
    WHERE scope = ? AND name = ? AND cpc IS NOT DISTINCT FROM ? AND billing_month = ? AND {during}
"""
_CPU_HOURS = """
    SELECT smf_sid, sum(busy_s) / 3600 AS cpu_hours FROM marts.fct_interval_utilization
    WHERE engine_type = 'CP' AND (interval_start_local - INTERVAL 1 DAY) >= ?
      AND (interval_start_local - INTERVAL 1 DAY) < ? AND {during} GROUP BY smf_sid
"""
# What the LPARs of a scope used in the four hours that an average is made of: each class, and what no class is charged.
_LPARS = {
    "lpar": "SELECT name, hour_local FROM marts.fct_msu_hour WHERE scope = 'lpar' AND name = $name",
    "cpc": "SELECT name, hour_local FROM marts.fct_msu_hour WHERE scope = 'lpar' AND cpc = $name",
    "capacity_group": "SELECT name, hour_local FROM marts.fct_msu_hour WHERE scope = 'lpar' AND capacity_group = $name "
    "AND cpc IS NOT DISTINCT FROM $cpc",
    "product": "SELECT l.name, l.hour_local FROM marts.fct_msu_hour l WHERE l.scope = 'lpar' AND EXISTS (FROM "
    "marts.fct_product_usage u WHERE u.smf_sid = l.name AND u.interval_start_local < l.hour_local + INTERVAL 1 HOUR "
    "AND u.interval_start_local + to_seconds(u.interval_s::bigint) > l.hour_local "
    "AND concat_ws(' ', u.product_name, nullif(u.product_version, '')) = $name) AND cpc IS NOT DISTINCT FROM $cpc",
}
_CLASSES = """
    WITH lpar AS (SELECT DISTINCT name AS smf_sid FROM ({lpars}) WHERE hour_local = $hour),
    total AS (
      SELECT m.name AS smf_sid, sum(m.msu * m.interval_s) AS used, sum(m.interval_s) AS seconds
      FROM marts.fct_msu m JOIN lpar ON m.name = lpar.smf_sid
      WHERE m.scope = 'lpar' AND m.interval_start_local >= $hour - INTERVAL 3 HOUR
        AND m.interval_start_local < $hour + INTERVAL 1 HOUR GROUP BY ALL),
    class AS (
      SELECT c.smf_sid, c.class_name, any_value(c.workload) AS workload, min(c.importance) AS importance,
        sum(c.cp_msu * c.interval_s) AS used
      FROM marts.fct_service_class c JOIN lpar USING (smf_sid)
      WHERE c.class_kind = 'service_class' AND c.interval_start_local >= $hour - INTERVAL 3 HOUR
        AND c.interval_start_local < $hour + INTERVAL 1 HOUR GROUP BY c.smf_sid, c.class_name),
    divided AS (
      SELECT smf_sid, class_name, workload, importance, class.used / seconds AS msu
      FROM class JOIN total USING (smf_sid)
      UNION ALL
      SELECT t.smf_sid, '', '', NULL, (t.used - coalesce(sum(c.used), 0)) / t.seconds
      FROM total t LEFT JOIN class c USING (smf_sid) GROUP BY t.smf_sid, t.used, t.seconds)
    SELECT * FROM divided WHERE msu IS NOT NULL ORDER BY msu DESC, smf_sid, class_name
"""


class Month(BaseModel):
    """A billing month of which something is loaded."""

    month: str = Field(description="first day of the month, which lasts from the 2nd of a month to the 1st of the next")
    hours: int = Field(description="recorded hours of the month")
    first_hour: str
    last_hour: str


class Peak(BaseModel):
    """The peak of a billing month of an LPAR, capacity group, CPC or product."""

    scope: str
    name: str
    cpc: str | None = Field(description="name of its CPC; requests also take the identifier")
    system: str | None
    peak_msu: float = Field(description="highest hourly R4HA within defined and group capacity, MSU")
    peak_at: str = Field(description="hour of the peak, local time")
    r4ha_msu: float = Field(description="highest hourly R4HA without limits, MSU")
    mean_msu: float | None
    limit_msu: float | None = Field(description="defined capacity of the LPAR, or limit of the capacity group, MSU")
    hours_above_limit: int
    hours_capped: int = Field(description="hours in which capping limited the LPAR")
    hours: int
    cpu_hours: float | None = Field(description="hours of general-purpose CPU of an LPAR")
    msu_cost: float | None = Field(description="cost of the peak at the installation's price per MSU")
    cpu_cost: float | None = Field(description="cost of the CPU hours at the installation's price")


class BillingMonth(BaseModel):
    """The peaks of a billing month."""

    month: str | None
    months: list[Month]
    shift: str
    currency: str = Field(description="currency of the prices; empty without prices")
    peaks: list[Peak]
    note: str


class Hour(BaseModel):
    """An hour of a billing month."""

    hour_local: str
    r4ha_msu: float
    billable_msu: float
    msu: float | None
    limit_msu: float | None
    capped_pct: float | None
    lpars: int | None


class BillingHours(BaseModel):
    """All hours of a billing month, and the highest of them."""

    scope: str
    name: str
    month: str
    hours: list[Hour]
    highest: list[Hour] = Field(description=f"the {MOST_HOURS} highest hours, highest first")


class ClassPart(BaseModel):
    """What a service class of an LPAR adds to an average of four hours; no class: CPU that none was charged with."""

    lpar: str
    class_name: str
    workload: str
    importance: int | None
    msu: float


class BillingClasses(BaseModel):
    """What the four-hour average of an hour is made of."""

    scope: str
    name: str
    hour_local: str
    classes: list[ClassPart]


def months(snapshot: Snapshot) -> list[Month]:
    """The billing months of which something is loaded, the earliest first."""
    if not snapshot.has_table("marts", "fct_msu_hour"):
        return []
    return [
        Month(
            month=row["billing_month"].isoformat(),
            hours=row["hours"],
            first_hour=row["first"].isoformat(),
            last_hour=row["last"].isoformat(),
        )
        for row in snapshot.rows(_MONTHS)
    ]


def month(
    snapshot: Snapshot,
    prices: Prices,
    chosen: dt.date | None,
    shift: str = "",
    during: tuple[str, str] = ("true", "true"),
) -> BillingMonth:
    """The peaks of a billing month, the latest without one, by scope and the highest first.

    Parameters
    ----------
    prices
        what an MSU and an hour of CPU cost.
    chosen
        any day of the billing month's label, such as its first day.
    during
        SQL of the hours and of the intervals that count.

    Raises
    ------
    SnapshotUnavailable
        when nothing is published, or not what this version reads.
    """
    all_months = months(snapshot)
    labels = [one.month for one in all_months]
    label = labels[-1] if chosen is None and labels else "" if chosen is None else _label(chosen)
    if label not in labels:
        return BillingMonth(month=None, months=all_months, shift=shift, currency=prices.currency, peaks=[], note=NOTE)
    first = dt.date.fromisoformat(label)
    of_hours, of_intervals = during
    rows = snapshot.rows(_PEAKS.format(during=of_hours), [first])
    begins = dt.datetime.combine(first, dt.time()) - dt.timedelta(days=1)
    ends = (begins + dt.timedelta(days=32)).replace(day=1)
    cpu = {
        row["smf_sid"]: row["cpu_hours"]
        for row in snapshot.rows(_CPU_HOURS.format(during=of_intervals), [begins, ends])
    }
    peaks = [_peak(row, prices, cpu) for row in rows]
    order = sorted(peaks, key=lambda one: (SCOPES.index(one.scope), -one.peak_msu, one.name))
    return BillingMonth(month=label, months=all_months, shift=shift, currency=prices.currency, peaks=order, note=NOTE)


def hours(
    snapshot: Snapshot, scope: str, name: str, cpc: str | None, chosen: dt.date, during: str = "true"
) -> BillingHours:
    """The hours of a billing month in order, and the highest of them."""
    label = _label(chosen)
    name, cpc = _identifiers(snapshot, scope, name, cpc)
    rows = snapshot.rows(_HOURS.format(during=during), [scope, name, cpc, dt.date.fromisoformat(label)])
    each_hour = [
        Hour(
            hour_local=row["hour_local"].isoformat(),
            msu=number(row["msu"]),
            limit_msu=number(row["limit_msu"]),
            capped_pct=number(row["capped_pct"]),
            r4ha_msu=row["r4ha_msu"],
            billable_msu=row["billable_msu"],
            lpars=row["lpars"],
        )
        for row in sorted(rows, key=lambda row: row["hour_local"])
    ]
    highest = sorted(each_hour, key=lambda hour: (-hour.billable_msu, hour.hour_local))[:MOST_HOURS]
    return BillingHours(scope=scope, name=name, month=label, hours=each_hour, highest=highest)


def classes(snapshot: Snapshot, scope: str, name: str, cpc: str | None, hour: dt.datetime) -> BillingClasses:
    """What the four-hour average of an hour is made of, by LPAR and service class, the most first."""
    lpars = _LPARS[scope]
    name, cpc = _identifiers(snapshot, scope, name, cpc)
    parameters: dict[str, Any] = {"name": name, "hour": hour, **({"cpc": cpc} if "$cpc" in lpars else {})}
    with snapshot.cursor() as cursor:
        cursor.execute(_CLASSES.format(lpars=lpars), parameters)
        parts = cursor.fetchall()
    return BillingClasses(
        scope=scope,
        name=name,
        hour_local=hour.isoformat(),
        classes=[
            ClassPart(lpar=lpar, class_name=of, workload=workload or "", importance=importance, msu=msu)
            for lpar, of, workload, importance, msu in parts
        ],
    )


def _identifiers(snapshot: Snapshot, scope: str, name: str, cpc: str | None) -> tuple[str, str | None]:
    """Name and CPC of a subject as the marts have them; requests name CPCs as readers do."""

    def identifier(given: str) -> str:
        match = cpcs.find(snapshot, given)
        return given if match is None else match.cpc

    return identifier(name) if scope == "cpc" else name, None if cpc is None else identifier(cpc)


def _label(day: dt.date) -> str:
    """The first day of the billing month that is called by the month of a day."""
    return day.replace(day=2).isoformat()


def _peak(row: dict[str, Any], prices: Prices, cpu: dict[str, float]) -> Peak:
    names = [row["name"], *filter(None, [row["cpc"], row["cpc_name"]])]
    cpu_hours = number(cpu.get(row["name"])) if row["scope"] == "lpar" else None
    per_msu, per_hour = prices.of("msu", *names), prices.of("cpu_hour", *names)
    return Peak(
        **{key: row[key] for key in ("scope", "system", "hours", "hours_above_limit", "hours_capped")},
        name=row["cpc_name"] if row["scope"] == "cpc" else row["name"],
        cpc=row["cpc_name"],
        mean_msu=number(row["mean_msu"]),
        limit_msu=number(row["limit_msu"]),
        peak_msu=row["peak_msu"],
        r4ha_msu=row["r4ha_msu"],
        peak_at=row["peak_at"].isoformat(),
        cpu_hours=cpu_hours,
        msu_cost=None if per_msu is None else per_msu.price * row["peak_msu"],
        cpu_cost=None if per_hour is None or cpu_hours is None else per_hour.price * cpu_hours,
    )
