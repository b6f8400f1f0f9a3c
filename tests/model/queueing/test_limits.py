"""Waits for passive resources against the closed forms of M/M/1 and M/M/2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.queueing.multiserver import limit_wait

used = st.floats(0.01, 0.97)
hold = st.floats(1e-4, 10.0)


@given(used, hold)
def test_one_place_is_a_queue_with_one_server(used, hold):
    assert limit_wait(used / hold, hold, 1, 1) == pytest.approx(hold * used / (1.0 - used), rel=1e-9)


@given(used, hold)
def test_two_places_are_a_queue_with_two_servers(used, hold):
    assert limit_wait(2.0 * used / hold, hold, 2, 1) == pytest.approx(hold * used**2 / (1.0 - used**2), rel=1e-9)


@given(used, hold, st.integers(1, 16))
def test_queues_side_by_side_share_the_arrivals(used, hold, queues):
    found = limit_wait(queues * used / hold, hold, 1, queues)
    assert found == pytest.approx(hold * used / (1.0 - used), rel=1e-9)
    assert found >= limit_wait(queues * used / hold, hold, queues, 1) * (1.0 - 1e-9)


def test_a_full_resource_has_no_steady_state():
    assert np.isinf(limit_wait([100.0, 150.0], 0.02, 2, 1)).all()
    assert limit_wait(0.0, 0.02, 2, 1) == 0.0
