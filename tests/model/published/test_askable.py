"""What is offered of a system measured at conditions: whatever is, can be asked."""

import pytest

from model.capacity import ask
from model.published.ask import conditions_of
from model.published.model import fit
from model.published.observations import Observation


@pytest.fixture(scope="module")
def studied(bundle):
    rows = [
        Observation("link", metric, {"buffer_kb": size, "mode": mode}, value * by, "s", "link")
        for size, value in (("4", 12.0), ("8", 10.0), ("32", 9.0))
        for mode, by in (("no", 2.0), ("yes", 1.0))
        for metric in ("send_s", "receive_s")
    ]
    for users, rate in (("100", 20.0), ("200", 39.0), ("400", 70.0)):
        rows.append(Observation("people", "throughput", {"users": users}, rate, "tran/s", "usage"))
        rows += [
            Observation("people", "storage_kb", {"sessions": users, "component": part}, kb, "KB", "storage")
            for part, kb in (("private", 100.0 + float(users)), ("common", 64.0))
        ]
    rows.append(Observation("shop", "etr_tps", {"release": "R1"}, 6000.0, "tran/s", "runs"))
    rows.append(Observation("shop", "etr_tps", {"release": "R2"}, 6000.0, "tran/s", "runs"))
    facts = {"link": {"messages_sent": "9999"}, "people": {"think_time": "4"}, "shop": {"dedicated_cps": "8"}}
    return {**bundle, "conditions": fit(rows, facts)}


def test_numbers_come_with_their_levels_and_parts_of_a_measurement_apart(studied):
    found = {one.key: one for one in conditions_of(studied, "people")}
    # Users and sessions are one population.
    assert found.keys() == {"users", "component", "etr_tps", "think_time"}
    assert (found["users"].is_number, found["users"].levels) == (True, ("100", "200", "400"))
    assert [key for key, one in found.items() if one.selects] == ["component"]
    assert found["think_time"].today == 4
    assert next(one for one in conditions_of(studied, "link") if one.key == "messages_sent").today == 9999
    assert {one.key for one in conditions_of(studied, "shop")} == {"release", "etr_tps", "engines"}
    assert conditions_of({**studied, "conditions": {}}, "shop") == []


@pytest.mark.parametrize("system", ["link", "people", "shop"])
def test_whatever_is_offered_is_answered(studied, system):
    for one in conditions_of(studied, system):
        asked = {"users": 150} if one.key == "think_time" else {}
        for value in one.levels or (30,):
            assert ask.predict(studied, system, {**asked, one.key: value}).outputs
        if one.is_number and one.levels:
            beyond = float(one.levels[-1]) + 1
            assert ask.predict(studied, system, {**asked, one.key: beyond}).outputs


def test_a_sweep_over_a_condition_has_its_measured_levels(studied):
    swept = ask.sweep(studied, "link", "buffer_kb", [4, 6, 40], at={"mode": "yes"}, metrics=["send_s"])
    assert [(one["at"], one["measured"]) for one in swept["measured"]] == [(4, 12), (8, 10), (32, 9)]
    assert {one["condition"] for one in swept["measured"]} == {swept["steps"][0]["outputs"][0]["condition"]}
    assert all(one["lo"] <= one["measured"] <= one["hi"] for one in swept["measured"])
    assert ask.sweep(studied, "link", "messages_sent", [5000, 9999])["measured"] == []


@pytest.mark.parametrize("name", ["users", "sessions"])
def test_what_is_swept_takes_the_place_of_what_was_asked_under_any_name(studied, name):
    alone, beside = (ask.sweep(studied, "people", "users", [150, 300], at=at) for at in ({}, {name: 250}))
    assert beside == alone


def test_a_key_that_is_a_number_in_one_table_and_a_name_in_another_is_offered_by_its_levels(bundle):
    rows = [
        Observation("link", "send_s", {"buffer_kb": size}, value, "s", "link")
        for size, value in (("4", 12.0), ("8", 9.0))
    ]
    rows += [Observation("link", "cpu_us", {"buffer_kb": size}, 5.0, "us", "cost") for size in ("most", "none")]
    mixed = {**bundle, "conditions": fit(rows, {})}
    (found,) = (one for one in conditions_of(mixed, "link") if one.key == "buffer_kb")
    assert (found.is_number, found.levels) == (False, ("4", "8", "most", "none"))
    swept = ask.sweep(mixed, "link", "buffer_kb", [4, 6, 8])
    assert [one["at"] for one in swept["measured"]] == [4.0, 8.0]
