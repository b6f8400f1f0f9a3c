"""What the rules compute by which published figures follow from others."""

import math
from collections.abc import Callable, Mapping, Sequence

Values = Sequence[float]

COMPUTED: Mapping[str, Callable[[Values], float]] = {
    "same": lambda v: v[0],
    "sum": math.fsum,
    "mean": lambda v: math.fsum(v) / len(v),
    "max": max,
    "min": min,
    "difference": lambda v: v[0] - math.fsum(v[1:]),
    "change_pct": lambda v: (math.fsum(v[: len(v) // 2]) / math.fsum(v[len(v) // 2 :]) - 1) * 100,
    "saving_pct": lambda v: (1 - v[0] / v[1]) * 100,
    "quotient": lambda v: v[0] / v[1],
    "quotient_pct": lambda v: v[0] / v[1] * 100,
    "product": math.prod,
    "largest_deviation": lambda v: math.sqrt((v[0] - v[1]) * (v[1] - v[2])),
}
"""New over old comes first: a rate's improvement is `change_pct`, that of an elapsed time or a cost `saving_pct`; the
rate of several parts (LPARs) is their sum, all new ones first.
`largest_deviation` of a maximum, a mean in the upper half, and a minimum is the most that values between them can
scatter (Bhatia and Davis, *American Mathematical Monthly* 107, 2000)."""


def compute(rule: str, values: Values, factor: float = 1.0) -> float | None:
    """What a rule gives; None where it divides by zero."""
    try:
        return COMPUTED[rule](values) * factor
    except ZeroDivisionError:
        return None
