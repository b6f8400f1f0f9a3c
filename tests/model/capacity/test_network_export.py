"""Calibrated systems as networks: the exact methods and the simulator against the answers of the ensemble."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.lpar import calibrate_lpar
from model.calibration.points import CapacityModel
from model.calibration.related_systems import SystemDescription
from model.capacity.ask import predict
from model.capacity.bundle import build
from model.capacity.network_export import export, export_network, gamma_scv
from model.capacity.parameters import Limit, Overflow, ZiipPool
from model.capacity.question import Question
from model.capacity.simulation import simulate_system
from model.capacity.system import System
from model.capacity.values import QuestionError
from model.network import Network
from model.network.exact import solve
from model.network.simulator import simulate
from tests.cases.histories import history
from tests.cases.systems import MACHINE, SYSTEM, demand, response, scenario
from tests.model.points import made_points

HORIZON = 60_000


@pytest.fixture(scope="module")
def bundle():
    points = made_points("shop", [2000.0, 4000.0, 6000.0], fixed=0.2, demand_us=1000.0, noise=0.002)
    points["total_shop_response_ms"] = [8.0, 8.3, 9.1]
    about = SystemDescription("shop", workload="shop", machine="m1", engines=8)
    systems = CapacityModel({"shop": about}).fit(points).systems_ | {"PRDA": calibrate_lpar(history())}
    return build(systems, data={}, validation={})


def value(answer, metric, of=""):
    return next(o.value for o in answer.outputs if o.metric == metric and o.condition.startswith(of))


@pytest.mark.parametrize(
    ("system", "at"),
    [("shop", {"etr_tps": 5000.0}), ("shop", {"point": "2"})],
)
def test_the_exported_network_is_solved_to_the_prediction(bundle, system, at):
    network = Network.from_toml(export_network(bundle, system, at).network.to_toml())
    solution, answer = solve(network), predict(bundle, system, at)
    busy = 100.0 * solution.utilisation[:, network.station_names.index("cp")].sum()
    assert busy == pytest.approx(value(answer, "cpu_busy_pct"), rel=1e-6)
    metric = "total_shop_response_ms" if system == "shop" else "response_ms"
    for name in answer.times:
        at_class = solution.response_s[network.class_names.index(name["class"])]
        of = "" if system == "shop" else f"class={name['class']}"
        assert 1e3 * at_class == pytest.approx(value(answer, metric, of), rel=1e-6)


@pytest.mark.slow
def test_a_simulated_system_has_the_figures_of_its_prediction(bundle):
    outcome, answer = simulate_system(bundle, "PRDA", horizon=HORIZON), predict(bundle, "PRDA")
    assert [(o.metric, o.condition, o.unit) for o in outcome.outputs] == [
        (o.metric, o.condition, o.unit) for o in answer.outputs
    ]
    for ours, theirs in zip(outcome.outputs, answer.outputs, strict=True):
        if ours.metric != "response_p90_ms":
            assert ours.value == pytest.approx(theirs.value, rel=0.04)
        assert ours.lo <= ours.value <= ours.hi
    assert outcome.bottleneck.resource == answer.bottleneck.resource
    assert outcome.interval_pct == 95


def ranked(**more):
    """The two classes of the made system, with more."""
    return System(replace(SYSTEM, **more))


def played(system, query):
    load = Question(query, {}, None, "", {})
    outcome = export(system, load, "test", "test")
    return outcome, simulate(outcome.network, seed=1, horizon=HORIZON)


def agree(outcome, result, within):
    for (_, stream), predicted in outcome.state.response_ms.items():
        simulated = result.classes[stream].response_s
        assert 1e3 * simulated.value == pytest.approx(predicted[0, 0], rel=within, abs=2e3 * simulated.half_width)


def test_priorities_are_played_as_they_are_answered():
    agree(*played(ranked(), scenario(1200.0, 700.0)), within=0.03)


THREE = {"regions": True, "threads": True, "dasd": False}


@pytest.mark.parametrize("limited", [{"regions": False}, {"regions": True}, THREE])
def test_limits_are_played_as_they_are_answered(limited):
    limits = []
    for number, (name, on_engines) in enumerate(limited.items()):
        hold_s = (2e-3 - number * 5e-4) if on_engines else 4e-3
        one = Limit(name, ("online",), servers=8.0, hold_s=hold_s, determined=True, on_engines=on_engines)
        limits.append(one)
    agree(*played(ranked(limits=tuple(limits)), scenario(900.0, 300.0)), within=0.05)


def test_overflowing_ziip_work_is_played_as_it_is_answered():
    laws = {**SYSTEM.demands, "online:ziip": replace(demand("online", 1e-3, 0, 3), engine="ziip")}
    laws["ziip_work"] = replace(demand("ziip_work", 1e-3, 0, 4), engine="ziip_busy", additive=False)
    answered = {**SYSTEM.responses, "online": replace(response("online"), ziip_series=("online:ziip",))}
    pool = ZiipPool(2.0, overflow=Overflow(floor=0.05, taken=0.5, patience=1.0))
    system = ranked(demands=laws, responses=answered, ziip=pool)
    outcome, result = played(system, scenario(900.0, 200.0, ziips=2.0))
    agree(outcome, result, within=0.05)
    busy = result.stations["cp"].utilization
    assert 4.0 * busy.value == pytest.approx(outcome.state.busy[0, 0], rel=0.02)


def test_the_machine_of_an_lpar_is_in_its_network():
    system = ranked(machine=MACHINE)
    outcome, result = played(system, scenario(900.0, 300.0, others=3.0))
    assert outcome.network.station("cp").lpar.weight == pytest.approx(250.0)
    assert result.machines["M1"].value == pytest.approx(outcome.state.machine_busy[0, 0], rel=0.03)


def test_a_load_without_steady_state_has_no_network(bundle):
    with pytest.raises(QuestionError, match="saturated"):
        export_network(bundle, "PRDA", {"growth_pct": 400})
    for system in bundle["systems"]:
        with pytest.raises(QuestionError, match="saturated"):
            export_network(bundle, system, {"cpu_busy_pct": 100.0})
    system = ranked()
    with pytest.raises(QuestionError, match="saturated"):
        export(
            system, Question(replace(scenario(900.0, 300.0), rates=np.array([[[9e3, 1.0]]])), {}, None, "", {}), "", ""
        )


def test_a_gamma_distribution_has_the_90th_percentile_asked_for():
    assert gamma_scv(2.302585) == pytest.approx(1.0, abs=0.02)
    assert gamma_scv(1.67) == pytest.approx(0.25, abs=0.02)
