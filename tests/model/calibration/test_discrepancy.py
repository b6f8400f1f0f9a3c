"""How far responses may be from the law of their waits, beyond the waits that were recorded."""

import numpy as np
import pytest

from model.calibration.discrepancy import lack_of_fit
from model.calibration.regression import fit
from model.capacity.parts import beyond

WAITS = np.quantile(np.random.default_rng(1).lognormal(0.0, 1.0, 4000), np.linspace(0.0, 0.995, 2000))


def recorded(exponent: float, seed: int, unit: float = 1.0):
    """Waits that grow with a power of those of the law, and the law fitted to them."""
    scatter = np.random.default_rng(seed).normal(0.0, 0.02 * unit, len(WAITS))
    target = unit * (5.0 + WAITS**exponent) + scatter
    day, weight = np.arange(len(WAITS)) % 21, np.full(len(WAITS), unit**-2)
    design = np.column_stack([np.ones(len(WAITS)), unit * WAITS])
    found = fit(design, target, weight, day, [0.0, 1.0], [1e6, 0.3])
    wait = design[:, 1] * found.mean[1]
    return wait, target - found.mean[0] - wait, weight, found


def test_waits_that_follow_the_law_show_no_lack_of_fit():
    assert sum(lack_of_fit([recorded(1.0, seed), recorded(1.0, seed + 100)]) > 0.0 for seed in range(20)) <= 1


@pytest.mark.parametrize("exponent", [1.1, 1.3])
def test_limits_hold_waits_far_out_that_plainly_grow_otherwise(exponent: float):
    found = recorded(exponent, 1)
    far = 5.0 * WAITS[-1]
    law = far * found[3].mean[1]
    assert 1.645 * lack_of_fit([found]) * beyond(np.array(law), float(found[0][-1])) > abs(far**exponent - law)
    assert lack_of_fit([found, recorded(1.0, 2)]) < lack_of_fit([found])
    assert lack_of_fit([recorded(exponent, 1, unit=1000.0)]) == pytest.approx(lack_of_fit([found]))
