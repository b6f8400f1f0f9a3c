"""The rules by which published figures follow from others, for values and for intervals of values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from model.lab.printed import Interval

Values = Sequence[float]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule computes; how it grows with its first and with its further operands; how it reads."""

    compute: Callable[[Values], float]
    first: int
    others: int
    text: Callable[[Sequence[str]], str]


RULES: Mapping[str, Rule] = {
    "same": Rule(lambda v: v[0], 1, 1, lambda t: t[0]),
    "sum": Rule(math.fsum, 1, 1, " + ".join),
    "mean": Rule(lambda v: math.fsum(v) / len(v), 1, 1, lambda t: f"({' + '.join(t)}) / {len(t)}"),
    "max": Rule(max, 1, 1, lambda t: f"max({', '.join(t)})"),
    "min": Rule(min, 1, 1, lambda t: f"min({', '.join(t)})"),
    "difference": Rule(lambda v: v[0] - math.fsum(v[1:]), 1, -1, " - ".join),
    "change_pct": Rule(lambda v: (v[0] / v[1] - 1) * 100, 1, -1, lambda t: f"({t[0]} / {t[1]} - 1) x 100"),
    "saving_pct": Rule(lambda v: (1 - v[0] / v[1]) * 100, -1, 1, lambda t: f"(1 - {t[0]} / {t[1]}) x 100"),
    "quotient": Rule(lambda v: v[0] / v[1], 1, -1, lambda t: f"{t[0]} / {t[1]}"),
    "quotient_pct": Rule(lambda v: v[0] / v[1] * 100, 1, -1, lambda t: f"{t[0]} / {t[1]} x 100"),
    "product": Rule(math.prod, 1, 1, " x ".join),
    "largest_deviation": Rule(
        lambda v: math.sqrt((v[0] - v[1]) * (v[1] - v[2])),
        1,
        -1,
        lambda t: f"sqrt(({t[0]} - {t[1]}) x ({t[1]} - {t[2]}))",
    ),
}
"""Kinds of derived figure. New over old comes first: a rate's improvement is `change_pct`, that of an elapsed time or a
cost `saving_pct`. `largest_deviation` of a maximum, a mean in the upper half, and a minimum is the most that values
between them can scatter (Bhatia and Davis, *American Mathematical Monthly* 107, 2000)."""


def compute(rule: str, values: Values, factor: float = 1.0) -> float | None:
    """What a rule gives; None where it divides by zero."""
    try:
        return RULES[rule].compute(values) * factor
    except ZeroDivisionError:
        return None


def admitted(rule: str, intervals: Sequence[Interval], factor: float = 1.0) -> Interval | None:
    """All values a rule can give for positive operands within their intervals; None where it divides by zero."""
    signs = [RULES[rule].first, *(RULES[rule].others for _ in intervals[1:])]
    low = compute(rule, [i.lo if sign > 0 else i.hi for i, sign in zip(intervals, signs, strict=True)], factor)
    high = compute(rule, [i.hi if sign > 0 else i.lo for i, sign in zip(intervals, signs, strict=True)], factor)
    return None if low is None or high is None else Interval(min(low, high), max(low, high))


def as_text(rule: str, operands: Sequence[str], factor: float = 1.0) -> str:
    """The arithmetic in words."""
    text = RULES[rule].text(operands)
    return text if factor == 1 else f"({text}) x {factor:g}"
