"""Sweeps over loads: the figures of single solutions, and the reasons of the points that have none."""

import json

import pytest

from model.network import Network, NetworkError, Station
from model.network.exact import solve, sweep_load
from model.network.exact.report import sweep_as_dict, sweep_as_text
from tests.model.network.simulator.build import closed_class, network, open_class, visit

STATIONS = (Station(name="cp", servers=18, scheduling="ps"), Station(name="disk", scheduling="delay"))


def loaded(factor: float = 1.0) -> Network:
    users = closed_class(round(4 * factor), 1.0, visit("cp", 0.5), name="users")
    return network(STATIONS, open_class(10.0 * factor, visit("cp", 1.0), visit("disk", 2.0)), users)


def test_a_point_has_the_figures_of_its_own_network_in_the_order_asked_for():
    points = sweep_load(loaded(), [1.5, 0.5])
    for point, factor in zip(points, (1.5, 0.5), strict=True):
        assert point.factor == factor and point.solution is not None
        assert point.solution.response_s == pytest.approx(solve(loaded(factor)).response_s)
    assert "mixed product form" in sweep_as_text(points)


def test_an_overloaded_point_has_no_figures_and_its_reason():
    points = sweep_load(loaded(), [1.0, 2.0])
    solved, refused = json.loads(json.dumps(sweep_as_dict(points)))["points"]
    assert solved["refused"] is None and solved["utilization"]["cp"] < 1
    assert refused.keys() == {"factor", "refused"} and "cp by 111.1 %" in refused["refused"]
    assert "2: network 'test' has no steady state" in sweep_as_text(points)


def test_a_sweep_without_any_solution_is_refused_as_its_first_point():
    with pytest.raises(NetworkError, match="no steady state"):
        sweep_load(loaded(), [2.0, 3.0])
    with pytest.raises(ValueError, match="positive"):
        sweep_load(loaded(), [0.0])
