"""What is believed of a value of which more is known than a law says."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from model.capacity.conditions.mixtures import DRAWS, Belief

STANDARD = NormalDist()


@pytest.mark.parametrize("population", [None, 500.0])
@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (1.0, 2.0), (-3.0, -1.5), (0.5, math.inf)])
def test_between_ends_the_median_is_that_of_the_truncated_distribution(low, high, population):
    rest = 2.0
    belief = Belief(np.ones(1), np.array([math.log(7.0)]), np.array([0.1]), True, rest)
    ends = [rest + 7.0 * math.exp(0.1 * z) for z in (low, high)]
    inside = STANDARD.inv_cdf((STANDARD.cdf(low) + STANDARD.cdf(high)) / 2.0)
    median = rest + 7.0 * math.exp(0.1 * inside)
    if population:
        belief = belief.of_population(population, rest)
        ends, median = sorted(population / end if end < math.inf else 0.0 for end in ends), population / median
    found = belief.bounded(*ends)
    least, middle, most = found.quantiles(0.05, 0.5, 0.95)
    assert middle == pytest.approx(median, rel=1e-4)
    assert ends[0] <= least < middle < most <= ends[1]
    drawn = found.draws(1)
    assert np.all((drawn >= ends[0]) & (drawn <= ends[1]))


def test_ends_make_nothing_surer_than_they_are():
    belief = Belief.of(100.0, 5.0)
    free, held = (one.quantiles(0.05, 0.95) for one in (belief, belief.bounded(98.0, 120.0)))
    assert held[0] == 98.0
    assert free[1] <= held[1] < 112.0


def test_where_a_law_leaves_nothing_between_the_ends_the_nearest_is_taken():
    assert Belief.of(100.0, 1.0).bounded(150.0, 160.0).quantiles(0.05, 0.5, 0.95) == (150.0, 150.0, 150.0)


def test_draws_have_the_tails_of_the_belief():
    belief = Belief(np.array([0.88, 0.06, 0.06]), np.log([100.0, 70.0, 150.0]), np.array([0.01, 0.05, 0.05]), True)
    for found in (belief, belief.bounded(65.0, 160.0)):
        for share, drawn in enumerate(np.sort(found.draws(3))):
            low, high = found.quantiles(max(share - 0.5, 0.1) / DRAWS, min(share + 1.5, DRAWS - 0.1) / DRAWS)
            assert low <= drawn <= high


def test_a_product_with_a_factor_of_unknown_spread_is_as_its_draws():
    """Parts of different spread about one middle weigh most nearer to it than their variance says."""
    value = Belief(np.ones(1), np.log([50.0]), np.array([0.02]), True)
    factor = Belief(np.array([0.8, 0.2]), np.log([1.1, 1.1]), np.array([0.01, 0.3]), True)
    random = np.random.default_rng(5)
    spreads = np.where(random.uniform(size=400_000) < 0.8, 0.01, 0.3)
    draws = 55.0 * np.exp(0.02 * random.standard_normal(400_000) + spreads * random.standard_normal(400_000))
    found = value.times(factor)
    assert found.quantiles(0.05, 0.25, 0.5, 0.95) == pytest.approx(
        np.quantile(draws, (0.05, 0.25, 0.5, 0.95)), rel=5e-3
    )
    assert found.log_sd() == pytest.approx(np.log(draws).std(), rel=0.01)
    assert found.relative_sd() < 0.3 * found.log_sd()
