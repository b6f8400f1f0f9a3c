"""What ``/metrics`` says about the last recorded interval of every LPAR and CPC, and about alerts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

import state.alerts
from serve.files import Identity, identity_of
from serve.log import Log
from serve.problems import Problem
from serve.snapshot import Snapshot
from state.files import StateDamaged

log = Log()

# Each gives the labels of a gauge in order, then its value.
_CPC_OF = "(SELECT any_value(cpc) FROM marts.fct_cpc_interval c WHERE c.smf_sid = {of})"
_LAST = "max(interval_start_local) OVER (PARTITION BY {by}) AS last"
GAUGES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "etalon_lpar_busy_percent": (
        "Busy of the engines of an LPAR in its last recorded interval, percent",
        ("lpar", "cpc", "engine"),
        f"""SELECT smf_sid, {_CPC_OF.format(of="t.smf_sid")}, engine_type, 100 * busy_s / online_s
        FROM (SELECT *, {_LAST.format(by="smf_sid")} FROM marts.fct_interval_utilization) t
        WHERE interval_start_local = last AND online_s > 0""",
    ),
    "etalon_lpar_interval_start_seconds": (
        "Start of the last recorded interval of an LPAR, seconds since 1970 (UTC)",
        ("lpar", "cpc"),
        f"""SELECT smf_sid, {_CPC_OF.format(of="t.smf_sid")}, epoch(max(interval_start_utc))
        FROM marts.fct_interval_utilization t WHERE interval_start_utc IS NOT NULL GROUP BY smf_sid""",
    ),
    "etalon_lpar_msu": (
        "MSU of an LPAR in its last recorded interval",
        ("lpar", "cpc"),
        f"""SELECT name, {_CPC_OF.format(of="t.name")}, msu
        FROM (SELECT *, {_LAST.format(by="scope, name")} FROM marts.fct_msu) t
        WHERE interval_start_local = last AND scope = 'lpar'""",
    ),
    "etalon_lpar_r4ha_msu": (
        "Rolling four-hour average of an LPAR in its last recorded interval, MSU",
        ("lpar", "cpc"),
        f"""SELECT name, {_CPC_OF.format(of="t.name")}, r4ha_msu
        FROM (SELECT *, {_LAST.format(by="scope, name")} FROM marts.fct_msu) t
        WHERE interval_start_local = last AND scope = 'lpar'""",
    ),
    "etalon_lpar_limit_msu": (
        "Defined capacity of an LPAR in its last recorded hour, MSU",
        ("lpar", "cpc"),
        """SELECT name, cpc, limit_msu FROM (
          SELECT *, max(hour_local) OVER (PARTITION BY scope, name) AS last FROM marts.fct_msu_hour)
        WHERE hour_local = last AND scope = 'lpar' AND limit_msu > 0""",
    ),
    "etalon_class_performance_index": (
        "Performance index of a service class period in the last recorded interval of its LPAR",
        ("lpar", "service_class", "period", "importance"),
        f"""SELECT smf_sid, class_name, period_number, importance, max(performance_index)
        FROM (SELECT *, {_LAST.format(by="smf_sid")} FROM marts.fct_service_class)
        WHERE interval_start_local = last AND class_kind = 'service_class' AND performance_index IS NOT NULL
        GROUP BY ALL""",
    ),
    "etalon_cpc_busy_percent": (
        "Busy of the physical CPs or zIIPs of a CPC in its last recorded interval, percent",
        ("cpc", "engine"),
        f"""SELECT cpc, engine_type, 100 * sum(dispatch_s / covered_s) / max(physical_engines)
        FROM (SELECT *, {_LAST.format(by="cpc")} FROM marts.fct_cpc_interval)
        WHERE interval_start_local = last AND covered_s > 0 GROUP BY cpc, engine_type
        HAVING max(physical_engines) > 0""",
    ),
    "etalon_cpc_msu": (
        "MSU of a CPC in its last recorded interval",
        ("cpc",),
        f"""SELECT name, msu FROM (SELECT *, {_LAST.format(by="scope, name")} FROM marts.fct_msu)
        WHERE interval_start_local = last AND scope = 'cpc'""",
    ),
    "etalon_cpc_r4ha_msu": (
        "Rolling four-hour average of a CPC in its last recorded interval, MSU",
        ("cpc",),
        f"""SELECT name, r4ha_msu FROM (SELECT *, {_LAST.format(by="scope, name")} FROM marts.fct_msu)
        WHERE interval_start_local = last AND scope = 'cpc'""",
    ),
}


class RecordedGauges(Collector):
    """Gauges of the published snapshot, read again when the snapshot is replaced, and of the alerts of nights.

    Without a snapshot, or where it lacks a table, the gauges made of it are left out.
    """

    def __init__(self, snapshot: Snapshot, home: Path) -> None:
        self._snapshot, self._home = snapshot, home
        self._identity: Identity | None = None
        self._read: list[GaugeMetricFamily] = []

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """No families: naming them would read the snapshot while the service starts."""
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges as they are now."""
        identity = identity_of(self._snapshot.path)
        if identity != self._identity:
            self._identity, self._read = identity, [] if identity is None else list(self._families())
        yield from self._read
        yield self._alerts()

    def _families(self) -> Iterator[GaugeMetricFamily]:
        for name, (text, labels, sql) in GAUGES.items():
            try:
                with self._snapshot.cursor() as cursor:
                    rows = cursor.execute(sql).fetchall()
            except Problem as problem:
                log.error("gauge_unreadable", gauge=name, problem=str(problem))
                continue
            family = GaugeMetricFamily(name, text, labels=labels)
            for *values, figure in rows:
                if figure is not None:
                    family.add_metric([_label(value) for value in values], float(figure))
            yield family

    def _alerts(self) -> GaugeMetricFamily:
        labels = ("state", "severity")
        family = GaugeMetricFamily("etalon_alerts", "Alerts that are not closed", labels=labels)
        counts: dict[tuple[str, str], int] = {}
        try:
            alerts = state.alerts.peek(self._home)
        except (OSError, StateDamaged) as problem:
            log.error("alerts_unreadable", problem=str(problem))
            alerts = []
        for alert in alerts:
            if alert.state != state.alerts.CLOSED:
                counts[alert.state, alert.severity] = counts.get((alert.state, alert.severity), 0) + 1
        for key, count in sorted(counts.items()):
            family.add_metric(list(key), count)
        return family


def _label(value: Any) -> str:
    return "" if value is None else str(value)
