"""The champion on days it has not seen: its scores, what counts as drift, and when it is kept."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from model.calibration.lpar import calibrate_lpar
from model.capacity.ask import predict
from model.capacity.bundle import build, dumps, loads
from model.validation.drift import SCHEME, challenge, drifted
from pipelines.drift import recorded
from tests.cases.histories import history

NEW_DAYS = 3
HISTORY = history()
DAYS = np.unique(HISTORY.day)


@cache
def seen():
    """The system calibrated on all but the new days."""
    return calibrate_lpar(HISTORY.rows(HISTORY.day < DAYS[-NEW_DAYS]))


@pytest.fixture
def standing():
    gate = {"passed": True, "checks": [], "baselines": []}
    systems = {"PRDA": replace(seen(), gate=gate)}
    return loads(dumps(build(systems, model_version="etalon-capacity/1", data={}, validation={})))


def dearer(days, factor):
    """The history with the CPU of some days multiplied."""
    changed = np.where(np.isin(HISTORY.day, days), factor, 1.0)
    return replace(HISTORY, busy_s=HISTORY.busy_s * changed, cp_s=HISTORY.cp_s * changed[:, None])


def test_without_a_champion_every_system_is_taken():
    given = seen()
    found = challenge({"PRDA": given}, None, {"PRDA": HISTORY})
    assert list(found.systems) == ["PRDA"] and found.systems["PRDA"] is given
    assert found.scores.empty


def test_a_champion_that_still_holds_is_scored_and_replaced(standing):
    found = challenge({"PRDA": calibrate_lpar(HISTORY)}, standing, {"PRDA": HISTORY})
    assert found.systems["PRDA"].kept is None
    busy = found.scores[found.scores["metric"] == "cpu_busy_pct"].iloc[0]
    assert busy["scheme"] == SCHEME
    assert busy["n"] == NEW_DAYS * 96
    assert busy["median_abs_error_pct"] < 1.0
    assert busy["first"] == str(HISTORY.rows(HISTORY.day >= DAYS[-NEW_DAYS]).start_local[0])
    assert set(found.scores["alarm"]) == {""}
    assert drifted(found.scores, found.scores) == ()


def more(days, factors):
    """The history with as many times the transactions of some days by class, and as much of their CPU."""
    changed = np.where(np.isin(HISTORY.day, days)[:, None], factors, 1.0)
    ended, cp_s = HISTORY.ended * changed, HISTORY.cp_s * changed
    busy_s = HISTORY.busy_s + 1.05 * (cp_s - HISTORY.cp_s).sum(axis=1)
    return replace(HISTORY, ended=ended, cp_s=cp_s, busy_s=busy_s)


def scored(given, standing):
    return challenge({"PRDA": seen()}, standing, {"PRDA": given}).scores


def test_a_champion_whose_work_has_become_dearer_has_drifted(standing):
    scores = scored(dearer(DAYS[-NEW_DAYS:], 1.15), standing)
    (busy,) = [remark for remark in drifted(scores, scores) if "CPU busy" in remark]
    assert busy.startswith("Model drift on PRDA: since 2026-09-18")
    assert "CPU of a transaction of HIGH +15 %" in busy
    assert "CPU of a transaction of LOW +15 %" in busy


def test_drift_names_the_class_whose_transactions_cost_more(standing):
    factor = np.where(np.isin(HISTORY.day, DAYS[-NEW_DAYS:])[:, None], [1.0, 1.1], 1.0)
    extra = (HISTORY.cp_s * (factor - 1.0)).sum(axis=1)
    scores = scored(replace(HISTORY, cp_s=HISTORY.cp_s * factor, busy_s=HISTORY.busy_s + 1.05 * extra), standing)
    assert scores.set_index("metric").loc["cpu_busy_pct", "alarm"] == "cost LOW"


def test_more_transactions_of_all_classes_are_a_change_of_rate_that_the_model_follows(standing):
    scores = scored(more(DAYS[-NEW_DAYS:], [1.3, 1.3]), standing)
    (remark,) = drifted(scores, scores)
    assert remark.startswith("The work of PRDA has changed")
    assert "transaction rate of all classes +3" in remark
    assert "CPU of a transaction" not in remark


def test_more_transactions_of_one_class_change_the_mix(standing):
    alarm = scored(more(DAYS[-NEW_DAYS:], [1.0, 1.5]), standing).set_index("metric").loc["cpu_busy_pct", "alarm"]
    assert "mix LOW" in alarm
    assert "cost" not in alarm


def test_a_change_is_reported_once_and_not_every_night(standing):
    given = dearer(DAYS[-NEW_DAYS:], 1.15)
    nights = [scored(given.rows(given.day < day), standing) for day in (DAYS[-1], DAYS[-1] + 1)]
    record = pd.concat(nights, ignore_index=True)
    assert drifted(nights[0], record)
    assert drifted(nights[1], record) == ()


def test_a_champion_is_kept_where_a_newer_calibration_is_further_off(standing):
    odd = dearer(DAYS[-NEW_DAYS:-1], 1.4)
    found = challenge({"PRDA": calibrate_lpar(odd)}, standing, {"PRDA": odd})
    kept = found.systems["PRDA"].kept
    assert kept["model_version"] == "etalon-capacity/1"
    assert "had a larger error" in kept["reason"]
    answer = predict(build(found.systems, data={}, validation={}), "PRDA")
    assert any("kept from etalon-capacity/1" in note for note in answer.notes)


def test_a_champion_stays_in_service_where_its_system_cannot_be_calibrated_anew(standing):
    found = challenge({}, standing, {}, {"PRDA": "no class has both transactions and CPU"})
    kept = found.systems["PRDA"].kept
    assert kept == {
        "model_version": "etalon-capacity/1",
        "reason": "it was not calibrated anew: no class has both transactions and CPU",
    }
    assert found.systems["PRDA"].gate["passed"]


def test_a_system_that_is_no_longer_recorded_leaves_with_its_records(standing):
    assert challenge({}, standing, {}, {}).systems == {}


def test_scores_are_recorded_once(standing, tmp_path):
    scores = challenge({"PRDA": seen()}, standing, {"PRDA": HISTORY}).scores
    path = tmp_path / "models" / "drift.jsonl"
    assert len(recorded(path, scores)) == len(recorded(path, scores)) == len(scores) > 0
    assert {json.loads(line)["system"] for line in path.read_text().splitlines()} == {"PRDA"}
