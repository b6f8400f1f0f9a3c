"""Histories that contradict themselves: what is reported, and what is answered all the same."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from model.calibration.production import entry
from model.calibration.responses import LEAST_WAITED, bent
from model.capacity.ask import predict
from tests.model.calibration.test_production import FIXED, SECONDS, bundle_of, history


def test_a_response_that_no_engines_could_give_is_told_and_not_predicted():
    given = history()
    bundle = bundle_of(replace(given, response_ms=given.response_ms * [1.0, 0.02]))
    answer = predict(bundle, "PRDA", {})
    assert answer.output("response_ms", "class=HIGH") is not None
    assert answer.output("response_ms", "class=LOW") is None
    assert any("LOW: its response" in note and "no response of it is predicted" in note for note in answer.notes)


def test_a_response_below_cpu_time_is_that_of_parallel_work_as_it_was_recorded():
    given = history()
    parallel = replace(given, response_ms=given.response_ms * [1.0, 0.5])
    quiet = int(np.argmin(given.busy_s))
    answer = predict(bundle_of(parallel), "PRDA", {"when": str(given.start_local[quiet])})
    assert any("LOW: its response" in note and "run in parallel" in note for note in answer.notes)
    assert answer.output("response_ms", "class=LOW").value == pytest.approx(parallel.response_ms[quiet, 1], rel=0.05)
    used = next(one for one in answer.times if one["class"] == "LOW")
    assert used["using_ms"] <= answer.output("response_ms", "class=LOW").value


def test_intervals_that_overlap_are_left_out_and_told():
    given = history()
    back = given.start_utc.copy()
    back[500] = back[499] + np.timedelta64(60, "s")
    made = entry(replace(given, start_utc=back))
    assert made["intervals"] == len(back) - 1
    assert any("see to the clock" in note for note in made["notes"])


def test_intervals_that_say_what_cannot_be_are_left_out_and_told():
    given = history()
    wrong, busy, cpu = np.array([700, 900]), given.busy_s.copy(), given.cp_s.copy()
    busy[700], cpu[900] = 5.0 * busy[700], 5.0 * cpu[900]
    made = entry(replace(given, busy_s=busy, cp_s=cpu))
    assert str(given.start_local[wrong[0]]) not in made["operating_point"]
    assert made["intervals"] == len(busy) - 2
    assert any(
        note.startswith(f"2 of {len(busy)} intervals") and "missing or doubled" in note for note in made["notes"]
    )


def test_intervals_without_cpu_of_a_class_say_nothing_of_uncaptured_time():
    given = history()
    unknown = (np.arange(len(given.seconds)) < 900)[:, None] & np.array([True, False])
    answers = [
        predict(bundle_of(one), "PRDA", {"growth_pct": 10}).output("cpu_busy_pct").value
        for one in (given, replace(given, cp_s=np.where(unknown, np.nan, given.cp_s)))
    ]
    assert answers[1] == pytest.approx(answers[0], rel=0.01)


def test_a_class_that_changed_its_name_is_told_with_the_likely_new_one():
    given = history()
    later = given.start_local >= np.datetime64("2026-09-14")
    old, new = np.where(later, 0.0, given.ended[:, 1]), np.where(later, given.ended[:, 1], 0.0)
    costs = given.cp_s[:, 1]
    made = entry(
        replace(
            given,
            classes=("HIGH", "OLD", "NEW"),
            importance=np.array([2, 2, 2]),
            workloads=("CICS",) * 3,
            ended=np.column_stack([given.ended[:, 0], old, new]),
            idle_s=np.zeros((len(given.seconds), 3)),
            cp_s=np.column_stack([given.cp_s[:, 0], np.where(later, 0.0, costs), np.where(later, costs, 0.0)]),
            ziip_s=np.zeros((len(later), 3)),
            ziip_on_cp_s=np.zeros((len(later), 3)),
            response_ms=given.response_ms[:, [0, 1, 1]],
            p90_ms=given.p90_ms[:, [0, 1, 1]],
        )
    )
    assert "OLD: no transactions since 2026-09-13; NEW may be what it is called now" in made["notes"]


def test_intervals_without_load_change_nothing_about_the_cost():
    given = history()
    idle = np.arange(len(given.seconds)) % 96 < 20
    none = np.where(idle[:, None], 0.0, 1.0)
    made = replace(
        given,
        ended=given.ended * none,
        cp_s=given.cp_s * none,
        busy_s=np.where(idle, FIXED * SECONDS, given.busy_s),
        response_ms=np.where(idle[:, None], np.nan, given.response_ms),
    )
    found = predict(bundle_of(made), "PRDA", {}).output("cpu_us_per_tran", "class=LOW")
    assert found.value == pytest.approx(12_000, rel=0.01)


def test_work_that_never_waited_for_engines_is_doubted_by_no_more_than_waits_can_tell():
    """Factors of the engines' wait of none and of half of theory's; a limit's wait, where there is one."""
    waits = np.array([0.5, 1.0, 2.0])
    seen = SimpleNamespace(limited=np.zeros(3), prior=lambda limited: ([0.0, 1.0, 0.5, 0.0, 1.0], []))
    design = np.column_stack([np.ones(3), waits, *[np.zeros(3)] * 3])
    limited = np.column_stack([design, 2.0 * waits])
    everything = np.ones(3, bool)

    def doubt(design, *factors):
        return bent(seen, SimpleNamespace(mean=np.array([1.0, *factors])), design, everything)

    assert doubt(design, *[0.0] * 4) == pytest.approx(1 / LEAST_WAITED)
    assert doubt(design, 0.5, 0.0, 0.0, 0.0) == pytest.approx(1.0)
    assert doubt(limited, *[0.0] * 4, 1.0) == pytest.approx(0.5)
