"""What stations of a network besides the engines show in the marts: named resources, volumes, coupling facilities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from model.lab.twin import live
from model.lab.twin.measured import Measured, measured
from tests.marts import stations


@pytest.fixture(scope="module")
def marts(warehouse: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, Measured]]:
    """The marts of its records, and what they say of its first LPAR."""
    lived = live(stations.twin())
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        yield connection, measured(lived, lived.lpars[0])


def test_a_resource_stands_under_its_name_even_where_nobody_waited_for_it(marts) -> None:
    connection, truth = marts
    rows = connection.execute(
        "select distinct state from marts.fct_transaction_state "
        "where is_resource_type and phase = 'begin to end' and smf_sid = ?",
        [truth.lpar.smf_sid],
    ).fetchall()
    assert rows == [("MXT",)]


def test_states_have_the_time_in_which_samples_found_transactions(marts) -> None:
    connection, truth = marts
    rows = connection.execute(
        "select state, sum(state_s), sum(samples) from marts.fct_transaction_state "
        "where not is_resource_type and smf_sid = ? group by 1",
        [truth.lpar.smf_sid],
    ).fetchall()
    assert {"active", "io wait"} <= {state for state, _, _ in rows}
    assert all(seconds == pytest.approx(0.25 * samples) and samples > 0 for _, seconds, samples in rows)


def test_volumes_belong_to_the_storage_group_that_is_named_like_their_station(marts) -> None:
    connection, truth = marts
    [(volumes, busy_s)] = connection.execute(
        "select count(distinct device_number), sum(busy_pct * interval_s) / 100 from marts.fct_device "
        "where storage_group = 'dasd' and smf_sid = ?",
        [truth.lpar.smf_sid],
    ).fetchall()
    assert volumes == 8
    assert busy_s == pytest.approx(truth.device_using_s.sum(), rel=0.02)


def test_a_coupling_facility_is_as_busy_as_its_processors(marts) -> None:
    connection, truth = marts
    [(name, processors, requests, busy_s, busy_pct)] = connection.execute(
        "select facility_name, max(processors), sum(requests), sum(busy_s), "
        "sum(busy_pct * interval_s) / sum(interval_s) "
        "from marts.fct_facility_utilization where smf_sid = ? group by 1",
        [truth.lpar.smf_sid],
    ).fetchall()
    assert (name, processors) == ("cf", 2)
    assert requests == pytest.approx(truth.requests.sum(), rel=1e-3)
    assert busy_s == pytest.approx(truth.facility_busy_s.sum(), rel=1e-3)
    assert busy_pct == pytest.approx(100.0 * truth.facility_busy_s.sum() / 2 / 3600 / len(truth.starts), rel=1e-3)
