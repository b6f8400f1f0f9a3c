"""An error in a stage of the fit for one of three systems: it is reported, and everything else is served."""

import shutil
from pkgutil import resolve_name

import duckdb
import pandas as pd
import pytest

from model.capacity import bundle as bundles
from model.capacity.ask import predict
from model.validation import holdout
from pipelines import steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from tests.model.points import made_points
from tests.pipelines.histories import empty_marts

SYSTEMS = ("bank", "mill", "shop")
RATES = [1500.0, 2500.0, 3500.0, 5000.0]
AT = {"etr_tps": 3000.0}


def publish(home, demand_us):
    """A snapshot with measured points of three systems and no intervals."""
    points = pd.concat(
        [
            made_points(name, RATES, fixed=0.2, demand_us=demand_us, seed=i, noise=0.003)
            for i, name in enumerate(SYSTEMS)
        ]
    )
    points["is_run"] = True
    home.snapshot.parent.mkdir(parents=True, exist_ok=True)
    home.snapshot.unlink(missing_ok=True)
    with duckdb.connect(str(home.snapshot)) as con:
        empty_marts(con)
        con.execute(
            "CREATE TABLE marts.fct_interval_utilization (interval_key VARCHAR, system_id VARCHAR, smf_sid VARCHAR, "
            "interval_start_utc TIMESTAMP, interval_start_local TIMESTAMP, interval_s DOUBLE, engine_type VARCHAR, "
            "engines DOUBLE, busy_s DOUBLE, thread_density DOUBLE)"
        )
        con.execute("CREATE TABLE marts.dim_interval AS FROM marts.fct_interval_utilization")
        con.execute("ALTER TABLE marts.dim_system ADD COLUMN service_units_per_s DOUBLE")
        con.execute("ALTER TABLE marts.dim_system ADD COLUMN software_service_units_per_s DOUBLE")
        con.execute(
            "CREATE TABLE marts.fct_point_metric (system_id VARCHAR, point VARCHAR, subject VARCHAR, metric VARCHAR, "
            "value DOUBLE, value_se DOUBLE, unit VARCHAR, condition VARCHAR, workload VARCHAR, is_run BOOLEAN)"
        )
        con.execute("CREATE TABLE marts.fct_point AS FROM points")
        con.execute("CREATE SCHEMA meta")
        con.execute("CREATE TABLE meta.ledger AS SELECT ? AS sha256, 1 AS bytes, 'loaded' AS status", [str(demand_us)])


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A state folder with a champion of the three systems, and data that are newer than it."""
    home = Home(tmp_path_factory.mktemp("faults"))
    publish(home, 1000.0)
    fitted = steps.fit(home)
    assert (fitted.promoted, fitted.systems, fitted.faults) == (True, SYSTEMS, {})
    publish(home, 1200.0)
    return home


@pytest.fixture
def home(first, tmp_path):
    return Home(shutil.copytree(first.root, tmp_path / "state"))


STAGES = {
    "calibration": (
        "model.calibration.points.CapacityModel._system",
        lambda self, points, *_: points.system_id == "mill",
    ),
    "rating": ("model.calibration.systems._rated", lambda parameters, *_: "mill" in str(parameters.classes)),
    "validation": ("model.validation.holdout.predict", lambda bundle, system, *_: system == "mill"),
    "replay of recorded transactions": ("pipelines.transactions.replayed", lambda home, bundle, name: name == "mill"),
    "plot": ("model.validation.plots._usage", lambda system, *_: system == "mill"),
    "plot of all": ("model.validation.plots._residuals", lambda rows, _: "mill" in set(rows["system"])),
    "network": ("model.capacity.network_export.export_network", lambda bundle, name: name == "mill"),
    "metrics": ("model.registry.evidence._figures", lambda system, *_: system == "mill"),
}


def fail(monkeypatch, where, concerns):
    original = resolve_name(where)

    def failing(*arguments, **named):
        if concerns(*arguments, **named):
            raise ZeroDivisionError("on purpose")
        return original(*arguments, **named)

    monkeypatch.setattr(where, failing)


@pytest.mark.parametrize("stage", STAGES)
def test_a_system_that_fails_keeps_its_last_good_version_and_the_others_get_theirs(stage, home, monkeypatch):
    before = bundles.read(home.champion)
    fail(monkeypatch, *STAGES[stage])
    fitted = steps.fit(home)
    assert list(fitted.faults) == ["mill"]
    assert "ZeroDivisionError: on purpose (test_faults.py:" in fitted.faults["mill"]
    assert fitted.faults["mill"].startswith(stage.removesuffix(" of all") if stage != "rating" else "calibration")
    assert fitted.promoted and fitted.systems == SYSTEMS
    assert fitted.kept == {"mill": fitted.kept["mill"]}
    assert fitted.kept["mill"]["model_version"] == before["model_version"]
    after = bundles.read(home.champion)
    assert after["model_version"] == fitted.model_version != before["model_version"]
    for system in SYSTEMS:
        was, now = (predict(one, system, AT).output("cpu_busy_pct").value for one in (before, after))
        assert (now == was) == (system == "mill")


def test_a_system_that_fails_without_a_version_before_is_left_out(home, monkeypatch):
    shutil.rmtree(home.mlflow)
    home.champion.unlink()
    fail(monkeypatch, *STAGES["network"])
    fitted = steps.fit(home)
    assert fitted.promoted and fitted.systems == ("bank", "shop")
    assert "on purpose" in fitted.left_out["mill"]
    assert "on purpose" in bundles.read(home.champion)["refused"]["mill"]


def test_where_all_systems_fail_the_champion_stays_and_the_fault_is_told(home, monkeypatch):
    before = home.champion.read_bytes()
    fail(monkeypatch, STAGES["calibration"][0], lambda *_: True)
    with pytest.raises(EtalonError, match="on purpose") as raised:
        steps.fit(home)
    assert raised.value.code == Exit.FAILED
    assert home.champion.read_bytes() == before


def test_a_figure_without_an_upper_limit_is_null_with_its_reason(home, monkeypatch):
    row = holdout._row
    monkeypatch.setattr(
        holdout, "_row", lambda *of: row(*of) | ({"half_width_pct": float("inf")} if of[0] == "mill" else {})
    )
    fitted = steps.fit(home)
    assert fitted.promoted and fitted.faults == {}
    [error] = [
        one
        for one in bundles.read(home.champion)["validation"]["errors"]
        if one["system"] == "mill" and one["metric"] == "cpu_busy_pct"
    ]
    assert error["half_width_pct"] is None
    assert error["null_reasons"] == {"half_width_pct": "no upper limit"}
