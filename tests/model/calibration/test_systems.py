"""Condition laws of a user's own runs, beside those of the studies."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model.calibration import systems
from model.calibration.systems import NothingCalibratedError, calibrate
from model.published.model import predict
from model.validation.drift import keep_laws
from tests.cases.histories import history

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


def fails(monkeypatch, name, concerns):
    """Have a step of the calibration fail where its first argument concerns the test."""
    step = getattr(systems, name)

    def failing(first, *others):
        if concerns(first):
            raise ZeroDivisionError("on purpose")
        return step(first, *others)

    monkeypatch.setattr(systems, name, failing)


def test_laws_of_a_system_that_fails_are_those_of_the_champion(monkeypatch):
    figures = [row for name in ("own", "broken") for row in runs(name, ["buffer_kb=2", "buffer_kb=4", "buffer_kb=8"])]
    before = calibrate(NO_POINTS, {}, figures=figures)
    assert before.faults == {}
    fails(monkeypatch, "fit_conditions", lambda rows: any(row.system == "broken" for row in rows))
    after = calibrate(NO_POINTS, {}, figures=figures)
    assert list(after.faults) == ["broken"] and "on purpose" in after.refused["broken"]
    assert {row["system"] for row in after.conditions["rows"]} == {"own"}
    standing = {"systems": {}, "conditions": before.conditions}
    assert keep_laws(after.conditions, standing, after.faults) == before.conditions
    assert keep_laws(after.conditions, None, after.faults) == after.conditions


def test_a_history_that_fails_and_a_parameter_that_is_no_number_leave_out_their_system_alone(monkeypatch):
    histories = dict.fromkeys(("PR#A", "PR#B", "PR#C"), history())
    made = systems.calibrate_lpar(history())
    monkeypatch.setattr(systems, "calibrate_lpar", lambda _: made)
    found = iter([replace(made, engines=np.nan), made, None])
    monkeypatch.setattr(systems, "with_components", lambda *_: next(found) or 1 / 0)
    fitted = calibrate(NO_POINTS, histories)
    assert list(fitted.systems) == ["PR#B"]
    assert "the parameter engines is nan" in fitted.faults["PR#A"]
    assert "ZeroDivisionError" in fitted.faults["PR#C"]
    monkeypatch.setattr(systems, "with_components", lambda *_: 1 / 0)
    with pytest.raises(NothingCalibratedError, match="ZeroDivisionError") as raised:
        calibrate(NO_POINTS, histories)
    assert list(raised.value.faults) == list(histories)
