"""Where reports have their figures from: the published snapshot, the champion, alerts and prices of a state folder."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import state.alerts
from model.calendar import Calendar
from model.prices import Prices
from pipelines import steps, text
from pipelines.home import Home
from serve.snapshot import Snapshot
from state.alerts import Alert

STALE_DAYS = 7
# The last seven recorded days of each LPAR and the seven before, in the intervals that count.
_WEEKS = """
    WITH busy AS (
      SELECT system_id, smf_sid, interval_start_local AS start, cpu_busy_pct, busy_s, online_s, interval_s,
        max(interval_start_local) OVER (PARTITION BY system_id) AS last
      FROM marts.fct_interval_utilization WHERE engine_type = 'CP' AND online_s > 0)
    SELECT system_id AS system, any_value(last) AS last, start > last - INTERVAL 7 DAY AS is_last,
      100 * sum(busy_s) / sum(online_s) AS mean_pct, max(cpu_busy_pct) AS peak_pct,
      arg_max(start, cpu_busy_pct) AS peak_at, sum(busy_s) / 3600 AS cpu_hours
    FROM busy WHERE start > last - INTERVAL 14 DAY AND {during} GROUP BY system_id, is_last
"""
_MACHINES = """
    SELECT s.system_id AS system, any_value(coalesce(s.cpc_name, m.cpc)) AS machine FROM marts.dim_system s
    LEFT JOIN (SELECT DISTINCT smf_sid, cpc FROM marts.fct_cpc_interval WHERE smf_sid IS NOT NULL) m USING (smf_sid)
    WHERE s.run_intervals < s.intervals GROUP BY ALL ORDER BY machine, system
"""


@dataclass(frozen=True)
class Sources:
    """The state folder that a report is about; ``shift`` limits recorded figures to its intervals."""

    home: Home
    bundle: Mapping[str, Any] | None
    calendar: Calendar
    prices: Prices
    today: dt.date
    shift: str = ""
    max_busy_pct: float = 90.0

    @classmethod
    def of(cls, home: Home, shift: str = "", max_busy_pct: float = 90.0) -> "Sources":
        """Those of a state folder now. Raises EtalonError without a snapshot, CalendarError for an unknown shift."""
        steps.require_snapshot(home)
        bundle = steps.champion(home) if home.champion.exists() else None
        calendar = steps.calendar(home)
        calendar.condition(shift)
        return cls(home, bundle, calendar, steps.prices(home), dt.date.today(), shift, max_busy_pct)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The published snapshot."""
        return Snapshot(self.home.snapshot)

    @cached_property
    def machines(self) -> dict[str, str | None]:
        """The machine of every LPAR with a history, by system; None where no record says it."""
        return {row["system"]: row["machine"] for row in self.snapshot.rows(_MACHINES)}

    @cached_property
    def weeks(self) -> dict[str, dict[bool, dict[str, Any]]]:
        """Figures of the last seven recorded days (True) and the seven before (False), by system."""
        weeks: dict[str, dict[bool, dict[str, Any]]] = {}
        during = self.calendar.condition(self.shift, "start")
        for row in self.snapshot.rows(_WEEKS.format(during=during)):
            weeks.setdefault(row["system"], {})[row["is_last"]] = row
        return weeks

    def alerts(self, *names: str) -> Sequence[Alert]:
        """Alerts that are not closed, and name one of these LPARs or machines; all without names."""
        alerts = [alert for alert in state.alerts.read(self.home.root) if alert.state != state.alerts.CLOSED]
        if not names:
            return alerts
        named = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)")
        return [alert for alert in alerts if named.search(" ".join((alert.name, alert.text, *alert.details)))]

    def has_model(self, system: str) -> bool:
        """Whether the champion has a model of the history of a system."""
        parameters = None if self.bundle is None else self.bundle["systems"].get(system)
        return parameters is not None and parameters.recorded is not None

    def age(self, last: dt.date) -> str:
        """A remark on records that end too long ago to describe the present; empty for others."""
        days = (self.today - last).days
        ends = f" The last records are of {last}, {days} days ago. Figures and forecasts refer to that date."
        return ends if days > STALE_DAYS else ""

    @property
    def of_shift(self) -> str:
        """An addition to a heading of recorded figures."""
        return f", shift {self.shift}" if self.shift else ""


def week_row(of: str, weeks: Mapping[bool, Mapping[str, Any]]) -> dict[str, Any]:
    """An LPAR in a table: its last seven days and the seven before."""
    now, before = weeks.get(True, {}), weeks.get(False, {})
    return {
        "LPAR": of,
        "mean CPU busy, %": now.get("mean_pct"),
        "week before, %": before.get("mean_pct"),
        "change": change(now.get("mean_pct"), before.get("mean_pct")),
        "max CPU busy, %": now.get("peak_pct"),
        "at": minute(now.get("peak_at")),
        "CPU hours": now.get("cpu_hours"),
    }


def change(now: float | None, before: float | None) -> str:
    """The change in percent, in words."""
    return "–" if now is None or not before else f"{100 * (now / before - 1):+.1f} %"


def minute(moment: dt.datetime | None) -> str:
    """A local time to the minute."""
    return "–" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def figures(pairs: Sequence[tuple[str, float | None, str]]) -> list[str]:
    """Figures with units as lines; missing figures are left out."""
    return [f"{name}: {text.figure(value, 3)} {unit}".strip() for name, value, unit in pairs if value is not None]
