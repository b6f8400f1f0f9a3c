"""The part of arrivals that wait for longer than a time, against sums over what they find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from model.queueing.ziip import long_wait
from tests.model.queueing.chains import mmm_states

MOST = 4000


@given(st.floats(0.05, 0.95), st.integers(1, 8), st.floats(0.0, 10.0))
def test_who_finds_so_many_ahead_waits_until_so_many_have_ended(used, servers, patience):
    """All servers busy and ``n`` waiting, an arrival waits for ``n + 1`` ends, which come as a Poisson process."""
    _, full = mmm_states(used * servers, servers)
    late = sum(
        full * (1.0 - used) * used**n * float(poisson.cdf(n, servers * patience))
        for n in range(MOST)
        if used**n > 1e-14
    )
    assert long_wait(used * servers, servers, patience) == pytest.approx(late, rel=1e-6, abs=1e-10)


def test_without_patience_all_who_wait_wait_too_long():
    assert long_wait(0.7, 1, 0.0) == pytest.approx(0.7)
    assert long_wait(0.0, 1, 0.0) == 0.0


def test_more_than_there_are_engines_for_waits_for_ever():
    assert long_wait(2.5, 2, 100.0) == 1.0
