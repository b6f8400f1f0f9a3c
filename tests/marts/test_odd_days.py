"""Days on which clocks are set, dumps that overlap, several systems and releases out of order: all counts once."""

from __future__ import annotations

import pytest

from tests.marts.conftest import Query
from tests.marts.odd_days import ENGINES, LENGTH, MACHINES, Machine, busy

#: Condition that picks the rows of these systems.
THEIRS = f"smf_sid in {tuple(machine.sid for machine in MACHINES)}"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.sid)
def test_intervals_stand_where_they_were_in_utc_and_on_the_wall(marts: Query, machine: Machine) -> None:
    rows = marts(f"select * from marts.dim_interval where smf_sid = '{machine.sid}' order by interval_start_utc")
    assert [row["interval_start_utc"] for row in rows] == machine.starts()
    assert [row["interval_end_utc"] for row in rows] == [start + LENGTH for start in machine.starts()]
    assert [row["interval_start_local"] for row in rows] == [machine.local(start) for start in machine.starts()]
    assert not any(row["is_duplicated"] for row in rows)


def test_the_wall_clocks_of_these_days_skip_and_repeat(marts: Query) -> None:
    rows = marts(
        "select smf_sid, count(*) as n, count(distinct interval_start_local) as n_local, "
        "epoch(max(interval_start_local) - min(interval_start_local)) / 60 as minutes "
        f"from marts.dim_interval where {THEIRS} group by 1 order by 1"
    )
    found = {row["smf_sid"]: (row["n"], row["n_local"], row["minutes"]) for row in rows}
    assert found == {
        "EUR1": (6, 6, 5 * 15 + 60),
        "USA1": (8, 4, 3 * 15),
        "LEAP": (4, 4, 3 * 15),
    }


def test_every_record_counts_once_in_its_own_interval(marts: Query) -> None:
    rows = marts(
        "select u.smf_sid, u.interval_start_utc, u.engines, u.cpu_busy_pct, t.transactions_ended, a.tcb_s, a.start_utc "
        "from marts.fct_interval_utilization u "
        "join marts.fct_transaction_cost t using (interval_key) "
        "join marts.fct_address_space_cost a using (interval_key) "
        f"where u.{THEIRS} order by 1, 2"
    )
    expected = [
        (machine.sid, start, ENGINES, pytest.approx(100 * busy(number)), 1000 + number, number + 1, start)
        for machine in sorted(MACHINES, key=lambda machine: machine.sid)
        for number, start in enumerate(machine.starts())
    ]
    assert [tuple(row.values()) for row in rows] == expected


def test_systems_belong_to_their_sysplex(marts: Query) -> None:
    rows = marts(f"select smf_sid, sysplex_name from marts.dim_system where {THEIRS} order by 1")
    assert [tuple(row.values()) for row in rows] == sorted((m.sid, m.sysplex) for m in MACHINES)
