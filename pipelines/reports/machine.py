"""The report on a machine: its LPARs day by day, its R4HA, and who fills it first."""

from datetime import datetime
from typing import Any

from pipelines.reports import sources
from pipelines.reports.content import Chart, Part, Report, Series
from pipelines.reports.sources import Sources
from pipelines.text import counted
from serve import cpcs
from serve.records import CpcSummary

_MOST_LPARS = 7
_DAYS = """
    SELECT date_trunc('day', interval_start_local) AS day, lpar_name AS lpar,
      sum(dispatch_s) / (sum(covered_s) / count(*)) / count(DISTINCT interval_start_utc) AS engines,
      max(physical_engines) AS physical
    FROM marts.fct_cpc_interval
    WHERE cpc = ? AND engine_type = 'CP' AND covered_s > 0 AND {during} GROUP BY ALL ORDER BY day
"""


def report(of: Sources, cpc: CpcSummary) -> Report:
    """The report on a machine."""
    summary, parts, lead = described(of, cpc.name)
    return Report(f"Capacity of machine {cpc.name}, {of.today.isoformat()}", lead, summary, parts)


def described(of: Sources, machine: str) -> tuple[list[Part], list[Part], str]:
    """The report on a machine: parts of the first page, the others, and the lead."""
    lpars = [system for system, name in of.machines.items() if name == machine]
    summary = [
        Part(
            f"LPARs: last week against the week before{of.of_shift}",
            rows=[sources.week_row(system, of.weeks.get(system, {})) for system in lpars],
        )
    ]
    billing = billing_rows(of, machine)
    if billing:
        summary.append(Part("R4HA of the billing month, averaged by hours as SCRT does", rows=billing))
    alerts = [f"{alert.severity}: {alert.text}" for alert in of.alerts(machine, *lpars)]
    if alerts:
        summary.append(Part("Alerts", lines=alerts))
    chart = _engines(of, machine)
    if chart is not None:
        summary.append(Part(f"Physical CPs in use by LPAR, daily means{of.of_shift}", chart))
    crossings = [row for system in lpars if (row := _crossing(of, system, machine)) is not None]
    heading = "When the machine reaches its target, by the growth of each LPAR"
    parts = [Part(heading, rows=crossings)] if crossings else []
    last = max(
        (week["last"].date() for system in lpars for week in of.weeks.get(system, {}).values()), default=of.today
    )
    return summary, parts, _lead(machine, lpars, crossings, of.max_busy_pct) + of.age(last)


def billing_rows(of: Sources, machine: str = "") -> list[dict[str, Any]]:
    """The peaks of the latest billing month of a machine, or of all, with their costs where there are prices."""
    from serve import billing

    hours, intervals = (of.calendar.condition(of.shift, name) for name in ("hour_local", "interval_start_local"))
    month = billing.month(of.snapshot, of.prices, None, of.shift, (hours, intervals))
    return [
        {
            "of": peak.scope.replace("_", " ").replace("cpc", "CPC").replace("lpar", "LPAR"),
            "name": peak.name,
            "billing month": (month.month or "")[:7],
            "peak, MSU": peak.peak_msu,
            "at": sources.minute(datetime.fromisoformat(peak.peak_at)),
            "limit, MSU": peak.limit_msu,
            "hours capped": str(peak.hours_capped),
            **(
                {f"MSU, {month.currency}": peak.msu_cost, f"CPU, {month.currency}": peak.cpu_cost}
                if month.currency
                else {}
            ),
        }
        for peak in month.peaks
        if machine in ("", peak.cpc)
    ]


def _engines(of: Sources, machine: str) -> Chart | None:
    cpc = cpcs.find(of.snapshot, machine)
    serial = machine if cpc is None else cpc.cpc
    rows = of.snapshot.rows(_DAYS.format(during=of.calendar.condition(of.shift)), [serial])
    days = sorted({row["day"] for row in rows})
    if not days:
        return None
    used: dict[str, dict[datetime, float]] = {}
    for row in rows:
        used.setdefault(row["lpar"], {})[row["day"]] = float(row["engines"] or 0.0)
    ordered = sorted(used, key=lambda lpar: -sum(used[lpar].values()))
    shown, rest = ordered[:_MOST_LPARS], ordered[_MOST_LPARS:]
    areas = [Series(lpar, [used[lpar].get(day, 0.0) for day in days], "area") for lpar in shown]
    if rest:
        areas.append(Series("other LPARs", [sum(used[lpar].get(day, 0.0) for lpar in rest) for day in days], "area"))
    physical = max(float(row["physical"] or 0.0) for row in rows)
    limit = Series("physical CPs", [physical] * len(days), "limit")
    return Chart("Physical CPs in use by LPAR", "engines", days, [*areas, limit])


def _crossing(of: Sources, system: str, machine: str) -> dict[str, Any] | None:
    """When the machine is full if an LPAR and the others grow as the LPAR's records say."""
    from model.capacity import ask

    if not of.has_model(system):
        return None
    assert of.bundle is not None
    crossings = ask.headroom(of.bundle, system, max_busy_pct=of.max_busy_pct)["crossings"]
    one = next((row for row in crossings if row["resource"].startswith("machine ")), None)
    if one is None:
        return None
    never = "later than three years"
    return {
        "by the growth of": system,
        "likeliest": "already" if one["already"] else one["value"] or never,
        "5 % by": one["lo"] or never,
        "95 % by": one["hi"] or never,
    }


def _lead(machine: str, lpars: list[str], crossings: list[dict[str, Any]], target: float) -> str:
    dated = sorted(row["likeliest"] for row in crossings if row["likeliest"][:1].isdigit())
    if any(row["likeliest"] == "already" for row in crossings):
        until = f"At the recorded peak it is above {target:g} % already."
    elif dated:
        until = f"If growth continues, it reaches {target:g} % around {dated[0]}."
    elif crossings:
        until = f"If growth continues, it does not reach {target:g} % within three years."
    else:
        until = "There is no model to forecast it: run `etalon fit`."
    return f"Machine {machine} has {counted(len(lpars), 'LPAR')} with records. {until}"
