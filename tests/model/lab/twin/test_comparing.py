"""What a model answers is set beside the truth figure by figure."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from model.lab.twin.comparing import Compared, asked_of_model, compare
from model.lab.twin.truth import mixed_percentile
from model.network.simulator.statistics import Estimate
from tests.model.lab.twin import made

TRUTH = {
    "system": "PRDA",
    "at": {"growth_pct.inquiry": 20, "when": "2026-09-07T12:00"},
    "outputs": [
        {"metric": "cpu_busy_pct", "condition": "", "value": 80.0, "lo": 79.9, "hi": 80.1, "unit": "%"},
        {"metric": "response_ms", "condition": "class=CICSHI", "value": 20.0, "lo": 19.9, "hi": 20.1, "unit": "ms"},
        {"metric": "itr_tps", "condition": "", "value": 100.0, "lo": 99.9, "hi": 100.1, "unit": "1/s"},
    ],
    "bottleneck": {"resource": "machine shared", "utilization_pct": 85.0},
}


def answered(system: str, at: Mapping[str, Any]) -> Mapping[str, Any]:
    assert (system, at) == ("PRDA", {"growth_pct.CICSHI": 20, "when": "2026-09-07T12:00"})
    return {
        "outputs": [
            {"metric": "cpu_busy_pct", "condition": "growth_pct.CICSHI=20", "value": 81.0, "lo": 79.0, "hi": 83.0},
            {
                "metric": "response_ms",
                "condition": "class=CICSHI; growth_pct.CICSHI=20",
                "value": 22.0,
                "lo": 21.0,
                "hi": 23.0,
            },
        ],
        "bottleneck": {"resource": "machine 8561", "utilization_pct": 84.0},
    }


def refused(system: str, at: Mapping[str, Any]) -> Mapping[str, Any]:
    raise ValueError("no such system")


def row(rows: list[Compared], metric: str) -> Compared:
    return next(r for r in rows if r.metric == metric)


def test_errors_are_points_of_busy_and_percent_of_the_rest() -> None:
    rows = compare(made.twin(), {"more": TRUTH}, answered)
    assert row(rows, "cpu_busy_pct").error_pct == 1.0 and row(rows, "cpu_busy_pct").covered is True
    assert row(rows, "response_ms").error_pct == pytest.approx(10.0) and row(rows, "response_ms").covered is False
    assert row(rows, "itr_tps").note == "not answered"
    assert row(rows, "bottleneck").covered is True


def test_what_is_refused_says_why_in_every_row() -> None:
    rows = compare(made.twin(), {"more": TRUTH}, refused)
    assert {r.note for r in rows} == {"no such system"} and all(r.predicted is None for r in rows)


def test_what_has_no_steady_state_must_not_be_predicted() -> None:
    none = dict.fromkeys(("value", "lo", "hi"))
    outputs = [{**output, **none} if output["metric"] != "cpu_busy_pct" else output for output in TRUTH["outputs"]]
    rows = compare(made.twin(), {"more": {**TRUTH, "outputs": outputs}}, answered)
    assert row(rows, "response_ms").covered is False and row(rows, "itr_tps").covered is True
    assert row(rows, "response_ms").truth is None and row(rows, "response_ms").note == "no steady state"


def test_a_model_knows_classes_by_their_service_class() -> None:
    at = {"growth_pct.inquiry": 5, "rate.ORDERS": 3, "limit.MXT": 9}
    assert asked_of_model(made.twin(), at) == {"growth_pct.CICSHI": 5, "rate.ORDERS": 3, "limit.MXT": 9}


def test_a_percentile_of_several_classes_is_that_of_all_their_transactions() -> None:
    def exponential(mean_s: float) -> dict[float, Estimate]:
        return {p: Estimate(-mean_s * math.log(1.0 - p / 100.0), 0.0) for p in (50.0, 90.0, 95.0, 99.0)}

    found = mixed_percentile([exponential(1.0), exponential(5.0)], [0.7, 0.3], 90.0).value
    assert 0.7 * math.exp(-found) + 0.3 * math.exp(-found / 5.0) == pytest.approx(0.1)
