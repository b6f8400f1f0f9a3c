"""Single stations against closed forms and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from model.queueing.stations import birth_death, mg1_fcfs, mg1_head_of_line, mg1_preemptive_resume
from tests.oracles.erlang import erlang_b, erlang_c, mmck
from tests.oracles.heterogeneous import heterogeneous_as_identical, heterogeneous_mm
from tests.oracles.product_form import mmc


def test_erlang_formulas_match_their_sums() -> None:
    a, c = 3.2, 5
    terms = [a**n / math.factorial(n) for n in range(c + 1)]
    assert erlang_b(a, c) == pytest.approx(terms[-1] / sum(terms), rel=1e-13)
    tail = terms[-1] * c / (c - a)
    assert erlang_c(a, c) == pytest.approx(tail / (sum(terms[:-1]) + tail), rel=1e-13)


def test_hundreds_of_servers_stay_finite() -> None:
    result = mmc(950.0, 1.0, 1000)
    assert 0 < result.wait_probability < 0.2
    assert result.queue_length == pytest.approx(result.throughput * result.response)


def test_one_server_is_the_textbook_queue() -> None:
    result = mmc(0.8, 1.0, 1)
    assert result.response == pytest.approx(5.0)
    assert result.empty_probability == pytest.approx(0.2)


def test_overload_is_refused() -> None:
    with pytest.raises(ValueError, match="unstable"):
        mmc(3.0, 1.0, 2)


def test_loss_system_is_erlang_b_and_a_large_limit_is_no_limit() -> None:
    assert mmck(3.2, 1.0, 5, 5).loss_probability == pytest.approx(float(erlang_b(3.2, 5)))
    assert mmck(3.2, 1.0, 5, 500).response == pytest.approx(mmc(3.2, 1.0, 5).response)
    full = mmck(9.0, 1.0, 2, 6)
    assert full.throughput == pytest.approx(9.0 * (1 - full.loss_probability))
    assert full.queue_length == pytest.approx(full.throughput * full.response)
    limited = birth_death(9.0, [1, 2], places=6)
    assert limited.loss_probability == pytest.approx(full.loss_probability)
    assert limited.queue_length == pytest.approx(full.queue_length)
    assert limited.busy == pytest.approx(full.throughput)


def test_equal_servers_of_the_unequal_station_are_erlang() -> None:
    equal = heterogeneous_mm(7.0, [2.0, 2.0, 2.0, 2.0])
    assert equal.queue_length == pytest.approx(mmc(7.0, 0.5, 4).queue_length)
    assert heterogeneous_as_identical(7.0, [2.0] * 4) == pytest.approx(equal.queue_length)


def test_fastest_first_beats_random_beats_slowest_first() -> None:
    lengths = [
        heterogeneous_mm(4.0, [1.0, 2.0, 4.0], choice).queue_length for choice in ("fastest", "random", "ordered")
    ]
    assert lengths == sorted(lengths)


def test_work_is_conserved_over_priorities() -> None:
    rates, mean = np.array([0.1, 0.2, 0.15]), np.array([1.0, 1.5, 2.0])
    second = 2 * mean**2
    load = rates * mean
    same = load @ (mg1_fcfs(rates, mean, second) - mean)
    assert load @ (mg1_head_of_line(rates, mean, second, [2, 1, 0]) - mean) == pytest.approx(same)
    assert mg1_head_of_line(rates, mean, second, [1, 1, 1]) == pytest.approx(mg1_fcfs(rates, mean, second))


def test_highest_preemptive_class_does_not_see_the_others() -> None:
    response = mg1_preemptive_resume([0.3, 0.4], [1.0, 1.0], [2.0, 2.0], [1, 0])
    assert response[0] == pytest.approx(mmc(0.3, 1.0, 1).response)
    # Exponential and equal means: all together are one M/M/1.
    assert (0.3 * response[0] + 0.4 * response[1]) == pytest.approx(mmc(0.7, 1.0, 1).queue_length)


def test_saturated_priority_levels_are_infinite() -> None:
    response = mg1_head_of_line([0.5, 0.6], [1.0, 1.0], [2.0, 2.0], [1, 0])
    assert math.isfinite(response[0])
    assert math.isinf(response[1])


def test_load_dependent_station_is_erlang_for_linear_capacity() -> None:
    state = birth_death(3.2, [1, 2, 3, 4, 5])
    expected = mmc(3.2, 1.0, 5)
    assert state.queue_length == pytest.approx(expected.queue_length)
    assert state.busy == pytest.approx(3.2)
