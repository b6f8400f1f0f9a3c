"""What a planner reads on the terminal for each question."""

import pytest

from model.calibration.points import CapacityModel
from model.capacity import ask
from model.capacity import bundle as bundles
from model.published.model import fit
from model.published.observations import Observation
from pipelines import answer_text
from tests.model.points import made_points


@pytest.fixture(scope="module")
def bundle():
    points = made_points("shop", [2000.0, 4000.0, 6000.0], fixed=0.2, demand_us=1000.0, noise=0.002)
    points["total_shop_response_ms"] = [8.0, 8.3, 9.1]
    return bundles.build(CapacityModel().fit(points).systems_, model_version="test/1", data={}, validation={})


def test_details_say_where_the_time_goes_and_how_far_outside_the_data(bundle):
    found = ask.predict(bundle, "shop", {"etr_tps": 7000}).to_dict()
    plain, detailed = answer_text.answer(found), answer_text.answer(found, details=True)
    assert "response time by resource" not in plain
    assert "wait cp ms" in detailed
    assert "distance from the data: etr_tps by 0.154 e-folds" in detailed
    assert detailed.splitlines()[-1].startswith("  note: ")


def test_figures_of_laws_beside_those_of_a_network_leave_its_bottleneck_and_say_what_they_rest_on(bundle):
    rows = [Observation("shop", "csa_kb", {"release": release}, 700.0, "KB", "runs") for release in ("R1", "R2")]
    found = ask.predict({**bundle, "conditions": fit(rows, {})}, "shop").to_dict()
    text, detailed = answer_text.answer(found), answer_text.answer(found, details=True)
    assert "csa_kb" in text
    assert "bottleneck: general-purpose CPs" in text
    assert "measured points" in text
    assert "rests on" not in text
    assert "rests on" in detailed


def test_a_class_is_shown_beside_its_metric_and_the_next_bottleneck_beside_the_first(bundle):
    found = ask.predict(bundle, "shop", {"etr_tps": 5000}).to_dict()
    found["outputs"][0]["condition"] = "class=ONLINE; etr_tps=5000"
    machine = {"resource": "machine M1", "utilization_pct": 40.0, "lo": 39.0, "hi": 41.0, "probability": 0.1}
    found["bottleneck"] |= {"probability": 0.9, "next": machine}
    said = answer_text.answer(found)
    assert "ONLINE" in said
    assert "probability 0.90; next machine M1, 40 % busy (39 … 41)" in said


def test_classes_have_a_line_each_with_their_figures_beside_each_other(bundle):
    found = ask.predict(bundle, "shop", {"etr_tps": 5000}).to_dict()
    shown = {"lo": 2.0, "hi": 4.0, "value": 3.0, "unit": "ms", "metric": "response_ms"}
    rate = {"lo": 7.0, "hi": 7.0, "value": 7.0, "unit": "tran/s", "metric": "etr_tps", "condition": "class=HIGH"}
    found["outputs"] += [shown | {"condition": f"class={name}"} for name in ("HIGH", "LOW")] + [rate]
    lines = [line.split() for line in answer_text.answer(found).splitlines()]
    assert ["class", "response_ms", "[ms]", "etr_tps", "[tran/s]"] in lines
    assert ["HIGH", "3", "(2", "…", "4)", "7"] in lines and ["LOW", "3", "(2", "…", "4)", "–"] in lines
    unknown = {"lo": None, "hi": None, "value": None, "unit": "ms", "metric": "response_p90_ms"}
    found["outputs"] += [unknown | {"condition": f"class={name}"} for name in ("HIGH", "LOW")]
    assert "response_p90_ms" not in answer_text.answer(found), "a column of dashes"
    found["outputs"].append(shown | {"condition": "class=LOW; section=other"})
    assert not any("[ms]" in line for line in map(str.split, answer_text.answer(found).splitlines()))


def test_conditions_that_all_figures_of_a_metric_share_are_not_repeated_beside_them():
    outputs = [
        {"metric": "cpu_us", "condition": "quantity=CPU; statistic=value"},
        {"metric": "csa_kb", "condition": "row=key 7; statistic=value"},
        {"metric": "csa_kb", "condition": "row=key 7; statistic=delta"},
    ]
    assert answer_text.subjects(outputs) == ["", "value", "delta"]


def test_where_no_number_of_engines_suffices_that_is_said(bundle):
    found = ask.size(bundle, "shop", {"etr_tps": 5000}, max_response_ms=0.5)
    assert found["engines"]["value"] is None
    assert "engines: none suffice\n" in answer_text.sizing(found)


def test_busy_above_100_is_said_to_be_what_the_load_asks(bundle):
    found = ask.size(bundle, "shop", {"etr_tps": 2000}, max_busy_pct=90)
    for value, said in ((50.0, False), (107.3, True)):
        for row in found["table"]:
            row["cpu_busy_pct"]["value"] = value
        assert ("CPU busy above 100 %" in answer_text.sizing(found)) is said


def test_a_sweep_of_many_classes_shows_the_whole_system_and_says_what_there_is_by_class():
    classes = [f"CLASS{number}" for number in range(9)]
    outputs = [{"metric": "cpu_busy_pct", "condition": "", "unit": "pct", "value": 50.0, "lo": 40.0, "hi": 60.0}]
    outputs += [{**outputs[0], "metric": "response_ms", "condition": f"class={name}"} for name in classes]
    step = {"value": 1.0, "outputs": outputs, "extrapolated": False}
    evidence = {"intervals": 1, "points": 1, "etr_tps": [1.0, 2.0], "engines": 4.0, "period": None}
    found = {"system": "PRDA", "key": "etr_tps", "at": {}, "steps": [step], "notes": [], "evidence": evidence}
    assert "CLASS8" in answer_text.sweep(found | {"model_version": "1"})
    short = answer_text.sweep(found | {"model_version": "1"}, chosen=False)
    assert "CLASS8" not in short
    assert "--metric: response_ms" in short


def test_a_sweep_has_its_notes(bundle):
    said = answer_text.sweep(ask.sweep(bundle, "shop", "etr_tps", [2000, 90_000], metrics=["cpu_busy_pct"]))
    assert "note: the engines are saturated" in said


def test_shares_of_an_interval_do_not_add_up_to_more_than_all_of_it(bundle):
    for row in ask.explain(bundle, "shop", {"engines": 16})["sensitivity"]:
        assert sum(share["share_pct"] for share in row["shares"]) <= 100.0 + 1e-9


def test_a_limit_that_does_not_exist_is_said():
    assert answer_text.within({"value": 5.0, "lo": 4.0, "hi": None}) == "5 (4 … no limit)"
    assert answer_text.within({"value": None, "lo": None, "hi": None}) == "–"


@pytest.mark.parametrize(
    ("crossing", "words"),
    [
        ((None, None, None, True), "already reached at the recorded peak"),
        (("2026-12-30", "2026-11-25", "2027-02-03", False), "around 30 Dec 2026 (90 % range 25 Nov 2026 – 3 Feb 2027)"),
        (("2026-12-30", "2026-11-25", None, False), "around 30 Dec 2026 (90 % range 25 Nov 2026 – later than 3 years)"),
        ((None, "2026-11-25", None, False), "later than 3 years (5 % probability by 25 Nov 2026)"),
        ((None, None, None, False), "later than 3 years"),
    ],
)
def test_a_crossing_date_is_a_range_in_words(crossing, words):
    row = dict(zip(("value", "lo", "hi", "already"), crossing, strict=True))
    assert answer_text.crossing(row) == words


def test_every_question_has_its_words(bundle):
    assert "highest rate: " in answer_text.max_rate(ask.max_rate(bundle, "shop", max_busy_pct=90))
    swept = answer_text.sweep(ask.sweep(bundle, "shop", "engines", [8, 12], metrics=["cpu_busy_pct"]))
    assert [line.split()[0] for line in swept.splitlines()[3:5]] == ["8", "12"]
    what_if = answer_text.what_if(ask.compare(bundle, "shop", {}, {"engines": 12}))
    assert what_if.startswith("now: shop at etr_tps = 6,000\nthen: shop at engines = 12")
    explained = answer_text.explanation(ask.explain(bundle, "shop", {"engines": 16}))
    assert "sources of the interval of cpu_busy_pct: n-way effect" in explained
    sized = answer_text.sizing(ask.size(bundle, "shop", at={"growth_pct": 10}, max_busy_pct=80))
    assert "shop at growth_pct = 10" in sized
    found = ask.size(bundle, "shop", at={"growth_pct": 10}, max_busy_pct=80)
    row = {key: found["table"][-1][key] for key in ("cpu_busy_pct", "response_ms")}
    elsewhere = {"machine": "z99", "engines": found["engines"], "bottleneck": found["bottleneck"], **row}
    lines = answer_text.sizing(found | {"machines": [elsewhere]}).splitlines()
    assert ["z99", str(found["engines"]["value"])] in [line.split()[:2] for line in lines]


def test_figures_at_many_numbers_of_users_stand_beside_each_other():
    outputs = [
        {"metric": "storage_kb", "condition": f"component={part}; users={users}", "value": 100.0 * users, "unit": "KB"}
        | {"lo": 99.0 * users, "hi": 101.0 * users}
        for part in ("private", "common", "Total")
        for users in (8, 16, 32, 64, 128, 256, 1000)
    ]
    found = {"system": "shop", "at": {}, "outputs": outputs, "interval_pct": 90, "model_version": "test/1"}
    found["evidence"] = {"figures": [{"table": "storage"}]}
    said = answer_text.answer(found)
    assert len(said.splitlines()) == 8
    assert "--at users=1000" in said
    assert [line.split()[-2] for line in said.splitlines() if "storage_kb" in line] == ["100,000"] * 3
    other = {"metric": "busy_pct", "condition": "class=ONLINE", "value": 7.0, "unit": "pct", "lo": 6.0, "hi": 8.0}
    for shown in (outputs[:7], [*outputs, other]):
        assert "99,000 … 101,000" in answer_text.answer({**found, "outputs": shown})


def test_a_long_list_begins_with_rates_and_busy_and_says_what_it_leaves_out():
    names = [*(f"HSP {i}" for i in range(30)), *(f"frames {i}" for i in range(30)), "cpu_busy_pct", "tran_rate_tps"]
    outputs = [
        {"metric": name, "condition": "", "value": value, "lo": value, "hi": value, "unit": ""}
        for name in names
        for value in (0.0 if name.startswith("HSP") else 20.0,)
    ]
    found = {"system": "shop", "at": {}, "outputs": outputs, "interval_pct": 90, "model_version": "test/1"}
    found["evidence"] = {"figures": [{"table": "rmf", "metric": "frames 0", "condition": "", "basis": "measured"}]}
    said = answer_text.answer(found)
    assert [line.split()[0] for line in said.splitlines()[3:5]] == ["tran_rate_tps", "cpu_busy_pct"]
    assert "and 22 more: all with --details" in said
    assert len(answer_text.answer(found, details=True).splitlines()) > 60
