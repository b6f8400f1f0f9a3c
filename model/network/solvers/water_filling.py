"""How the engines of a shared machine are divided among its LPARs."""

from __future__ import annotations

from collections.abc import Sequence


def water_filling(asked: Sequence[float], weights: Sequence[float], engines: float) -> list[float]:
    """Engines each LPAR gets: all it asks for while it stays below its part by weight, the rest divided by weight."""
    given = [0.0] * len(asked)
    open_ = [i for i, a in enumerate(asked) if a > 0]
    left = engines
    while open_:
        total = sum(weights[i] for i in open_)
        below = [i for i in open_ if asked[i] <= left * weights[i] / total * (1 + 1e-12)]
        if not below:
            for i in open_:
                given[i] = left * weights[i] / total
            break
        for i in below:
            given[i] = asked[i]
        left -= sum(asked[i] for i in below)
        open_ = [i for i in open_ if i not in below]
    return given
