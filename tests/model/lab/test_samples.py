"""Samples built from statistics have these statistics."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.lab import LabError
from model.lab.samples import Moments, mend, peaking_at, sample, spread_total, squares, tune, with_median


def moments_of(values, tolerance=0.0):
    """What a sample shows, as `Moments`."""
    values = np.asarray(values)
    return Moments(len(values), int(values.sum()), squares(values, values.mean()), int(values.min()), int(values.max()))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(20, 400),
    st.floats(0.2, 1.5),
    st.integers(0, 50),
)
def test_a_sample_has_the_moments_of_the_one_they_were_taken_from(seed, size, tail, low):
    random = np.random.default_rng(seed)
    wanted = moments_of(low + np.rint(100 * np.exp(tail * random.standard_normal(size))).astype(int))
    tolerance = 1e-3 * wanted.squares + 4
    made = sample(random, wanted, tolerance)
    assert (len(made), made.sum(), made.min(), made.max()) == (wanted.size, wanted.total, wanted.low, wanted.high)
    assert abs(squares(made, made.mean()) - wanted.squares) <= tolerance * 1.01 + 1


def test_a_sample_keeps_its_tail_above_a_limit_as_small_as_asked():
    random = np.random.default_rng(5)
    wanted = Moments(size=1826, total=80 * 1826, squares=81.0**2 * 1826, low=47, high=2266, limit=120, above=100)
    made = sample(random, wanted, 81 * 1826)
    assert (made > 120).sum() <= 101 and made.max() == 2266


@pytest.mark.parametrize(
    "wanted",
    [
        Moments(size=10, total=2000, squares=100.0, low=0, high=100),
        Moments(size=10, total=500, squares=10.0, low=0, high=100),
    ],
    ids=["a mean above the highest", "less scatter than the extremes alone make"],
)
def test_moments_that_no_sample_has_are_refused(wanted):
    with pytest.raises(LabError):
        sample(np.random.default_rng(1), wanted, 0.5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(12, 120))
def test_a_series_has_its_median_its_moments_and_its_extremes(seed, size):
    random = np.random.default_rng(seed)
    values = np.sort(np.rint(1000 * random.beta(2, 3, size)).astype(int))
    wanted = moments_of(values)
    middle = (int(values[(size - 1) // 2]), int(values[size // 2]))
    if values[0] == middle[0] or middle[1] == values[-1]:
        return
    tolerance = 0.01 * wanted.squares + 10
    try:
        made = with_median(random, wanted, middle, tolerance)
    except LabError:
        # The two powers do not reach every shape; what is built must be right.
        return
    assert np.median(made) == sum(middle) / 2
    assert (made.sum(), made.min(), made.max(), len(made)) == (wanted.total, wanted.low, wanted.high, size)
    assert abs(squares(made, made.mean()) - wanted.squares) <= tolerance * 1.01 + 1


def test_printed_graphs_of_a_load_driver_are_built():
    random = np.random.default_rng(7)
    wanted = Moments(size=32, total=2842, squares=67.387**2 * 32, low=0, high=200)
    users = with_median(random, wanted, (95, 95), 2)
    assert f"{users.mean():.3f}" == "88.812" and f"{users.std():.3f}" == "67.387" and np.median(users) == 95


def test_a_median_between_two_values_needs_an_even_sample():
    with pytest.raises(LabError, match="median"):
        with_median(np.random.default_rng(1), Moments(11, 50, 9.0, 0, 9), (4, 5), 1.0)


@given(st.integers(0, 10**9), st.integers(1, 60), st.integers(0, 2**32))
def test_a_total_is_spread_without_loss(total, count, seed):
    assert sum(spread_total(np.random.default_rng(seed), total, count)) == total


@given(st.floats(0.1, 1e9), st.integers(1, 40), st.integers(0, 2**32))
def test_the_largest_of_peaking_values_is_the_peak(peak, count, seed):
    values = peaking_at(np.random.default_rng(seed), peak, count)
    assert max(values) == peak and min(values) > 0 and len(values) == count


def test_mending_keeps_bounds_and_says_when_they_leave_no_room():
    random = np.random.default_rng(3)
    assert mend(random, np.array([5, 5, 5]), 18, 4, [5, 5, 9]).tolist() == [5, 5, 8]
    with pytest.raises(LabError, match="cannot add up"):
        mend(random, np.array([5, 5]), 99, 0, 9)


def test_tuning_moves_ticks_and_keeps_the_sum():
    random = np.random.default_rng(4)
    values = np.arange(40)
    aim = squares(values, values.mean()) + 60
    tuned = tune(random, values, float(values.mean()), aim, -100, 100, 4)
    assert tuned.sum() == values.sum() and math.isclose(squares(tuned, tuned.mean()), aim, abs_tol=4)
