"""What a printed figure says about the value behind it.

A figure printed with d decimals stands for every value that rounds to it, and, where a paper truncates, for every value
that is cut to it. Both readings are intervals of one unit in the last place.
"""

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
