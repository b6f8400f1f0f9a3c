"""How unlikely the factors of waits are that explain responses."""

import numpy as np
import pytest

from model.calibration.regression import Fit
from model.calibration.waiting import Order, Seen


def strain(alone: float) -> float:
    """That of work that runs to its end and waits ``alone`` times as long as the queue has it."""
    none = np.zeros(1)
    seen = Seen(0, none > 0, *[none] * 11, none.astype(np.int64), Order.IN_LINE, alone=alone)
    cov = np.diag([1.0, *[(0.05 * alone) ** 2] * 2, 1.0, 0.3**2])
    return seen.strain(Fit(np.array([1.0, alone, alone, 0.0, 1.0]), cov, 1.0, 0.0, 1.0))


def test_work_that_never_waits_does_not_run_to_its_end():
    assert strain(0.02) == pytest.approx(strain(50.0))
    assert strain(0.02) > strain(1.0) + 10.0
    assert abs(strain(0.5) - strain(1.0)) < 1.0
