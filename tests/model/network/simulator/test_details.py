"""Percentiles by station, what slow responses are made of, and the rate at which each limit would be full."""

import math

import pytest

from model.network import Acquire, Fork, Release, Resource, Station
from model.network.simulator import simulate
from model.network.simulator.report import as_dict, as_text
from tests.model.network.simulator.build import agrees, closed_class, network, open_class, visit


def test_visits_to_each_station_have_their_own_percentiles():
    """In a tandem of single queues both stays are exponential."""
    both = network([Station(name="a"), Station(name="b")], open_class(0.5, visit("a", 1.0), visit("b", 1.2)))
    result = simulate(both, seed=4, horizon=600_000, details=True)
    for name, rate in (("a", 0.5), ("b", 1 / 1.2 - 0.5)):
        for p, estimate in result.stations[name].residence_percentiles_s.items():
            agrees(estimate, -math.log(1 - p / 100) / rate)


def test_the_parts_of_a_percentile_add_up_to_it():
    region = network(
        [Station(name="cp", servers=2, scheduling="ps"), Station(name="dasd", scheduling="delay")],
        open_class(1.2, Acquire(resource="mxt"), visit("cp", 1.0), visit("dasd", 2.0), Release(resource="mxt")),
        closed_class(3, 5.0, visit("cp", 0.5), name="users"),
        resources=(Resource(name="mxt", capacity=6),),
    )
    result = simulate(region, seed=5, horizon=300_000, details=True)
    for name in ("a", "users"):
        answer = result.classes[name]
        for p, estimate in answer.percentiles_s.items():
            parts = answer.percentile_parts[p]
            # Transactions within a tenth of the percentile are looked at together.
            assert sum(x.using_s + x.waiting_s for x in parts.values()) == pytest.approx(estimate.value, rel=0.08)
    slow, typical = (result.classes["a"].percentile_parts[p]["mxt"].waiting_s for p in (99.0, 50.0))
    assert slow > 4 * typical


def test_the_longer_branch_of_a_fork_is_among_the_parts():
    fork = Fork(branches=((visit("a", 1.0),), (visit("b", 0.1),)))
    result = simulate(network([Station(name="a"), Station(name="b")], open_class(0.5, fork)), seed=6, horizon=60_000,
                      details=True)  # fmt: skip
    parts = result.classes["a"].percentile_parts[99.0]
    assert parts["a"].using_s + parts["a"].waiting_s > 0.9 * result.classes["a"].percentiles_s[99.0].value
    assert parts["b"].using_s > 0


def test_without_details_nothing_of_them_is_said():
    one = network(Station(name="cp"), open_class(0.5, visit("cp", 1.0)))
    plain, full = (simulate(one, seed=1, horizon=5_000, details=details) for details in (False, True))
    assert plain.classes["a"].percentile_parts == {} and plain.stations["cp"].residence_percentiles_s == {}
    assert plain.classes["a"].response_s == full.classes["a"].response_s
    said = as_dict(full)
    assert set(said["classes"]["a"]["percentile_parts"]) == {"50", "90", "95", "99"}
    assert said["limits"][0]["rate_per_s"] == pytest.approx(1.0, rel=0.08)
    assert "at most" in as_text(full)
