"""Records and collector files rendered from published measurements come out of the marts as the published values."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb
import pytest

from model.published import catalogue
from model.studies.reproduction.report import summary
from model.studies.reproduction.verdicts import Marts, Result, compare
from tests.marts.published import EXPECTED
from tests.marts.warehouses import OWN_METRIC, TASKS_OF
from tests.shared import shared

SYSTEMS = tuple(EXPECTED)


def rows(path: Path, query: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql(query).to_arrow_table().to_pylist()


@pytest.fixture(scope="module")
def results(warehouse: Path) -> dict[str, tuple[Result, ...]]:
    """Every published figure of the systems beside what the marts say."""
    marts = Marts(rows(warehouse, "select * from marts.fct_point_metric where is_run order by workload"))
    return {system: compare(system, marts) for system in SYSTEMS}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_published_value_comes_back_as_printed_or_is_contradicted_by_the_paper(
    results: dict[str, tuple[Result, ...]], system: str
) -> None:
    failing = [
        (r.figure.metric, r.figure.condition, r.computed, r.note) for r in results[system] if r.verdict == "failing"
    ]
    assert failing == []
    values, excepted = EXPECTED[system]
    assert summary(results[system]) == {
        "values": values,
        "equal": values - excepted,
        "excepted": excepted,
        "failing": 0,
    }


def test_the_figures_compared_are_those_of_the_evidence() -> None:
    with shared("evidence/measurements.csv").open(newline="", encoding="utf-8") as stream:
        evidence = [row for row in csv.DictReader(stream) if row["scenario_id"] in SYSTEMS]
    figures = [(name, figure) for name in SYSTEMS for figure in catalogue.system(name).figures]
    assert sorted(
        (row["scenario_id"], row["table"], row["condition"], row["metric"], row["value"]) for row in evidence
    ) == (sorted((name, figure.table, figure.condition, figure.metric, figure.value) for name, figure in figures))


def test_the_headline_figures_are_there(warehouse: Path) -> None:
    points = rows(warehouse, "select * from marts.fct_point where is_run")
    by_system = {row["system_id"]: row for row in points if row["etr_tps"] is not None}
    z13, z14 = by_system["ims14-ff-haldb-z13"], by_system["ims14-ff-haldb-z14"]
    assert (round(z13["itr_tps"], 2), round(z13["cpu_us_per_tran"], 2)) == (7504.83, 532.99)
    assert (round(z14["itr_tps"], 2), round(z14["cpu_us_per_tran"], 2)) == (8017.71, 498.90)
    measured = [row["point"] for row in points if row["system_id"] == "cics53-18cp" and row["cpu_busy_pct"] is not None]
    assert sorted(measured) == ["1", "2", "3", "5"]


def test_lpars_measured_together_are_told_apart_and_add_up(warehouse: Path) -> None:
    found = {
        (row["subject"], row["metric"]): row["value"]
        for row in rows(
            warehouse,
            "select * from marts.fct_point_metric where system_id = 'ims10-connect-ds' and point = 'IMS V10'",
        )
    }
    assert found["", "etr_tps"] == pytest.approx(found["I10D", "lpar_etr_tps"] + found["I10E", "lpar_etr_tps"])
    assert found["", "itr_tps"] == pytest.approx(found["", "etr_tps"] / (found["", "cpu_busy_pct"] / 100))
    assert found["I10D", "lpar_cpu_busy_pct"] == pytest.approx(77.6, abs=0.05)


def test_a_storage_column_that_does_not_add_up_is_excepted_with_its_arithmetic(
    results: dict[str, tuple[Result, ...]],
) -> None:
    excepted = {
        (result.figure.conditions.get("sessions"), result.figure.metric): result
        for result in results["cs113-ftp-out-1500ms"]
        if result.verdict == "excepted"
    }
    found = excepted["32", "storage_kb"]
    assert (found.figure.value, found.computed) == ("23864", 22864)
    assert found.note.startswith("153364 - 20200 - 21900 - 71200 - 17200 gives ")


def test_every_metric_says_how_it_is_made_and_of_what(warehouse: Path) -> None:
    query = f"select metric, formula, source from marts.dim_metric where metric <> '{OWN_METRIC}'"
    metrics = rows(warehouse, query)
    assert [row for row in metrics if row["formula"] is None or row["source"] is None] == []
    assert len(metrics) > 120


def test_figures_of_records_are_those_of_the_rmf_report_of_the_same_interval(warehouse: Path) -> None:
    found = rows(
        warehouse, "select subject, field, etalon_value, rmf_value, excess_pct from marts.fct_rmf_reconciliation"
    )
    fields = {row["field"] for row in found}
    assert fields >= {"service_units", "service_per_s", "absorption_per_s", "appl_cp_pct"}
    assert [row for row in found if row["excess_pct"] > 0] == []
    assert any(row["etalon_value"] > 0 for row in found)


def test_statistics_of_cics_classes_come_from_task_records(warehouse: Path) -> None:
    query = "select count(*) as n, count(distinct applid) as regions from staging.stg_smf110_1_performance"
    [tasks] = rows(warehouse, f"{query} where smf_sid <> '{TASKS_OF}'")
    [listed] = rows(warehouse, "select sum(tasks) as n from staging.stg_cics_pa_class")
    [measured] = rows(
        warehouse,
        "select sum(value) as n from marts.fct_point_metric where metric = 'tasks' and subject like 'service class %'",
    )
    assert (tasks["n"], tasks["regions"], measured["n"]) == (23123, 1, 23123)
    assert 0 < listed["n"] <= 2 * tasks["n"]
