"""Time of an LPAR that no class reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.calibration.demands import driven_law
from model.calibration.history import History
from model.calibration.regression import Fit, fit
from model.capacity.parameters import DemandModel
from model.capacity.state import CAPTURED, CAPTURED_BUT_ZIIP

Array = NDArray[np.float64]

# The busier engines are than this, the less room they leave what no class reports; full ones count as this part.
CROWDED, LEAST = 0.98, 1e-3


def uncaptured(h: History, captured: Array) -> DemandModel:
    """Time of the LPAR that no class reports, against the captured: fixed, a share, a bend where it plainly has one.

    zIIP work on CPs is among the captured where no less of it says as much. Intervals in which a class has transactions
    and no CPU figure say nothing, and those in which the engines are full next to nothing beside others.
    """
    known = ~(np.isnan(h.cp_s) & (h.ended > 0)).any(axis=1)
    known |= not known.any()
    name, day = f"{h.system_id} uncaptured", h.day[known]
    y = ((h.busy_s - captured) / h.seconds)[known]
    drivers = {CAPTURED: captured, CAPTURED_BUT_ZIIP: captured - h.ziip_on_cp_s.sum(axis=1)}
    columns = {driver: (work / h.seconds)[known] for driver, work in drivers.items()}
    # The errors are those of one y: they vary as the captured does, whichever drives it.
    idle = 1.0 - (h.busy_s / h.engines / h.seconds)[known]
    weight = np.clip(idle / (1.0 - CROWDED), LEAST, 1.0) / np.maximum(columns[CAPTURED], 0.02 * columns[CAPTURED].max())

    def against(x: Array, degree: int) -> Fit:
        return fit(np.column_stack([x**power for power in range(degree + 1)]), y, weight, day)

    straight = {driver: against(x, 1) for driver, x in columns.items()}
    plainly = straight[CAPTURED_BUT_ZIIP].bic < straight[CAPTURED].bic - 6.0
    driver = CAPTURED_BUT_ZIIP if plainly else CAPTURED
    x, line = columns[driver], straight[driver]
    bent = against(x, 2)
    if bent.bic < line.bic - 6.0:
        return driven_law(x, bent, [True, True, True], driver, name, 0, False)
    if line.mean[0] < 0:
        share = max(float(y.mean()), 1e-6) / max(float(x.mean()), 1e-9)
        only = fit(x[:, None], y, weight, day, [share], [1.0])
        return driven_law(x, only, [False, True, False], driver, name, 0, False)
    return driven_law(x, line, [True, True, False], driver, name, 0, False)
