"""What is used beside full limits and under full engines is what the simulator has there."""

from dataclasses import replace

import numpy as np
import pytest

from model.capacity.ensemble import System
from model.capacity.figures import bottleneck, figure_table
from model.capacity.parts import Scenario
from model.network import Network
from model.network.simulator import simulate

from .test_ensemble import ENGINES, ENTRY, MACHINE, scenario

ONLINE_MS, BATCH_MS = 2.0, 1.0
BUSY = {"form": "busy_pct", "metric": "cpu_busy_pct"}


def limit(name: str, member: str, places: float, hold_ms: float, kind: str = "devices") -> dict:
    known = {"servers": places, "hold_s": hold_ms / 1e3, "of_inside": 0.0, "of_engines": 0.0, "factor": 1.0}
    drawn = {key: {"centre": value, "draws": []} for key, value in known.items()}
    return {"name": name, "members": [member], "kind": kind} | drawn


def used(system: System, asked: Scenario) -> dict[str, float]:
    """What an answer shows as used, in percent, at the centre."""
    state = system.evaluate(asked)
    limits = {one.name for one in system.limits}
    shown = {name: figure_table(system, state, {"form": "limit_pct", "station": name}) for name in limits}
    return {name: table[0, 0] for name, table in ({"cp": figure_table(system, state, BUSY)} | shown).items()}


def simulated(text: str, names: dict[str, str]) -> dict[str, float]:
    """Utilization of stations in percent, by the names answers have for them."""
    result = simulate(Network.from_toml(text), seed=1, horizon=400_000)
    return {name: 100.0 * result.stations[station].utilization.value for name, station in names.items()}


def network(scheduling: str, online: float, batch: float, route: str) -> str:
    """Two classes on the engines of ``ENTRY``, each with volumes of its own."""
    return f"""
name = "full"
[[stations]]
name = "cp"
servers = {ENGINES:g}
scheduling = "{scheduling}"
[[stations]]
name = "a"
servers = 8
[[stations]]
name = "b"
servers = 16
[[stations]]
name = "elsewhere"
scheduling = "delay"
[[resources]]
name = "lock"
capacity = 1
[[classes]]
name = "online"
priority = 9
arrivals = {{ rate_per_s = {online} }}
route = [{route} {{ visit = "cp", service = {ONLINE_MS / 1e3} }}, {{ visit = "a", service = 0.003 }}]
[[classes]]
name = "batch"
priority = 1
arrivals = {{ rate_per_s = {batch} }}
route = [{{ visit = "cp", service = {BATCH_MS / 1e3} }}, {{ visit = "b", service = 0.004 }}]
"""


VOLUMES = [limit("a", "online", 8.0, 3.0), limit("b", "batch", 16.0, 4.0)]


def test_engines_and_volumes_beside_a_full_lock_are_used_by_what_it_lets_through():
    held = '{ acquire = "lock" }, { visit = "elsewhere", service = 0.002 }, { release = "lock" },'
    truth = simulated(network("preemptive", 700.0, 1500.0, held), {"cp": "cp", "a": "a", "b": "b"})
    system = System({**ENTRY, "limits": [limit("lock", "online", 1.0, 2.0, "limit"), *VOLUMES]})
    found = used(system, scenario(700.0, 1500.0))
    assert found.pop("lock") == pytest.approx(140.0)
    assert found == pytest.approx(truth, rel=0.02)
    named = bottleneck(system, system.evaluate(scenario(700.0, 1500.0)))
    assert (named.resource, named.utilization_pct) == ("limit lock", pytest.approx(140.0))
    engines = next(station for station in named.stations if station.resource.startswith("general"))
    assert engines.utilization_pct == pytest.approx(found["cp"])


@pytest.mark.parametrize(("scheduling", "ranked"), [("preemptive", 1.0), ("fcfs", 0.0)])
def test_volumes_under_full_engines_are_used_by_the_work_they_get_to(scheduling, ranked):
    truth = simulated(network(scheduling, 1500.0, 2000.0, ""), {"cp": "cp", "a": "a", "b": "b"})
    system = System({**ENTRY, "priorities": {"centre": ranked, "draws": []}, "limits": VOLUMES})
    found, named = (at(scenario(1500.0, 2000.0)) for at in (lambda one: used(system, one), system.evaluate))
    assert found == pytest.approx(truth, rel=0.02)
    assert bottleneck(system, named).utilization_pct == pytest.approx(125.0)


def test_work_that_queues_for_full_volumes_may_have_used_engines_before():
    system = System({**ENTRY, "limits": [limit("a", "online", 8.0, 20.0)]})
    asked = scenario(700.0, 0.0)
    all_of_it = system.evaluate(asked).busy[0, 0]
    through = system.evaluate(scenario(400.0, 0.0)).busy[0, 0]
    found = system.evaluate(asked).used.busy[:, 0]
    assert (found[1:].min(), found[1:].max()) == pytest.approx((through, all_of_it), rel=0.03)
    assert found[0] == pytest.approx((through + all_of_it) / 2.0, rel=0.01)


def test_loads_beside_full_ones_are_as_alone():
    system = System({**ENTRY, "limits": [limit("lock", "online", 1.0, 2.0, "limit"), *VOLUMES], "on_machine": MACHINE})
    rates = np.array([[[300.0, 500.0], [700.0, 1500.0], [400.0, 9000.0], [700.0, 9000.0]]])
    asked = replace(scenario(1.0, 1.0, others=2.0), rates=rates)
    together = system.evaluate(asked)
    assert system.evaluate(asked.at_loads([0])).through is None
    for i in range(rates.shape[1]):
        alone, one = system.evaluate(asked.at_loads([i])).used, together.at_load(i).used
        for found, known in ((one.limits, alone.limits), (one.usage, alone.usage), (vars(one), vars(alone))):
            arrays = (name for name, values in known.items() if isinstance(values, np.ndarray))
            for name in arrays:
                assert found[name] == pytest.approx(known[name], rel=1e-6), name


def test_where_the_centre_alone_fills_a_limit_all_gets_through():
    lock = limit("lock", "online", 1.0, 2.2, "limit")
    lock["hold_s"]["draws"] = [1.8e-3] * (len(ENTRY["usage"]["online"]["draws"]["noise"]))
    asked = scenario(500.0, 100.0)
    found = used(System({**ENTRY, "limits": [lock]}), asked)
    assert found["lock"] == pytest.approx(110.0)
    assert found["cp"] == pytest.approx(used(System(ENTRY), asked)["cp"])
