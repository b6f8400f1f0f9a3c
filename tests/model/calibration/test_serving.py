"""CPU of regions divided among the classes whose transactions run in them, against a truth the test knows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model.calibration.attribution import (
    AMONG_SERVED,
    BY_REGRESSION,
    BY_SAMPLES,
    OF_GROUPS,
    ONLY_OF_WORKLOAD,
    ONLY_SERVED,
    OWN_CPU,
    attribute_cpu,
)
from model.calibration.groups import Groups, with_group_regions
from model.calibration.history import History
from model.calibration.intervals import _serves
from model.calibration.lpar import NotCalibratable, calibrate_lpar
from model.capacity.ask import explain, predict
from pipelines.answer_text import explanation
from tests.cases.histories import DEMAND_S, ENGINES, SECONDS, SHARE, bundle_of, history, peak_rates, truth

FIXED = 0.02


def in_regions() -> History:
    """The made history, with the CPU of both classes and a little more reported by the class of their regions."""
    given = history()
    regions = given.cp_s.sum(axis=1) + FIXED * SECONDS
    nothing = np.full(len(regions), np.nan)
    none = np.zeros((len(regions), 3))
    return replace(
        given,
        classes=("HIGH", "LOW", "REGIONS"),
        importance=np.array([2, 2, 1]),
        workloads=("CICS", "CICS", "STC"),
        ended=np.column_stack([given.ended, np.zeros(len(regions))]),
        idle_s=none,
        cp_s=np.column_stack([nothing, nothing, regions]),
        busy_s=given.busy_s + FIXED * SECONDS,
        ziip_s=none,
        ziip_on_cp_s=none,
        response_ms=np.column_stack([given.response_ms, nothing]),
        p90_ms=np.column_stack([given.p90_ms, nothing]),
    )


def test_growth_of_a_class_whose_cpu_its_regions_report_is_predicted():
    bundle = bundle_of(in_regions())
    for key, factors in (("growth_pct", [1.15, 1.15]), ("growth_pct.LOW", [1.0, 1.15])):
        answer = predict(bundle, "PRDA", {key: 15})
        busy, responses = truth(peak_rates(history()) * factors)
        found = answer.output("cpu_busy_pct")
        assert found.value == pytest.approx(busy + 100 * FIXED / ENGINES, rel=0.01)
        assert found.lo <= busy + 100 * FIXED / ENGINES <= found.hi
        assert answer.output("response_ms", "class=LOW").value == pytest.approx(responses[1], rel=0.06)
    cost = predict(bundle, "PRDA", {}).output("cpu_us_per_tran", "class=LOW")
    assert cost.lo <= 1e6 * DEMAND_S[1] <= cost.hi
    assert any("REGIONS is divided among HIGH, LOW" in note for note in answer.notes)


@pytest.mark.parametrize("before", [1.25, 0.8])
def test_a_step_of_the_cost_leaves_the_fixed_work_of_regions_as_it_is(before):
    given = in_regions()
    made_s = given.cp_s[:, 2] - FIXED * SECONDS
    more_s = np.where(given.start_local < np.datetime64("2026-09-14"), before - 1.0, 0.0) * made_s
    cp_s = given.cp_s.copy()
    cp_s[:, 2] += more_s
    bundle = bundle_of(replace(given, cp_s=cp_s, busy_s=given.busy_s + (1.0 + SHARE) * more_s))
    law = bundle["systems"]["PRDA"].demands["REGIONS"]
    assert law.scale * law.coef[0, 0] == pytest.approx(FIXED, abs=0.02)
    top = np.argmax(np.where(more_s == 0.0, given.busy_s, 0.0))
    question = {"when": str(given.start_local[top]), "growth_pct": 30}
    busy, _ = truth(given.ended[top, :2] / SECONDS * 1.3)
    found = predict(bundle, "PRDA", question).output("cpu_busy_pct").value
    assert found == pytest.approx(busy + 100 * FIXED / ENGINES, rel=0.01)


def test_work_that_does_not_follow_the_transactions_is_not_divided_among_them():
    given = in_regions()
    steady = np.column_stack([given.cp_s[:, :2], np.full(len(given.seconds), 0.5 * SECONDS)])
    with pytest.raises(NotCalibratable, match="does not follow the transactions"):
        calibrate_lpar(replace(given, cp_s=steady))


def test_samples_of_active_transactions_tell_costs_of_classes_whose_rates_move_together():
    random = np.random.default_rng(7)
    given = in_regions()
    ended = given.ended.copy()
    ended[:, 1] = random.poisson(0.45 * ended[:, 0])
    cpu_s = ended[:, :2] * DEMAND_S
    active = np.zeros_like(ended)
    active[:, :2] = random.poisson(1.1 * cpu_s / 0.25) * 0.25
    cp_s = given.cp_s.copy()
    cp_s[:, 2] = cpu_s.sum(axis=1) * random.normal(1.0, 0.01, len(cpu_s)) + FIXED * SECONDS
    together = replace(given, ended=ended, cp_s=cp_s, samples={"active": active})
    found = attribute_cpu(together, [0, 1], [2])
    assert found.served_by == {0: 2, 1: 2}
    assert set(found.evidence.values()) == {BY_SAMPLES}
    for c, expected in enumerate(DEMAND_S):
        assert found.costs[c, "cp"][0].mean[0] == pytest.approx(expected, rel=0.03)


def with_regions(regions: dict[str, list[int]], workloads: tuple[str, ...], **more) -> History:
    """The made history, with the CPU of its classes, by number, reported in equal parts by classes of regions."""
    given = history()
    count = len(regions)
    part_s = given.cp_s / [sum(c in serves for serves in regions.values()) for c in range(2)]
    own = np.column_stack([part_s[:, serves].sum(axis=1) + FIXED * SECONDS for serves in regions.values()])
    nothing, none = np.full((len(given.seconds), count), np.nan), np.zeros((len(given.seconds), 2 + count))
    return replace(
        given,
        classes=("HIGH", "LOW", *regions),
        importance=np.array([2, 2] + [1] * count),
        workloads=workloads,
        ended=np.column_stack([given.ended, np.zeros_like(nothing)]),
        idle_s=none,
        cp_s=np.column_stack([np.full_like(given.ended, np.nan), own]),
        busy_s=given.busy_s + FIXED * SECONDS * count,
        ziip_s=none,
        ziip_on_cp_s=none,
        response_ms=np.column_stack([given.response_ms, nothing]),
        p90_ms=np.column_stack([given.p90_ms, nothing]),
        **more,
    )


def costs(made: dict) -> dict[str, float]:
    """Seconds of a transaction of each class."""
    usage = {name: made.demands[name] for name in ("HIGH", "LOW")}
    return {name: law.scale * law.coef[0, 1] / law.reference_rate for name, law in usage.items()}


def evidence(made: dict) -> dict[str, str]:
    return {name: made.demands[name].evidence for name in ("HIGH", "LOW")}


def test_regions_with_one_class_in_their_workload_are_that_class():
    made = calibrate_lpar(with_regions({"RGNH": [0], "RGNL": [1]}, ("CICS", "IMS", "CICS", "IMS")))
    assert set(evidence(made).values()) == {ONLY_OF_WORKLOAD}
    assert costs(made) == pytest.approx(dict(zip(("HIGH", "LOW"), DEMAND_S, strict=True)), rel=0.01)
    assert made.busy_components == ("HIGH", "LOW", "uncaptured")
    assert [one.importance for one in made.classes] == [1, 1]
    assert "RGNH" in made.without_transactions and "RGNH" in made.divided
    recorded = made.recorded.component_engines
    assert set(recorded) == {"HIGH", "LOW"}
    assert not any("by regression" in note for note in made.notes)


def test_regions_that_serve_one_class_are_that_class_whatever_their_workload():
    serves = {"RGNH": {"HIGH"}, "RGNL": {"LOW"}}
    made = calibrate_lpar(with_regions({"RGNH": [0], "RGNL": [1]}, ("CICS", "CICS", "STC", "STC"), serves=serves))
    assert set(evidence(made).values()) == {ONLY_SERVED}
    assert costs(made) == pytest.approx(dict(zip(("HIGH", "LOW"), DEMAND_S, strict=True)), rel=0.01)


def test_regions_are_divided_among_the_classes_that_they_serve():
    serves = {"SHARED": {"HIGH", "LOW"}, "ONLYLOW": {"LOW"}}
    given = with_regions({"SHARED": [0, 1], "ONLYLOW": [1]}, ("CICS", "CICS", "STC", "STC"), serves=serves)
    made = calibrate_lpar(given)
    assert set(evidence(made).values()) == {BY_REGRESSION + AMONG_SERVED}
    assert costs(made) == pytest.approx({"HIGH": DEMAND_S[0], "LOW": DEMAND_S[1]}, rel=0.1)
    both, alone = (note for note in made.notes if "by regression" in note)
    assert "SHARED is divided among HIGH, LOW" in both and "ONLYLOW is divided among LOW by" in alone


def test_regions_that_serve_no_class_without_cpu_are_work_without_transactions():
    serves = {"RGNH": {"HIGH"}, "RGNL": {"LOW"}, "OTHER": {"DDF"}}
    workloads = ("CICS", "CICS", "STC", "STC", "STC")
    made = calibrate_lpar(with_regions({"RGNH": [0], "RGNL": [1], "OTHER": [0]}, workloads, serves=serves))
    assert costs(made) == pytest.approx({"HIGH": DEMAND_S[0] / 2, "LOW": DEMAND_S[1]}, rel=0.01)
    assert "OTHER" in made.busy_components
    assert made.demands["OTHER"].evidence == OWN_CPU


def test_explain_names_what_every_cost_rests_on():
    found = explain(bundle_of(in_regions()), "PRDA")
    told = {row["component"]: row["evidence"] for row in found["demand"]}
    assert told["HIGH"] == told["LOW"] == BY_REGRESSION
    assert told["REGIONS"] == OWN_CPU
    assert told["uncaptured"].startswith("busy time of the LPAR")
    assert BY_REGRESSION in explanation(found)
    own = {row["evidence"] for row in explain(bundle_of(history()), "PRDA")["demand"] if row["class"]}
    assert own == {OWN_CPU}


def test_served_classes_are_read_from_the_records():
    rows = pd.DataFrame(
        [("i1", "RGN", "HIGH", 500), ("i2", "RGN", "HIGH", 700), ("i1", "RGN", "LOW", 90), ("i1", "RGN", "SEEN1", 1)],
        columns=["interval_key", "class_name", "served_class_name", "times_served"],
    )
    assert _serves(rows) == {"RGN": {"HIGH", "LOW"}}


def in_one_class() -> History:
    """The made history, whose two workloads run in one class, with what a groups file says of their regions."""
    given = in_regions()
    other = 0.3 * SECONDS * np.random.default_rng(11).uniform(0.5, 1.5, len(given.seconds))
    cp_s = given.cp_s.copy()
    cp_s[:, 2] += other
    made = history()
    none = np.zeros(len(other))
    cpu = {
        (workload, "regions"): np.column_stack([made.cp_s[:, c], none, none]) for c, workload in enumerate(("a", "b"))
    }
    groups = Groups({"a": given.ended[:, 0], "b": given.ended[:, 1]}, cpu)
    return replace(given, cp_s=cp_s, busy_s=given.busy_s + other, groups=groups)


def test_a_groups_file_attributes_the_cpu_of_regions_that_share_a_class():
    given = with_group_regions(in_one_class())
    model = bundle_of(given)
    for c, name in enumerate(("HIGH", "LOW")):
        assert model["systems"]["PRDA"].demands[name].evidence == OF_GROUPS
        cost = predict(model, "PRDA", {}).output("cpu_us_per_tran", f"class={name}")
        top = np.argmax(given.busy_s)
        assert cost.value == pytest.approx(1e6 * history().cp_s[top, c] / given.ended[top, c], rel=1e-4)
    grown = predict(model, "PRDA", {"growth_pct.LOW": 20}).output("cpu_busy_pct")
    top = np.argmax(given.busy_s)
    truth = given.busy_s[top] + 0.2 * (1.0 + SHARE) * history().cp_s[top, 1]
    assert grown.value == pytest.approx(100 * truth / SECONDS / ENGINES, rel=3e-3)
    assert grown.lo <= 100 * truth / SECONDS / ENGINES <= grown.hi


def test_all_cpu_stays_recorded_where_a_groups_file_tells_regions_apart():
    before = in_one_class()
    after = with_group_regions(before)
    assert np.nansum(after.cp_s, axis=1) == pytest.approx(np.nansum(before.cp_s, axis=1))
    assert after.hosts == {"a regions in REGIONS": "REGIONS", "b regions in REGIONS": "REGIONS"}


@pytest.mark.parametrize("factor", [100.0, np.where(np.arange(len(history().seconds)) % 4, np.nan, 1.0)[:, None]])
def test_a_groups_file_whose_cpu_no_class_has_or_that_is_often_missing_attributes_none(factor):
    given = in_one_class()
    cpu = {name: factor * used for name, used in given.groups.cpu_s.items()}
    told = with_group_regions(replace(given, groups=replace(given.groups, cpu_s=cpu)))
    assert told.classes == given.classes
