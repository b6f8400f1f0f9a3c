"""Unusual values: what each mart says of engines, LPARs and systems that are not as most are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest import registry
from ingest import warehouse as loaded
from pipelines import steps
from pipelines.home import Home
from tests.marts.unusual import DAY, DEDICATED, MSU_PER_ENGINE, ZAAP, ZIIP, Engine, Interval, Lpar, at, quarters, write
from tests.once import made_once

Rows = Callable[[str], list[tuple[Any, ...]]]

#: Each system stands for one unusual value.
ENGINES = [
    Interval("PARK", Lpar("PARK", [Engine(ZIIP, threads=2), Engine(ZIIP, 0, 0, 0, 900, threads=2)])),
    Interval("WAIT", Lpar("WAIT", [Engine(effective_s=900, management_s=0, wait_s=630, wait_completion=True)])),
    Interval("DEDI", Lpar("DEDI", [Engine(effective_s=900, management_s=0, wait_s=630, weight=DEDICATED)])),
    Interval("PART", Lpar("PART", [Engine(effective_s=225, wait_s=225, online_s=450)])),
    Interval("ZAAP", Lpar("ZAAP", [Engine(), Engine(ZAAP, effective_s=90, wait_s=810)])),
    Interval("BOOS", Lpar("BOOS", boost=0x80)),
    Interval(
        "CAPS",
        Lpar(
            "CAPS",
            [
                *[Engine(capping_samples=600, capped_samples=250, cap_hundredths=150, group_cap_hundredths=250)] * 2,
                Engine(effective_s=0, management_s=0, wait_s=0, online_s=0),
            ],
            defined_msu=50,
            group="GROUP1",
            group_msu=100,
        ),
    ),
    Interval("SUBC", Lpar("SUBC", [Engine(), Engine(ZIIP)]), ziip_speed=2, ziip_units=1e5, ziip_on_cp_units=1e5),
]


def _everything(folder: Path) -> None:
    home, layouts = Home(folder), registry.load()
    plex1 = Interval("DUPL", Lpar("DUPL", [Engine(effective_s=90)]), sysplex="PLEX1", serial="01111", tasks=["SERVER"])
    plex2 = Interval("DUPL", Lpar("DUPL", [Engine(effective_s=180)]), sysplex="PLEX2", serial="02222", tasks=["SERVER"])
    copied = Interval("COPY", Lpar("COPY"), serial="03333", tasks=["SERVER"])
    moved = Interval("MOVE", Lpar("MOVE"), serial="04444")
    running = Interval("IPLS", Lpar("IPLS"), serial="06666")
    ended = running.at(at(8), seconds=420, own=Lpar("IPLS", [Engine(effective_s=210)]))
    started = running.at(DAY, ipl=at(9) + timedelta(minutes=55))
    files = {
        "engines": ENGINES,
        # SMF was switched to the next data set, and both were dumped with the record of the system's end.
        "before": [*quarters(running, 6, 8), ended],
        "after": [ended, *quarters(started, 10, 11)],
        "beside": [*beside("DOWN", "UPPP", "07777", is_down=True), *beside("LOST", "SEEN", "08888", is_down=False)],
        "plex1": quarters(plex1, 8, 9),
        "both": [*quarters(plex1, 9, 10), *quarters(plex2, 8, 10)],
        "copied": quarters(copied, 8, 12),
        "copy": quarters(copied, 10, 11),
        "moved": [*quarters(moved, 8, 10), *(one.at(one.start, serial="05555") for one in quarters(moved, 10.25, 12))],
    }
    files["copy"] = [one.at(one.start, serial="03334", tasks=["TESTED"]) for one in files["copy"]]
    paths = [write(folder / f"{name}.smf", intervals, layouts) for name, intervals in files.items()]
    reports = loaded.load(paths, home.warehouse, layouts)
    assert not [report.message for report in reports if report.exit_code]
    steps.build(home)


def beside(sid: str, neighbour: str, serial: str, *, is_down: bool) -> list[Interval]:
    """Two LPARs from 8 to 12, one without records from 9 to 11, in which its neighbour's records have it or not."""
    own, other = Lpar(sid), Lpar(neighbour, number=2)
    alone = Interval(neighbour, other, serial=serial, others=() if is_down else [own])
    return [
        *(
            one
            for first, last in ((8, 9), (11, 12))
            for one in quarters(Interval(sid, own, serial=serial, others=[other]), first, last)
        ),
        *(one for first, last in ((8, 9), (11, 12)) for one in quarters(alone.at(DAY, others=[own]), first, last)),
        *quarters(alone, 9, 11),
    ]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of these systems."""
    return Home(made_once(tmp_path_factory, "unusual", _everything)).warehouse


@pytest.fixture
def rows(warehouse: Path) -> Rows:
    """Rows of a query on the marts."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    return run


def test_a_parked_core_is_parked_once_under_smt(rows: Rows) -> None:
    """Two cores of two threads, one of them parked for all of the interval."""
    assert rows("select engines, online_s, parked_pct from marts.fct_interval_utilization where smf_sid = 'PARK'") == [
        (2, 1800, 50)
    ]


@pytest.mark.parametrize(("sid", "dedicated"), [("WAIT", 0), ("DEDI", 1)])
def test_an_engine_that_is_kept_while_it_waits_is_busy_for_the_rest(rows: Rows, sid: str, dedicated: int) -> None:
    busy = "select dedicated_engines, cpu_busy_pct, lpar_busy_pct, mvs_busy_pct from marts.fct_interval_utilization"
    assert rows(f"{busy} where smf_sid = '{sid}'") == [(dedicated, *[pytest.approx(30)] * 3)]
    assert rows(f"select msu from marts.fct_msu where name = '{sid}'") == [(pytest.approx(0.3 * 3.6),)]


def test_an_engine_that_was_varied_is_busy_in_part_of_its_time_online(rows: Rows) -> None:
    busy = "select engines, online_s, cpu_busy_pct, lpar_busy_pct from marts.fct_interval_utilization"
    assert rows(f"{busy} where smf_sid = 'PART'") == [(1, 450, 50, 52)]
    # MSU are of the whole interval.
    assert rows("select msu from marts.fct_msu where name = 'PART'") == [(pytest.approx(225 / 900 * 3.6),)]


def test_zaaps_are_no_cps(rows: Rows) -> None:
    busy = "select engine_type, engines, cpu_busy_pct from marts.fct_interval_utilization where smf_sid = 'ZAAP'"
    assert rows(f"{busy} order by 1") == [("CP", 1, 50), ("zAAP", 1, 10)]
    assert rows("select msu from marts.fct_msu where name = 'ZAAP'") == [(pytest.approx(1.8),)]


def test_work_of_fast_ziips_is_held_against_that_of_cps_at_one_speed(rows: Rows) -> None:
    """As many service units on zIIPs, of twice the speed, as of eligible work on CPs: a third ran on CPs."""
    columns = "ziip_service_s, ziip_service_at_cp_speed_s, ziip_on_cp_s, eligible_on_cp_share_pct"
    assert rows(f"select {columns} from marts.fct_ziip where smf_sid = 'SUBC'") == [
        (100, 200, 100, pytest.approx(100 / 3))
    ]


def test_systems_of_two_sysplexes_with_one_identifier_are_two(rows: Rows) -> None:
    systems = "select smf_sid, system_id, sysplex_name, cpc_serial, intervals from marts.dim_system"
    assert rows(f"{systems} where smf_sid like '%DUPL' order by 1") == [
        ("PLEX1.DUPL", "PLEX1.DUPL", "PLEX1", "01111", 8),
        ("PLEX2.DUPL", "PLEX2.DUPL", "PLEX2", "02222", 8),
    ]
    intervals = "select interval_key, sysplex_name, is_duplicated from marts.dim_interval where smf_sid like '%DUPL'"
    assert rows(f"{intervals} and interval_start_utc = '{at(9)}' order by 1") == [
        ("PLEX1.DUPL 2026-03-02T09:00:00Z", "PLEX1", False),
        ("PLEX2.DUPL 2026-03-02T09:00:00Z", "PLEX2", False),
    ]
    for mart, figure, expected in (
        ("fct_msu", "max(msu)", (90 / 900 * 3.6, 180 / 900 * 3.6)),
        ("fct_interval_utilization", "max(cpu_busy_pct)", (10, 20)),
        ("fct_service_class", "sum(transactions_ended)", (8_000, 8_000)),
        ("fct_address_space_cost", "sum(tcb_s)", (80, 80)),
        ("fct_cpc_interval", "max(dispatch_s)", (99, 189)),
    ):
        name = "name" if mart == "fct_msu" else "smf_sid"
        found = rows(f"select {name}, {figure} from marts.{mart} where {name} like '%DUPL' group by 1 order by 1")
        assert found == list(zip(("PLEX1.DUPL", "PLEX2.DUPL"), map(pytest.approx, expected), strict=True)), mart


def test_a_copy_that_runs_beside_the_system_is_one_of_its_own(rows: Rows) -> None:
    """As in a disaster-recovery test: of the same sysplex, on another machine at the same time."""
    systems = "select smf_sid, cpc_serial, intervals from marts.dim_system where smf_sid like 'COPY%' order by 1"
    assert rows(systems) == [("COPY", "03333", 16), ("COPY@03334", "03334", 4)]
    jobs = (
        "select smf_sid, sum(tcb_s) from marts.fct_address_space_cost where smf_sid like 'COPY%' group by 1 order by 1"
    )
    assert rows(jobs)[:2] == [("COPY", 160), ("COPY@03334", 40)]


def test_an_lpar_that_moved_is_one_system_on_two_machines(rows: Rows) -> None:
    assert rows("select smf_sid, cpc_serial, intervals from marts.dim_system where smf_sid like 'MOVE%'") == [
        ("MOVE", "05555", 15)
    ]
    assert rows("select cpc_serial, count(*) from marts.dim_interval where smf_sid = 'MOVE' group by 1 order by 1") == [
        ("04444", 8),
        ("05555", 7),
    ]


def r4ha(rows: Rows, sid: str) -> dict[str, tuple[float, ...]]:
    """MSU of intervals by local start: their average, that of hours, and the hours averaged."""
    found = rows(
        "select strftime(interval_start_local, '%H:%M'), r4ha_msu, hourly_r4ha_msu, hours_averaged from marts.fct_msu "
        f"where scope = 'lpar' and name = '{sid}'"
    )
    return {start: tuple(figures) for start, *figures in found}


def test_an_outage_that_an_ipl_ended_counts_as_zero(rows: Rows) -> None:
    """Down from 8:07 to 10:00. The interval that ended with the system lasted seven minutes, in two dumps."""
    intervals = (
        "select count(*), count(*) filter (where interval_s = 420) from marts.dim_interval where smf_sid = 'IPLS'"
    )
    assert rows(intervals) == [(13, 1)]
    gaps = "select gap_s, ipl_local from marts.fct_gap where smf_sid = 'IPLS'"
    assert rows(gaps) == [(6_780, at(9) + timedelta(minutes=55))]
    used = MSU_PER_ENGINE / 2
    found = r4ha(rows, "IPLS")
    # The clock hour in which the system ended is one of seven minutes.
    assert found["08:00"] == (pytest.approx(used), pytest.approx(used * (2 + 7 / 60) / 3), pytest.approx(2 + 7 / 60))
    # From 6:15 to 8:07 and from 10:00 to 10:15 of four hours; by hours 1, 7/60, 0 and all that is known of the last.
    assert found["10:00"] == (
        pytest.approx(used * (112 + 15) / 240),
        pytest.approx(used * (1 + 7 / 60 + 0 + 1) / 4),
        pytest.approx(4),
    )


def test_an_lpar_that_others_show_as_down_counts_as_zero_and_missing_records_do_not(rows: Rows) -> None:
    used = MSU_PER_ENGINE / 2
    assert r4ha(rows, "DOWN")["11:00"] == (
        pytest.approx(used * 75 / 195),
        pytest.approx(used / 2),
        pytest.approx(3.25),
    )
    assert r4ha(rows, "LOST")["11:00"] == (pytest.approx(used), pytest.approx(used), pytest.approx(1.25))


def test_a_machine_has_the_lpars_that_others_describe(rows: Rows) -> None:
    """The neighbour's records have LOST while its own are missing; DOWN is not there."""
    found = rows(
        "select name, hour(interval_start_local), sum(msu * interval_s) / 3600 from marts.fct_msu "
        "where scope = 'cpc' and name in ('07777', '08888') group by all order by all"
    )
    both, one = pytest.approx(MSU_PER_ENGINE), pytest.approx(MSU_PER_ENGINE / 2)
    assert found == [
        *(("07777", hour, msu) for hour, msu in ((8, both), (9, one), (10, one), (11, both))),
        *(("08888", hour, both) for hour in (8, 9, 10, 11)),
    ]


def test_caps_and_capping_are_those_of_all_engines_of_a_type_together(rows: Rows) -> None:
    columns = (
        "wlm_capping_pct, capped_pct, cap_engines, group_cap_engines, defined_capacity_msu, capacity_group_name, "
        "capacity_group_limit_msu, logical_processors"
    )
    assert rows(f"select {columns} from marts.fct_cpc_interval where lpar_name = 'CAPS'") == [
        (60, 25, 1.5, 2.5, 50, "GROUP1", 100, 2)
    ]


def test_a_boost_is_seen(rows: Rows) -> None:
    boosts = "select is_ziip_boost, is_speed_boost from marts.fct_cpc_interval where lpar_name = "
    assert rows(f"{boosts} 'BOOS'") == [(True, False)]
    assert rows(f"{boosts} 'CAPS'") == [(False, False)]
