"""Preemptive priorities against closed forms of M/M/1 and Markov chains of several servers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.queueing.priority import delays, undispatched
from tests.model.queueing.chains import mmm_states, preemptive

parts = st.floats(0.02, 0.45)


def queueing(load, servers, service):
    """Slowdown less 1 of every level, where each has its own mean service."""
    found = delays(np.asarray(load), servers, np.asarray(load) * service)
    return found.short + found.longer * found.size / service


@given(parts, parts)
def test_equal_services_on_one_server_are_as_in_the_closed_form(first, second):
    found = queueing([first, second], 1.0, np.array([3.0, 3.0]))
    assert 1.0 + found[0] == pytest.approx(1.0 / (1.0 - first), rel=1e-6)
    assert 1.0 + found[1] == pytest.approx(1.0 / ((1.0 - first) * (1.0 - first - second)), rel=1e-6)


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_equal_services_on_several_servers_are_as_in_the_chain(servers):
    load = np.array([0.4, 0.3]) * servers
    expected = preemptive(tuple(load), (1.0, 1.0), servers, most=40)
    assert 1.0 + queueing(load, float(servers), np.ones(2)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_short_pieces_above_take_engines_away_as_in_the_chain(servers):
    load, service = np.array([0.4, 0.3]) * servers, np.array([2e-3, 1.0])
    expected = preemptive(tuple(load / service), tuple(service), servers, most=40)
    assert 1.0 + queueing(load, float(servers), service)[1] == pytest.approx(expected[1], rel=5e-3)


@given(parts, parts, st.integers(1, 6), st.floats(0.1, 50.0))
def test_work_below_changes_nothing_for_the_level_above(first, second, servers, longer):
    service = np.array([1.0, longer])
    alone = queueing(np.array([first, 0.0]) * servers, float(servers), service)
    both = queueing(np.array([first, second]) * servers, float(servers), service)
    assert both[0] == pytest.approx(alone[0], rel=1e-12)
    assert both[1] >= both[0] * 0.999


def test_a_level_without_room_waits_for_ever_and_those_above_do_not():
    found = queueing(np.array([0.9, 1.2]), 2.0, np.ones(2))
    assert np.isfinite(found[0])
    assert np.isinf(found[1])


@given(st.floats(0.05, 0.9), st.integers(2, 8))
def test_a_pool_of_all_engines_leaves_nothing_undispatched(used, engines):
    assert undispatched(np.array(used * engines), engines, engines) == 0.0


@pytest.mark.parametrize("load", [0.3, 1.2, 1.8])
def test_logical_cps_run_as_long_as_their_number_lets_the_machines_engines_be_shared(load):
    below, full = mmm_states(load, 2)
    queued = full * (1.0 - load / 2.0) * (load / 2.0) ** np.arange(200)
    chance = np.append(below, queued)
    ready = float(np.minimum(np.arange(len(chance)), 4) @ chance)
    assert undispatched(np.array(load), 2.0, 4.0) == pytest.approx(ready / load - 1.0, rel=1e-6, abs=1e-9)


def test_lower_importance_that_fills_the_lpar_leaves_higher_its_part_of_the_logical_cps():
    assert undispatched(np.array([2.0, 3.0]), 2.0, 4.0) == pytest.approx(1.0, rel=1e-4)
