"""Regression whose targets have errors in common."""

import numpy as np
import pytest

from model.calibration.regression import fit


@pytest.mark.parametrize("count", [50, 5000])
def test_an_error_that_targets_share_stays_however_many_there_are(count):
    random = np.random.default_rng(1)
    target = 2.0 + 0.01 * random.standard_normal(count)
    given = np.ones((count, 1)), target, np.full(count, 7.0), np.arange(count) % 20
    found = fit(*given, shared=0.05)
    alone = fit(*given)
    assert found.mean == pytest.approx(alone.mean)
    assert found.cov[0, 0] == pytest.approx(alone.cov[0, 0] + 0.05**2, rel=1e-3)
    # What is known beforehand counts the more for it.
    kept = fit(*given, [1.0], [0.05], shared=0.05).mean[0]
    assert kept == pytest.approx((found.mean[0] + 1.0) / 2.0, abs=0.02)
