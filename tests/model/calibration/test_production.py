"""Calibration of an LPAR's intervals against a truth the test knows: demands, waits, limits, changes, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import SharedMachine, enough
from model.calibration.lpar import NotCalibratable, calibrate_lpar
from model.capacity.ask import max_rate, predict, size
from model.capacity.bundle import build
from model.capacity.evidence import residuals
from model.capacity.forecast import headroom
from model.capacity.network_export import export_network
from model.capacity.values import QuestionError
from model.network import Visit
from tests.cases.histories import (
    DAYS,
    ENGINES,
    FIXED,
    SECONDS,
    SHARE,
    bundle_of,
    history,
    peak_rates,
    truth,
)


@pytest.fixture(scope="module")
def bundle() -> dict:
    return bundle_of(history())


def test_growth_of_all_and_of_one_class_follows_the_truth(bundle):
    rates = peak_rates(history())
    for at, factors in (({"growth_pct": 12}, [1.12, 1.12]), ({"growth_pct.LOW": 20}, [1.0, 1.2])):
        answer = predict(bundle, "PRDA", at)
        busy, responses = truth(rates * factors)
        found = answer.output("cpu_busy_pct")
        assert found.value == pytest.approx(busy, rel=0.01)
        assert found.lo <= busy <= found.hi
        for name, expected in zip(("HIGH", "LOW"), responses, strict=True):
            assert answer.output("response_ms", f"class={name}").value == pytest.approx(expected, rel=0.06)


def test_cost_of_a_class_is_its_own_and_the_rest_is_uncaptured(bundle):
    answer = predict(bundle, "PRDA", {"when": "peak"})
    assert answer.output("cpu_us_per_tran", "class=HIGH").value == pytest.approx(4000, rel=0.01)
    whole = answer.output("cpu_busy_pct").value * ENGINES / 100.0
    rate = answer.output("etr_tps").value
    assert answer.output("cpu_us_per_tran").value == pytest.approx(1e6 * whole / rate, rel=1e-6)


def test_a_load_that_may_be_too_much_has_the_response_of_where_it_is_not(bundle):
    peak = predict(bundle, "PRDA", {"growth_pct": 0}).output("cpu_busy_pct").value
    fixed = 100.0 * FIXED / ENGINES
    asked = [predict(bundle, "PRDA", {"growth_pct": 100.0 * (busy - peak) / (peak - fixed)}) for busy in (93, 100, 112)]
    settled, maybe, never = (answer.output("response_ms", "class=LOW") for answer in asked)
    assert settled.value < settled.hi
    assert settled.value < maybe.lo < maybe.value
    assert maybe.hi is None
    (said,) = [note for note in asked[1].notes if "saturated" in note]
    assert "saturated with a probability of" in said
    assert never is None


def test_a_workload_stands_for_its_classes_and_an_unknown_class_is_refused(bundle):
    both = predict(bundle, "prda", {"growth_pct.cics": 10}).output("cpu_busy_pct").value
    assert both == pytest.approx(predict(bundle, "PRDA", {"growth_pct": 10}).output("cpu_busy_pct").value)
    with pytest.raises(QuestionError, match="no class 'MID'"):
        predict(bundle, "PRDA", {"growth_pct.MID": 10})


def test_a_change_of_cost_is_found_dated_and_only_what_came_since_counts():
    given = history()
    later = given.start_local >= np.datetime64("2026-09-15")
    cp_s = np.where(later[:, None], 1.2 * given.cp_s, given.cp_s)
    changed = replace(given, cp_s=cp_s, busy_s=FIXED * SECONDS + (1.0 + SHARE) * cp_s.sum(axis=1))
    answer = predict(bundle_of(changed), "PRDA", {})
    assert answer.output("cpu_us_per_tran", "class=HIGH").value == pytest.approx(4800, rel=0.01)
    assert any("+20" in note and "2026-09-15" in note for note in answer.notes)


@pytest.fixture(scope="module")
def limited():
    """A bundle of a system whose class LOW waits for a serial resource, LOCK."""
    given = history()
    rate = given.ended[:, 1] / SECONDS
    response = given.response_ms.copy()
    wait_s = (0.85 / rate.max()) * 0.85 * (rate / rate.max()) / (1.0 - 0.85 * rate / rate.max())
    response[:, 1] += 1e3 * wait_s
    waited = {"LOCK": np.column_stack([np.full(len(rate), np.nan), wait_s * given.ended[:, 1]])}
    return bundle_of(replace(given, response_ms=response, waited_s=waited))


def test_a_serial_resource_shows_as_a_limit_of_its_class(limited):
    found = limited["systems"]["PRDA"].limits
    assert [limit.members for limit in found] == [("LOW",)]
    assert predict(limited, "PRDA", {"growth_pct.LOW": 12}).bottleneck.resource == "limit LOCK"
    asked_too_much = predict(limited, "PRDA", {"growth_pct.LOW": 40})
    asked = asked_too_much.output("utilization_pct", "station=LOCK").value
    assert asked == pytest.approx(asked_too_much.bottleneck.utilization_pct) and asked > 110


@pytest.mark.parametrize(("centre", "growth", "answered"), [(0.8, 25, False), (1.3, 0, True)])
def test_a_limit_is_exceeded_where_its_draws_are_wherever_their_centre_is(limited, centre, growth, answered):
    parameters = limited["systems"]["PRDA"]
    one = parameters.limits[0]
    hold_s = np.append(centre * one.hold_s[0], one.hold_s[1:])
    known = {**limited, "systems": {"PRDA": replace(parameters, limits=(replace(one, hold_s=hold_s),))}}
    answer = predict(known, "PRDA", {"growth_pct.LOW": growth})
    assert (answer.output("response_ms", "class=LOW") is not None) == answered
    assert any("limit LOCK is exceeded" in note for note in answer.notes) != answered


def test_the_machine_limits_an_lpar_that_has_engines_left():
    given = history()
    others = np.full(len(given.seconds), 1.5 * SECONDS)
    machine = SharedMachine("M1", 5.0, 600.0, 1000.0, False, others, np.full(len(others), 0.1 * SECONDS))
    answer = predict(bundle_of(replace(given, machine=machine)), "PRDA", {})
    busy = given.busy_s.max() / SECONDS
    assert answer.output("machine_busy_pct").value == pytest.approx(100 * (busy + 1.6) / 5.0, rel=0.01)
    assert answer.bottleneck.resource == "machine M1"


@pytest.mark.parametrize(
    "at", [{"growth_pct": 60}, {"growth_pct": 40, "cap": "on"}, {"growth_pct": 40, "cap_engines": 2}]
)
def test_an_overloaded_lpar_asks_its_machine_for_no_more_than_it_may_have(at):
    given = history()
    none = np.zeros(len(given.seconds))
    machine = SharedMachine("M1", 8.0, 400.0, 1000.0, False, none + 1.5 * SECONDS, none + 0.1 * SECONDS)
    answer = predict(bundle_of(replace(given, machine=machine)), "PRDA", at)
    [machine_used] = [one for one in answer.bottleneck.stations if one.resource == "machine M1"]
    assert answer.bottleneck.utilization_pct > 100
    assert machine_used.utilization_pct == pytest.approx(answer.output("machine_busy_pct").value, rel=0.01)
    assert not any("machine is saturated" in note for note in answer.notes)


def test_a_recorded_absolute_cap_holds_until_another_is_asked():
    given = history()
    none = np.zeros(len(given.seconds))
    machine = SharedMachine("M1", 8.0, 400.0, 1000.0, False, none + 1.5 * SECONDS, none, cap_engines=3.2)
    bundle, busy = bundle_of(replace(given, machine=machine)), given.busy_s.max() / SECONDS

    def share(at: dict) -> float | None:
        found = predict(bundle, "PRDA", at).bottleneck.stations
        return next((one.utilization_pct for one in found if one.resource.startswith("share of the machine")), None)

    assert share({}) == pytest.approx(100 * busy / 3.2, rel=0.01)
    assert share({"weight": 500}) == pytest.approx(100 * busy / 3.2, rel=0.01)
    assert share({"cap_engines": 3.6}) == pytest.approx(100 * busy / 3.6, rel=0.01)
    assert share({"cap": "off"}) is None
    assert max_rate(bundle, "PRDA")["limits"][0]["resource"].startswith("share of the machine")


def test_engines_that_others_seldom_take_fill_before_the_machine():
    given = history()
    none = np.zeros(len(given.seconds))
    machine = SharedMachine("M1", 6.0, 500.0, 1000.0, False, none + 1.5 * SECONDS, none)
    answer = predict(bundle_of(replace(given, machine=machine)), "PRDA", {"growth_pct": 400})
    used = {one.resource: one.utilization_pct for one in answer.bottleneck.stations}
    assert answer.output("cpu_busy_pct").value == pytest.approx(100.0)
    assert answer.bottleneck.resource.startswith("general-purpose CPs")
    assert used["machine M1"] == pytest.approx(answer.output("machine_busy_pct").value)
    assert any(f"offered load {answer.bottleneck.utilization_pct:.4g} %" in note for note in answer.notes)


def test_maximum_rate_names_the_machine_that_other_lpars_fill():
    given = history()
    none = np.zeros(len(given.seconds))
    machine = SharedMachine("M1", 8.0, 500.0, 1000.0, False, none + 4.8 * SECONDS, none + 0.1 * SECONDS)
    bundle = bundle_of(replace(given, machine=machine))
    assert predict(bundle, "PRDA", {}).bottleneck.resource == "machine M1"
    assert max_rate(bundle, "PRDA")["limits"][0]["resource"] == "machine M1"


def test_size_and_maximum_rate_agree_with_predict(bundle):
    sized = size(bundle, "PRDA", at={"growth_pct": 60}, max_busy_pct=80)
    need = sized["engines"]["value"]
    assert predict(bundle, "PRDA", {"growth_pct": 60, "engines": need}).output("cpu_busy_pct").value <= 80.5
    assert predict(bundle, "PRDA", {"growth_pct": 60, "engines": need - 1}).output("cpu_busy_pct").value > 79.5
    growth = max_rate(bundle, "PRDA", max_busy_pct=90)["growth_pct"]["value"]
    assert predict(bundle, "PRDA", {"growth_pct": growth}).output("cpu_busy_pct").value == pytest.approx(90, abs=0.1)


def test_headroom_names_the_week_in_which_the_target_is_crossed():
    given = history(growth_per_week=0.1)
    found = headroom(bundle_of(given), "PRDA", max_busy_pct=95)
    rates = peak_rates(given)
    weeks = next(w for w in range(200) if truth(rates * np.exp(0.1 * w))[0] > 95)
    start = given.start_local[np.argmax(given.busy_s)].astype("datetime64[D]")
    said = (np.datetime64(found["first"]["value"]) - start) / np.timedelta64(7, "D")
    assert abs(said - weeks) <= max(3, 0.3 * weeks)
    # The first of twenty draws crosses when the upper end of the forecast does, the last when the lower end does.
    for date, busy in (("lo", "hi"), ("value", "value"), ("hi", "lo")):
        above = next(step["date"] for step in found["forecast"] if step[busy] > 95)
        assert np.datetime64(above) - 28 < np.datetime64(found["first"][date]) <= np.datetime64(above)


def test_a_machine_fills_as_its_other_lpars_grow_too():
    given = history()
    weeks = np.arange(len(given.seconds)) / 672.0
    others, none = 1.5 * SECONDS * np.exp(0.15 * weeks), np.zeros(len(weeks))
    shared = SharedMachine("M1", 7.0, 400.0, 1000.0, False, others, none)
    bundle = bundle_of(replace(given, machine=shared))
    peak, busy = np.argmax(given.busy_s), given.busy_s.max() / SECONDS
    full = np.log((0.9 * 7.0 - busy) / (others[peak] / SECONDS)) / 0.15
    found = headroom(bundle, "PRDA", max_busy_pct=90)
    start = given.start_local[peak].astype("datetime64[D]")
    assert found["first"]["resource"] == "machine M1"
    assert (np.datetime64(found["first"]["value"]) - start) / np.timedelta64(7, "D") == pytest.approx(full, abs=3)
    then = predict(bundle, "PRDA", {"when": str(start + np.timedelta64(28, "D"))}).output("machine_busy_pct")
    assert then.value == pytest.approx(100 * (busy + np.exp(0.6) * others[peak] / SECONDS) / 7.0, rel=0.02)


@pytest.mark.parametrize("weekly", [-1.2, 0.1])
def test_a_class_that_comes_or_goes_is_forecast_to_go_on(weekly):
    growth = calibrate_lpar(history(growth_per_week=weekly)).classes[0].growth
    assert growth.rate[0] == pytest.approx(weekly, abs=0.05)


def test_what_contradicts_itself_or_has_no_transactions_is_refused_with_the_reason():
    given = history()
    with pytest.raises(NotCalibratable, match="records are missing or belong"):
        calibrate_lpar(replace(given, busy_s=0.5 * given.cp_s.sum(axis=1)))
    with pytest.raises(NotCalibratable, match="too few remain"):
        calibrate_lpar(with_more_cpu(given, np.arange(len(given.seconds)) % 5 > 0))
    for without in ({"ended": np.zeros_like(given.ended)}, {"cp_s": np.full_like(given.cp_s, np.nan)}):
        with pytest.raises(NotCalibratable, match="ended transactions"):
            calibrate_lpar(replace(given, **without))


def test_intervals_that_contradict_themselves_are_left_out_however_much_cpu_they_say():
    given = history()
    found, sound = calibrate_lpar(with_more_cpu(given, np.arange(len(given.seconds)) % 5 == 0)), calibrate_lpar(given)
    assert any("have more CPU of classes than of the LPAR" in note for note in found.notes)
    for name, law in sound.demands.items():
        assert found.demands[name].scale == pytest.approx(law.scale, rel=0.05)


def with_more_cpu(given, wrong):
    """The history in which classes report four times their CPU in the intervals that are wrong."""
    return replace(given, cp_s=given.cp_s * np.where(wrong, 4.0, 1.0)[:, None])


def test_a_day_of_intervals_is_no_history():
    given = history()
    assert enough(given)
    assert not enough(given.rows(np.arange(len(given.seconds)) < 96))


def test_the_model_stands_beside_every_recorded_interval_and_says_which_days_were_held_out(bundle):
    found = residuals(bundle, "PRDA")
    error = np.array(found["predicted_busy_pct"]) - np.array(found["measured_busy_pct"])
    assert len(error) == DAYS * 96
    assert abs(error.mean()) < 0.2
    held_out = np.array(found["held_out"])
    assert held_out.sum() == 5 * 96
    assert held_out[-5 * 96 :].all()


def test_a_class_whose_cpu_is_all_on_ziips_is_answered_and_has_a_network():
    plain = history()
    cp_s, ziip_s = plain.cp_s.copy(), plain.ziip_s.copy()
    ziip_s[:, 0], cp_s[:, 0] = cp_s[:, 0], 0.0
    busy_s = plain.busy_s - (1.0 + SHARE) * ziip_s[:, 0]
    ziips = np.full(len(busy_s), 2.0)
    moved = replace(plain, cp_s=cp_s, ziip_s=ziip_s, busy_s=busy_s, ziips=ziips, ziip_busy_s=ziip_s[:, 0])
    bundle = build({"PRDA": calibrate_lpar(moved)}, data={}, validation={})
    whole = [output for output in predict(bundle, "PRDA").outputs if "class" not in output.condition]
    used = {output.metric: output.value for output in whole}
    top = int(busy_s.argmax())
    assert used["ziip_busy_pct"] == pytest.approx(100.0 * ziip_s[top, 0] / SECONDS / 2.0, rel=0.02)
    [high] = [one for one in export_network(bundle, "PRDA").network.classes if one.name == "HIGH"]
    assert {step.station for step in high.route if isinstance(step, Visit)} == {"ziip", "elsewhere"}


def test_classes_without_known_work_are_told_and_refused_with_the_reason():
    plain = history()
    ended = np.column_stack([plain.ended, plain.ended[:, 0] % 97 + 10.0, np.zeros(len(plain.ended))])
    none = np.zeros(len(ended))
    wide = {name: np.column_stack([getattr(plain, name), none, none]) for name in ("idle_s", "ziip_s", "ziip_on_cp_s")}
    unknown = {
        name: np.column_stack([getattr(plain, name), none + np.nan, none + np.nan])
        for name in ("response_ms", "p90_ms")
    }
    h = replace(
        plain,
        classes=(*plain.classes, "LOST", "STC"),
        importance=np.array([2, 2, 3, 1]),
        workloads=("CICS", "CICS", "CICS", "SYS"),
        ended=ended,
        cp_s=np.column_stack([plain.cp_s, none, none + 20.0]),
        busy_s=plain.busy_s + 20.0,
        **wide,
        **unknown,
    )
    model = build({"PRDA": calibrate_lpar(h)}, data={}, validation={})
    assert any(note.startswith("LOST: transactions end, but") for note in predict(model, "PRDA").notes)
    for name, why in (("LOST", "their demand is not known"), ("STC", "no transactions end")):
        with pytest.raises(QuestionError, match=why):
            predict(model, "PRDA", {f"growth_pct.{name}": 10})


def test_answers_say_that_the_lpar_had_other_engines_before_and_which_percentiles_are_not_known():
    plain = history()
    early = np.arange(len(plain.seconds)) < 300
    h = replace(plain, engines=np.where(early, 5.0, plain.engines), p90_ms=np.full_like(plain.p90_ms, np.nan))
    notes = predict(build({"PRDA": calibrate_lpar(h)}, data={}, validation={}), "PRDA").notes
    assert any(note.startswith("engines: 5 until 2026-09-10T02:45:00, 4 since") for note in notes)
    assert any(note.startswith("HIGH, LOW: no 90th percentile is predicted") for note in notes)


def test_intervals_that_count_transactions_without_their_cpu_are_left_out_and_reported():
    plain = history()
    ended = plain.ended.copy()
    ended[::41, 0] *= 1000.0
    usual, found = (calibrate_lpar(h) for h in (plain, replace(plain, ended=ended)))
    note = next(note for note in found.notes if "times the transactions of HIGH" in note)
    assert note.startswith(f"{len(ended[::41])} of {len(ended)} intervals, from {plain.start_local[0]} on")
    costs = [
        law.coef[0, 1] * law.scale / law.reference_rate
        for law in (usual.demands["HIGH"], found.demands["HIGH"])
    ]
    assert costs[1] == pytest.approx(costs[0], rel=0.005)
