"""Users who think: as many as the records say, sending as often as their responses let them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from model.calibration.history import SharedMachine
from model.calibration.regression import Z90
from model.capacity.ask import max_rate, predict, sweep
from model.capacity.evaluation import evaluate
from model.capacity.forecast import RecordedMsu, forecast_msu
from model.capacity.growth import effective_weeks, history_weeks
from model.capacity.question import parse
from model.capacity.simulation import simulate_system
from model.capacity.system import System
from tests.cases.histories import DEMAND_S, ENGINES, REST_MS, SECONDS, bundle_of, history, mmm_slowdown

USERS = 400.0


@cache
def bundle(machine: SharedMachine | None = None) -> dict:
    """LOW has 400 users, who think for as long as their rate leaves; responses are those of the queue they make."""
    given = replace(history(), machine=machine)
    ended = given.ended[:, 1]
    load = given.busy_s / SECONDS
    idle_s = np.zeros_like(given.ended)
    response_ms = 1e3 * DEMAND_S * mmm_slowdown(load, ENGINES)[:, None] + REST_MS
    idle_s[:, 1] = np.maximum(USERS * SECONDS - ended * response_ms[:, 1] / 1e3, 0.0)
    return bundle_of(replace(given, response_ms=response_ms, p90_ms=2.2 * response_ms, idle_s=idle_s))


def figures(at: dict) -> dict:
    return {(one.metric, one.condition): one for one in predict(bundle(), "PRDA", at).outputs}


def test_a_recorded_load_has_the_recorded_users_and_rates():
    now, given = figures({}), history()
    assert now["users", "class=LOW"].value == pytest.approx(USERS, rel=0.005)
    peak = given.ended[np.argmax(given.busy_s)] / SECONDS
    assert now["etr_tps", "class=LOW"].value == pytest.approx(peak[1], rel=1e-4)
    assert ("users", "class=HIGH") not in now


def test_users_until_a_time_to_come_grow_from_the_recorded_ones_beside_the_recorded_lpars():
    weeks = np.arange(len(history().seconds)) / 672.0
    others = 2.0 * SECONDS * np.exp(0.1 * weeks)
    shared = bundle(SharedMachine("M1", 6.0, 500.0, 1000.0, False, others, 0.0 * weeks))
    parameters = shared["systems"]["PRDA"]
    recorded = System(parameters)
    now, then = (parse(recorded, {"when": when}) for when in ("peak", "2026-11-02"))
    fresh = parse(System(replace(parameters, recorded=replace(parameters.recorded))), {"when": "2026-11-02"})
    assert fresh.scenario.users == pytest.approx(then.scenario.users, rel=1e-12)
    assert np.all(then.scenario.others[1:] > 1.5 * now.scenario.others)


@pytest.mark.parametrize("key", ["growth_pct", "growth_pct.LOW"])
def test_a_sweep_begins_where_no_users_are_left(key):
    first, *_ = sweep(bundle(), "PRDA", key, [-100.0, 0.0, 20.0])["steps"]
    swept = {(one["metric"], one["condition"]): one["value"] for one in first["outputs"] if one["value"] is not None}
    alone = {place: one.value for place, one in figures({key: -100.0}).items()}
    assert swept == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("values", [[10.0, 10.0], [0.0, 10.0, 0.0]])
def test_a_sweep_may_ask_the_same_twice(values):
    steps = sweep(bundle(), "PRDA", "growth_pct", values, metrics=["users"])["steps"]
    swept = [one["value"] for step in steps for one in step["outputs"]]
    alone = [figures({"growth_pct": value})["users", "class=LOW"].value for value in values]
    assert swept == pytest.approx(alone, rel=1e-3)


def test_users_at_several_loads_settle_beside_the_other_work_of_each():
    zero = 0.0 * history().seconds
    shared = bundle(SharedMachine("M1", 6.0, 500.0, 1000.0, False, zero, zero))
    system = System(shared["systems"]["PRDA"])
    load = parse(system, {"when": "peak"}).scenario
    work = np.array([[0.0, 0.5, 1.0]])
    both = np.repeat(load.users, 3, axis=1), np.repeat(load.rates, 3, axis=1)
    extra = {next(iter(system.demands)): work}
    together = replace(load, users=both[0], rates=both[1], extra=extra, others=0.5 + work, work=1.0 + 0.1 * work)
    result = evaluate(system, together).scenario.rates
    assert np.all(np.diff(result[0, :, 1]) < 0.0)
    for i in range(3):
        one = evaluate(system, together.at_loads([i])).scenario.rates
        assert one == pytest.approx(result[:, [i]], rel=2e-3)


def test_users_are_as_sure_as_the_samples_that_found_them_idle():
    result = figures({})["users", "class=LOW"]
    samples = USERS * SECONDS / history().sampling_s
    assert result.hi - result.lo == pytest.approx(2 * Z90 * USERS / samples**0.5, rel=0.2)
    later = figures({"growth_pct": 20})["users", "class=LOW"]
    assert (later.hi - later.lo) / later.value == pytest.approx((result.hi - result.lo) / result.value, rel=0.05)


def test_msu_to_come_are_those_of_as_many_users_as_there_will_be():
    starts = np.datetime64("2026-09-07T00:00:00", "s") + np.arange(24) * np.timedelta64(3600, "s")
    recorded = RecordedMsu("PRDA", "PRDA", "CEC1", 400.0, starts, np.full(24, 100.0))
    steps = forecast_msu(bundle(), [recorded])["subjects"][0]["forecast"]
    assert steps[0]["value"] == pytest.approx(100.0)
    parameters = bundle()["systems"]["PRDA"]
    weeks = float(effective_weeks(np.array([steps[-1]["week"]], float), history_weeks(System(parameters)))[0])
    growth = {
        f"growth_pct.{one.name}": 100 * np.expm1(weeks * one.growth.rate[0]) for one in parameters.classes
    }
    now, then = figures({}), figures(growth)
    busy = then["cpu_busy_pct", ""].value / now["cpu_busy_pct", ""].value
    assert steps[-1]["value"] == pytest.approx(100.0 * busy, rel=0.01)


@pytest.mark.parametrize("growth", [10, 40, 300])
def test_more_users_wait_instead_of_filling_the_engines_for_good(growth):
    now, more = figures({}), figures({"growth_pct.LOW": growth})
    users = more["users", "class=LOW"].value
    assert users == pytest.approx((1 + growth / 100) * now["users", "class=LOW"].value, rel=1e-3)
    for limit in ("lo", "hi"):
        one, other = (getattr(result["users", "class=LOW"], limit) for result in (more, now))
        assert one == pytest.approx((1 + growth / 100) * other, rel=2e-3)
    think_s = USERS / now["etr_tps", "class=LOW"].value - now["response_ms", "class=LOW"].value / 1e3
    rate, response_ms = (more[name, "class=LOW"].value for name in ("etr_tps", "response_ms"))
    assert users == pytest.approx(rate * (think_s + response_ms / 1e3), rel=2e-3)
    assert now["etr_tps", "class=LOW"].value < rate < (1 + growth / 100) * now["etr_tps", "class=LOW"].value
    assert more["cpu_busy_pct", ""].value < 100


def test_users_without_an_answer_send_nothing_and_are_told():
    parameters = bundle()["systems"]["PRDA"]
    demands = {name: replace(law, priority=int(name == "LOW")) for name, law in parameters.demands.items()}
    result = {**bundle(), "systems": {"PRDA": replace(parameters, demands=demands)}}
    answer = predict(result, "PRDA", {"growth_pct.HIGH": 1000.0})
    rates = {one.condition: one.value for one in answer.outputs if one.metric == "etr_tps"}
    assert rates["class=LOW"] == 0.0
    assert [note for note in answer.notes if "LOW" in note and "get no answers" in note]


def test_a_rate_that_is_asked_is_made_by_the_users_it_takes():
    now = figures({})
    rate = 1.1 * now["etr_tps", "class=LOW"].value
    answer = figures({"rate.LOW": rate})
    assert answer["etr_tps", "class=LOW"].value == pytest.approx(rate)
    assert answer["users", "class=LOW"].value > 1.1 * now["users", "class=LOW"].value
    never = predict(bundle(), "PRDA", {"rate.LOW": 10 * rate})
    assert any("no number of users reaches" in note for note in never.notes)


@pytest.mark.filterwarnings("error")
def test_a_class_that_sends_nothing_has_no_users_where_others_saturate_the_engines():
    answer = figures({"rate.LOW": 0.0, "growth_pct.HIGH": 1000})
    assert answer["cpu_busy_pct", ""].value == pytest.approx(100.0)
    assert ("users", "class=LOW") not in answer or answer["users", "class=LOW"].value == 0.0


def test_the_highest_rate_is_that_of_engines_and_not_of_users():
    result = max_rate(bundle(), "PRDA", max_busy_pct=100.0)
    assert result["limits"][0]["growth_pct"]["value"] < 60


def test_a_sweep_is_its_answers():
    result = sweep(bundle(), "PRDA", "growth_pct", [10.0, 25.0, 40.0], metrics=["etr_tps"])
    last = {one["condition"]: one["value"] for one in result["steps"][1]["outputs"] if one["metric"] == "etr_tps"}
    assert last["class=LOW"] == pytest.approx(figures({"growth_pct": 25})["etr_tps", "class=LOW"].value, rel=1e-3)


def test_work_that_is_seldom_idle_comes_by_itself():
    given = history()
    idle_s = 0.3 * np.nan_to_num(given.response_ms) * given.ended / 1e3
    answer = predict(bundle_of(replace(given, idle_s=idle_s)), "PRDA", {})
    assert all(one.metric != "users" for one in answer.outputs)


def test_nothing_is_said_of_users_in_an_interval_without_any():
    given = history()
    idle_s = np.zeros_like(given.ended)
    idle_s[:, 1] = USERS * SECONDS
    idle_s[100:200, 1] = 0.0
    result = bundle_of(replace(given, idle_s=idle_s))
    at = {"when": result["systems"]["PRDA"].recorded.start_local[150]}
    for answer in (predict(result, "PRDA", at), simulate_system(result, "PRDA", at, horizon=2_000)):
        assert all(one.metric != "users" for one in answer.outputs)
