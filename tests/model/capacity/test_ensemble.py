"""The ensemble: one LPAR with two classes of different importance, a limit and a machine it shares, as plain arrays."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.capacity import figures, queues
from model.capacity.answer import Estimate
from model.capacity.ensemble import System
from model.capacity.figures import held_to_no_target
from model.capacity.parts import Law, Scenario

DRAWS = 40
ENGINES = 4.0


def drawn(centre: float, sd: float, seed: int) -> dict:
    """A quantity as a bundle holds it."""
    return {"centre": centre, "draws": (centre + sd * np.random.default_rng(seed).standard_normal(DRAWS)).tolist()}


def usage(driver: str, demand_s: float, level: int, seed: int) -> dict:
    """Engines in use by a class at up to 1,000 transactions/s, one percent uncertain."""
    spread = 0.01 * np.random.default_rng(seed).standard_normal((DRAWS, 1)) * [[0.0, 1.0, 0.0]]
    return {
        "driver": driver,
        "level": level,
        "part": True,
        "reference_rate": 1000.0,
        "scale": 1000.0 * demand_s,
        "support": [100.0, 1000.0],
        "coef": [0.0, 1.0, 0.0],
        "draws": {
            "coef": (np.array([0.0, 1.0, 0.0]) + spread).tolist(),
            "noise": [0.0] * DRAWS,
            "drift": drawn(0.0, 0.02, seed)["draws"],
        },
    }


def response(stream: str) -> dict:
    """Mean response of a class: its CPU, stretched, and five milliseconds elsewhere."""
    nothing = {"centre": 0.0, "draws": []}
    return {
        "metric": "response_ms",
        "stream": stream,
        "series": [stream],
        "rest_ms": drawn(5.0, 0.1, 5),
        "factor": {"centre": 1.0, "draws": []},
        "load": nothing,
        "noise": nothing,
        "measured_stretch": 1.0,
    }


ENTRY = {
    "engines": ENGINES,
    "streams": [{"name": "online"}, {"name": "batch"}],
    "capacity": ["online", "batch"],
    "usage": {"online": usage("online", 2e-3, 0, 1), "batch": usage("batch", 1e-3, 1, 2)},
    "priorities": {"centre": 1.0, "draws": []},
    "response": {"online": response("online"), "batch": response("batch")},
}
MACHINE = {"name": "M1", "engines": 8.0, "share": 0.25, "capped": False, "management": 0.1}


def scenario(online: float, batch: float, **more) -> Scenario:
    return Scenario(rates=np.array([[[online, batch]]]), engines=ENGINES, **more)


def estimates(state) -> dict:
    found = {"busy": state.busy} | {stream: values for (_, stream), values in state.response_ms.items()}
    return {name: Estimate.of(values[:, 0]) for name, values in found.items()}


@given(online=st.floats(1.0, 3000.0), batch=st.floats(1.0, 3000.0))
def test_limits_hold_the_value(online, batch):
    for found in estimates(System(ENTRY).evaluate(scenario(online, batch))).values():
        value, lo, hi = (np.inf if figure is None else figure for figure in (found.value, found.lo, found.hi))
        assert lo <= value <= hi


@given(online=st.floats(10.0, 900.0), growth=st.floats(1.0, 3.0))
def test_growth_of_one_class_never_makes_anything_faster_or_less_busy(online, growth):
    system = System(ENTRY)
    before, after = system.evaluate(scenario(online, 500.0)), system.evaluate(scenario(growth * online, 500.0))
    assert (after.busy >= before.busy * (1 - 0.05 * np.log(growth)) - 1e-9).all()
    for key, values in before.response_ms.items():
        assert after.response_ms[key][0, 0] >= values[0, 0] - 1e-9


def test_important_work_is_served_first():
    state = System(ENTRY).evaluate(scenario(1200.0, 1200.0))
    online, batch = (state.waiting_ms["response_ms", name]["cp"][0, 0] for name in ("online", "batch"))
    used = [state.using_ms["response_ms", name][0, 0] for name in ("online", "batch")]
    assert online / used[0] < batch / used[1]


def test_using_waiting_and_rest_are_the_response():
    state = System(ENTRY).evaluate(scenario(1000.0, 1000.0))
    for key, values in state.response_ms.items():
        assert state.using_ms[key][0, 0] + sum(w[0, 0] for w in state.waiting_ms[key].values()) == pytest.approx(
            values[0, 0]
        )


def test_a_saturated_lpar_has_no_response_however_much_responses_deviate():
    unsure = {**response("online"), "noise": drawn(0.0, 3.0, 7)}
    state = System({**ENTRY, "response": {"online": unsure}}).evaluate(scenario(2500.0, 1000.0))
    assert np.isinf(state.response_ms["response_ms", "online"]).all()


def test_a_saturated_lpar_has_no_response():
    state = System(ENTRY).evaluate(scenario(2500.0, 1.0))
    assert np.isinf(state.response_ms["response_ms", "online"]).all()


def test_important_work_keeps_its_response_where_other_work_saturates_the_engines():
    alone, flooded = (System(ENTRY).evaluate(scenario(900.0, batch)) for batch in (1.0, 5000.0))
    assert (flooded.busy > flooded.available).all()
    assert np.isinf(flooded.response_ms["response_ms", "batch"]).all()
    longer = flooded.response_ms["response_ms", "online"][0, 0] / alone.response_ms["response_ms", "online"][0, 0]
    assert 1.0 <= longer < 1.3


def test_work_behind_long_pieces_waits_longer_the_fuller_the_engines_are():
    def waits(**factors: float) -> tuple[float, float]:
        law = ENTRY["response"]["batch"] | {name: {"centre": value, "draws": []} for name, value in factors.items()}
        state = System({**ENTRY, "response": ENTRY["response"] | {"batch": law}}).evaluate(scenario(1200.0, 700.0))
        part = float(state.taken["response_ms", "batch"][0, 0])
        return part, state.waiting_ms["response_ms", "batch"]["cp"][0, 0]

    part, crowded = waits(behind=0.0, crowded=2.0)
    assert crowded == pytest.approx(waits(behind=2.0 * part)[1])
    assert crowded > 1.1 * waits(behind=0.0)[1]


def test_work_that_runs_to_its_end_makes_others_wait_as_long_as_its_pieces_are():
    factor = {"centre": 1.5, "draws": []}
    alike = {name: {**law, "factor": factor, "behind": factor} for name, law in ENTRY["response"].items()}
    plain = {**ENTRY, "priorities": {"centre": 0.0, "draws": []}, "response": alike}
    state = System({**plain, "to_its_end": True}).evaluate(scenario(600.0, 1800.0))
    waits = [state.waiting_ms["response_ms", name]["cp"][0, 0] for name in ("online", "batch")]
    size_ms = (1.2 * 2.0 + 1.8 * 1.0) / 3.0
    once = 1.5 * size_ms * (queues.stretch(3.0, ENGINES) - 1.0)
    assert waits == pytest.approx([once, once])


def test_waits_on_other_engines_than_measured_are_as_unsure_as_beyond_the_measured():
    unsure = {**response("batch"), "longest_wait_ms": 1e6, "drift": drawn(0.0, 0.01, 7)}
    sure = {**unsure, "drift": {"centre": 0.0, "draws": []}}

    def added(engines: float) -> float:
        """What deviates of the mean response, as a part of its wait."""
        asked = replace(scenario(1000.0, 900.0), engines=engines)
        key = "response_ms", "batch"
        first, second = (System({**ENTRY, "response": {"batch": one}}).evaluate(asked) for one in (unsure, sure))
        return float(np.std((first.response_ms[key] - second.response_ms[key]) / second.waiting_ms[key]["cp"]))

    assert added(ENGINES) == 0.0
    assert added(ENGINES + 1.0) == pytest.approx(0.01, rel=0.25)


def test_without_priorities_saturated_engines_serve_no_class():
    state = System({**ENTRY, "priorities": {"centre": 0.0, "draws": []}}).evaluate(scenario(900.0, 5000.0))
    assert all(np.isinf(values).all() for values in state.response_ms.values())


def test_cost_per_transaction_grows_with_the_busy_where_it_was_calibrated_to():
    usual = float(queues.together(2.0, int(ENGINES)))
    entry = {**ENTRY, "cost_by_busy": {"centre": 0.3, "draws": [], "from": usual}}
    at_reference, above = (System(entry).evaluate(scenario(rate, 1e-9)).busy[0, 0] / rate for rate in (1000.0, 1500.0))
    assert at_reference == pytest.approx(2e-3, rel=1e-3)
    assert above > 1.02 * at_reference


def test_other_lpars_leave_what_the_weight_does_not_guard():
    system = System({**ENTRY, "on_machine": MACHINE})
    free = system.evaluate(scenario(1000.0, 500.0, others=2.0))
    crowded = system.evaluate(scenario(1000.0, 500.0, others=7.0))
    assert 0.95 * ENGINES < free.available[0, 0] < ENGINES
    assert crowded.available[0, 0] == pytest.approx(0.25 * (8.0 - 0.1))
    assert free.machine_busy[0, 0] == pytest.approx((2.5 + 2.0 + 0.1) / 8.0, rel=1e-9)
    assert np.isinf(crowded.response_ms["response_ms", "online"][0, 0])


def test_an_overloaded_lpar_uses_no_more_of_its_machine_than_it_gets():
    system = System({**ENTRY, "on_machine": MACHINE})
    state = system.evaluate(scenario(2500.0, 500.0, others=1.0))
    assert state.busy[0, 0] > ENGINES
    used = {one.resource: one.utilization_pct for one in figures.bottleneck(system, state).stations}
    got = state.available[0, 0]
    assert got == pytest.approx(ENGINES, rel=0.01)
    assert used[f"machine {system.machine.name}"] == pytest.approx(100 * (got + 1.0 + 0.1) / 8.0)


def test_a_capped_lpar_gets_its_share_and_no_more():
    system = System({**ENTRY, "on_machine": MACHINE})
    assert system.evaluate(scenario(1000.0, 500.0, capped=True)).available[0, 0] == pytest.approx(2.0)


def test_a_limit_adds_its_wait_and_more_places_take_it_away():
    limit = {
        "name": "regions",
        "members": ["online"],
        "servers": {"centre": 9.0, "draws": []},
        "hold_s": {"centre": 8e-3, "draws": []},
        "of_inside": {"centre": 0.0, "draws": []},
        "factor": {"centre": 1.0, "draws": []},
    }
    system, free = System({**ENTRY, "limits": [limit]}), System(ENTRY)
    asked = scenario(1000.0, 100.0)
    held, open_ = system.evaluate(asked), free.evaluate(asked)
    key = ("response_ms", "online")
    assert held.limits["regions"][0, 0] == pytest.approx(8 / 9)
    wait = held.waiting_ms[key]["regions"][0, 0]
    assert wait > 1.0
    assert held.response_ms[key][0, 0] == pytest.approx(open_.response_ms[key][0, 0] + wait)
    more = system.evaluate(replace(asked, limits={"regions": 20.0}))
    assert more.waiting_ms[key]["regions"][0, 0] < 0.01 * wait


def test_a_limit_beside_a_saturated_one_is_as_full_as_alone():
    def limit(name: str, **known: float) -> dict:
        of_inside = {"of_inside": 0.0, "factor": 1.0}
        drawn = {key: {"centre": value, "draws": []} for key, value in (of_inside | known).items()}
        return {"name": name, "members": ["online"], **drawn}

    lock = limit("lock", servers=1.0, hold_s=2e-3)
    latch = limit("latch", servers=3.0, hold_s=0.0, of_engines=1.0)
    asked = scenario(600.0, 100.0)
    alone = System({**ENTRY, "limits": [latch]}).evaluate(asked)
    beside = System({**ENTRY, "limits": [lock, latch]}).evaluate(asked)
    assert beside.limits["lock"][0, 0] == pytest.approx(1.2)
    assert beside.limits["latch"] == pytest.approx(alone.limits["latch"])


def test_classes_beside_a_full_limit_meet_what_it_lets_through():
    lock = {"name": "lock", "members": ["online"], "kind": "limit"}
    known = {"servers": 1.0, "hold_s": 2e-3, "of_inside": 0.0, "of_engines": 0.0, "factor": 1.0}
    lock |= {key: {"centre": value, "draws": []} for key, value in known.items()}
    held, free = System({**ENTRY, "limits": [lock]}), System(ENTRY)
    asked = scenario(2000.0, 1500.0)
    online, batch = ("response_ms", "online"), ("response_ms", "batch")
    assert np.isinf(free.evaluate(asked).response_ms[batch][0, 0])
    found, at_most = held.evaluate(asked), free.evaluate(scenario(500.0, 1500.0))
    assert np.isinf(found.response_ms[online][0, 0])
    assert found.response_ms[batch][0, 0] == pytest.approx(at_most.response_ms[batch][0, 0], rel=0.01)
    assert found.busy == pytest.approx(free.evaluate(asked).busy)
    assert found.limits["lock"][0, 0] == pytest.approx(2000.0 * 2e-3)
    # The longest response is that of its members, whatever it lets through.
    every = held.at_rates(asked)
    assert np.array_equal(every.limits["lock"], found.limits["lock"])
    longest = [np.max(list(one.response_ms.values()), axis=0) for one in (every, found)]
    assert np.array_equal(*longest)
    before_engines_are_full = held.evaluate(scenario(700.0, 1500.0)).response_ms[batch]
    assert before_engines_are_full == pytest.approx(found.response_ms[batch], rel=0.01)


def test_an_lpar_of_no_weight_gets_what_is_left():
    system = System({**ENTRY, "on_machine": {**MACHINE, "share": 0.0}})
    assert system.partition.available(scenario(1.0, 1.0)) == pytest.approx(ENGINES)
    asked = scenario(1.0, 1.0, others=6.0)
    assert system.partition.beside(asked).steadily == pytest.approx(1.9)
    assert (system.partition.available(asked) < 1.9).all()


def test_ziip_work_overflows_to_general_processors_only_where_the_ziips_are_full():
    overflow = {key: {"centre": 0.0, "draws": []} for key in ("waiting", "floor", "bunched", "bunched_behind_cps")}
    ziip = {"engines": 2.0, "overflow": overflow}
    laws = ENTRY["usage"] | {"online:ziip": usage("online", 1e-3, 0, 3) | {"engine": "ziip"}}
    laws["ziip"] = usage("ziip_work", 1e-3, 0, 4) | {"engine": "ziip", "driver": "ziip_work"}
    system = System({**ENTRY, "usage": laws, "ziip": ziip})
    spilt = [system.evaluate(scenario(rate, 1e-9, ziips=2.0)).usage["online"][0, 0] / rate for rate in (100.0, 2000.0)]
    assert spilt[0] == pytest.approx(2e-3, rel=0.01)
    assert spilt[1] > 1.1 * spilt[0]
    behind = {**ziip, "overflow": {**overflow, "bunched_behind_cps": {"centre": 0.5, "draws": []}}}
    together = System({**ENTRY, "usage": laws, "ziip": behind})
    more = [together.evaluate(scenario(rate, 1e-9, ziips=2.0)).usage["online"][0, 0] / rate for rate in (100.0, 2000.0)]
    assert more[0] == pytest.approx(spilt[0], rel=1e-3)
    assert more[1] > 1.01 * spilt[1]
    assert held_to_no_target(system, system.evaluate(scenario(100.0, 1e-9, ziips=2.0)))
    none = system.evaluate(scenario(1000.0, 1e-9, ziips=0.0))
    assert not held_to_no_target(system, none)
    assert none.usage["online"][0, 0] == pytest.approx(3.0, rel=1e-6)


def test_threads_share_ziips_as_the_queue_of_the_pool_has_it():
    gain = 1.3
    laws = ENTRY["usage"] | {"online:ziip": usage("online", 1e-3, 0, 3) | {"engine": "ziip"}}
    laws["ziip_work"] = usage("ziip_work", 1.0, 0, 4) | {"engine": "ziip_busy", "driver": "ziip_work", "part": False}
    laws["ziip_work"] |= {"reference_rate": 1.0, "scale": 0.9, "support": [0.1, 2.0]}
    pool = {"engines": 2.0, "threads": 2.0, "gain": {"centre": gain, "draws": []}}
    system = System({**ENTRY, "usage": laws, "ziip": pool})
    two, one = (system.evaluate(scenario(1000.0, 1e-9, ziips=n)) for n in (2.0, 1.0))
    by_queue = [queues.bounded_pool(1.0, n, gain, 2)[2] for n in (2, 1)]
    assert [two.ziip_busy[0, 0], one.ziip_busy[0, 0]] == pytest.approx([0.9 * busy for busy in by_queue])
    busy = two.ziip_busy
    active = system.ziip_pool.active_threads(busy * 1.1, busy, two.scenario)
    assert active - busy == pytest.approx(0.1 * busy / (gain - 1.0))


def test_a_fitted_factor_of_waits_for_ziips_holds_for_others_in_part():
    laws = ENTRY["usage"] | {"online:ziip": usage("online", 1e-3, 0, 3) | {"engine": "ziip"}}

    def waits(factor: float, ziips: float) -> np.ndarray:
        law = response("online") | {"ziip_series": ["online:ziip"], "ziip_factor": {"centre": factor, "draws": []}}
        system = System({**ENTRY, "usage": laws, "ziip": {"engines": 2.0}, "response": {"online": law}})
        state = system.evaluate(scenario(1500.0, 1e-9, ziips=ziips))
        return state.waiting_ms["response_ms", "online"]["ziip"][:, 0]

    measured, other = (waits(2.0, ziips) / waits(1.0, ziips) for ziips in (2.0, 3.0))
    assert measured == pytest.approx(2.0)
    assert other[0] == pytest.approx(1.5)
    assert np.quantile(other[1:], [0.05, 0.95]) == pytest.approx([1.0, 2.0], abs=0.06)


def test_ziip_work_that_runs_on_general_processors_is_in_the_response_once():
    laws = ENTRY["usage"] | {"online:ziip": usage("online", 1e-3, 0, 3) | {"engine": "ziip"}}
    answered = ENTRY["response"] | {"online": response("online") | {"ziip_series": ["online:ziip"]}}
    system = System({**ENTRY, "usage": laws, "ziip": {"engines": 2.0}, "response": answered})
    on_ziips, on_cps = (system.evaluate(scenario(10.0, 1e-9, ziips=n)) for n in (2.0, 0.0))
    key = ("response_ms", "online")
    assert on_ziips.using_ms[key][0, 0] == pytest.approx(3.0, rel=1e-6)
    assert on_cps.using_ms[key][0, 0] == pytest.approx(3.0, rel=1e-6)


def test_less_work_than_was_measured_takes_engines_whatever_the_line():
    entry = {
        **usage("all", 0.02, 0, 1),
        "support": [900.0, 1000.0],
        "coef": [-0.2, 1.2, 0.0],
        "draws": {"coef": [[-0.4, 1.4, 0.0]], "noise": [0.0], "drift": [0.0]},
    }
    used = Law.of("lpar", entry).usage(np.tile([10.0, 100.0, 899.99, 900.0, 1000.0], (2, 1)))
    np.testing.assert_allclose(used[:, 1], 10 * used[:, 0], rtol=0.05)
    np.testing.assert_allclose(used[:, 2], used[:, 3], rtol=1e-3)
    assert (np.diff(used) > 0).all() and (used > 0).all()
