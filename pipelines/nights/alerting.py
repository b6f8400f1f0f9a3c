"""Alerts by the rules on the published snapshot and the champion, gathered by cause.

A CPC that is full is one alert: what its LPARs suffer at the same time is a detail of it. Service classes of one LPAR
that miss their goals are one alert, too.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from model.calendar import Calendar
from pipelines.text import counted, figure
from serve.cpcs import NAMES

_MONTH_DAYS = 365.25 / 12
#: The tables that the query of a kind reads.
_TABLES = {
    "performance_index": ("fct_service_class",),
    "cpu_busy": ("fct_interval_utilization", "fct_cpc_interval", "dim_interval", "dim_system"),
    "r4ha": ("fct_msu_hour",),
    "ziip_overflow": ("fct_ziip",),
}
_CPC_OF = "(SELECT any_value(cpc) FROM marts.fct_cpc_interval c WHERE c.smf_sid = t.smf_sid)"
#: Each gives lpar, cpc, subject, start, length in seconds and value, of the last 24 recorded hours; measured points are
#: loads that somebody chose, and alert nobody.
_QUERIES = {
    "performance_index": f"""
        SELECT t.smf_sid AS lpar, {_CPC_OF} AS cpc, concat(t.smf_sid, ' ', t.class_name,
            if(t.period_number > 1, concat(' period ', t.period_number), '')) AS subject,
          interval_start_local AS start, interval_s AS seconds, performance_index AS value
        FROM marts.fct_service_class t JOIN (SELECT smf_sid, max(interval_start_local) AS last
          FROM marts.fct_service_class GROUP BY ALL) USING (smf_sid)
        WHERE interval_start_local > last - INTERVAL 24 HOUR AND class_kind = 'service_class' AND point IS NULL
          AND {{during}}
          AND performance_index IS NOT NULL AND importance BETWEEN 1 AND {{importance}}
    """,
    "cpu_busy": f"""
        SELECT t.smf_sid AS lpar, {_CPC_OF} AS cpc, t.smf_sid AS subject, interval_start_local AS start,
          interval_s AS seconds, cpu_busy_pct AS value
        FROM marts.fct_interval_utilization t JOIN (SELECT smf_sid, max(interval_start_local) AS last
          FROM marts.fct_interval_utilization GROUP BY ALL) USING (smf_sid)
        WHERE interval_start_local > last - INTERVAL 24 HOUR AND engine_type = 'CP' AND cpu_busy_pct IS NOT NULL
          AND point IS NULL AND {{during}}
        UNION ALL
        SELECT NULL, cpc, concat('CPC ', coalesce(any_value(cpc_name), cpc)), interval_start_local,
          any_value(interval_s), 100 * sum(dispatch_s / covered_s) / max(physical_engines)
        FROM marts.fct_cpc_interval JOIN (SELECT cpc, max(interval_start_local) AS last
          FROM marts.fct_cpc_interval GROUP BY ALL) USING (cpc)
        LEFT JOIN ({NAMES}) USING (cpc)
        WHERE interval_start_local > last - INTERVAL 24 HOUR AND engine_type = 'CP' AND covered_s > 0 AND {{during}}
          AND interval_key NOT IN (SELECT interval_key FROM marts.dim_interval WHERE point IS NOT NULL)
        GROUP BY cpc, interval_start_local HAVING max(physical_engines) > 0
    """,
    "r4ha": """
        SELECT if(scope = 'lpar', name, NULL) AS lpar, cpc,
          concat(if(scope = 'lpar', '', 'capacity group '), name) AS subject, hour_local AS start, 3600.0 AS seconds,
          100 * r4ha_msu / limit_msu AS value
        FROM marts.fct_msu_hour JOIN (SELECT scope, name, max(hour_local) AS last
          FROM marts.fct_msu_hour GROUP BY ALL) USING (scope, name)
        WHERE hour_local > last - INTERVAL 24 HOUR AND limit_msu > 0 AND {during}
    """,
    "ziip_overflow": f"""
        SELECT t.smf_sid AS lpar, {_CPC_OF} AS cpc, t.smf_sid AS subject, interval_start_local AS start,
          interval_s AS seconds, eligible_on_cp_share_pct AS value
        FROM marts.fct_ziip t JOIN (SELECT smf_sid, max(interval_start_local) AS last
          FROM marts.fct_ziip GROUP BY ALL) USING (smf_sid)
        WHERE interval_start_local > last - INTERVAL 24 HOUR AND eligible_on_cp_share_pct IS NOT NULL
          AND point IS NULL AND {{during}}
    """,
}
_ROWS = "SELECT * REPLACE (seconds::DOUBLE AS seconds, value::DOUBLE AS value) FROM"
_WORDS = {
    "performance_index": ("performance index", "", "performance index"),
    "cpu_busy": ("CPU busy", " %", "CPU busy"),
    "r4ha": ("R4HA", " % of its limit", "R4HA"),
    "ziip_overflow": ("zIIP work on CPs", " % of what is eligible", "zIIP overflow"),
}
"""The quantity of a kind, its unit, and the name of its alerts."""


@dataclass(frozen=True)
class Hit:
    """A stretch of intervals in which a figure was above its rule's limit."""

    rule: str
    kind: str
    severity: str
    lpar: str | None
    cpc: str | None
    subject: str
    start: dt.datetime
    end: dt.datetime
    worst: float
    text: str

    @property
    def is_of_cpc(self) -> bool:
        """Whether a CPC is full."""
        return self.kind == "cpu_busy" and self.lpar is None

    @property
    def cause(self) -> str:
        """The cause under which it is reported, unless its CPC was full at the time."""
        return f"{_WORDS[self.kind][2]} of {self.lpar or self.subject}"

    def meets(self, other: "Hit") -> bool:
        """Whether both have a moment in common."""
        return self.start < other.end and other.start < self.end


def raised(
    snapshot: Path, bundle: Mapping[str, Any] | None, rules: Mapping[str, Any], calendar: Calendar, today: dt.date
) -> list[dict[str, Any]]:
    """Causes that the rules detect, one entry each: name, rule, severity, text and details, by name.

    Parameters
    ----------
    snapshot
        the published snapshot; rules whose tables it lacks detect nothing.
    bundle
        the champion; without one, headroom is not looked at.
    today
        the day that months of headroom count from.
    """
    measured = {name: rule for name, rule in rules.items() if rule.enabled and rule.kind in _QUERIES}
    hits = [hit for name, rule in measured.items() for hit in _hits(snapshot, name, rule, calendar)]
    causes = by_cause(hits)
    for name, rule in rules.items():
        if rule.enabled and rule.kind == "headroom" and bundle is not None:
            causes += short(bundle, name, rule, today)
    return sorted(causes, key=lambda one: one["name"])


def by_cause(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Hits gathered by cause: those of a CPC that was full take in those of its LPARs at the same time."""
    full = [hit for hit in hits if hit.is_of_cpc]

    def cause(hit: Hit) -> str:
        over = (one.cause for one in full if one.cpc == hit.cpc and hit.kind != "r4ha" and one.meets(hit))
        return hit.cause if hit.is_of_cpc else next(over, hit.cause)

    causes = []
    for name, group in groupby(sorted(hits, key=lambda hit: (cause(hit), not hit.is_of_cpc, -hit.worst)), cause):
        first, *rest = group
        severity = "failure" if any(hit.severity == "failure" for hit in (first, *rest)) else first.severity
        subjects = {hit.subject for hit in rest} - {first.subject}
        more = f" (and {counted(len(subjects), 'more subject')})" if subjects else ""
        about = {"name": name, "rule": first.rule, "severity": severity, "text": first.text + more}
        causes.append({**about, "details": [hit.text for hit in rest]})
    return causes


def short(bundle: Mapping[str, Any], name: str, rule: Any, today: dt.date) -> list[dict[str, Any]]:
    """The resources that reach their target within the months of a rule; a machine is one cause for its LPARs."""
    from model.capacity import ask

    until = today + dt.timedelta(days=rule.months * _MONTH_DAYS)
    lines: dict[str, list[tuple[str, str]]] = {}
    for system, parameters in sorted(bundle["systems"].items()):
        if parameters.recorded is None or not rule.applies_to(system, parameters.smf_sid):
            continue
        first = ask.headroom(bundle, system)["first"]
        if first is None or first["value"] is None or dt.date.fromisoformat(first["value"]) > until:
            continue
        resource = first["resource"]
        within = f" (from {first['lo']} on in one case of twenty)" if first["lo"] else ""
        cause = f"headroom of {resource if resource.startswith('machine ') else system}"
        when = f"{resource} reaches its target on {first['value']}{within}"
        text = f"{system}: headroom below {rule.months:g} months: {when}"
        lines.setdefault(cause, []).append((first["value"], text))
    causes = []
    for cause, of in lines.items():
        (_, first_text), *rest = sorted(of)
        about = {"name": cause, "rule": name, "severity": rule.severity, "text": first_text}
        causes.append({**about, "details": [text for _, text in rest]})
    return causes


def _hits(snapshot: Path, name: str, rule: Any, calendar: Calendar) -> Iterator[Hit]:
    """The stretches of intervals that a rule finds."""
    from ingest import warehouse

    tables = warehouse.query(
        snapshot, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'marts'"
    ).to_pylist()
    if not {row["table_name"] for row in tables}.issuperset(_TABLES[rule.kind]):
        return
    column = "hour_local" if rule.kind == "r4ha" else "interval_start_local"
    importance = getattr(rule, "importance", 5)
    sql = _QUERIES[rule.kind].format(during=calendar.condition(rule.shift, column), importance=importance)
    rows = warehouse.query(snapshot, f"{_ROWS} ({sql}) ORDER BY subject, start").to_pylist()
    for subject, of in groupby(rows, key=lambda row: row["subject"]):
        for stretch in stretches(of, rule.above):
            first, last = stretch[0], stretch[-1]
            if len(stretch) < rule.intervals or not rule.applies_to(first["lpar"], first["cpc"], subject):
                continue
            worst = max(row["value"] for row in stretch)
            end = last["start"] + dt.timedelta(seconds=last["seconds"])
            quantity, unit, _ = _WORDS[rule.kind]
            until = f"{end:%H:%M}" if end.date() == first["start"].date() else f"{end:%Y-%m-%d %H:%M}"
            text = (
                f"{subject}: {quantity} above {rule.above:g}{unit} from {first['start']:%Y-%m-%d %H:%M} to {until}, "
                f"at most {figure(worst, 3)}"
            )
            yield Hit(
                name, rule.kind, rule.severity, first["lpar"], first["cpc"], subject, first["start"], end, worst, text
            )


def stretches(rows: Iterable[Mapping[str, Any]], above: float) -> Iterator[list[Mapping[str, Any]]]:
    """Rows in a row, in order of time, whose value is above a limit; a gap between intervals ends a stretch."""
    stretch: list[Mapping[str, Any]] = []
    for row in rows:
        follows = stretch and row["start"] <= stretch[-1]["start"] + dt.timedelta(seconds=1.5 * stretch[-1]["seconds"])
        if stretch and not (follows and row["value"] > above):
            yield stretch
            stretch = []
        if row["value"] > above:
            stretch.append(row)
    if stretch:
        yield stretch
