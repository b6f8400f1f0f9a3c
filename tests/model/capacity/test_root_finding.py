import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.capacity.evaluation import find_root


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=5), st.sampled_from([0.5, 1.0, 3.0]))
def test_every_element_crosses_where_its_own_curve_does(places, power):
    places = np.array(places)
    assert find_root(lambda x: (x / places) ** power - 1.0, places.shape) == pytest.approx(places, rel=1e-8)


def test_a_curve_that_has_no_end_crosses_before_it():
    def waiting(x):
        with np.errstate(divide="ignore"):
            return np.where(x < 7.0, 1.0 / np.maximum(7.0 - x, 0.0) - 2.0, np.inf)

    assert find_root(waiting, (1,)) == pytest.approx([6.5])


def test_a_jump_is_found_and_what_never_or_always_crosses_is_told_apart():
    result = find_root(lambda x: np.array([-1.0, 1.0, 1.0]) + np.array([2.0, 0.0, -2.0]) * (x > [5.0, 0.0, -1.0]), (3,))
    assert result == pytest.approx([5.0, 0.0, 2.0**40], abs=1e-9)
