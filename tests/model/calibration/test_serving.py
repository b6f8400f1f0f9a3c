"""CPU of regions divided among the classes whose transactions run in them, against a truth the test knows."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import History
from model.calibration.production import Unusable, entry
from model.calibration.serving import served
from model.capacity.ask import predict
from tests.cases.histories import DEMAND_S, ENGINES, SECONDS, bundle_of, history, peak_rates, truth

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


def test_work_that_does_not_follow_the_transactions_is_not_divided_among_them():
    given = in_regions()
    steady = np.column_stack([given.cp_s[:, :2], np.full(len(given.seconds), 0.5 * SECONDS)])
    with pytest.raises(Unusable, match="follow them"):
        entry(replace(given, cp_s=steady))


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
    found = served(together, [0, 1], [2])
    assert found.served_by == {0: 2, 1: 2}
    for c, expected in enumerate(DEMAND_S):
        assert found.costs[c, "cp"][0].mean[0] == pytest.approx(expected, rel=0.03)
