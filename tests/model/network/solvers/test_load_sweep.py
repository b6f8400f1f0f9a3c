"""Sweeps over loads: the figures of single solutions, and the same label of how far off they may be."""

import numpy as np
import pytest

from model.network import Acquire, Network, NetworkError, Release, Resource, Smt, Station
from model.network.solvers import solve
from model.network.solvers.load_sweep import sweep_load
from model.network.solvers.report import as_dict, sweep_as_dict, sweep_as_text
from tests.model.network.simulator.build import closed_class, network, open_class, visit

STATIONS = (
    Station(name="cp", servers=18, scheduling="ps"),
    Station(name="ziip", servers=2, scheduling="ps", smt=Smt(gain=1.3), source="made up for the test"),
    Station(name="disk", scheduling="delay"),
)
VISITS = (visit("cp", 1.0), visit("ziip", 0.1), visit("disk", 2.0))
OPEN = network(STATIONS, open_class(10.0, *VISITS))
CLOSED = network(STATIONS, closed_class(20, 1.0, *VISITS))
LIMITED = network(
    STATIONS, closed_class(20, 1.0, Acquire(resource="mxt"), *VISITS, Release(resource="mxt")),
    resources=(Resource(name="mxt", capacity=2, instances=2),),
)  # fmt: skip


def test_a_sweep_of_open_classes_in_product_form_is_exact():
    swept, single = sweep_load(OPEN, [0.5, 1.0]), solve(OPEN)
    assert swept.exact and single.exact and swept.method == single.method
    np.testing.assert_allclose(swept.response_s[1], single.response_s, rtol=1e-5)
    assert "exact" in sweep_as_text(swept)


@pytest.mark.parametrize(
    ("net", "approximated"), [(CLOSED, ("large lattice",)), (LIMITED, ("passive resources",))], ids=["users", "limit"]
)
def test_an_approximate_sweep_says_so_as_a_single_solution_does(net, approximated):
    swept, single = sweep_load(net, [1.0, 2.0]), solve(net, "approximate")
    assert swept.approximated == single.approximated == approximated and not swept.exact
    assert single.error_note in sweep_as_text(swept)
    said = sweep_as_dict(swept)
    assert {key: said[key] for key in ("exact", "known_error", "error_note", "approximated")} == {
        key: as_dict(single)[key] for key in ("exact", "known_error", "error_note", "approximated")
    }


def test_a_point_beyond_the_solver_has_no_figures_and_its_reason():
    net = network(
        Station(name="cp", scheduling="preemptive", capacity=1), closed_class(3, 0.0, visit("cp", 1.0), name="users")
    )
    swept = sweep_load(net, [1 / 3, 1.0])
    assert np.isfinite(swept.response_s[0]).all() and np.isnan(swept.response_s[1]).all()
    solved, refused = sweep_as_dict(swept)["points"]
    assert solved["refused"] is None and "Simulate it" in refused["refused"]
    assert refused["classes"]["users"] == {"throughput_per_s": None, "response_s": None}
    assert "refused" in sweep_as_text(swept)
    with pytest.raises(NetworkError, match="Simulate it"):
        sweep_load(net, [1.0])


def test_points_stand_in_the_order_asked_for_though_low_loads_alone_are_exact() -> None:
    def loaded(factor: float) -> Network:
        users = [closed_class(int(2 * factor), 9.0, visit("q", 0.1 * (r + 1)), name=f"c{r}") for r in range(3)]
        return network(Station(name="q", scheduling="fcfs"), *users)

    factors = [20.0, 0.5, 1.0]
    swept, alone = sweep_load(loaded(1.0), factors), [solve(loaded(factor)).response_s for factor in factors]
    np.testing.assert_array_equal(swept.response_s, alone)
    assert "Markov chain" in swept.method and not swept.exact
