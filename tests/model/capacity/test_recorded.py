"""Questions about recorded intervals: the answer is the record, with the model's value beside it."""

from dataclasses import replace

import numpy as np
import pytest

from model.capacity.ask import predict
from pipelines import answer_text
from tests.cases.histories import ENGINES, SECONDS, bundle_of, history


@pytest.fixture(scope="module")
def given():
    return history()


@pytest.fixture(scope="module")
def bundle(given):
    return bundle_of(given)


def recorded(given, i):
    """Busy and responses of interval ``i`` as the history has them."""
    busy = 100.0 * given.busy_s[i] / SECONDS / ENGINES
    return {"cpu_busy_pct": busy} | dict(zip(given.classes, given.response_ms[i], strict=True))


def check_record(answer, record):
    assert answer.output("cpu_busy_pct").value == pytest.approx(record["cpu_busy_pct"], rel=1e-5)
    for name in ("HIGH", "LOW"):
        assert answer.output("response_ms", f"class={name}").value == pytest.approx(record[name], rel=1e-5)
    rows = {row["class"] or row["metric"]: row for row in answer.recorded}
    for name, value in record.items():
        assert rows[name]["recorded"] == pytest.approx(value, rel=1e-5)
        # The model knows the system to within the scatter of single intervals, and does not copy the record.
        assert rows[name]["modelled"] == pytest.approx(value, rel=0.06)
        assert rows[name]["modelled"] != pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("when", [None, "peak"])
def test_the_peak_is_the_recorded_peak(bundle, given, when):
    top = int(np.argmax(given.busy_s))
    check_record(predict(bundle, "PRDA", {"when": when} if when else None), recorded(given, top))


@pytest.mark.parametrize("i", [0, 40, 700, 1343])
def test_a_recorded_interval_is_answered_with_its_record(bundle, given, i):
    answer = predict(bundle, "PRDA", {"when": str(given.start_local[i].astype("datetime64[s]"))})
    check_record(answer, recorded(given, i))


def test_a_cost_that_rises_with_busy_leaves_the_record_as_it_is(given):
    bundle = bundle_of(given)
    parameters = bundle["systems"]["PRDA"]
    cost = replace(parameters.busy_cost, slope=np.full(129, 0.3))
    bundle["systems"] = {"PRDA": replace(parameters, busy_cost=cost)}
    top = int(np.argmax(given.busy_s))
    assert predict(bundle, "PRDA").output("cpu_busy_pct").value == pytest.approx(
        recorded(given, top)["cpu_busy_pct"], rel=1e-4
    )


def test_a_change_or_a_date_to_come_has_no_record_beside_it(bundle):
    assert not predict(bundle, "PRDA", {"growth_pct": 10}).recorded
    assert not predict(bundle, "PRDA", {"when": "2026-12-01T10:00"}).recorded
    assert predict(bundle, "PRDA").recorded


def test_the_terminal_shows_the_model_beside_the_record(bundle):
    text = answer_text.answer(predict(bundle, "PRDA").to_dict())
    (line,) = (line for line in text.splitlines() if "model without this record" in line)
    assert "cpu_busy_pct" in line and "(recorded" in line and "response_ms LOW" in line
