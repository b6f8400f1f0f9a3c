"""Responses that were measured at a load tell of the work it brought."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from model.calibration.production import entry
from model.capacity import queues
from model.capacity.ask import compare, headroom, max_rate, predict, size, sweep
from model.capacity.bundle import build, dumps, loads
from model.capacity.ensemble import System
from model.capacity.loads import understand
from model.capacity.msu_forecast import RecordedMsu, forecast_msu
from model.capacity.questions import QuestionError
from model.validation.origin import compared
from tests.model.calibration.test_production import DEMAND_S, ENGINES, FIXED, REST_MS, SHARE, history

LATER = "later days with responses known"


@cache
def varying():
    """A history of two classes whose work varies by chance between intervals, as that of few and large transactions."""
    h, each = history(), 100.0
    random = np.random.default_rng(5)
    work = np.maximum(1.0 + random.standard_normal(h.ended.shape) * np.sqrt(each / h.ended), 0.2)
    cp_s = h.ended * DEMAND_S * work
    busy_s = FIXED * h.seconds + (1.0 + SHARE) * cp_s.sum(axis=1)
    stretch = queues.stretch(busy_s / h.seconds, ENGINES)[:, None]
    response = (1e3 * DEMAND_S * work * stretch + REST_MS) * random.normal(1.0, 0.02, work.shape)
    return replace(h, cp_s=cp_s, busy_s=busy_s, response_ms=response)


@cache
def asked():
    return loads(dumps(build({"PRDA": entry(varying())}, data={}, validation={})))


def seen(h, i):
    return {f"response_ms.{name}": float(h.response_ms[i, c]) for c, name in enumerate(h.classes)}


def test_busy_is_nearer_where_the_responses_of_an_interval_are_known_and_its_limits_hold():
    h = varying()
    misses, held = [], []
    for i in range(40, len(h.seconds), 60):
        truth = 100.0 * h.busy_s[i] / h.seconds[i] / ENGINES
        at = {"when": str(h.start_local[i])[:16]}
        answers = predict(asked(), "PRDA", at), predict(asked(), "PRDA", {**at, **seen(h, i)})
        plain, known = (next(o for o in answer.outputs if o.metric == "cpu_busy_pct") for answer in answers)
        misses.append((abs(plain.value - truth), abs(known.value - truth)))
        held.append(known.lo <= truth <= known.hi)
        assert any("transactions took" in note for note in answers[1].notes)
    by_rates, by_responses = np.mean(misses, axis=0)
    assert by_responses < 0.6 * by_rates
    assert np.mean(held) >= 0.75


@pytest.mark.parametrize(("times", "told"), [(1.0, False), (1.2, True)])
def test_a_response_that_no_work_explains_is_called_so(times, told):
    at = {"when": str(history().start_local[40])[:16]}
    known = build({"PRDA": entry(history())}, data={}, validation={})
    usual = next(
        o.value for o in predict(known, "PRDA", at).outputs if (o.metric, o.condition) == ("response_ms", "class=HIGH")
    )
    notes = predict(known, "PRDA", {**at, "response_ms.HIGH": times * usual}).notes
    assert any("something else changed it" in note for note in notes) is told


@pytest.mark.parametrize(("made", "told"), [(varying, True), (history, False)])
def test_validation_says_how_near_busy_is_with_responses_known_where_work_varies(made, told):
    h = made()
    kept = np.arange(len(h.seconds)) < len(h.seconds) - 60
    found = {row["scheme"]: row for row in compared("later days", System(entry(h.rows(kept))), h, kept)}
    assert (LATER in found) is told
    if told:
        assert found[LATER]["beats_baseline"] and found[LATER]["baseline"] == "from rates alone"
        assert 0.8 <= found[LATER]["coverage"] <= 1.0


@pytest.mark.parametrize(
    ("at", "field", "said"),
    [
        ({"response_ms.HIGH": 9.0, "growth_pct": 30}, "at.response_ms.HIGH", "without it"),
        ({"response_ms.HIGH": 9.0, "engines": 5}, "at.response_ms.HIGH", "without it"),
        ({"response_ms.HIGH": 9.0, "when": "mon 10:00"}, "at.when", "one recorded interval"),
        ({"response_ms.CICS": 9.0}, "at.response_ms.CICS", "several"),
        ({"response_ms.NONE": 9.0}, "at.response_ms.NONE", "no class"),
        ({"response_ms.HIGH": 0.0}, "at.response_ms.HIGH", "above 0"),
        ({"response_ms.HIGH": 1e300}, "at.response_ms.HIGH", "something else"),
        ({"response_ms.HIGH": 1e-9}, "at.response_ms.HIGH", "something else"),
    ],
)
def test_what_was_not_measured_with_the_responses_is_refused(at, field, said):
    with pytest.raises(QuestionError, match=said) as refused:
        predict(asked(), "PRDA", at)
    assert refused.value.field == field


def test_a_class_without_a_modelled_response_and_questions_of_other_loads_are_refused_with_the_reason():
    made = entry(varying())
    del made["response"]["LOW"]
    made["outputs"] = [one for one in made["outputs"] if one.get("class") != "LOW" or "response" not in one]
    with pytest.raises(QuestionError, match="not known here"):
        predict(build({"PRDA": made}, data={}, validation={}), "PRDA", {"response_ms.LOW": 20.0})
    for ask in (size, max_rate, headroom):
        with pytest.raises(QuestionError, match="leave it out") as refused:
            ask(asked(), "PRDA", at={"response_ms.HIGH": 9.0})
        assert refused.value.field == "at.response_ms.HIGH"
    recorded = RecordedMsu("PRDA", "PRDA", "", 400.0, varying().start_utc, 100.0 + 0.0 * varying().busy_s)
    with pytest.raises(QuestionError, match="leave it out"):
        forecast_msu(asked(), [recorded], system="PRDA", at={"response_ms.HIGH": 9.0})


def test_work_without_transactions_is_as_recorded_whatever_responses_tell():
    h, batch_s = varying(), 0.5 * np.random.default_rng(6).uniform(0.5, 1.5, len(varying().seconds)) * 900.0
    more = {name: np.column_stack([getattr(h, name), 0.0 * batch_s]) for name in ("ended", "idle_s", "ziip_s")}
    none = {name: np.column_stack([getattr(h, name), np.nan * batch_s]) for name in ("response_ms", "p90_ms")}
    system = System(
        entry(
            replace(
                h,
                **more,
                **none,
                ziip_on_cp_s=more["ziip_s"],
                classes=(*h.classes, "BATCH"),
                workloads=(*h.workloads, "BATCH"),
                importance=np.append(h.importance, 5),
                busy_s=h.busy_s + batch_s,
                cp_s=np.column_stack([h.cp_s, batch_s]),
            )
        )
    )
    usual, slow = (
        system.usage(understand(system, {"when": "2026-09-08T10:00", **at}).scenario)
        for at in ({}, {"response_ms.LOW": 1.1 * seen(h, 136)["response_ms.LOW"]})
    )
    assert slow.by_series["LOW"][0] > 1.01 * usual.by_series["LOW"][0]
    assert slow.by_series["BATCH"] == pytest.approx(usual.by_series["BATCH"])


def test_longer_responses_mean_more_work_in_a_sweep_and_a_comparison():
    h = varying()
    usual = seen(h, int(h.busy_s.argmax()))["response_ms.LOW"]
    steps = sweep(asked(), "PRDA", "response_ms.LOW", [0.8 * usual, usual, 1.2 * usual])["steps"]
    busy = [next(o["value"] for o in step["outputs"] if o["metric"] == "cpu_busy_pct") for step in steps]
    assert busy == sorted(busy) and busy[0] < busy[2]
    found = compare(asked(), "PRDA", {"response_ms.LOW": usual}, {"response_ms.LOW": 1.2 * usual})
    change = next(row["change_pct"] for row in found["changes"] if row["metric"] == "cpu_busy_pct")
    assert change["value"] > 0
