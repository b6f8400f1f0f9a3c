"""Dividing a total into parts without losing any of it."""

import numpy as np
import numpy.typing as npt


def split(total: int, weights: npt.ArrayLike) -> list[int]:
    """Integers proportional to `weights` that add up to `total` exactly (largest remainder; ties to the earlier part).

    Raises ValueError for a negative total, a negative weight, or weights that are all zero.
    """
    shares = np.asarray(weights, dtype=float).tolist()
    if total < 0 or not shares or min(shares) < 0 or sum(shares) <= 0:
        raise ValueError(f"cannot divide {total} by weights {shares}")
    scale = total / sum(shares)
    quotas = [share * scale for share in shares]
    parts = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(parts)), key=lambda i: (parts[i] - quotas[i], i))
    # What is missing is less than one each, unless the total has more digits than a float.
    each, missing = divmod(total - sum(parts), len(parts))
    for rank, index in enumerate(by_remainder):
        parts[index] += each + (rank < missing)
    return parts


def around_one(random: np.random.Generator, count: int, deviation: float) -> np.ndarray:
    """`count` factors with mean 1 and about the given relative standard deviation, none beyond three of them."""
    factors = 1 + deviation * np.clip(random.standard_normal(count), -3, 3)
    return factors / factors.mean()


def below(factors: np.ndarray, level: float, ceiling: float) -> np.ndarray:
    """`factors` drawn towards 1 as far as `level` times the largest needs to stay under `ceiling`."""
    largest = float(factors.max()) - 1
    room = ceiling / level - 1
    if largest <= room:
        return factors
    return 1 + (factors - 1) * max(0.0, room) / largest
