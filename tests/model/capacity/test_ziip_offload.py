"""Engine time that adjustments move from CPs to zIIPs."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.systems import read_adjustments
from model.capacity.ask import compare, explain, predict, size, sweep
from model.capacity.configuration import _sum, with_ziips
from model.capacity.parameters import ZiipPool
from model.capacity.state import engines_in_use
from model.capacity.values import QuestionError

HALF = {"etr_tps": 4000.0, "adjust.ziip_offload": 0.5}


@pytest.fixture(scope="module")
def shop(bundle):
    parameters = replace(bundle["systems"]["shop"], adjustments=read_adjustments())
    return {**bundle, "systems": {"shop": parameters}}


def figures(answer):
    return {output.metric: output.value for output in answer.outputs}


def test_what_leaves_the_cps_is_done_by_the_ziips(shop):
    before = figures(predict(shop, "shop", {"etr_tps": 4000.0}))
    answer = predict(shop, "shop", {**HALF, "ziip_engines": 8})
    after = figures(answer)
    moved = before["cpu_us_per_tran"] - after["cpu_us_per_tran"]
    assert moved == pytest.approx(0.995 * 0.5 * before["cpu_us_per_tran"], rel=1e-3)
    assert after["ziip_us_per_tran"] == pytest.approx(moved, rel=1e-3)
    assert after["ziip_busy_pct"] == pytest.approx(4000.0 * moved / 1e4 / 8, rel=1e-3)
    assert any("no zIIPs were recorded" in note for note in answer.notes)


def test_what_finds_the_ziips_busy_runs_on_cps(shop):
    few, many = (figures(predict(shop, "shop", {**HALF, "ziip_engines": n})) for n in (1, 8))
    assert few["ziip_busy_pct"] < 100.0
    assert few["cpu_us_per_tran"] + few["ziip_us_per_tran"] == pytest.approx(
        many["cpu_us_per_tran"] + many["ziip_us_per_tran"], rel=1e-3
    )
    assert few["cpu_busy_pct"] > 1.2 * many["cpu_busy_pct"]


def test_without_ziips_nothing_is_moved_and_it_says_so(shop):
    plain, question = (predict(shop, "shop", at) for at in ({"etr_tps": 4000.0}, HALF))
    assert figures(question) == figures(plain)
    assert any("add ziip_engines=1" in note for note in question.notes)
    with pytest.raises(QuestionError, match="if 30 % is eligible"):
        predict(shop, "shop", {"ziip_engines": 2})


def test_with_zero_ziips_a_system_with_them_has_nothing_to_move_work_to(shop):
    parameters = replace(shop["systems"]["shop"], ziip=ZiipPool(2.0))
    assert with_ziips(parameters, {**HALF, "ziip_engines": 0}) is parameters
    assert with_ziips(parameters, HALF) is not parameters


def test_a_range_of_ziips_is_answered_as_each_number_of_them(shop):
    result = sweep(shop, "shop", "ziip_engines", [0, 2], at=HALF, metrics=["cpu_us_per_tran"])
    none, two = (predict(shop, "shop", {**HALF, "ziip_engines": number}) for number in (0, 2))
    assert [step["outputs"][0]["value"] for step in result["steps"]] == [
        figures(answer)["cpu_us_per_tran"] for answer in (none, two)
    ]
    assert set(result["notes"]) == {*none.notes, *two.notes}


def test_responses_keep_the_time_that_is_spent_on_ziips(shop):
    metric = "total_shop_response_ms"
    before, after = (
        figures(predict(shop, "shop", at))[metric]
        for at in ({"etr_tps": 400.0}, {**HALF, "etr_tps": 400.0, "ziip_engines": 8})
    )
    assert after == pytest.approx(before, rel=0.02)


def test_every_question_knows_of_it(shop):
    at = {**HALF, "ziip_engines": 8}
    assert (
        size(shop, "shop", at, max_busy_pct=70)["engines"]["value"]
        < size(shop, "shop", {"etr_tps": 4000.0}, max_busy_pct=70)["engines"]["value"]
    )
    assert {row["engine"] for row in explain(shop, "shop", at)["demand"]} == {"cp", "ziip"}
    change = next(
        row for row in compare(shop, "shop", {"etr_tps": 4000.0}, at)["changes"] if row["metric"] == "cpu_busy_pct"
    )
    assert change["change_pct"]["value"] == pytest.approx(-49.75, abs=0.5)
    steps = sweep(
        shop,
        "shop",
        "adjust.ziip_offload",
        [0.0, 0.5],
        at={"etr_tps": 4000.0, "ziip_engines": 8},
        metrics=["cpu_busy_pct"],
    )
    none, half = (step["outputs"][0]["value"] for step in steps["steps"])
    assert half == pytest.approx(0.5025 * none, rel=0.01)


def test_a_system_is_as_it_was_without_such_a_question(shop):
    parameters = shop["systems"]["shop"]
    for at in ({}, {"adjust.encryption": "on", "ziip_engines": 2}, {"adjust.ziip_offload": "off", "ziip_engines": 2}):
        assert with_ziips(parameters, at) is parameters


def test_two_laws_of_one_driver_add_up(shop):
    first, *_ = (law for law in shop["systems"]["shop"].demands.values())
    coef = np.repeat([[0.1, 0.7, 0.2]], len(first.coef), axis=0)
    other = replace(first, reference_rate=2.5 * first.reference_rate, scale=3.0, coef=coef)
    rate = np.array([[0.9 * first.reference_rate]])
    one, two, both = (engines_in_use(law, rate)[0, 0] for law in (first, other, _sum(first, other)))
    assert both == pytest.approx(one + two)


@pytest.mark.parametrize("engines", [-1, 0.5, 257, 1e308])
def test_ziips_that_no_machine_has_are_refused_before_any_work(shop, engines):
    at = {**HALF, "ziip_engines": engines}
    assert with_ziips(shop["systems"]["shop"], at) is shop["systems"]["shop"]
    with pytest.raises(QuestionError, match="from 0 to 256"):
        predict(shop, "shop", at)
