"""Limits held on engines move the queue for these to their own, as in the simulator."""

import numpy as np
import pytest

from model.capacity import queues
from model.capacity.limiting import Times
from model.capacity.parts import Limit, Scenario
from model.network import Network
from model.network.simulator import simulate

ENGINES, SHARED_MS, LOCKED_MS, OTHERS_MS = 4, 8.0, 1.0, 6.5
MEMBERS, OTHERS = 70.0, 400.0


def lock(of_engines: float) -> Limit:
    one, none = np.ones(1), np.zeros(1)
    return Limit("lock", "limit", (0,), (1.0,), np.ones((1, 1)), True, one, none, none, of_engines * one, one)


def answered(limit: Limit, load: float) -> Times:
    """Two classes, of which the first holds the limit, at a part of the rates."""
    rate, using = load * np.array([MEMBERS, OTHERS]), np.array([2 * SHARED_MS + LOCKED_MS, OTHERS_MS])
    used = rate * using / 1e3
    stretch = float(queues.stretch(used.sum(), ENGINES))
    arrays = [np.asarray(one, float).reshape(2, 1, 1) for one in (rate, used, [used.sum()] * 2, [ENGINES] * 2, using)]
    cp = arrays[4] * (stretch - 1.0)
    times = Times([("ms", "members"), ("ms", "others")], *arrays[:4], arrays[4] + cp, arrays[4], {"cp": cp.copy()})
    times.hold_back(limit, {0: 0}, arrays[0][:1], Scenario(rate, ENGINES))
    return times


@pytest.mark.parametrize("load", [0.95, 1.0])
def test_a_lock_held_on_busy_engines_keeps_the_queue_from_all_who_share_them(load):
    network = Network.from_toml(f"""
name = "lock"
[[stations]]
name = "cp"
servers = {ENGINES}
scheduling = "ps"
[[resources]]
name = "lock"
capacity = 1
[[classes]]
name = "members"
arrivals = {{ rate_per_s = {load * MEMBERS} }}
route = [
  {{ visit = "cp", service = {SHARED_MS / 1e3} }},
  {{ acquire = "lock" }},
  {{ visit = "cp", service = {LOCKED_MS / 1e3} }},
  {{ release = "lock" }},
  {{ visit = "cp", service = {SHARED_MS / 1e3} }},
]
[[classes]]
name = "others"
arrivals = {{ rate_per_s = {load * OTHERS} }}
route = [{{ visit = "cp", service = {OTHERS_MS / 1e3} }}]
""")
    seen = simulate(network, seed=1, horizon=2_000_000)
    members, others = answered(lock(LOCKED_MS / (2 * SHARED_MS + LOCKED_MS)), load).response[:, 0, 0]
    assert members == pytest.approx(1e3 * seen.classes["members"].response_s.value, rel=0.08)
    assert others == pytest.approx(1e3 * seen.classes["others"].response_s.value, rel=0.05)


def test_a_lock_that_is_not_held_on_engines_leaves_their_queue_as_it_is():
    free = answered(lock(0.0), 1.0)
    assert free.response == pytest.approx(free.using + free.waiting["cp"])
    assert free.waiting["cp"] == pytest.approx(free.using * (queues.stretch(free.used.sum(), ENGINES) - 1.0))


@pytest.mark.parametrize(("copies", "load"), [(4, 0.5), (4, 0.75), (1, 0.75)])
def test_who_waits_for_a_limit_is_inside_those_that_are_held_around_it(copies, load):
    """A QR TCB in each of some regions, all within MXT: as many places are taken as transactions are inside."""
    rate, using = 1e3 * load * copies / LOCKED_MS, np.full((1, 1, 1), LOCKED_MS)
    used, one, none = rate * using / 1e3, np.ones(1), np.zeros(1)
    times = Times(
        [("ms", "members")], *(one.reshape(1, 1, 1) * of for of in (rate, used, used, 64.0)), using.copy(), using, {}
    )
    times.waiting["cp"] = np.zeros((1, 1, 1))
    times.waiting["ziip"] = np.zeros((1, 1, 1))
    shape = (0,), (1.0,), np.ones((1, 1)), True
    region = Limit("QR", "limit", *shape, one, none, none, one / copies, float(copies) * one)
    tasks = Limit("MXT", "limit", *shape, 100.0 * one, none, one, none, one)
    for limit in (region, tasks):
        times.hold_back(limit, {0: 0}, times.rate, Scenario(times.rate, 64))
    inside = copies * load / (1.0 - load)
    assert times.full["MXT"].item() * 100.0 == pytest.approx(inside, rel=0.02)
    assert times.response.item() == pytest.approx(1e3 * inside / rate, rel=0.02)
