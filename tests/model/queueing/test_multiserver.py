"""M/M/m against its state probabilities, summed one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.queueing.multiserver import erlang_c, number_in_system, slowdown
from tests.model.queueing.chains import mmm_states, preemptive

utilizations = st.floats(0.01, 0.98)


@given(utilizations, st.integers(1, 24))
def test_an_arrival_waits_where_all_servers_are_busy(used, servers):
    load = used * servers
    fewer, full = mmm_states(load, servers)
    assert erlang_c(load, servers) == pytest.approx(full, rel=1e-9)
    waiting = full * load / (servers - load)
    inside = sum(n * chance for n, chance in enumerate(fewer)) + servers * full + waiting
    assert number_in_system(load, servers) == pytest.approx(inside, rel=1e-9)
    assert slowdown(load, servers) == pytest.approx(inside / load, rel=1e-6)


@given(utilizations, st.floats(1.0, 12.0), st.floats(0.01, 3.0))
def test_more_servers_and_parts_of_one_never_make_anybody_wait_longer(used, servers, more):
    load = used * servers
    assert erlang_c(load, servers + more) <= erlang_c(load, servers) + 1e-12
    assert slowdown(load, servers + more) <= slowdown(load, servers) + 1e-9


@pytest.mark.parametrize("servers", [1, 2, 5])
def test_a_class_waits_for_what_goes_before_it_as_in_the_chain(servers):
    high, low = 0.35 * servers, 0.3 * servers
    expected = preemptive((high, low), (1.0, 1.0), servers, most=40)
    assert slowdown(high, servers) == pytest.approx(expected[0], rel=1e-4)
    assert slowdown(low, servers, high) == pytest.approx(expected[1], rel=1e-4)


def test_without_steady_state_everybody_waits_for_ever():
    assert erlang_c(3.0, 2) == 1.0
    assert np.isinf(slowdown([2.0, 5.0], 2)).all()
    assert np.isinf(slowdown(0.5, 2, above=1.6))
    assert slowdown(0.0, 2) == pytest.approx(1.0)
