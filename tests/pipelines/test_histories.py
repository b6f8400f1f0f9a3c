"""A model is calibrated on recent intervals, each system's own."""

import duckdb
import pytest

from pipelines import histories
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from tests.pipelines.histories import empty_marts


def test_intervals_before_the_days_of_calibration_are_left_out(tmp_path, monkeypatch):
    home = Home(tmp_path)
    home.snapshot.parent.mkdir(parents=True)
    with duckdb.connect(str(home.snapshot)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.fct_interval_utilization AS SELECT smf_sid || day AS interval_key, smf_sid AS "
            "system_id, smf_sid, TIMESTAMP '2026-11-01' - INTERVAL (day) DAY AS interval_start_utc, interval_start_utc "
            "AS interval_start_local, 86400.0 AS interval_s, 'CP' AS engine_type, 4.0 AS engines, 90.0 AS busy_s, "
            "NULL::DOUBLE AS thread_density FROM range(200) AS t(day), (VALUES ('SYSA'), ('SYSB')) AS s(smf_sid) "
            "WHERE smf_sid = 'SYSA' OR day >= 150"
        )
        con.execute(
            "INSERT INTO marts.fct_interval_utilization BY NAME SELECT * REPLACE ('wrong date' AS interval_key, "
            "TIMESTAMP '2042-09-17' AS interval_start_utc, interval_s / 2 AS interval_s) "
            "FROM marts.fct_interval_utilization LIMIT 1"
        )
        con.execute("CREATE TABLE marts.dim_interval AS FROM marts.fct_interval_utilization")
        empty_marts(con)
    monkeypatch.setenv("ETALON_FIT_DAYS", "30")
    seen = {}
    monkeypatch.setattr("model.calibration.intervals.histories", seen.update)
    histories.recent(home)
    assert dict(seen["utilization"].groupby("smf_sid").size()) == {"SYSA": 30, "SYSB": 30}
    with duckdb.connect(str(home.snapshot)) as con:
        con.execute("ALTER TABLE marts.fct_service_class DROP COLUMN mean_idle")
    with pytest.raises(EtalonError, match=r"of another version .*mean_idle.*; run `etalon build`") as raised:
        histories.recent(home)
    assert raised.value.code == Exit.NOT_READY
