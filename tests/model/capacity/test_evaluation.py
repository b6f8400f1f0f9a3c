"""The ensemble: one LPAR with two classes of different importance, a limit and a machine it shares, as plain arrays."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.capacity.answer import Estimate
from model.capacity.evaluation import evaluate
from model.capacity.outputs import bottleneck, ziips_without_target
from model.capacity.parameters import BusyCost, Limit, Overflow, SystemParameters, ZiipPool
from model.capacity.state import engines_in_use
from model.capacity.system import System
from tests.cases.systems import DRAWS, ENGINES, MACHINE, SYSTEM, demand, drawn, response, scenario


def estimates(state) -> dict:
    result = {"busy": state.busy} | {stream: values for (_, stream), values in state.response_ms.items()}
    return {name: Estimate.of(values[:, 0]) for name, values in result.items()}


@given(online=st.floats(1.0, 3000.0), batch=st.floats(1.0, 3000.0))
def test_limits_hold_the_value(online, batch):
    for result in estimates(evaluate(System(SYSTEM), scenario(online, batch))).values():
        value, lo, hi = (np.inf if figure is None else figure for figure in (result.value, result.lo, result.hi))
        assert lo <= value <= hi


@given(online=st.floats(10.0, 900.0), growth=st.floats(1.0, 3.0))
def test_growth_of_one_class_never_makes_anything_faster_or_less_busy(online, growth):
    system = System(SYSTEM)
    before, after = evaluate(system, scenario(online, 500.0)), evaluate(system, scenario(growth * online, 500.0))
    assert (after.busy >= before.busy * (1 - 0.05 * np.log(growth)) - 1e-9).all()
    for key, values in before.response_ms.items():
        assert after.response_ms[key][0, 0] >= values[0, 0] - 1e-9


def test_important_work_is_served_first():
    state = evaluate(System(SYSTEM), scenario(1200.0, 1200.0))
    online, batch = (state.waiting_ms["response_ms", name]["cp"][0, 0] for name in ("online", "batch"))
    used = [state.using_ms["response_ms", name][0, 0] for name in ("online", "batch")]
    assert online / used[0] < batch / used[1]


def test_using_waiting_and_rest_are_the_response():
    state = evaluate(System(SYSTEM), scenario(1000.0, 1000.0))
    for key, values in state.response_ms.items():
        assert state.using_ms[key][0, 0] + sum(w[0, 0] for w in state.waiting_ms[key].values()) == pytest.approx(
            values[0, 0]
        )


def test_a_saturated_lpar_has_no_response_however_much_responses_deviate():
    unsure = replace(response("online"), noise=drawn(0.0, 3.0, 7))
    state = evaluate(System(replace(SYSTEM, responses={"online": unsure})), scenario(2500.0, 1000.0))
    assert np.isinf(state.response_ms["response_ms", "online"]).all()


def test_a_saturated_lpar_has_no_response():
    state = evaluate(System(SYSTEM), scenario(2500.0, 1.0))
    assert np.isinf(state.response_ms["response_ms", "online"]).all()


def test_important_work_keeps_its_response_where_other_work_saturates_the_engines():
    alone, flooded = (evaluate(System(SYSTEM), scenario(900.0, batch)) for batch in (1.0, 5000.0))
    assert (flooded.busy > flooded.available).all()
    assert np.isinf(flooded.response_ms["response_ms", "batch"]).all()
    longer = flooded.response_ms["response_ms", "online"][0, 0] / alone.response_ms["response_ms", "online"][0, 0]
    assert 1.0 <= longer < 1.3


def test_cost_per_transaction_grows_with_the_busy_where_it_was_calibrated_to():
    costly = System(replace(SYSTEM, busy_cost=BusyCost(0.3, 2.0 / ENGINES)))
    at_reference, above = (evaluate(costly, scenario(rate, 1e-9)).busy[0, 0] / rate for rate in (1000.0, 1500.0))
    assert at_reference == pytest.approx(2e-3, rel=1e-3)
    assert above > 1.02 * at_reference


def test_other_lpars_leave_what_the_weight_does_not_guard():
    system = System(replace(SYSTEM, machine=MACHINE))
    free = evaluate(system, scenario(1000.0, 500.0, others=2.0))
    crowded = evaluate(system, scenario(1000.0, 500.0, others=7.0))
    assert free.available[0, 0] == ENGINES
    assert crowded.available[0, 0] == pytest.approx(0.25 * (8.0 - 0.1))
    assert free.machine_busy[0, 0] == pytest.approx((2.5 + 2.0 + 0.1) / 8.0, rel=1e-9)
    assert np.isinf(crowded.response_ms["response_ms", "online"][0, 0])


def test_an_overloaded_lpar_uses_no_more_of_its_machine_than_it_gets():
    system = System(replace(SYSTEM, machine=MACHINE))
    state = evaluate(system, scenario(2500.0, 500.0, others=1.0))
    assert state.busy[0, 0] > ENGINES
    used = {one.resource: one.utilization_pct for one in bottleneck(system, state).stations}
    got = state.available[0, 0]
    assert got == pytest.approx(ENGINES, rel=0.01)
    assert used[f"machine {system.machine.name}"] == pytest.approx(100 * (got + 1.0 + 0.1) / 8.0)


def test_a_capped_lpar_gets_its_share_and_no_more():
    system = System(replace(SYSTEM, machine=replace(MACHINE, capped=True)))
    assert evaluate(system, scenario(1000.0, 500.0)).available[0, 0] == pytest.approx(2.0)


def with_limit(name: str, **known) -> SystemParameters:
    """The system with a limit of the class online."""
    return replace(SYSTEM, limits=(Limit(name, ("online",), **{"determined": True, **known}),))


def test_a_limit_adds_its_wait_and_more_places_take_it_away():
    system, free = System(with_limit("regions", servers=9.0, hold_s=8e-3)), System(SYSTEM)
    question = scenario(1000.0, 100.0)
    limited, open_ = evaluate(system, question), evaluate(free, question)
    key = ("response_ms", "online")
    assert limited.limits["regions"][0, 0] == pytest.approx(8 / 9)
    wait = limited.waiting_ms[key]["limit regions"][0, 0]
    assert wait > 1.0
    assert limited.response_ms[key][0, 0] == pytest.approx(open_.response_ms[key][0, 0] + wait)
    more = evaluate(system, replace(question, limits={"regions": 20.0}))
    assert more.waiting_ms[key]["limit regions"][0, 0] < 0.01 * wait


def test_a_limit_whose_utilization_is_not_known_is_never_full():
    unknown = with_limit("regions", servers=1.0, hold_s=2e-3, determined=False)
    state = evaluate(System(unknown), scenario(900.0, 100.0))
    assert state.limits["regions"][0, 0] < 1.0
    assert np.isfinite(state.response_ms["response_ms", "online"][0, 0])
    assert state.carried_state is None


def unsure_of_places(determined: bool = True) -> System:
    """With a limit of which four places are the best estimate, and two or eight as likely: of one utilization all."""
    places = np.append(4.0, np.where(np.arange(DRAWS) % 2, 2.0, 8.0))
    return System(with_limit("regions", servers=places, hold_s=8e-4 * places, determined=determined))


def test_planned_places_multiply_those_of_every_draw_alike():
    system, question = unsure_of_places(), scenario(1000.0, 100.0)
    same, fewer = (with_places(question, places) for places in (4.0, 3.2))
    plain, same, fewer = (evaluate(system, one) for one in (question, same, fewer))
    assert plain.limits["regions"] == pytest.approx(0.8)
    assert same.limits["regions"] == pytest.approx(0.8)
    assert fewer.limits["regions"] == pytest.approx(1.0)
    key = ("response_ms", "online")
    assert same.response_ms[key] == pytest.approx(plain.response_ms[key])


def with_places(question, places: float):
    return replace(question, limits={"regions": places})


def test_places_that_are_asked_for_tell_no_utilization_that_the_records_do_not():
    system = unsure_of_places(determined=False)
    state = evaluate(system, with_places(scenario(1000.0, 100.0), 2.5))
    assert (state.limits["regions"] < 1.0).all()
    assert "limit regions" not in {one.resource for one in bottleneck(system, state).stations}


def test_waits_for_engines_stretch_a_limit_that_is_held_there():
    free, limited = (
        System(with_limit("tcb", servers=4.0, hold_s=2e-3, on_engines=on_engines))
        for on_engines in (False, True)
    )
    question = scenario(1700.0, 100.0)
    assert evaluate(limited, question).limits["tcb"][0, 0] > 1.05 * evaluate(free, question).limits["tcb"][0, 0]


def test_classes_beside_a_full_limit_meet_what_it_lets_through():
    limited, free = System(with_limit("lock", hold_s=2e-3)), System(SYSTEM)
    question = scenario(2000.0, 1500.0)
    online, batch = ("response_ms", "online"), ("response_ms", "batch")
    assert np.isinf(evaluate(free, question).response_ms[batch][0, 0])
    result, at_most = evaluate(limited, question), evaluate(free, scenario(500.0, 1500.0))
    assert np.isinf(result.response_ms[online][0, 0])
    assert result.response_ms[batch][0, 0] == pytest.approx(at_most.response_ms[batch][0, 0], rel=0.01)
    assert result.busy == pytest.approx(evaluate(free, question).busy)
    assert result.limits["lock"][0, 0] == pytest.approx(2000.0 * 2e-3)
    before_engines_are_full = evaluate(limited, scenario(700.0, 1500.0)).response_ms[batch]
    assert before_engines_are_full == pytest.approx(result.response_ms[batch], rel=0.01)


def test_an_lpar_of_no_weight_gets_what_is_left():
    system = System(replace(SYSTEM, machine=replace(MACHINE, share=0.0)))
    assert system.partition.available(scenario(1.0, 1.0)) == pytest.approx(ENGINES)
    question = scenario(1.0, 1.0, others=6.0)
    assert system.partition.available(question) == pytest.approx(1.9)


def with_ziip_work() -> dict:
    return {**SYSTEM.demands, "online:ziip": replace(demand("online", 1e-3, 0, 3), engine="ziip")}


def test_ziip_work_overflows_where_it_waits_long_and_a_processor_is_free():
    pool = ZiipPool(2.0, overflow=Overflow(floor=0.0, taken=1.0, patience=1.0))
    system = System(replace(SYSTEM, demands=with_ziip_work(), ziip=pool))
    spilt = [evaluate(system, scenario(rate, 1e-9, ziips=2.0)).usage["online"][0, 0] / rate for rate in (100.0, 1500.0)]
    assert spilt[0] == pytest.approx(2e-3, rel=0.01)
    assert spilt[1] > 1.03 * spilt[0]
    fewer = system.usage(scenario(1000.0, 1e-9, ziips=1.0)).overflow[0, 0]
    assert fewer > 2.0 * system.usage(scenario(1000.0, 1e-9, ziips=2.0)).overflow[0, 0]
    assert ziips_without_target(system, evaluate(system, scenario(100.0, 1e-9, ziips=2.0)))
    none = evaluate(system, scenario(1000.0, 1e-9, ziips=0.0))
    assert not ziips_without_target(system, none)
    assert none.usage["online"][0, 0] == pytest.approx(3.0, rel=1e-6)


def test_ziip_work_that_runs_on_general_processors_is_in_the_response_once():
    answered = {**SYSTEM.responses, "online": replace(response("online"), ziip_series=("online:ziip",))}
    system = System(replace(SYSTEM, demands=with_ziip_work(), ziip=ZiipPool(2.0), responses=answered))
    on_ziips, on_cps = (evaluate(system, scenario(10.0, 1e-9, ziips=n)) for n in (2.0, 0.0))
    key = ("response_ms", "online")
    assert on_ziips.using_ms[key][0, 0] == pytest.approx(3.0, rel=1e-6)
    assert on_cps.using_ms[key][0, 0] == pytest.approx(3.0, rel=1e-6)


def test_less_work_than_was_measured_takes_engines_whatever_the_line():
    law = replace(
        demand("all", 0.02, 0, 1),
        support=(900.0, 1000.0),
        coef=np.array([[-0.2, 1.2, 0.0], [-0.4, 1.4, 0.0]]),
        noise=np.zeros(2),
        drift=np.zeros(2),
    )
    used = engines_in_use(law, np.tile([10.0, 100.0, 899.99, 900.0, 1000.0], (2, 1)))
    np.testing.assert_allclose(used[:, 1], 10 * used[:, 0], rtol=0.05)
    np.testing.assert_allclose(used[:, 2], used[:, 3], rtol=1e-3)
    assert (np.diff(used) > 0).all() and (used > 0).all()
