"""Networks of open and closed classes."""

from __future__ import annotations

import pytest

from model.network import Smt, Station
from model.network.arrays import as_arrays
from model.network.exact import solve
from model.network.exact.chain import markov_chain
from model.network.exact.convolution import Convolution
from model.network.exact.product_form import mixed_product_form
from tests.model.network.simulator.build import closed_class, network, open_class, visit
from tests.oracles.markov_network import MarkovNetwork, MarkovStation, Phases, solve_markov, with_sources
from tests.oracles.product_form import mmc, open_product_form, truncated_product_form


def test_mixed_network_is_its_markov_chain() -> None:
    stations = (
        MarkovStation((Phases.exponential(1.0), Phases.exponential(0.5)), "ps", 2),
        MarkovStation((None, Phases.exponential(2.0)), "delay", -1),
    )
    closed = MarkovNetwork(stations, (0, 2), (((0.0, 0.0), (0.0, 0.0)), ((0.0, 1.0), (1.0, 0.0))))
    chain = solve_markov(with_sources(closed, (0.8, None), (12, 0)))
    cut = truncated_product_form([0.8], [[1.0], [0.0]], [2], [[0.5], [2.0]], [2, -1], [12])
    assert chain.queue_length[0, 0] == pytest.approx(cut.open_queue[0, 0], rel=1e-8)
    assert chain.queue_length[0, 1] == pytest.approx(cut.closed_queue[0, 0], rel=1e-8)
    whole = mixed_product_form([0.8], [[1.0], [0.0]], [2], [[0.5], [2.0]], [2, -1])
    assert whole.open_queue[0, 0] == pytest.approx(cut.open_queue[0, 0], rel=1e-3)


def test_mixed_network_with_nothing_open_is_closed_and_the_other_way_round() -> None:
    alone = mixed_product_form([1e-12], [[1.0]], [3], [[0.5]], [2], [1.0])
    assert alone.closed_throughput[0] == pytest.approx(Convolution([3], [[0.5]], [2], [1.0]).solve().throughput[0])
    opened = mixed_product_form([1.2], [[1.0]], [1], [[1e-9]], [2], [1.0])
    assert opened.open_residence[0, 0] == pytest.approx(mmc(1.2, 1.0, 2).response, rel=1e-6)


def test_open_classes_that_saturate_a_station_are_refused() -> None:
    with pytest.raises(ValueError, match="saturate station 0"):
        mixed_product_form([2.0], [[1.0]], [1], [[0.5]], [2])


def test_open_station_is_shared_in_proportion() -> None:
    result = open_product_form([0.2, 0.3], [[1.0, 2.0]], [1])
    assert result.residence[0] == pytest.approx([1.0 / 0.2, 2.0 / 0.2])


def test_busy_engines_of_mixed_classes_are_those_of_the_chain() -> None:
    """At a station whose engines cost more the more are busy, and one of two threads a core."""
    pool = Station(name="q", servers=2, scheduling="ps", cost_by_busy=(1.0, 1.4), source="test")
    core = Station(name="q", scheduling="ps", smt=Smt(gain=1.3), source="test")
    for station in (pool, core):
        net = network(station, open_class(0.3, visit("q", 0.8), name="open"), closed_class(2, 2.0, visit("q", 0.8)))
        found, chain = solve(net), markov_chain(as_arrays(net))
        assert found.method == "mixed product form"
        assert found.throughput_per_s == pytest.approx(chain.throughput, rel=1e-5)
        assert found.residence_s == pytest.approx(chain.residence, rel=1e-4)
        assert found.station_utilisation[0] * station.servers == pytest.approx(chain.busy.sum(), rel=1e-4)
