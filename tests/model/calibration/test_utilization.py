"""The utilisation law: it recovers what it was made from, says how sure it is, and lends strength within a family."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from model.calibration.pooling import Priors
from model.calibration.utilization import UtilizationLaw

RATES = np.array([1000.0, 2000.0, 3000.0, 4000.0, 5000.0])


def line(rate, fixed=0.2, demand=1e-3):
    return fixed + demand * np.asarray(rate)


def test_recovers_fixed_part_and_demand_from_exact_points():
    law = UtilizationLaw().fit(RATES[:, None], line(RATES))
    np.testing.assert_allclose(law.predict([[1500.0], [4500.0]]), line([1500.0, 4500.0]), rtol=2e-3)
    assert law.score(RATES[:, None], line(RATES)) > 0.9999


@pytest.mark.parametrize("true_scatter", [0.003, 0.01, 0.02])
def test_intervals_hold_nine_of_ten_new_measurements_whatever_the_scatter(true_scatter):
    held = []
    for seed in range(80):
        noise = np.random.default_rng(seed)
        scatter = np.exp(true_scatter * noise.standard_normal(5))
        law = UtilizationLaw().fit(RATES[:, None], line(RATES) * scatter)
        rates = noise.uniform(1000, 5000, 5)
        _, lo, hi = law.predict(rates[:, None], return_interval=True)
        seen = line(rates) * np.exp(true_scatter * noise.standard_normal(5))
        held += list((lo <= seen) & (seen <= hi))
    assert 0.84 <= np.mean(held) <= 0.97


def test_intervals_widen_with_distance_from_the_measured_rates():
    law = UtilizationLaw().fit(RATES[:, None], line(RATES))
    _, lo, hi = law.predict([[4000.0], [6000.0], [9000.0], [15000.0]], return_interval=True)
    relative = (hi - lo) / line([4000.0, 6000.0, 9000.0, 15000.0])
    assert (np.diff(relative) > 0).all()


def test_no_less_than_nothing_is_used_where_points_scatter_widely():
    law = UtilizationLaw().fit(RATES[:3, None], line(RATES[:3], fixed=0.0) * [1.3, 0.8, 1.1])
    _, lo, hi = law.predict([[1.0]], return_interval=True)
    assert lo == 0.0 < hi


def test_a_sibling_with_two_close_points_borrows_the_fixed_part():
    rates = np.array([4000.0, 4300.0])
    family = np.column_stack([np.concatenate([RATES, rates]), np.repeat([0.0, 1.0], [5, 2])])
    truth = line([1500.0], fixed=0.9, demand=1.1e-3)[0]
    errors, widths = [], []
    for seed in range(20):
        scatter = np.exp(0.004 * np.random.default_rng(seed).standard_normal(7))
        usage = scatter * np.concatenate([line(RATES, fixed=0.8), line(rates, fixed=0.9, demand=1.1e-3)])
        alone = UtilizationLaw().fit(rates[:, None], usage[5:]).predict([[1500.0]], return_interval=True)
        pooled = UtilizationLaw().fit(family, usage).predict([[1500.0, 1.0]], return_interval=True)
        errors.append([abs(found[0][0] - truth) for found in (alone, pooled)])
        widths.append([found[2][0] - found[1][0] for found in (alone, pooled)])
    mean_error, mean_width = np.mean(errors, axis=0), np.mean(widths, axis=0)
    assert mean_error[1] < 0.5 * mean_error[0]
    assert mean_width[1] < mean_width[0]


def test_a_single_point_is_known_there_and_wide_elsewhere():
    law = UtilizationLaw().fit([[5000.0]], [5.2])
    mean, lo, hi = law.predict([[5000.0], [1000.0]], return_interval=True)
    assert mean[0] == pytest.approx(5.2, rel=1e-6)
    assert (hi[0] - lo[0]) / mean[0] < 0.03
    assert (hi[1] - lo[1]) / mean[1] > 0.2


def test_scatter_of_the_intervals_is_a_floor_under_the_interval():
    quiet = UtilizationLaw().fit(RATES[:, None], line(RATES), error_rel=np.zeros(5))
    loud = UtilizationLaw().fit(RATES[:, None], line(RATES), error_rel=np.full(5, 0.03))
    width = [np.subtract(*law.predict([[3000.0]], return_interval=True)[:0:-1])[0] for law in (quiet, loud)]
    assert width[1] > 3 * width[0]


def test_a_point_off_the_line_stretches_every_interval():
    usage = line(RATES) * np.array([1.0, 1.0, 1.06, 1.0, 1.0])
    plain = UtilizationLaw(Priors(scatter_log_sd=0.2), calibrate=False).fit(RATES[:, None], usage)
    calibrated = UtilizationLaw(Priors(scatter_log_sd=0.2)).fit(RATES[:, None], usage)
    assert plain.inflation_ == 1.0
    assert calibrated.inflation_ > 1.2
    mean, _, hi = calibrated.predict([[3000.0]], return_interval=True)
    _, _, plain_hi = plain.predict([[3000.0]], return_interval=True)
    assert hi[0] - mean[0] == pytest.approx(calibrated.inflation_ * (plain_hi[0] - mean[0]), rel=1e-9)


def test_estimator_can_be_cloned_refitted_and_does_not_touch_its_input():
    law = UtilizationLaw(priors=Priors(scatter=0.01), calibrate=False)
    copy = clone(law)
    assert copy.get_params() == law.get_params()
    X, y = RATES[:, None].copy(), line(RATES)
    first = law.fit(X, y).predict(X)
    np.testing.assert_array_equal(first, law.fit(X, y).predict(X))
    np.testing.assert_array_equal(X[:, 0], RATES)
    assert copy.set_params(calibrate=True).calibrate is True
    with pytest.raises(NotFittedError):
        copy.predict(X)


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimators_unfitted,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
    ],
)
def test_estimator_keeps_the_conventions(check):
    check("UtilizationLaw", UtilizationLaw())


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1000.0], [0.0]], [1.0, 2.0], "above zero"),
        ([[1000.0], [2000.0]], [1.0, -2.0], "above zero"),
        ([[1000.0, 0.0], [2000.0, 2.0]], [1.0, 2.0], "without a gap"),
        ([[1000.0, 0.5]], [1.0], "whole numbers"),
        ([[1000.0, 0.0, 1.0]], [1.0], "1 or 2 columns"),
        ([[1000.0], [float("nan")]], [1.0, 2.0], "NaN"),
        ([[1000.0], [2000.0]], [1.0], "inconsistent"),
    ],
)
def test_input_that_means_nothing_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        UtilizationLaw().fit(X, y)


def test_a_system_that_was_not_fitted_is_named():
    law = UtilizationLaw().fit(RATES[:, None], line(RATES))
    with pytest.raises(ValueError, match="system code 3 was not fitted"):
        law.predict([[1000.0, 3.0]])
