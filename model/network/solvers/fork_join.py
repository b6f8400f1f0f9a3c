"""How long the last of several branches takes that run at the same time.

Source: Nelson and Tantawi, *IEEE TC* 37, 1988.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike


def nelson_tantawi(branches: int, load: float) -> float:
    """Response over that of one M/M/1 branch, for identical branches; exact for two, within 5 % up to 32."""
    if branches == 1:
        return 1.0
    h = sum(1 / i for i in range(1, branches + 1)) / 1.5
    return (h + (1 - h) * 4 * load / 11) * (12 - load) / 8


def largest_of_independent(rates: ArrayLike) -> float:
    """Mean of the largest of independent exponential times."""
    mu = [float(r) for r in np.asarray(rates, dtype=float)]
    total = 0.0
    for size in range(1, len(mu) + 1):
        total += (-1) ** (size + 1) * sum(1 / sum(group) for group in combinations(mu, size))
    return total
