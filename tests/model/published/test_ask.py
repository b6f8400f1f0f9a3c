"""Answers where the network and studies meet: points by rate alone, levels, siblings."""

import subprocess
import sys
from dataclasses import replace

import pytest

from model.capacity import ask
from model.capacity import bundle as bundles
from model.capacity.ask import size
from model.capacity.values import QuestionError
from model.published.model import fit
from model.published.observations import Identity, Observation, Operand
from tests.model.capacity.conftest import predict, value


@pytest.fixture(scope="module")
def with_laws(bundle):
    rows = [
        Observation("shop", "etr_tps", {"release": "R1"}, 6000.0, "tran/s", "runs"),
        Observation("shop", "etr_tps", {"release": "R2"}, 6000.0, "tran/s", "runs"),
        Observation("shop", "cpu_busy_pct", {"release": "R1"}, 77.5, "pct", "runs"),
        Observation("shop", "cpu_busy_pct", {"release": "R2"}, 80.0, "pct", "runs"),
        Observation("shop", "csa_kb", {"release": "R2"}, 700.0, "KB", "runs"),
        Observation("shop", "etr_tps", {"point": "7"}, 5000.0, "tran/s", "rates"),
        Observation("large", "total_tps", {}, 7000.0, "tran/s", "summary"),
    ]
    facts = {"shop": {"dedicated_cps": "8", "workload": "shop"}, "large": {"dedicated_cps": "12", "workload": "shop"}}
    return {**bundle, "conditions": fit(rows, facts)}


def test_a_point_whose_rate_alone_was_measured_is_answered_by_the_network_at_this_rate(with_laws):
    asked, computed = predict(with_laws, "shop", {"point": "7"}), predict(with_laws, "shop", {"etr_tps": 5000})
    assert value(asked, "cpu_busy_pct")["value"] == value(computed, "cpu_busy_pct")["value"]
    assert {output["condition"] for output in asked["outputs"]} == {"point=7"}
    assert value(asked, "etr_tps")["value"] == 5000
    with pytest.raises(QuestionError, match=r"point: '8' was not measured .*1, 2, 3, 7"):
        predict(with_laws, "shop", {"point": "8"})


def test_a_point_that_no_network_has_stands_for_the_conditions_it_was_measured_at(bundle):
    rows = [
        Observation(
            "link", metric, {"buffer_kb": kb, "mode": "wide", "part": metric}, 9.0, "s", "links", point=f"{kb}K"
        )
        for kb in ("4", "8")
        for metric in ("send_s", "receive_s")
    ]
    made = {
        **bundle,
        "conditions": fit([*rows, Observation("link", "send_s", {"mode": "wide"}, 9.0, "s", "links")], {}),
    }
    asked, told = (predict(made, "link", at) for at in ({"point": "8K"}, {"buffer_kb": "8", "mode": "wide"}))
    assert asked["outputs"] == told["outputs"]
    assert {output["metric"] for output in asked["outputs"]} == {"send_s", "receive_s"}
    for at, refusal in (
        ({"point": "9K"}, "'9K' was not measured; .*4K, 8K"),
        ({"point": "8K", "buffer_kb": 4}, "at '8'"),
    ):
        with pytest.raises(QuestionError, match=refusal):
            predict(made, "link", at)


def test_a_point_of_a_network_has_all_that_was_measured_at_it_and_parts_in_place_of_the_whole(bundle):
    rows = [
        Observation("shop", "itr_tps", {"lpar": lpar, "pool": pool}, 3000.0 + n, "tran/s", "runs", point=pool)
        for n, (lpar, pool) in enumerate((lpar, pool) for lpar in ("A", "B") for pool in ("1", "2"))
    ]
    rows.append(Observation("shop", "csa_kb", {"pool": "2"}, 700.0, "KB", "storage", point="2"))
    known = {**bundle, "conditions": fit(rows, {})}
    plain, asked = predict(bundle, "shop", {"point": "2"}), predict(known, "shop", {"point": "2"})
    assert value(asked, "cpu_busy_pct") == value(plain, "cpu_busy_pct")
    itr = [(output["condition"], output["value"]) for output in asked["outputs"] if output["metric"] == "itr_tps"]
    assert itr == [("lpar=A; pool=2", 3001.0), ("lpar=B; pool=2", 3003.0)]
    assert value(asked, "csa_kb")["value"] == 700.0


def test_a_point_without_conditions_of_its_own_has_the_figures_that_were_measured_at_it(bundle):
    rows = [
        Observation("shop", "END/S", {"figure": f"{n}"}, 9.0 + n, "tran/s", "report", point="report") for n in (1, 2)
    ]
    rows.append(Observation("shop", "csa_kb", {}, 700.0, "KB", "storage", point="1"))
    asked = predict({**bundle, "conditions": fit(rows, {})}, "shop", {"point": "report"})
    found = {output["condition"]: output["value"] for output in asked["outputs"]}
    assert found == {"figure=1": 10.0, "figure=2": 11.0}


def test_the_machine_that_all_figures_were_measured_on_is_part_of_their_condition(bundle):
    rows = [
        Observation("shop", "csa_kb", {"machine": "m1", "group": group}, 700.0, "KB", "runs")
        for group in ("csa", "sqa")
    ]
    known = {**bundle, "conditions": fit(rows, {})}
    asked, told = (predict(known, "shop", {"group": "csa", **machine}) for machine in ({"machine": "m1"}, {}))
    assert asked["outputs"] == told["outputs"]


def test_rates_that_a_sibling_alone_shows_are_none_of_a_system_with_a_network(with_laws):
    rows = [
        Observation("large", metric, {}, x, unit, "summary")
        for metric, x, unit in (("total_tps", 7000.0, "tran/s"), ("csa_kb", 9.0, "KB"))
    ]
    rows.append(Observation("shop", "etr_tps", {"point": "7"}, 5000.0, "tran/s", "rates"))
    claimed = Identity("shop", "claims", "", "rate_over", {}, "tran/s", "same", (Operand(constant=5000.0),))
    bundle = {**with_laws, "conditions": fit(rows, with_laws["conditions"]["facts"], [claimed])}
    answered = {output["metric"] for output in predict(bundle, "shop", {})["outputs"]}
    assert {"csa_kb", "rate_over"} < answered and "total_tps" not in answered


@pytest.mark.parametrize("rate", [-3.0, 0.0, float("nan"), float("inf")])
def test_a_rate_that_cannot_be_is_refused_whatever_the_laws_know(with_laws, rate):
    rows = [Observation("shop", "etr_tps", {}, 6000.0, "tran/s", "summary")]
    bundle = {**with_laws, "conditions": fit(rows, {"shop": {"workload": "shop"}})}
    with pytest.raises(QuestionError) as refused:
        predict(bundle, "shop", {"etr_tps": rate})
    assert refused.value.field == "at.etr_tps"


def test_such_a_point_is_answered_on_other_engines_and_for_a_sibling_too(with_laws):
    moved, computed = (predict(with_laws, "shop", {**at, "engines": 12}) for at in ({"point": "7"}, {"etr_tps": 5000}))
    sibling = predict(with_laws, "large", {"point": "7"})
    busy = [value(found, "cpu_busy_pct")["value"] for found in (moved, sibling, computed)]
    assert busy == [pytest.approx(busy[-1])] * 3
    assert value(moved, "etr_tps")["value"] == 5000


def test_a_condition_and_a_load_go_into_one_question(with_laws):
    measured = predict(with_laws, "shop", {"release": "R2"})
    asked = predict(with_laws, "shop", {"release": "R2", "etr_tps": 3000})
    before, after = (predict(with_laws, "shop", {"etr_tps": rate}) for rate in (6000, 3000))
    change = value(after, "cpu_busy_pct")["value"] / value(before, "cpu_busy_pct")["value"]
    assert value(asked, "cpu_busy_pct")["value"] == pytest.approx(80.0 * change)
    assert value(asked, "etr_tps")["value"] == pytest.approx(3000)
    assert value(asked, "csa_kb") == value(measured, "csa_kb")
    assert any("csa_kb" in note for note in asked["notes"])
    grown = predict(with_laws, "shop", {"release": "R2", "growth_pct": -50})
    assert value(grown, "cpu_busy_pct")["value"] == pytest.approx(value(asked, "cpu_busy_pct")["value"])


def test_busy_at_a_rate_follows_from_an_itr_that_was_measured_at_no_known_rate(bundle):
    rows = [
        Observation("shop", metric, {"release": release}, value, unit, "runs")
        for release, itr in (("R1", 8000.0), ("R2", 4000.0))
        for metric, value, unit in (("itr_tps", itr, "tran/s"), ("queue_ms", 50.0, "ms"))
    ]
    known = {**bundle, "conditions": fit(rows, {"shop": {}})}
    asked = predict(known, "shop", {"release": "R1", "etr_tps": 4000})
    busy = value(asked, "cpu_busy_pct")
    assert busy["value"] == pytest.approx(50.0)
    assert busy["lo"] < 49.9 < 50.1 < busy["hi"]
    assert any("queue_ms" in note and "not known" in note for note in asked["notes"])
    assert value(predict(known, "shop", {"release": "R2", "cpu_busy_pct": 80}), "etr_tps")["value"] == pytest.approx(
        3200
    )
    over = predict(known, "shop", {"release": "R2", "etr_tps": 5000})
    assert value(over, "cpu_busy_pct")["value"] == 100.0
    assert any("more than the engines can do at release=R2" in note for note in over["notes"])
    with pytest.raises(QuestionError, match="no transaction rate was measured"):
        predict(known, "shop", {"release": "R2", "growth_pct": 10})


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ({"etr": 5}, "at: unknown key 'etr'; did you mean etr_tps?"),
        ({"etr": 5, "release": "R2"}, "at: unknown key 'etr'; did you mean etr_tps?"),
        ({"relaese": "R2", "engines": 9}, "at: unknown key 'relaese'; did you mean release?"),
        ({"point": "1", "etr_tps": 5}, "both set the load"),
        ({"point": "8", "engines": 9}, r"point: '8' was not measured \(allowed: 1, 2, 3, 7\)"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_keys_of_network_and_conditions(with_laws, at, said):
    with pytest.raises(QuestionError, match=said):
        predict(with_laws, "shop", at)


def test_a_rate_asked_of_several_levels_at_once_is_refused(bundle):
    rows = [Observation("shop", "etr_tps", {"release": f"Shop R{n}"}, 6000.0, "tran/s", "runs") for n in (1, 2)]
    with pytest.raises(QuestionError, match="stands for several"):
        predict({**bundle, "conditions": fit(rows, {})}, "shop", {"release": "Shop", "etr_tps": 3000})


def test_engines_may_be_asked_for_by_the_name_that_the_configuration_has(with_laws):
    named = predict(with_laws, "shop", {"dedicated_cps": 10, "etr_tps": 5000})
    assert named["outputs"] == predict(with_laws, "shop", {"engines": 10, "etr_tps": 5000})["outputs"]


def test_a_system_without_cpu_figures_is_answered_by_the_network_of_its_sibling(with_laws):
    lent = predict(with_laws, "large")
    own = predict(with_laws, "shop", {"engines": 12, "etr_tps": 7000})
    assert value(lent, "total_tps")["value"] == 7000
    assert value(lent, "cpu_busy_pct")["value"] == value(own, "cpu_busy_pct")["value"]
    assert any("network of shop" in note for note in lent["notes"])
    lighter = predict(with_laws, "large", {"etr_tps": 3000})
    assert "total_tps" not in {output["metric"] for output in lighter["outputs"]}


def test_what_tells_a_sibling_of_as_many_engines_apart_may_take_work(with_laws):
    """Monitoring is switched on, and the highest rate is lower: nothing says whether engines are as busy as before."""
    rows = [
        Observation(system, metric, {}, figure, unit, "highest")
        for system, figures in (("shop", (7000.0, 97.0)), ("monitored", (5600.0, None)))
        for metric, unit, figure in zip(("etr_tps", "cpu_busy_pct"), ("tran/s", "pct"), figures, strict=True)
        if figure is not None
    ]
    facts = {system: {"dedicated_cps": "8", "workload": "shop"} for system in ("shop", "monitored")}
    bundle = {**with_laws, "conditions": fit(rows, facts)}
    plain = predict(bundle, "shop", {"etr_tps": 5600})
    for rate in ({}, {"etr_tps": 3000}):
        found = predict(bundle, "monitored", rate)
        busy, alike = (
            value(answer, "cpu_busy_pct") for answer in (found, predict(bundle, "shop", {"etr_tps": 5600} | rate))
        )
        assert busy["lo"] < alike["value"] < busy["value"] <= busy["hi"] <= 100.0
        itr = value(found, "itr_tps")
        assert itr["lo"] < itr["value"] < value(plain, "itr_tps")["value"] < itr["hi"]
        assert any("as many engines" in note for note in found["notes"])


def test_the_network_of_a_sibling_sizes_a_system_and_finds_its_highest_rate(with_laws):
    sized, own = size(with_laws, "large", max_busy_pct=80), size(with_laws, "shop", {"etr_tps": 7000}, max_busy_pct=80)
    assert (sized["system"], sized["engines"]) == ("large", own["engines"])
    highest = ask.max_rate(with_laws, "large", max_busy_pct=90)
    own = ask.max_rate(with_laws, "shop", {"engines": 12}, max_busy_pct=90)
    assert highest["etr_tps"]["value"] == pytest.approx(own["etr_tps"]["value"])
    assert any("network of shop" in note for note in highest["notes"])


def test_conditions_are_swept_and_compared_as_loads_are(with_laws):
    found = ask.sweep(with_laws, "shop", "etr_tps", [3000, 6000], at={"release": "R2"}, metrics=["cpu_busy_pct"])
    busy = [step["outputs"][0]["value"] for step in found["steps"]]
    assert busy[0] < busy[1]
    assert busy[1] == pytest.approx(80.0)
    compared = ask.compare(with_laws, "shop", {"release": "R1"}, {"release": "R2"})
    change = next(row["change_pct"] for row in compared["changes"] if row["metric"] == "cpu_busy_pct")
    assert change["value"] == pytest.approx(100 * (80.0 / 77.5 - 1))
    assert change["lo"] < change["value"] < change["hi"]
    with pytest.raises(QuestionError, match="is not predicted for shop"):
        ask.sweep(with_laws, "shop", "release", ["R1"], metrics=["colour"])


def test_what_the_network_refuses_is_answered_from_condition_laws_where_they_know_it(bundle):
    rows = [Observation("shop", "csa_kb", {"point": point}, 700.0, "KB", "storage") for point in ("1", "stress")]
    rows += [Observation("store", "csa_kb", {"users": users}, 70.0, "KB", "store") for users in ("1", "2", "4")]
    with_laws = {**bundle, "conditions": fit(rows, {})}
    assert {o["metric"] for o in predict(with_laws, "shop", {"point": "stress"})["outputs"]} == {"csa_kb"}
    assert value(predict(with_laws, "shop", {"point": "1"}), "cpu_busy_pct")
    for system, at, field in (
        ("shop", {"point": "none"}, "point"),
        ("shop", {"colour": "red"}, "at.colour"),
        ("store", {"etr_tps": 5}, "at.etr_tps"),
    ):
        with pytest.raises(QuestionError) as raised:
            ask.predict(with_laws, system, at)
        assert raised.value.field in (field, f"at.{field}")
        assert raised.value.allowed


def test_conditions_that_no_figure_has_together_are_named(bundle):
    rows = [Observation("store", "csa_kb", {key: level}, 70.0, "KB", key) for key in ("part", "site") for level in "ab"]
    with pytest.raises(QuestionError, match="no figure of store has part=a and site=b; ask with fewer conditions"):
        predict({**bundle, "conditions": fit(rows, {})}, "store", {"part": "a", "site": "b"})


def test_a_figure_of_the_network_is_answered_under_the_conditions_it_was_published_with(bundle):
    parameters = bundle["systems"]["shop"]
    shown = {"cpu_busy_pct": "group=CPU; machine=m1"}
    points = tuple(replace(point, conditions=shown) for point in parameters.points)
    rows = [Observation("shop", "csa_kb", {"group": "storage"}, 700.0, "KB", "runs")]
    published = {**bundle, "systems": {"shop": replace(parameters, points=points)}, "conditions": fit(rows, {})}
    for at in ({"group": "CPU"}, {"group": "CPU", "machine": "m1"}):
        assert [output["metric"] for output in predict(published, "shop", at)["outputs"]] == ["cpu_busy_pct"]
    with pytest.raises(QuestionError, match="group: 'none' was not measured"):
        predict(published, "shop", {"group": "none"})


def test_what_the_laws_lack_at_a_condition_the_network_says_at_the_point_published_under_it(bundle):
    parameters = bundle["systems"]["shop"]
    metrics = ("etr_tps", "cpu_busy_pct", "itr_tps")
    points = tuple(
        replace(point, conditions=dict.fromkeys(metrics, f"release=R{point.point}")) for point in parameters.points
    )
    rows = [Observation("shop", "itr_tps", {"release": f"R{n}"}, 7500.0, "tran/s", "runs") for n in (1, 2, 3)]
    published = {**bundle, "systems": {"shop": replace(parameters, points=points)}, "conditions": fit(rows, {})}
    found, network = predict(published, "shop", {"release": "R2"}), predict(bundle, "shop", {"point": "2"})
    assert [output["metric"] for output in found["outputs"]] == ["itr_tps", "etr_tps", "cpu_busy_pct"]
    assert value(found, "etr_tps")["value"] == value(network, "etr_tps")["value"]
    assert value(found, "cpu_busy_pct")["value"] == pytest.approx(100.0 * value(found, "etr_tps")["value"] / 7500.0)
    assert {output["condition"] for output in found["outputs"]} == {"release=R2"}
    assert found["bottleneck"] == network["bottleneck"]
    grown = predict(published, "shop", {"release": "R2", "growth_pct": 10})
    assert value(grown, "etr_tps")["value"] == pytest.approx(1.1 * value(found, "etr_tps")["value"])
    assert value(grown, "cpu_busy_pct")["value"] > value(found, "cpu_busy_pct")["value"]


def test_busy_at_a_condition_is_at_most_that_of_all_engines(with_laws):
    asked = value(predict(with_laws, "shop", {"release": "R2", "etr_tps": 9000}), "cpu_busy_pct")
    assert asked["value"] == asked["hi"] == 100.0


def test_at_a_load_laws_answer_what_no_network_has(bundle):
    """Work and transactions go with their measured rate, storage stays, work at no known rate is left out."""
    rows = [
        Observation("shop", "etr_tps", {"structure": "log"}, 5000.0, "tran/s", "cf"),
        Observation("shop", "access_per_s", {"structure": "log"}, 700.0, "1/s", "cf"),
        Observation("shop", "csa_kb", {"structure": "log"}, 90.0, "KB", "cf"),
        Observation("shop", "total_passed", {"structure": "log"}, 1500.0, "count", "cf"),
        Observation("shop", "etr_tps", {"point": "7"}, 4000.0, "tran/s", "rates"),
        Observation("shop", "io_per_s", {"point": "7"}, 300.0, "1/s", "rates"),
    ]
    known = {**bundle, "conditions": fit(rows, {"shop": {"workload": "shop"}})}
    plain, asked = predict(bundle, "shop", {"etr_tps": 6000}), predict(known, "shop", {"etr_tps": 6000})
    assert value(asked, "cpu_busy_pct") == value(plain, "cpu_busy_pct")
    access = value(asked, "access_per_s")
    assert access["value"] == pytest.approx(700.0 * 6000 / 5000)
    assert access["lo"] < access["value"] < access["hi"]
    assert value(asked, "total_passed")["value"] == pytest.approx(1500.0 * 6000 / 5000)
    assert value(asked, "csa_kb")["value"] == 90.0
    assert "not changed by the load, as far as is known: csa_kb" in asked["notes"]
    assert not any(output["metric"] == "io_per_s" for output in asked["outputs"])
    busy = predict(known, "shop", {"cpu_busy_pct": 50})
    assert value(busy, "access_per_s")["value"] == pytest.approx(700.0 * value(busy, "etr_tps")["value"] / 5000)
    grown = predict(known, "shop", {"growth_pct": 20})
    rate = value(grown, "itr_tps")["value"] * value(grown, "cpu_busy_pct")["value"] / 100.0
    assert value(grown, "access_per_s")["value"] == pytest.approx(700.0 * rate / 5000, rel=1e-3)


def test_a_question_about_a_system_without_studies_loads_nothing_of_them(bundle, tmp_path):
    place = tmp_path / "bundle.json"
    place.write_text(bundles.dumps({**bundle, "conditions": fit([Observation("link", "send_s", {}, 9.0, "s")], {})}))
    code = (
        "import pathlib, sys; from model.capacity import ask; from model.capacity.bundle import read;"
        "bundle = read(pathlib.Path(sys.argv[1]));"
        "ask.predict(bundle, 'shop', {'etr_tps': 3000});"
        "print([name for name in sys.modules if name.startswith(('model.published', 'sklearn'))]);"
        "ask.predict(bundle, 'link');"
        "print([name for name in sys.modules if name.startswith('sklearn')])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "[]"]
