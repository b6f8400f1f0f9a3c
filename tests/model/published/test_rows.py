"""Reading what laws are fitted to."""

import pytest

from model.published import catalogue
from model.published.catalogue import target
from model.published.identities import sums
from model.published.reading import read_catalogue
from model.published.tables import Tables


def marts_of(system_id):
    """Rows as `fct_point_metric` would have them, made of the printed figures."""
    system = catalogue.system(system_id)
    for figure in system.figures:
        wanted = target(system, figure)
        if wanted is not None:
            yield {
                "system_id": system_id,
                "point": wanted.point,
                "subject": wanted.subject,
                "metric": wanted.metric,
                "value": figure.number / wanted.factor,
                "value_se": 0.5,
            }


@pytest.mark.parametrize("system_id", ["ims10-msc-ctc", "cs113-tn3270-clear-30s", "ims10-shared-emh"])
def test_rows_of_the_marts_are_those_of_the_catalogue(system_id):
    printed = {(r.table, r.metric, tuple(r.condition.items())): r for r in read_catalogue([system_id]).rows}
    measured = read_catalogue([system_id], marts_of(system_id)).rows
    assert len(measured) == len(printed)
    for row in [row for row in measured if row.judged]:
        known = printed[row.table, row.metric, tuple(row.condition.items())]
        assert row.value == pytest.approx(known.value, rel=1e-12)
        assert row.se > 0


def test_a_contradicted_figure_has_the_value_that_the_others_leave_and_is_not_judged():
    (row,) = [
        row
        for row in read_catalogue(["cs113-tn3270-clear-30s"]).rows
        if row.condition == {"sessions": "128000", "component": "TN3270 LSQA/SWA/229/230 Above"}
    ]
    assert (row.value, row.judged) == (451000, False)


def test_a_suspect_figure_weighs_little_and_is_not_judged():
    rows = [row for row in read_catalogue(["cs113-ftp-out-1500ms"]).rows if row.table == "ftp_storage"]
    at_64 = [row for row in rows if row.condition["sessions"] == "64"]
    assert at_64
    assert all(row.se == row.value and not row.judged for row in at_64)
    assert all(row.se == 0 for row in rows if row not in at_64)


def test_what_follows_in_a_workload_follows_in_every_system_that_runs_it():
    study = read_catalogue(["cics53-18cp", "cics53-26cp"])
    known = {(row.system, row.metric): row.value for row in study.rows if row.table == "lpar_summary"}
    (entry,) = [entry for entry in study.identities if entry.metric == "sdt_reads_per_s"]
    assert (entry.system, entry.rule, entry.factor) == ("cics53-26cp", "difference", 5)
    total, updates = (known["cics53-18cp", operand.metric] for operand in entry.operands)
    assert known["cics53-18cp", "sdt_reads_per_s"] == 5 * (total - updates)


def test_what_follows_from_rows_of_the_marts_that_are_no_figure_is_as_printed():
    for marts in (None, marts_of("cics53-18cp")):
        rows = [row for row in read_catalogue(["cics53-18cp"], marts).rows if row.metric == "routed_tps"]
        assert [(row.value, row.judged) for row in rows] == [(23251, False)]


def test_what_the_marts_lack_is_left_out():
    assert read_catalogue(["ims10-msc-ctc"], []).rows == ()


def test_systems_known_by_claims_only_keep_what_is_printed_of_them():
    assert {row.value for row in read_catalogue(["ims14-ff-vsam-encrypt"], []).rows} == {3.0, 17.0, 21.0}


def test_totals_of_a_table_are_found_with_all_their_parts():
    tables = Tables(read_catalogue(["cs113-tn3270-clear-30s", "cs113-tn3270-ipsec-30s"]).rows)
    parts = {total.total: len(total.parts) for table in tables.blocks.values() for total in sums(table)}
    assert parts == {
        "Total": 13,
        "Total Above": 7,
        "Total Below": 6,
        "Total TCP/IP Private": 4,
        "Total TN3270 Private": 4,
    }


def test_a_metric_printed_in_several_units_has_that_of_its_section():
    tables = Tables(read_catalogue().rows)
    for row in tables.rows:
        table = tables.blocks[row.study or row.system, row.table]
        cell = table.cell(row.system, row.metric, row.condition, row.subject)
        assert table.unit(cell) == row.unit
    table = tables.blocks["cics22_java", "wlm_report_class"]
    not_measured = {"report_class": "RCTG", "section": "SERVICE"}
    assert table.unit(table.cell("cicsjava-s3-8h-19tps", "SRB", not_measured)) == "service units"
