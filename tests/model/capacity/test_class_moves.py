"""MSU of a system and its move to another machine, by ratings."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import SharedMachine
from model.calibration.lpar import calibrate_lpar
from model.capacity.ask import headroom, predict, size
from model.capacity.bundle import build
from model.capacity.figures import ratings as engine_ratings
from model.capacity.values import QuestionError
from model.hardware.imported import read_ratings
from model.hardware.ratings import engine_speed
from tests.cases.histories import ENGINES, SECONDS, history

RATING = 60_000.0


def bundle(given=None, rating=RATING):
    made = replace(calibrate_lpar(given or history()), **engine_ratings(rating, rating))
    return build({"PRDA": made}, data={}, validation={})


def value(answer, metric, station=""):
    return next(o.value for o in answer.outputs if o.metric == metric and station in o.condition)


def test_msu_is_the_rating_times_the_engines_in_use():
    answer = predict(bundle(), "PRDA")
    engines = value(answer, "cpu_busy_pct") / 100.0 * ENGINES
    assert value(answer, "msu") == pytest.approx(engines * RATING * 3600e-6)


def test_the_four_hour_average_is_over_the_intervals_before():
    given = history()
    top = int(np.argmax(given.busy_s))
    recorded = given.busy_s[top - 15 : top + 1].mean() / SECONDS * RATING * 3600e-6
    answer = predict(bundle(given), "PRDA")
    assert value(answer, "r4ha_msu") == pytest.approx(recorded, rel=0.01)
    grown = predict(bundle(given), "PRDA", {"growth_pct": 20})
    assert value(grown, "r4ha_msu") == pytest.approx(1.2 * recorded, rel=0.02)


def test_the_msu_of_a_machine_has_those_of_its_other_lpars():
    given = history()
    none = np.zeros(len(given.seconds))
    machine = SharedMachine("M1", 8.0, 500.0, 1000.0, False, none + 900.0, none)
    object.__setattr__(given, "machine", machine)
    answer = predict(bundle(given), "PRDA")
    assert value(answer, "msu", "machine M1") == pytest.approx(value(answer, "msu") + RATING * 3600e-6)


@pytest.mark.parametrize("where", [{}, {"machine": "z13"}])
def test_each_number_of_engines_tried_is_a_prediction_on_so_many_of_the_machine(where):
    given = replace(history(), cpc_type="3906")
    none = np.zeros(len(given.seconds))
    object.__setattr__(given, "machine", SharedMachine("M1", 16.0, 500.0, 1000.0, False, none + 5 * 900.0, none))
    result = bundle(given)
    rows = size(result, "PRDA", at={"growth_pct": 40, **where}, max_busy_pct=80)["table"]
    assert where or min(row["engines"] for row in rows) < 8
    for row in rows:
        there = predict(result, "PRDA", {"growth_pct": 40, "engines": row["engines"], **where})
        assert value(there, "cpu_busy_pct") == pytest.approx(min(row["cpu_busy_pct"]["value"], 100.0)), row
        assert there.bottleneck.resource == row["limit"], row


@pytest.mark.parametrize("cap", [{"cap_engines": 1}, {"cap": "on"}])
def test_the_four_hour_average_keeps_within_a_cap(cap):
    given = history()
    none = np.zeros(len(given.seconds))
    object.__setattr__(given, "machine", SharedMachine("M1", 8.0, 250.0, 1000.0, False, none + 900.0, none))
    answer = predict(bundle(given), "PRDA", {**cap, "growth_pct": 60})
    most = cap.get("cap_engines", 8.0 * 250 / 1000) * RATING * 3600e-6
    assert value(answer, "msu") == pytest.approx(most)
    assert value(answer, "r4ha_msu") <= most * (1 + 1e-9)


def test_headroom_within_a_response_target_needs_responses():
    result = bundle()
    result["systems"] = {"PRDA": replace(result["systems"]["PRDA"], responses={})}
    with pytest.raises(QuestionError, match="no response of PRDA was measured"):
        headroom(result, "PRDA", max_response_ms=5)


def test_without_a_rating_there_are_no_msu():
    assert engine_ratings(None, float("nan")) == {}
    assert not [o for o in predict(bundle(rating=None), "PRDA").outputs if o.metric.startswith("msu")]


def test_a_faster_machine_is_less_busy_by_the_ratio_of_ratings():
    result, there = bundle(), engine_speed("z14", ENGINES)
    here, moved = predict(result, "PRDA"), predict(result, "PRDA", {"machine": "z14"})
    expected = value(here, "cpu_busy_pct") * RATING / there.su_per_s
    assert value(moved, "cpu_busy_pct") == pytest.approx(expected, rel=0.01)
    busy = next(o for o in moved.outputs if o.metric == "cpu_busy_pct")
    assert busy.hi - busy.lo > 0.1 * busy.value
    assert any("ratings" in note for note in moved.notes)
    with pytest.raises(QuestionError, match="z14"):
        predict(result, "PRDA", {"machine": "z99"})
    with pytest.raises(QuestionError, match="no rating"):
        predict(bundle(rating=None), "PRDA", {"machine": "z14"})


def test_the_machine_measured_on_changes_nothing():
    result = bundle(replace(history(), cpc_type="3906"))
    for name in ("z14", "3906"):
        for at in ({"growth_pct": 40}, {"growth_pct": 40, "engines": ENGINES + 2}):
            assert predict(result, "PRDA", {**at, "machine": name}).outputs == predict(result, "PRDA", at).outputs
    question = {"at": {"growth_pct": 40}, "max_busy_pct": 80}
    assert (
        size(result, "PRDA", **question, machines=["z14"])["machines"][0]["engines"]
        == size(result, "PRDA", **question)["engines"]
    )


def test_machines_of_a_list_are_sized_beside_the_present_one():
    result = bundle()
    question = {"at": {"growth_pct": 40}, "max_busy_pct": 80}
    answer = size(result, "PRDA", **question, machines=["z14", "z13"])
    assert answer | {"machines": []} == size(result, "PRDA", **question)
    there = size(result, "PRDA", at={"growth_pct": 40, "machine": "z14"}, max_busy_pct=80)
    assert [row["machine"] for row in answer["machines"]] == ["z14", "z13"]
    assert answer["machines"][0]["engines"] == there["engines"]
    assert answer["machines"][0]["cpu_busy_pct"]["value"] <= 80
    assert answer["machines"][0]["bottleneck"] == there["bottleneck"]
    with pytest.raises(QuestionError, match=r"leave at\.machine out"):
        size(result, "PRDA", at={"machine": "z14"}, max_busy_pct=80, machines=["z13"])
    with pytest.raises(QuestionError, match="no rating of machine 'z99'") as refused:
        size(result, "PRDA", max_busy_pct=80, machines=["z99"])
    assert refused.value.field == "machines"


TABLE = """machine,engines,su_per_s
9175-705,5,90000
9175-710,10,80000
z14,4,70000
"""


def test_a_machine_of_an_imported_table_is_moved_to_by_its_rating():
    result = bundle()
    result["machine_ratings"] = read_ratings(TABLE, "machines.csv")
    here, moved = predict(result, "PRDA"), predict(result, "PRDA", {"machine": "9175-705", "engines": 5})
    busy = value(here, "cpu_busy_pct") * ENGINES / 5 * RATING / 90_000.0
    assert value(moved, "cpu_busy_pct") == pytest.approx(busy, rel=0.01)
    assert any("machines.csv, line 2" in note for note in moved.notes)
    with pytest.raises(QuestionError) as refused:
        predict(result, "PRDA", {"machine": "9175-999"})
    assert "9175-710" in refused.value.allowed


def test_ratings_beside_a_bundle_are_in_force_for_the_next_question():
    result = bundle(replace(history(), cpc_type="3906"))
    shipped, rows = predict(result, "PRDA", {"machine": "z13"}), "machine,engines,su_per_s\nz13,{},{}\n"
    for su_per_s in (50_000, 80_000):
        there = result | {"machine_ratings": read_ratings(rows.format(ENGINES, su_per_s), "machines.csv")}
        moved = predict(there, "PRDA", {"machine": "z13"})
        expected = value(predict(result, "PRDA"), "cpu_busy_pct") * RATING / su_per_s
        assert value(moved, "cpu_busy_pct") == pytest.approx(expected, rel=0.01)
    assert predict(result, "PRDA", {"machine": "z13"}).outputs == shipped.outputs


@pytest.mark.parametrize(("cpc_type", "ratio"), [("2964", 53949 / 45292), ("", 1.0)])
def test_work_costs_more_on_more_engines_as_the_multiprocessing_factors_say(cpc_type, ratio):
    given = replace(history(), cpc_type=cpc_type)
    object.__setattr__(given, "engines", np.full(len(given.seconds), 8.0))
    result = bundle(given)
    here, more = predict(result, "PRDA"), predict(result, "PRDA", {"engines": 18})
    assert value(more, "cpu_busy_pct") * 18 == pytest.approx(value(here, "cpu_busy_pct") * 8 * ratio, rel=0.01)
    assert any("measured on 8 engines, asked for 18" in note for note in more.notes)
