from itertools import pairwise

import pytest

from model.network.solvers.interference import drained


@pytest.mark.parametrize("left", [0.001, 0.05, 0.3, 0.9, 0.999])
def test_the_more_users_are_above_the_nearer_they_are_to_a_stream(left):
    # One user who is there takes its own time and does not come again meanwhile.
    assert drained(1, left) == pytest.approx(left)
    found = [drained(users, left) for users in (1, 2, 5, 20, 100)]
    assert all(fewer < more < 1.0 for fewer, more in pairwise(found))
    assert drained(0, left) == drained(5, 1.0) == 1.0
