"""Printed figures: which values they stand for, and the rules by which they follow from others.

A figure printed with d decimals stands for every value that rounds to it, and, where a paper truncates, for every value
that is cut to it. Both readings are intervals of one unit in the last place.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Literal, NamedTuple

TOUCHING = 1e-12

Reading = Literal["rounded", "truncated"]


class Interval(NamedTuple):
    """A closed interval of admissible values."""

    lo: float
    hi: float

    def meet(self, other: "Interval") -> "Interval | None":
        """What both admit; None when nothing. Ends that differ by floating-point rounding alone count as touching."""
        lo, hi = max(self.lo, other.lo), min(self.hi, other.hi)
        if lo <= hi:
            return Interval(lo, hi)
        return Interval(hi, hi) if lo - hi <= TOUCHING * abs(hi) else None

    def nearest(self, value: float) -> float:
        """The admissible value nearest to `value`."""
        return min(max(value, self.lo), self.hi)


def decimals(text: str) -> int:
    """Digits printed after the decimal point."""
    exponent = Decimal(text).as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"{text!r} is not a finite number")
    return max(0, -exponent)


def unit_in_last_place(text: str, step: str = "") -> float:
    """The value of one unit in the last printed digit, or `step` where the paper prints to a coarser unit."""
    return float(step) if step else float(Decimal(1).scaleb(-decimals(text)))


def rounded_interval(text: str, step: str = "") -> Interval:
    """Values that round to the printed figure."""
    value, half = float(text), unit_in_last_place(text, step) / 2
    return Interval(value - half, value + half)


def printed_interval(text: str, step: str = "") -> Interval:
    """Values that round to the printed figure or are cut to it."""
    value, unit = float(text), unit_in_last_place(text, step)
    return Interval(value - unit / 2, value + unit) if value >= 0 else Interval(value - unit, value + unit / 2)


def prints_as(value: float, text: str, step: str = "") -> Reading | None:
    """How `value` comes to be printed as `text`: rounded, truncated, or None when it does not.

    `step` is the unit the paper prints to, where it is coarser than the last digit ("174,000").
    """
    unit = Decimal(step) if step else Decimal(1).scaleb(-decimals(text))
    printed, exact = Decimal(text) / unit, Decimal(repr(value)) / unit
    if exact.quantize(Decimal(1), rounding=ROUND_HALF_UP) == printed:
        return "rounded"
    if exact.quantize(Decimal(1), rounding=ROUND_DOWN) == printed:
        return "truncated"
    return None


def transpositions(text: str) -> list[str]:
    """The figure with two neighbouring digits exchanged, the commonest slip of typesetting, in every way possible."""
    digits = [i for i, character in enumerate(text) if character.isdigit()]
    texts = []
    for i, j in pairwise(digits):
        if text[i] != text[j]:
            texts.append(text[:i] + text[j] + text[i + 1 : j] + text[i] + text[j + 1 :])
    return texts


Values = Sequence[float]


@dataclass(frozen=True, slots=True)
class Rule:
    """How a figure follows from its operands: its value, how it grows with them, and the arithmetic as text.

    Attributes
    ----------
    value : callable
        The value from those of the operands.
    text : callable
        The arithmetic from the texts of the operands.
    first, others : int
        1 where the value grows with the first operand (with the further ones), -1 where it falls.
    halves : bool
        Whether the first half of the operands counts as the first one, the second half as the others.
    """

    value: Callable[[Values], float]
    text: Callable[[Sequence[str]], str]
    first: int = 1
    others: int = 1
    halves: bool = False

    def signs(self, operands: int) -> list[int]:
        """1 or -1 for each of so many operands: whether the value grows with it or falls."""
        first = operands // 2 if self.halves else 1
        return [self.first] * first + [self.others] * (operands - first)


def _sum(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"


def _change_pct(v: Values) -> float:
    half = len(v) // 2
    return (math.fsum(v[:half]) / math.fsum(v[half:]) - 1) * 100


def _change_text(t: Sequence[str]) -> str:
    half = len(t) // 2
    return f"({_sum(t[:half])} / {_sum(t[half:])} - 1) x 100"


RULES: Mapping[str, Rule] = {
    "same": Rule(lambda v: v[0], lambda t: t[0]),
    "sum": Rule(math.fsum, " + ".join),
    "mean": Rule(lambda v: math.fsum(v) / len(v), lambda t: f"({' + '.join(t)}) / {len(t)}"),
    "max": Rule(max, lambda t: f"max({', '.join(t)})"),
    "min": Rule(min, lambda t: f"min({', '.join(t)})"),
    "difference": Rule(lambda v: v[0] - math.fsum(v[1:]), " - ".join, others=-1),
    "change_pct": Rule(_change_pct, _change_text, others=-1, halves=True),
    "saving_pct": Rule(lambda v: (1 - v[0] / v[1]) * 100, lambda t: f"(1 - {t[0]} / {t[1]}) x 100", first=-1),
    "quotient": Rule(lambda v: v[0] / v[1], lambda t: f"{t[0]} / {t[1]}", others=-1),
    "quotient_pct": Rule(lambda v: v[0] / v[1] * 100, lambda t: f"{t[0]} / {t[1]} x 100", others=-1),
    "product": Rule(math.prod, " x ".join),
    "largest_deviation": Rule(
        lambda v: math.sqrt((v[0] - v[1]) * (v[1] - v[2])),
        lambda t: f"sqrt(({t[0]} - {t[1]}) x ({t[1]} - {t[2]}))",
        others=-1,
    ),
}
"""New over old comes first: a rate's improvement is `change_pct`, that of an elapsed time or a cost `saving_pct`; the
rate of several parts (LPARs) is their sum, all new ones first.
`largest_deviation` of a maximum, a mean in the upper half, and a minimum is the most that values between them can
scatter (Bhatia and Davis, *American Mathematical Monthly* 107, 2000)."""


def compute(rule: str, values: Values, factor: float = 1.0) -> float | None:
    """The value of a rule; None where it divides by zero."""
    try:
        return RULES[rule].value(values) * factor
    except ZeroDivisionError:
        return None


def admitted(rule: str, intervals: Sequence[Interval], factor: float = 1.0) -> Interval | None:
    """All values of a rule for positive operands within their intervals; None where it divides by zero."""
    signs = RULES[rule].signs(len(intervals))
    low = compute(rule, [i.lo if sign > 0 else i.hi for i, sign in zip(intervals, signs, strict=True)], factor)
    high = compute(rule, [i.hi if sign > 0 else i.lo for i, sign in zip(intervals, signs, strict=True)], factor)
    return None if low is None or high is None else Interval(min(low, high), max(low, high))


def as_text(rule: str, operands: Sequence[str], factor: float = 1.0) -> str:
    """The arithmetic of a rule as text."""
    text = RULES[rule].text(operands)
    return text if factor == 1 else f"({text}) x {factor:g}"
