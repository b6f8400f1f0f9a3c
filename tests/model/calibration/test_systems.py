"""Condition laws of a user's own runs, beside those of the studies."""

import pandas as pd

from model.calibration.systems import calibrate
from model.capacity.conditions.answering import predict

NO_POINTS = pd.DataFrame(columns=["system_id", "point", "etr_tps"])


def runs(system, conditions):
    return [
        {
            "system_id": system,
            "point": condition,
            "condition": condition,
            "workload": "QUEUES",
            "subject": subject,
            "metric": "elapsed_s",
            "value": 4.0 + i,
            "value_se": 0.01,
            "unit": "s",
        }
        for i, condition in enumerate(conditions)
        for subject in ("first", "second")
    ]


def test_runs_of_a_user_are_fitted_by_the_same_laws():
    figures = runs("own", ["buffer_kb=2", "buffer_kb=4", "buffer_kb=8"]) + runs("plain", ["measured in May"])
    laws = calibrate(NO_POINTS, {}, figures=figures).conditions
    assert {row["system"] for row in laws["rows"]} == {"own"}
    found = predict(laws, "own", {"buffer_kb": 6})
    assert {output.condition["subject"] for output in found} == {"first", "second"}
    assert all(5.0 < output.value < 6.0 for output in found)


def test_runs_at_one_condition_have_no_laws():
    figures = runs("own", ["release=R1"]) + runs("ims10-base-fp", ["variant=IMS V9"])
    assert not [row for row in calibrate(NO_POINTS, {}, figures=figures).conditions["rows"] if row["system"] == "own"]
