"""Answers: their form, units and conditions, consistency between metrics, flags, sizing, and refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.calibration.points import CapacityModel
from model.capacity import ask
from model.capacity import bundle as bundles
from model.capacity.adjustments import Adjustment, Factor
from model.capacity.ask import size
from model.capacity.values import QuestionError
from tests.cases.systems import DRAWS, RECORDED, grown
from tests.model.capacity.conftest import predict, value
from tests.model.points import made_points


def test_answer_has_the_promised_form(bundle):
    answer = predict(bundle, "shop", {"etr_tps": 3000.5})
    assert set(answer) == {
        "system",
        "at",
        "model_version",
        "outputs",
        "bottleneck",
        "extrapolated",
        "interval_pct",
        "notes",
        "evidence",
        "distance",
        "times",
        "recorded",
        "solver",
    }
    assert all(set(o) == {"metric", "condition", "value", "lo", "hi", "unit"} for o in answer["outputs"])
    assert all(o["lo"] <= o["value"] <= o["hi"] for o in answer["outputs"])
    assert {o["condition"] for o in answer["outputs"]} == {"etr_tps=3000.5"}
    assert answer["at"] == {"etr_tps": 3000.5}
    assert answer["model_version"] == bundle["model_version"]
    assert answer["evidence"]["points"] == 3
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_figures_of_one_answer_agree_with_each_other(bundle):
    answer = predict(bundle, "shop", {"etr_tps": 3000})
    busy, cost, internal = (value(answer, m)["value"] for m in ("cpu_busy_pct", "cpu_us_per_tran", "itr_tps"))
    assert busy == pytest.approx(100 * 3.2 / 8, rel=0.01)
    assert cost == pytest.approx(8 * busy / 100 * 1e6 / 3000, rel=1e-9)
    assert internal == pytest.approx(3000 / (busy / 100), rel=1e-9)
    parts = sum(value(answer, m)["value"] for m in ("front_cpu_pct", "back_cpu_pct"))
    assert parts == pytest.approx(value(answer, "total_work_cpu_pct")["value"], rel=1e-9)


def test_without_a_load_it_answers_at_the_highest_measured_point(bundle):
    answer = predict(bundle, "shop")
    assert answer["at"] == {"etr_tps": 6000.0}
    assert {o["condition"] for o in answer["outputs"]} == {"point=3"}
    assert not answer["extrapolated"]
    assert predict(bundle, "shop", {"point": 1})["outputs"] == predict(bundle, "shop", {"point": "1"})["outputs"]


def test_asking_by_busy_finds_the_rate_and_back(bundle):
    answer = predict(bundle, "shop", {"cpu_busy_pct": 50})
    rate = value(answer, "etr_tps")
    assert rate["value"] == pytest.approx((4.0 - 0.2) / 1e-3, rel=0.01)
    assert rate["lo"] < rate["value"] < rate["hi"]
    back = predict(bundle, "shop", {"etr_tps": rate["value"]})
    assert value(back, "cpu_busy_pct")["value"] == pytest.approx(50, rel=1e-9)
    assert "cpu_busy_pct" not in {o["metric"] for o in answer["outputs"]}
    assert "cpu_busy_pct=50" in rate["condition"]


def test_extrapolation_is_flagged_said_and_widened(bundle):
    inside, outside = predict(bundle, "shop", {"etr_tps": 5000}), predict(bundle, "shop", {"etr_tps": 7500})
    assert (inside["extrapolated"], outside["extrapolated"]) == (False, True)
    assert any("outside the calibrated rates" in note for note in outside["notes"])
    widths = [(o["hi"] - o["lo"]) / o["value"] for o in (value(a, "total_work_cpu_pct") for a in (inside, outside))]
    assert widths[1] > widths[0]


def test_saturation_is_said_and_leaves_no_response(bundle):
    answer = predict(bundle, "shop", {"etr_tps": 9000})
    question = answer["bottleneck"]["utilization_pct"]
    assert value(answer, "cpu_busy_pct")["value"] == 100 < question
    assert value(answer, "total_work_cpu_pct")["value"] == pytest.approx(100 * 8)  # engines
    groups = [
        station["utilization_pct"] for station in answer["bottleneck"]["stations"] if "of which" in station["resource"]
    ]
    assert 100 < sum(groups) <= question
    [note] = [note for note in answer["notes"] if f"offered load {question:.4g} %" in note]
    assert "times per transaction are those of the offered load" in note
    assert answer["extrapolated"]
    assert "total_shop_response_ms" not in {o["metric"] for o in answer["outputs"]}
    assert any("saturated" in note for note in answer["notes"])


def test_another_number_of_engines_spreads_the_load_and_widens(bundle):
    here, more = predict(bundle, "shop", {"etr_tps": 5000}), predict(bundle, "shop", {"etr_tps": 5000, "engines": 16})
    assert value(more, "cpu_busy_pct")["value"] == pytest.approx(value(here, "cpu_busy_pct")["value"] / 2)
    relative = [o["hi"] / o["value"] for o in (value(a, "cpu_us_per_tran") for a in (here, more))]
    assert relative[1] > relative[0]
    assert more["extrapolated"]
    assert any("n-way" in note for note in more["notes"])


def test_bottleneck_is_named_with_its_utilisation(bundle):
    bottleneck = predict(bundle, "shop", {"etr_tps": 5000})["bottleneck"]
    assert bottleneck["resource"] == "general-purpose CPs of the LPAR"
    assert bottleneck["lo"] < bottleneck["utilization_pct"] < bottleneck["hi"]
    assert {station["resource"] for station in bottleneck["stations"]} >= {"of which front", "of which back"}


def test_parts_of_the_engines_busy_follow_the_engines():
    parameters = replace(RECORDED, machine=replace(RECORDED.machine, engines=800.0))
    answer = predict({"model_version": "test/1", "systems": {"PRDA": parameters}}, "PRDA")
    names = [station["resource"] for station in answer["bottleneck"]["stations"]]
    parts = [name for name in names if name.startswith("of which ")]
    after = names.index("general-purpose CPs of the LPAR") + 1
    assert len(parts) > 0
    assert names[after : after + len(parts)] == parts
    assert after + len(parts) < len(names)


def test_size_finds_the_fewest_engines_within_a_busy_target(bundle):
    answer = size(bundle, "shop", {"etr_tps": 6000.0}, max_busy_pct=70)
    engines = answer["engines"]
    assert engines["value"] == 9  # 6.2 engines in use, at most 70 % of 9 but not of 8
    assert engines["lo"] <= engines["value"] <= engines["hi"]
    rows = {row["engines"]: row for row in answer["table"]}
    assert rows[engines["value"]]["meets"]
    assert not rows[engines["value"] - 1]["meets"]
    assert rows[engines["hi"]]["probability"] >= 0.95
    assert answer["targets"] == {"max_busy_pct": 70, "max_response_ms": None}
    assert {row["limit"] for row in answer["table"]} == {"general-purpose CPs of the LPAR"}
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_size_holds_a_response_target(bundle):
    question = {"etr_tps": 6000.0}
    loose, tight = (size(bundle, "shop", question, max_response_ms=limit)["engines"]["value"] for limit in (30.0, 9.0))
    assert loose is not None
    assert tight is not None
    assert loose <= tight


def test_size_says_when_no_number_of_engines_will_do(bundle):
    answer = size(bundle, "shop", {"etr_tps": 6000.0}, max_response_ms=1.0)
    assert answer["engines"] == {"value": None, "lo": None, "hi": None}
    assert any("no number of engines" in note for note in answer["notes"])
    slowest = {row["response_ms"]["value"] for row in answer["table"] if row["response_ms"]}
    assert min(slowest) > 1.0
    assert answer["table"][-1]["limit"].startswith("response of ")
    assert any(note.startswith("response of ") and "from the targets" in note for note in answer["notes"])
    # More engines than these bring no transaction nearer to the target.
    assert answer["table"][-1]["engines"] < 40


def test_size_asks_of_the_machine_to_be_no_busier_than_the_engines():
    answer = size({"model_version": "test/1", "systems": {"PRDA": RECORDED}}, "PRDA", max_busy_pct=60)
    assert answer["bottleneck"]["resource"] == "machine M1"
    assert answer["bottleneck"]["utilization_pct"] <= 60
    assert answer["engines"]["value"] > RECORDED.machine.engines
    assert any("the machine has 8; this answer assumes 15" in note for note in answer["notes"])
    assert {row["limit"] for row in answer["table"] if not row["meets"]} == {"machine M1"}


def test_size_far_beyond_every_machine_is_as_impossible_on_one_engine_as_on_many(bundle):
    answer = size(bundle, "shop", {"etr_tps": 1e9}, max_busy_pct=90)
    assert answer["engines"] == {"value": None, "lo": None, "hi": None}
    assert len(answer["table"]) <= 4


def test_size_far_from_sure_shows_the_numbers_next_to_its_limits_alone(bundle):
    answer = size(bundle, "shop", {"etr_tps": 60000.0}, max_busy_pct=70)
    shown = [row["engines"] for row in answer["table"]]
    assert answer["engines"]["lo"] in shown
    assert len(shown) <= 12


def test_engines_alone_are_asked_at_the_highest_measured_rate_which_the_answer_says(bundle):
    assert predict(bundle, "shop", {"engines": 12})["at"] == {"engines": 12.0, "etr_tps": 6000.0}


@settings(max_examples=60, deadline=None)
@given(rate=st.floats(1e-3, 1e9), engines=st.integers(1, 256))
def test_any_load_has_an_answer_whose_limits_hold_its_values(bundle, rate, engines):
    answer = predict(bundle, "shop", {"etr_tps": rate, "engines": engines})
    json.dumps(answer, allow_nan=False)
    total = value(answer, "total_work_cpu_pct")["value"]
    parts = [value(answer, metric)["value"] for metric in ("front_cpu_pct", "back_cpu_pct")]
    assert sum(parts) == pytest.approx(total, rel=1e-9)
    for output in answer["outputs"]:
        assert output["value"] >= 0
        assert output["lo"] <= output["value"]
        assert output["hi"] is None or output["value"] <= output["hi"]


def test_max_rate_is_where_the_busy_reaches_its_target_and_names_what_limits(bundle):
    answer = ask.max_rate(bundle, "shop", max_busy_pct=90)
    rate = answer["etr_tps"]
    assert rate["value"] == pytest.approx((0.9 * 8 - 0.2) / 1e-3, rel=0.01)
    assert rate["lo"] < rate["value"] < rate["hi"]
    assert answer["growth_pct"]["value"] == pytest.approx(100 * (rate["value"] / 6000 - 1))
    assert [limit["resource"] for limit in answer["limits"]] == ["general-purpose CPs of the LPAR"]
    there = predict(bundle, "shop", {"etr_tps": rate["value"]})
    assert value(there, "cpu_busy_pct")["value"] == pytest.approx(90)


def test_max_rate_from_beyond_what_the_engines_give_says_nothing_of_figures_it_has_not(bundle):
    at = {"engines": 3}
    assert any("saturated" in note for note in predict(bundle, "shop", at)["notes"])
    answer = ask.max_rate(bundle, "shop", at)
    assert answer["growth_pct"]["value"] < 0
    assert not any("saturated" in note for note in answer["notes"])


def test_max_rate_of_no_transactions_is_refused(bundle):
    with pytest.raises(QuestionError, match="no transactions whose rate could grow"):
        ask.max_rate(bundle, "shop", {"growth_pct": -100})


def test_max_rate_under_a_response_target_says_what_would_limit_next(bundle):
    answer = ask.max_rate(bundle, "shop", max_response_ms=9.5)
    first, second = answer["limits"]
    assert first["resource"] == "response of shop above 9.5 ms"
    assert first["etr_tps"]["value"] < second["etr_tps"]["value"]
    assert first["probability"] + second["probability"] == pytest.approx(1)
    there = predict(bundle, "shop", {"etr_tps": answer["etr_tps"]["value"]})
    assert value(there, "total_shop_response_ms")["value"] == pytest.approx(9.5)


@pytest.mark.parametrize(
    ("key", "values"), [("etr_tps", [1000.0, 3000.0, 9000.0]), ("engines", [4, 8, 16]), ("growth_pct", [0.0, 20.0])]
)
def test_a_sweep_gives_at_each_step_what_predict_gives(bundle, key, values):
    steps = ask.sweep(bundle, "shop", key, values)["steps"]
    assert [step["value"] for step in steps] == values
    for step in steps:
        single = predict(bundle, "shop", {key: step["value"]})
        known = [output for output in step["outputs"] if output["value"] is not None]
        for output, expected in zip(known, single["outputs"], strict=True):
            assert {**output, "value": pytest.approx(output["value"])} == {
                **expected,
                "lo": output["lo"],
                "hi": output["hi"],
            }
            assert output["lo"] == pytest.approx(expected["lo"])
            assert output["hi"] == pytest.approx(expected["hi"])
        assert step["extrapolated"] == single["extrapolated"]


def test_a_sweep_in_blocks_is_that_of_all_loads_at_once(bundle, monkeypatch):
    def swept():
        result = ask.sweep(bundle, "shop", "etr_tps", [100.0, 3000.0, 5000.0, 7000.0, 9000.0])
        outputs = [output for step in result["steps"] for output in step["outputs"]]
        figures = [-1.0 if output[key] is None else output[key] for output in outputs for key in ("value", "lo", "hi")]
        return result["notes"], figures

    notes, figures = swept()
    monkeypatch.setattr("model.capacity.system.BLOCK", 1)
    assert swept() == (notes, pytest.approx(figures, rel=1e-6))


def test_max_rate_says_when_no_rate_meets_a_response_target(bundle):
    answer = ask.max_rate(bundle, "shop", max_response_ms=1.0)
    assert answer["etr_tps"]["value"] == 0
    assert answer["notes"][0].startswith("no rate meets the targets: the response of shop is ")
    assert [limit["resource"] for limit in answer["limits"]] == ["response of shop above 1 ms"]


def test_a_response_target_of_a_class_holds_that_class_alone():
    slow = replace(RECORDED.responses["batch"], rest_ms=np.full(1 + DRAWS, 900.0))
    parameters = grown(replace(RECORDED, responses={**RECORDED.responses, "batch": slow}), 0.01)
    question = {"model_version": "test/1", "systems": {"PRDA": parameters}}
    at = {"engines": 16}
    assert ask.max_rate(question, "PRDA", at, max_response_ms=40)["etr_tps"]["value"] == 0
    assert size(question, "PRDA", max_response_ms=40)["engines"]["value"] is None
    result = ask.max_rate(question, "PRDA", at, max_response_ms={"rweb": 40})
    assert result["targets"]["max_response_ms"] == {"rweb": 40}
    assert result["etr_tps"]["value"] > 0
    assert "response of online above 40 ms" in [limit["resource"] for limit in result["limits"]]
    result = ask.max_rate(question, "PRDA", at, max_response_ms={"online": 40, "batch": 950})
    assert result["limits"][0]["resource"] == "response of batch above 950 ms"
    sized = size(question, "PRDA", max_response_ms={"online": 40, "batch": 5000})
    row = next(row for row in sized["table"] if row["engines"] == sized["engines"]["value"])
    assert row["response_ms"]["value"] > 900
    crossed = [row["resource"] for row in ask.headroom(question, "PRDA", max_response_ms={"online": 40})["crossings"]]
    assert [name for name in crossed if name.startswith("response")] == ["response of online above 40 ms"]
    refused = {"did you mean online": {"onlin": 40}, "has a target already": {"online": 40, "RWEB": 50}}
    for said, wrong in {**refused, "above 0": {"online": 0}, "must name at least one class": {}}.items():
        with pytest.raises(QuestionError, match=said) as raised:
            ask.max_rate(question, "PRDA", max_response_ms=wrong)
        assert raised.value.field.startswith("max_response_ms")


def test_no_number_of_engines_is_tried_long_for_a_response_that_none_gives(bundle):
    short, shorter = (size(bundle, "shop", max_response_ms=target)["table"] for target in (1e-3, 5e-324))
    assert shorter == short


def test_an_adjustment_counts_in_the_number_of_engines(bundle):
    dearer = Adjustment("dear", "Dearer", {"cpu": Factor(0.5, 0.0)}, ())
    parameters = replace(bundle["systems"]["shop"], adjustments={"dear": dearer})
    dear = {**bundle, "systems": {"shop": parameters}}
    at = {"etr_tps": 6000.0}
    plain, more = (size(dear, "shop", at | more, max_busy_pct=70) for more in ({}, {"adjust.dear": "on"}))
    assert plain["engines"]["value"] < more["engines"]["value"]


def test_a_sweep_has_no_response_where_the_engines_are_saturated(bundle):
    metric = "total_shop_response_ms"
    steps = ask.sweep(bundle, "shop", "etr_tps", [4000.0, 9000.0], metrics=[metric])["steps"]
    assert [[output["metric"] for output in step["outputs"]] for step in steps] == [[metric], [metric]]
    assert steps[0]["outputs"][0]["value"] > 0
    assert steps[1]["outputs"][0]["value"] is None


def test_a_sweep_of_engines_says_what_more_or_fewer_cost_for_the_ends_only(bundle):
    notes = ask.sweep(bundle, "shop", "engines", [4.0, 6.0, 10.0, 12.0])["notes"]
    assert [note.partition(":")[0] for note in notes if "n-way" in note] == [
        f"measured on 8 engines, asked for {engines}" for engines in (4, 12)
    ]


def test_a_comparison_lets_what_both_sides_share_cancel(bundle):
    answer = ask.compare(bundle, "shop", {"etr_tps": 5000}, {"etr_tps": 5000, "engines": 10})
    changes = {change["metric"]: change for change in answer["changes"]}
    busy = changes["cpu_busy_pct"]
    assert busy["b"] < busy["a"]
    assert busy["change_pct"]["lo"] <= busy["change_pct"]["value"] <= busy["change_pct"]["hi"]
    same = ask.compare(bundle, "shop", {"etr_tps": 5000}, {"etr_tps": 5000})
    assert all(change["change_pct"] == {"value": 0, "lo": 0, "hi": 0} for change in same["changes"])
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_an_explanation_splits_demand_and_says_which_assumptions_the_interval_comes_from(bundle):
    answer = ask.explain(bundle, "shop", {"etr_tps": 5000, "engines": 16})
    demand = {row["component"]: row for row in answer["demand"]}
    assert set(demand) == {"lpar", "front", "back", "total_work"}
    assert demand["front"]["class"] == "shop"
    assert demand["lpar"]["us_per_tran"]["value"] == pytest.approx(5.2e6 / 5000, rel=0.1)
    busy = next(row for row in answer["sensitivity"] if row["metric"] == "cpu_busy_pct")
    shares = {share["assumption"]: share["share_pct"] for share in busy["shares"]}
    assert busy["shares"][0]["assumption"] == "n-way effect"
    assert shares["n-way effect"] > 50
    assert shares["demand of front"] == 0
    here = ask.explain(bundle, "shop", {"etr_tps": 5000})["sensitivity"]
    assert here[0]["shares"][0] == {"assumption": "demand of lpar", "share_pct": pytest.approx(100, abs=1)}
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_without_busy_of_the_lpar_the_workload_stands_for_it():
    points = made_points("plain", [1000.0, 2000.0], fixed=0.1, demand_us=800.0)
    points = points.drop(columns=["cpu_busy_pct", "itr_tps", "cpu_us_per_tran"])
    answer = predict(bundles.build(CapacityModel().fit(points).systems_, data={}, validation={}), "plain")
    assert answer["bottleneck"]["utilization_pct"] == pytest.approx(100 * 1.7 / 8, rel=0.01)
    assert any("serve only this workload" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("at", "field", "nearest"),
    [
        ({"etr": 5}, "etr", "etr_tps"),
        ({"etr_tps": 0}, "etr_tps", None),
        ({"etr_tps": float("nan")}, "etr_tps", None),
        ({"etr_tps": "many"}, "etr_tps", None),
        ({"cpu_busy_pct": 120}, "cpu_busy_pct", None),
        ({"engines": 2.5}, "engines", None),
        ({"engines": 100000}, "engines", None),
        ({"point": "9"}, "point", None),
        ({"point": 1, "etr_tps": 5}, "etr_tps", None),
    ],
)
def test_a_question_that_cannot_be_answered_names_the_field(bundle, at, field, nearest):
    with pytest.raises(QuestionError) as raised:
        predict(bundle, "shop", at)
    assert raised.value.field in (f"at.{field}", "at.point")
    assert raised.value.nearest == nearest


def test_a_busy_below_the_fixed_part_is_refused_with_the_busy_that_was_asked(bundle):
    with pytest.raises(QuestionError, match=r"0\.001 is below the busy without transactions") as raised:
        predict(bundle, "shop", {"cpu_busy_pct": 0.001})
    assert raised.value.value == 0.001


@pytest.mark.parametrize("engines", [1, 2, 64, 256])
def test_a_busy_on_any_number_of_engines_has_an_answer(bundle, engines):
    answer = predict(bundle, "shop", {"cpu_busy_pct": 90.0, "engines": engines})
    json.dumps(answer, allow_nan=False)
    rate = value(answer, "etr_tps")
    assert rate["lo"] <= rate["value"]
    assert rate["hi"] is None or rate["value"] <= rate["hi"] < 1e9


def test_an_unknown_system_is_met_with_the_nearest_name(bundle):
    with pytest.raises(QuestionError, match="did you mean shop"):
        predict(bundle, "shp")
    with pytest.raises(QuestionError) as raised:
        size(bundle, "shop", {"etr_tps": 5000.0}, max_busy_pct=0)
    assert raised.value.field == "max_busy_pct"


def test_a_response_target_without_responses_is_refused():
    points = made_points("plain", [1000.0, 2000.0], fixed=0.1, demand_us=800.0)
    bundle = bundles.build(CapacityModel().fit(points).systems_, data={}, validation={})
    with pytest.raises(QuestionError) as raised:
        size(bundle, "plain", {"etr_tps": 1500.0}, max_response_ms=5)
    assert raised.value.field == "max_response_ms"


def test_bundle_is_the_same_text_for_the_same_points(tmp_path, bundle):
    path = bundles.write(bundle, tmp_path / "models" / "champion.json")
    assert bundles.plain(bundles.read(path)) == bundles.plain(bundle)
    assert bundles.dumps(bundles.read(path)) == path.read_text(encoding="utf-8")


SCHEMA = f'"schema": "{bundles.SCHEMA}"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("null", "schema None"),
        ("[]", "schema None"),
        ('{"schema": "other/1"}', "schema 'other/1', expected"),
        (f"{{{SCHEMA}}}", "lacks model_version, systems"),
        (f'{{{SCHEMA}, "model_version": "1", "systems": null}}', "systems is no JSON object"),
    ],
)
def test_a_file_that_is_no_bundle_is_refused(text, message):
    with pytest.raises(bundles.BundleError, match=message):
        bundles.loads(text)


def test_an_answer_says_what_its_validation_says_against_it(bundle):
    parameters = bundle["systems"]["shop"]
    missed = {"name": "largest error of totals, %", "value": 5.0, "limit": 3.0, "passed": False}
    backtest = {"metric": "cpu_busy_pct", "class": "", "model_pct": 3.0}
    backtest |= {"baseline": "same hour last week", "baseline_pct": 1.8}
    said_of_busy = 'backtest: "same hour last week" was closer for CPU busy (median error 1.8 % against 3 %)'
    for gate, said in (
        ({"passed": None, "checks": []}, "not judged"),
        ({"passed": False, "checks": [missed]}, "did not pass its gate (largest error of totals, %)"),
        ({"passed": True, "checks": [], "baselines": [backtest]}, said_of_busy),
        (
            {"passed": True, "checks": [], "baselines": [backtest | {"model_pct": 0.91}]},
            'backtest: the model was closer for CPU busy (median error 0.91 %; "same hour last week": 1.8 %)',
        ),
        (
            {"passed": True, "checks": [], "baselines": [backtest | {"metric": "response_ms", "class": "HIGH"}]},
            'backtest: "same hour last week" was closer for the response of HIGH (median error 1.8 % against 3 %)',
        ),
    ):
        judged = {**bundle, "systems": {"shop": replace(parameters, gate=gate)}}
        assert any(said in note for note in predict(judged, "shop", {})["notes"])
    assert not any("validation" in note for note in predict(bundle, "shop", {})["notes"])


def test_the_condition_of_a_figure_names_each_key_once(bundle):
    parameters = bundle["systems"]["shop"]
    known = {"cpu_busy_pct": "group=CPU; machine=m1"}
    points = tuple(replace(point, conditions=known) for point in parameters.points)
    published = {**bundle, "systems": {"shop": replace(parameters, points=points)}}
    question = predict(published, "shop", {"machine": "m1", "etr_tps": 3000})
    assert value(question, "cpu_busy_pct")["condition"] == "group=CPU; machine=m1; etr_tps=3000"
