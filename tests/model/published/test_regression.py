"""The Gaussian process of the studies, held to values made of known effects and to scikit-learn's own predictions."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from model.published.hyperparameters import VarianceComponents, fitted
from model.published.observations import WORKLOAD, Observation
from model.published.prediction import Predictor
from model.published.regression import Context, Regression, non_negative_line
from model.published.tables import Cell, Tables

BLOCK = ("study", "runs")


def regression(rows, cell, facts=None, choose=None):
    context = Context(Tables(rows), facts or {})
    return Regression(context, context.group(cell), choose)


def runs(systems, options, value, unit="s", metrics=("elapsed_s",)):
    return [
        Observation(system, metric, {"access": option}, value(i, j, k), unit, BLOCK[1], BLOCK[0])
        for i, system in enumerate(systems)
        for j, option in enumerate(options)
        for k, metric in enumerate(metrics)
    ]


def test_an_option_changes_a_system_as_it_changes_the_others():
    rows = runs(("a", "b", "c", "d"), ("serial", "parallel"), lambda i, j, k: (10.0 + 3.0 * i) * 0.8**j)
    hidden = Cell(BLOCK, "d", "elapsed_s", "", (("access", "parallel"),), None)
    kept = [row for row in rows if not (row.system == "d" and row.condition["access"] == "parallel")]
    mean, sd = regression(kept, hidden, choose=fitted(50)).predict(hidden)
    assert math.exp(mean) == pytest.approx(19.0 * 0.8, rel=0.03)
    assert sd < 0.2


def test_effects_that_differ_more_from_system_to_system_leave_a_prediction_less_sure():
    def sd(spread):
        rows = runs(("a", "b", "c", "d", "e"), ("serial", "parallel"), lambda i, j, k: 10.0 * (0.8 + spread * i) ** j)
        hidden = Cell(BLOCK, "e", "elapsed_s", "", (("access", "parallel"),), None)
        kept = [row for row in rows if not (row.system == "e" and row.condition["access"] == "parallel")]
        return regression(kept, hidden, choose=fitted(50)).predict(hidden)[1]

    assert sd(0.0) < 0.5 * sd(0.2)


def test_90_per_cent_limits_hold_nine_in_ten_of_the_effects_that_their_priors_draw():
    """Drawn from log-normal effects of system, option and cell; the standard deviations are found from the draws."""
    generator, held, count = np.random.default_rng(7), 0, 60
    for _ in range(count):
        system, option = generator.normal(0.0, 0.3, 6), generator.normal(0.0, 0.15, 2)
        cell = generator.normal(0.0, 0.1, (6, 2))
        rows = runs("abcdef", ("serial", "parallel"), lambda i, j, k: math.exp(2 + system[i] + option[j] + cell[i, j]))  # noqa: B023
        hidden = Cell(BLOCK, "f", "elapsed_s", "", (("access", "parallel"),), None)
        mean, sd = regression(rows[:-1], hidden, choose=fitted(50)).predict(hidden)
        held += abs(math.log(rows[-1].value) - mean) <= 1.645 * sd
    assert 0.8 * count <= held <= count


@pytest.mark.parametrize("levels", [(1, 2, 4, 16), (10, 20, 80)])
def test_what_sessions_hold_each_is_told_at_other_levels_of_them(levels):
    rows = [
        Observation(s, "storage_kb", {"sessions": str(x)}, base + each * x, "KB", BLOCK[1], BLOCK[0])
        for s, base, each in (("a", 100.0, 7.0), ("b", 300.0, 2.0))
        for x in levels
    ]
    for x, off in ((8.0, 0.003), (levels[-1] * 4.0, 0.03)):
        cell = Cell(BLOCK, "a", "storage_kb", "", (), x)
        mean, _ = regression(rows, cell, choose=fitted(50)).predict(cell)
        assert math.exp(mean) == pytest.approx(100.0 + 7.0 * x, rel=off)


def test_a_sibling_tells_a_step_that_it_shows_at_a_level():
    steps = {1: 30.0, 8: 32.0, 32: 33.0, 64: 42.0, 128: 36.0}
    rows = [
        Observation(s, "max_kb", {"users": str(x)}, factor * y, "KB", BLOCK[1], BLOCK[0])
        for s, factor in (("a", 1.0), ("b", 1.01), ("c", 0.99))
        for x, y in steps.items()
        if (s, x) != ("a", 64)
    ]
    cell = Cell(BLOCK, "a", "max_kb", "", (), 64.0)
    mean, _ = regression(rows, cell, choose=fitted(50)).predict(cell)
    assert math.exp(mean) == pytest.approx(42.0, rel=0.06)


def test_systems_whose_other_figures_are_alike_tell_each_other_more():
    facts = {name: {WORKLOAD: "w"} for name in ("near", "far", "asked")}
    values = {"near": (50.0, 20.0, 80.0, 40.0), "far": (100.0, 70.0, 20.0, 400.0), "asked": (50.5, 20.1, 79.0, None)}
    rows = [
        Observation(system, f"m{k}", {}, value, "users", BLOCK[1], BLOCK[0])
        for system, own in values.items()
        for k, value in enumerate(own)
        if value is not None
    ]
    cell = Cell(BLOCK, "asked", "m3", "", (), None)
    mean, _ = regression(rows, cell, facts, fitted(50)).predict(cell)
    assert math.exp(mean) == pytest.approx(40.0, rel=0.15)


def test_a_trend_of_two_parts_has_neither_below_nothing():
    u = np.array([1.0, 2.0, 4.0])
    assert non_negative_line(u, 3.0 + 2.0 * u) == pytest.approx((3.0, 2.0))
    a, b = non_negative_line(u, np.array([5.0, 4.0, 3.0]))
    assert b == 0.0 and 3.0 < a < 5.0
    a, b = non_negative_line(u, np.array([1.0, 3.0, 9.0]))
    assert a == 0.0 and b > 0.0


def test_the_kernel_of_components_is_that_of_scikit_learn_for_the_same_process():
    generator = np.random.default_rng(3)
    x = np.sort(generator.uniform(0.0, 5.0, 12))[:, None]
    y = np.sin(x[:, 0]) + generator.normal(0.0, 0.1, 12)
    theirs = ConstantKernel(0.7) * Matern(1.3, nu=1.5) + WhiteKernel(0.01)
    own = VarianceComponents(np.stack([Matern(1.3, nu=1.5)(x), np.eye(12)]), np.array([0.7**0.5, 0.1]))
    index = np.arange(12.0)[:, None]
    assert own(index) == pytest.approx(theirs(x))
    assert own.diag(index) == pytest.approx(np.diag(own(index)))
    likelihoods = [
        GaussianProcessRegressor(kernel, optimizer=None).fit(at, y).log_marginal_likelihood(kernel.theta)
        for kernel, at in ((theirs, x), (own, index))
    ]
    assert likelihoods[0] == pytest.approx(likelihoods[1])


def test_the_gradient_of_the_kernel_is_its_difference():
    matrices = np.stack([np.eye(3), np.ones((3, 3))])
    theta, index, step = np.log([0.5, 2.0]), np.arange(3.0)[:, None], 1e-6
    kernel = VarianceComponents(matrices, np.exp(theta))
    _, gradient = kernel(index, eval_gradient=True)
    for term in range(2):
        ends = [kernel.clone_with_theta(theta + side * step * np.eye(2)[term])(index) for side in (1.0, -1.0)]
        assert gradient[:, :, term] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-5)


def test_a_system_without_any_figure_of_a_metric_is_less_sure_than_one_with_some():
    """Of a run of which no time is known its times are those of another load, whatever single figures err by."""
    rows = runs(("a", "b"), ("serial", "parallel"), lambda i, j, k: 10.0 * 0.8**j)
    facts = {name: {WORKLOAD: "w"} for name in ("a", "b", "c")}
    predictor = Predictor(Tables(rows), facts, scales={"study runs: s, elapsed_s": 0.3})
    widths = {}
    for system in ("b", "c"):
        cell = Cell(BLOCK, system, "elapsed_s", "", (("access", "other"),), None)
        value = predictor.value(cell)
        widths[system] = value.high / value.low
    plain = Predictor(Tables(rows), facts).value(Cell(BLOCK, "c", "elapsed_s", "", (("access", "serial"),), None))
    assert widths["b"] < widths["c"]
    assert plain.high / plain.low > 2.0
