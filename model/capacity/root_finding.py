"""Where a rising function crosses zero, for many draws and loads at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST, DOUBLINGS, STEPS = 1e-9, 40, 80
# How near to zero is zero, and how narrow a bracket is a point, as parts of what it holds.
NEAR, NARROW = 1e-10, 1e-12


def find_root(rising: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """The factors above 0 at which ``rising``, evaluated for an array of them, crosses zero.

    A bracket is found by doubling, then narrowed by the Illinois method (M. Dowell and P. Jarratt, *BIT* 11, 1971), by
    halving where a value is infinite. Where the function is above zero from the start the factor is 0; where it never
    gets there, 2 to the power of 40.
    """
    low, high = np.full(shape, LEAST), np.ones(shape)
    at_low, at_high = rising(low), rising(high)
    for _ in range(DOUBLINGS):
        short = at_high < 0.0
        if not short.any():
            break
        low, at_low = np.where(short, high, low), np.where(short, at_high, at_low)
        high = np.where(short, high * 2.0, high)
        at_high = np.where(short, rising(high), at_high)
    found, side = np.where(at_low >= 0.0, 0.0, high), np.zeros(shape)
    open_ = (at_low < 0.0) & (at_high > 0.0)
    for _ in range(STEPS):
        if not open_.any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            x = low - at_low * (high - low) / (at_high - at_low)
        x = np.where((low < x) & (x < high), x, (low + high) / 2.0)
        value = rising(x)
        found = np.where(open_, x, found)
        below = value < 0.0
        # The end that stays a second time counts half, so that it moves, too.
        at_high = np.where(below, np.where(side < 0, at_high / 2.0, at_high), value)
        at_low = np.where(below, value, np.where(side > 0, at_low / 2.0, at_low))
        low, high = np.where(below, x, low), np.where(below, high, x)
        side = np.where(below, -1.0, 1.0)
        open_ &= (np.abs(value) > NEAR) & (high - low > NARROW * high)
    return found
