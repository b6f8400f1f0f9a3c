"""Reading what laws are fitted to."""

import pytest

from model.capacity.conditions.identities import all_sums, definitions
from model.capacity.conditions.reading import read_catalogue
from model.capacity.conditions.tables import Tables
from model.lab.targeting import target
from model.systems import catalogue


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
    for row in measured:
        known = printed[row.table, row.metric, tuple(row.condition.items())]
        assert row.value == pytest.approx(known.value, rel=1e-12)
        assert row.se > 0


def test_what_the_marts_lack_is_left_out():
    assert read_catalogue(["ims10-msc-ctc"], []).rows == ()


def test_systems_known_by_claims_only_keep_what_is_printed_of_them():
    assert {row.value for row in read_catalogue(["ims14-ff-vsam-encrypt"], []).rows} == {3.0, 17.0, 21.0}


def test_totals_of_a_table_are_found_with_all_their_parts():
    tables = Tables(read_catalogue(["cs113-tn3270-clear-30s", "cs113-tn3270-ipsec-30s"]).rows)
    (found,) = all_sums(tables.blocks.values()).values()
    parts = {total.total: len(total.parts) for total in found}
    assert parts == {
        "Total": 13,
        "Total Above": 7,
        "Total Below": 6,
        "Total TCP/IP Private": 4,
        "Total TN3270 Private": 4,
    }


def test_definitions_hold_where_measured_values_obey_them():
    tables = Tables(read_catalogue(["ims10-base-fp", "ims10-connect-smq"]).rows)
    assert definitions(tables.blocks["ims10", "throughput_runs"])[0][0] == "itr_tps"
