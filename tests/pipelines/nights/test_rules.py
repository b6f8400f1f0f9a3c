"""The rules of alerts: what they find in a snapshot, gathered by cause, and what is refused."""

import datetime as dt

import duckdb
import pytest

from model.calendar import Calendar
from pipelines.exits import EtalonError
from pipelines.home import Home
from pipelines.nights import alerting, gap_alerts, rules
from pipelines.nights.night import Night
from tests.cases.systems import HISTORY, SYSTEM
from tests.pipelines.nights.conftest import DAY
from tests.serve.recorded import record

CALENDAR = Calendar.of(None)


def described(tmp_path, text=""):
    (tmp_path / "alerts.toml").write_text(text)
    return rules.read(Home(tmp_path), CALENDAR)


@pytest.fixture
def snapshot(tmp_path):
    """A day of hours: the CPC is full from 9 to 12, PRDA misses a goal then and another at 20, PRDB overflows."""
    path = tmp_path / "etalon.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE hours AS SELECT TIMESTAMP '2026-11-20' + to_hours(range) AS interval_start_local, "
            "range AS h, 3600.0 AS interval_s, NULL::VARCHAR AS point, 'I' AS interval_key FROM range(-24, 24)"
        )
        con.execute("CREATE TABLE marts.dim_interval AS FROM hours")
        con.execute(
            "CREATE TABLE marts.dim_system AS "
            "SELECT 'CEC1' AS cpc_serial, 'PRDA' AS smf_sid, '2964-708 CEC1' AS cpc_name"
        )
        con.execute(
            "CREATE TABLE marts.fct_cpc_interval AS SELECT hours.*, 'CEC1' AS cpc, smf_sid, 'CP' AS engine_type, "
            "interval_s AS covered_s, if(h BETWEEN 9 AND 11 OR h < -10, 3.9, 2.0) * interval_s AS dispatch_s, "
            "8.0 AS physical_engines FROM hours, (VALUES ('PRDA'), ('PRDB')) l(smf_sid)"
        )
        con.execute(
            "CREATE TABLE marts.fct_interval_utilization AS SELECT hours.*, 'PRDA' AS smf_sid, 'CP' AS engine_type, "
            "if(h IN (9, 10), 99.0, 50.0) AS cpu_busy_pct FROM hours"
        )
        con.execute(
            "CREATE TABLE marts.fct_service_class AS SELECT hours.*, 'PRDA' AS smf_sid, 'service_class' AS class_kind, "
            "class_name, 1 AS period_number, importance, CASE WHEN class_name = 'LOW' THEN 2.0 "
            "WHEN h IN (9, 10) OR (class_name = 'LATE' AND h IN (20, 21)) THEN 1.8 ELSE 0.5 END AS performance_index "
            "FROM hours, (VALUES ('HIGH', 1), ('LATE', 2), ('LOW', 5)) c(class_name, importance)"
        )
        con.execute(
            "CREATE TABLE marts.fct_ziip AS SELECT hours.*, 'PRDB' AS smf_sid, "
            "if(h = 15, 25.0, 1.0) AS eligible_on_cp_share_pct FROM hours"
        )
        con.execute(
            "CREATE TABLE marts.fct_msu_hour AS SELECT interval_start_local AS hour_local, scope, name, 'CEC1' AS cpc, "
            "if(h = 17, 98.0, 50.0) AS r4ha_msu, 100.0 AS limit_msu "
            "FROM hours, (VALUES ('lpar', 'PRDB'), ('capacity_group', 'GRP')) s(scope, name)"
        )
    return path


SHORT = """
[performance-index]
kind = "performance_index"
intervals = 2
importance = 3
[cpu-busy]
kind = "cpu_busy"
intervals = 2
[ziip-overflow]
kind = "ziip_overflow"
above = 20
"""


def test_a_full_cpc_is_one_alert_with_what_its_lpars_suffered_then(tmp_path, snapshot):
    found = {one["name"]: one for one in alerting.raised(snapshot, None, described(tmp_path, SHORT), CALENDAR, DAY)}
    assert sorted(found) == [
        "CPU busy of CPC 2964-708 CEC1",
        "R4HA of PRDB",
        "R4HA of capacity group GRP",
        "performance index of PRDA",
        "zIIP overflow of PRDB",
    ]
    full = found["CPU busy of CPC 2964-708 CEC1"]
    assert full["text"] == (
        "CPC 2964-708 CEC1: CPU busy above 95 % from 2026-11-20 09:00 to 12:00, at most 97.5 (and 3 more subjects)"
    )
    assert [line.split(":")[0] for line in full["details"]] == ["PRDA", "PRDA HIGH", "PRDA LATE"]
    late = found["performance index of PRDA"]
    assert late["text"] == ("PRDA LATE: performance index above 1 from 2026-11-20 20:00 to 22:00, at most 1.80"), (
        "less important work than the rule looks at is left out"
    )
    assert "R4HA above 95 % of its limit from 2026-11-20 17:00 to 18:00, at most 98" in found["R4HA of PRDB"]["text"]


def test_rules_of_the_installation_take_the_place_of_those_shipped(tmp_path, snapshot):
    own = SHORT + '[r4ha]\nkind = "r4ha"\nenabled = false\n[night-overflow]\nkind = "ziip_overflow"\nshift = "night"\n'
    found = [one["name"] for one in alerting.raised(snapshot, None, described(tmp_path, own), CALENDAR, DAY)]
    assert not [name for name in found if name.startswith("R4HA")]
    only = SHORT.replace("intervals = 2\nimportance = 3", 'intervals = 2\nimportance = 5\nsystems = ["PRDX"]')
    found = [one["name"] for one in alerting.raised(snapshot, None, described(tmp_path, only), CALENDAR, DAY)]
    assert "performance index of PRDA" not in found


def test_a_gap_is_one_alert_in_local_time_with_its_cause_and_an_outage_is_none(tmp_path):
    record(tmp_path)
    snapshot = tmp_path / "published" / "etalon.duckdb"
    with duckdb.connect(str(snapshot)) as con:
        con.execute(
            "INSERT INTO marts.fct_gap SELECT system, system, 7200.0, TIMESTAMP '2026-09-15 22:00:00', "
            "TIMESTAMP '2026-09-16 00:00:00', NULL FROM (VALUES ('PRDA'), ('PRDB')) s(system)"
        )
    found = gap_alerts.raised(snapshot, dt.date(2026, 9, 23), 4, [])
    assert [one["text"] for one in found] == [
        "PRDA: records lost from 2026-09-10 09:00 to 2026-09-10 09:30 local time (0.500 h): "
        "SMF lost 1,234 records (SMF 7: buffers full, or a filter)",
        "PRDA, PRDB: no records from 2026-09-15 22:00 to 2026-09-16 00:00 local time (2 h): "
        "no IPL or loss recorded: a dump may be missing",
    ]
    lack = {"system": "PRDA", "days": ("2026-09-10", "2026-09-15")}
    assert [one["name"] for one in gap_alerts.raised(snapshot, dt.date(2026, 9, 23), 4, [lack])] == [
        "gap of PRDB from 2026-09-15 22:00"
    ]
    [older] = gap_alerts.raised(snapshot, dt.date(2026, 12, 1), 4, [])
    assert older["text"].startswith("3 gaps before 2026-11-03; the longest: PRDA, 2 h")
    quality = {"verdict": "warn", "problems": ["warn: no gap: x"]}
    quality["rules"] = {"warn: no gap: x": "intervals_have_no_holes"}
    night = Night("2026-11-30", "2026-12-01T00:00:00Z", quality=quality)
    assert [one.name for one in night.unacknowledged] == ["warn: no gap: x"]
    night.alerts = [{**older, "is_new": True}]
    assert [one.name for one in night.unacknowledged] == ["older gaps"]


def test_intervals_of_measured_points_alert_nobody(tmp_path, snapshot):
    with duckdb.connect(str(snapshot)) as con:
        for mart in ("dim_interval", "fct_interval_utilization", "fct_service_class", "fct_ziip"):
            con.execute(f"UPDATE marts.{mart} SET point = 'P1'")
    found = [one["name"] for one in alerting.raised(snapshot, None, described(tmp_path, SHORT), CALENDAR, DAY)]
    assert found == ["R4HA of PRDB", "R4HA of capacity group GRP"]


def test_rules_find_nothing_where_their_tables_are_missing(tmp_path):
    path = tmp_path / "empty.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE SCHEMA marts")
    assert alerting.raised(path, None, described(tmp_path), CALENDAR, DAY) == []


def test_a_machine_that_is_short_is_one_alert_for_its_lpars(tmp_path, monkeypatch):
    machine = "machine CEC1"
    dates = {"PRDA": (machine, "2027-03-01"), "PRDB": (machine, "2027-02-01"), "PRDC": ("cp", "2028-01-01")}

    def headroom(bundle, system):
        resource, value = dates[system]
        return {"first": {"resource": resource, "value": value, "lo": "2026-12-24"}}

    monkeypatch.setattr("model.capacity.ask.headroom", headroom)
    bundle = {"systems": {**dict.fromkeys(dates, HISTORY), "points": SYSTEM}}
    [rule] = [rule for rule in described(tmp_path).values() if rule.kind == "headroom"]
    [found] = alerting.short(bundle, "headroom", rule, DAY)
    assert found["name"] == "headroom of machine CEC1"
    assert found["text"].startswith("PRDB: headroom below 6 months: machine CEC1 reaches its target on 2027-02-01")
    assert [line[:4] for line in found["details"]] == ["PRDA"]


def test_a_gap_between_intervals_ends_a_stretch():
    start = dt.datetime(2026, 11, 20)
    hours = (0, 1, 5, 6, 7)
    rows = [{"start": start + dt.timedelta(hours=hour), "seconds": 3600.0, "value": 2.0} for hour in hours]
    assert [len(stretch) for stretch in alerting.stretches(rows, 1.0)] == [2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[busy]\nkind = "cpu"\n', "busy: kind should be performance_index, cpu_busy, r4ha"),
        ("[busy]\nabove = 3\n", "busy: kind should be performance_index"),
        ('[busy]\nkind = "cpu_busy"\nabove = 300\n', "busy.above: Input should be less than or equal to 100"),
        ('[busy]\nkind = "cpu_busy"\nmonths = 3\n', "busy.months: unknown key"),
        ('[busy]\nkind = "cpu_busy"\nshift = "prim"\n', "busy.shift: no shift 'prim'; did you mean prime"),
        ('["a b"]\nkind = "gap"\n', "the name of a rule must consist of lower-case letters"),
        ("[busy\n", "docs/planning.md has an example"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_file_and_field(tmp_path, text, expected):
    with pytest.raises(EtalonError, match=r"alerts\.toml") as raised:
        described(tmp_path, text)
    assert expected in str(raised.value)
