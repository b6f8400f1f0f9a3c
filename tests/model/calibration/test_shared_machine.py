"""What an LPAR's history says of its machine: who shares its engines, and how much they use."""

import pandas as pd
import pytest

from model.calibration.intervals import histories

START, COUNT, SECONDS = pd.Timestamp("2026-09-07"), 96, 900.0
LPARS = {
    "PRDA": {"weight": 500.0, "logical_processors": 6.0, "used": 3.0, "cap_engines": 5.5},
    "PRDB": {"weight": 300.0, "logical_processors": 4.0, "used": 1.5, "is_initially_capped": True},
    "PRDC": {"weight": 200.0, "logical_processors": None, "used": 0.5, "cap_engines": 2.5},
    "OWNS": {"weight": None, "logical_processors": 2.0, "used": 1.0, "is_dedicated": True},
    "PHYSICAL": {"weight": None, "logical_processors": None, "used": 0.1},
}


def machines() -> pd.DataFrame:
    """Rows of every LPAR of a machine of ten engines, two of them dedicated."""
    usual = {"is_dedicated": False, "is_initially_capped": False, "cap_engines": None} | {
        "shared_engines": 8.0, "physical_engines": 10.0,
    }  # fmt: skip
    parts = []
    for name, about in LPARS.items():
        part = pd.DataFrame({"interval_start_utc": [START + pd.Timedelta(seconds=SECONDS * i) for i in range(COUNT)]})
        known = {**usual, **about, "lpar_name": name, "smf_sid": name if name == "PRDA" else None}
        dispatch = known.pop("used") * SECONDS
        parts.append(part.assign(machine="M1", engine_type="CP", interval_s=SECONDS, dispatch_s=dispatch, **known))
    cps = pd.concat(parts, ignore_index=True)
    own = {"PRDA": 1.0, "PRDB": 0.4, "PRDC": 0.2}
    on_ziips = cps[cps["lpar_name"].isin(own)].assign(engine_type="zIIP", shared_engines=3.0)
    return pd.concat([cps, on_ziips.assign(dispatch_s=on_ziips["lpar_name"].map(own) * SECONDS)], ignore_index=True)


@pytest.fixture(scope="module")
def machine():
    keys = [f"I{i}" for i in range(COUNT)]
    starts = [START + pd.Timedelta(seconds=SECONDS * i) for i in range(COUNT)]
    about = {"system_id": "PRDA", "smf_sid": "PRDA", "interval_key": keys, "interval_s": SECONDS}
    busy = pd.DataFrame(
        {
            **about,
            "interval_start_utc": starts,
            "interval_start_local": starts,
            "engine_type": "CP",
            "engines": 6.0,
            "busy_s": 3.0 * SECONDS,
            "thread_density": None,
        }
    )
    figures = (
        "response_ms",
        "response_p90_estimate_ms",
        "cp_s",
        "appl_ziip_pct",
        "appl_ziip_on_cp_pct",
        "ios_per_tran",
        "mean_idle",
    )
    work = pd.DataFrame(
        {
            **about,
            "class_kind": "service_class",
            "class_name": "ONLINE",
            "workload": "CICS",
            "importance": 1.0,
            "goal_kind": "average response",
            "transactions_ended": 100.0,
            **dict.fromkeys(figures, 1.0),
        }
    )
    systems = pd.DataFrame({"system_id": ["PRDA"], "smf_sid": ["PRDA"], "cpc_type": ["3931"]})
    return histories(busy, work, systems, machines())["PRDA"].machine


def test_the_others_are_those_that_share_its_engines(machine):
    assert (machine.engines, machine.cap_engines) == (8.0, 5.5)
    assert {one.name: (one.engines, one.weight, one.capped) for one in machine.others} == {
        "PRDB": (4.0, 300.0, True),
        "PRDC": (2.5, 200.0, False),
    }
    assert [one.part for one in machine.others] == pytest.approx([0.75, 0.25])


def test_what_each_of_the_others_uses_is_known_and_what_they_use_of_zIIPs(machine):
    assert machine.lpar == "PRDA"
    assert {name: used_s[0] / SECONDS for name, used_s in machine.lpars_s.items()} == pytest.approx(
        {"PRDB": 1.5, "PRDC": 0.5}
    )
    assert (machine.ziips, machine.ziip_others_s[0]) == (3.0, pytest.approx(0.6 * SECONDS))


def test_what_they_use_leaves_out_dedicated_engines_and_partition_management(machine):
    assert machine.others_s == pytest.approx([2.0 * SECONDS] * COUNT)
    assert machine.management_s == pytest.approx([0.1 * SECONDS] * COUNT)
    assert (machine.weight, machine.total_weight) == (500.0, 1000.0)
