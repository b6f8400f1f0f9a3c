"""Pooled demands: they recover what they were made from, say how sure they are, and lend strength within a family."""

import numpy as np
import pytest

from model.calibration.pooling import PooledDemand, Priors, pooled_demands

RATES = np.array([1000.0, 2000.0, 3000.0, 4000.0, 5000.0])


def line(rate, fixed=0.2, demand=1e-3):
    return fixed + demand * np.asarray(rate)


def fitted(rate, usage, error_rel=0.0, priors=None, **options) -> PooledDemand:
    """The demand of one system by its points."""
    rate = np.asarray(rate, float)
    errors, system = np.full(len(rate), error_rel), np.zeros(len(rate), np.int64)
    [demand] = pooled_demands(rate, np.asarray(usage, float), system, errors, priors or Priors(), **options)
    return demand


def test_recovers_fixed_part_and_demand_from_exact_points():
    demand = fitted(RATES, line(RATES))
    assert [demand.mean(rate) for rate in (1500.0, 4500.0)] == pytest.approx(line([1500.0, 4500.0]), rel=2e-3)


@pytest.mark.parametrize("true_scatter", [0.003, 0.01, 0.02])
def test_intervals_hold_nine_of_ten_new_measurements_whatever_the_scatter(true_scatter):
    held = []
    for seed in range(80):
        noise = np.random.default_rng(seed)
        demand = fitted(RATES, line(RATES) * np.exp(true_scatter * noise.standard_normal(5)))
        rates = noise.uniform(1000, 5000, 5)
        seen = line(rates) * np.exp(true_scatter * noise.standard_normal(5))
        held += [abs(one - demand.mean(rate)) <= demand.half_width(rate) for rate, one in zip(rates, seen, strict=True)]
    assert 0.84 <= np.mean(held) <= 0.97


def test_intervals_widen_with_distance_from_the_measured_rates():
    demand = fitted(RATES, line(RATES))
    relative = [demand.half_width(rate) / line(rate) for rate in (4000.0, 6000.0, 9000.0, 15000.0)]
    assert (np.diff(relative) > 0).all()


def test_a_sibling_with_two_close_points_borrows_the_fixed_part():
    rates = np.array([4000.0, 4300.0])
    system = np.repeat([0, 1], [5, 2])
    truth = line([1500.0], fixed=0.9, demand=1.1e-3)[0]
    errors, widths = [], []
    for seed in range(20):
        scatter = np.exp(0.004 * np.random.default_rng(seed).standard_normal(7))
        usage = scatter * np.concatenate([line(RATES, fixed=0.8), line(rates, fixed=0.9, demand=1.1e-3)])
        alone = fitted(rates, usage[5:])
        pooled = pooled_demands(np.concatenate([RATES, rates]), usage, system, np.zeros(7), Priors())[1]
        errors.append([abs(demand.mean(1500.0) - truth) for demand in (alone, pooled)])
        widths.append([demand.half_width(1500.0) for demand in (alone, pooled)])
    mean_error, mean_width = np.mean(errors, axis=0), np.mean(widths, axis=0)
    assert mean_error[1] < 0.5 * mean_error[0]
    assert mean_width[1] < mean_width[0]


def test_a_single_point_is_known_there_and_wide_elsewhere():
    demand = fitted([5000.0], [5.2])
    assert demand.mean(5000.0) == pytest.approx(5.2, rel=1e-6)
    assert 2.0 * demand.half_width(5000.0) / demand.mean(5000.0) < 0.03
    assert 2.0 * demand.half_width(1000.0) / demand.mean(1000.0) > 0.2


def test_scatter_of_the_intervals_is_a_floor_under_the_interval():
    quiet, loud = (fitted(RATES, line(RATES), error) for error in (0.0, 0.03))
    assert loud.half_width(3000.0) > 3 * quiet.half_width(3000.0)


def test_a_point_off_the_line_stretches_every_interval():
    usage = line(RATES) * np.array([1.0, 1.0, 1.06, 1.0, 1.0])
    priors = Priors(scatter_log_sd=0.2)
    plain, conformal = (fitted(RATES, usage, priors=priors, conformal=scaled) for scaled in (False, True))
    assert plain.inflation == 1.0
    assert conformal.inflation > 1.2
    assert conformal.half_width(3000.0) == pytest.approx(conformal.inflation * plain.half_width(3000.0), rel=1e-9)


def test_far_beyond_the_points_more_transactions_never_use_less():
    demand = fitted(RATES[:3], line(RATES[:3]) * [0.97, 1.0, 0.97])
    used = [demand.mean(rate) for rate in np.linspace(12_000.0, 100_000.0, 20)]
    assert (np.diff(used) >= 0).all()
