"""The rules by which published figures follow from others: their intervals and their words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from model.published.arithmetic import compute
from model.published.printed import Interval


@dataclass(frozen=True, slots=True)
class Rule:
    """How what a rule gives grows with its first and with its further operands, and how it reads.

    `halves`: the first half of the operands goes as the first, the second half as the others.
    """

    first: int
    others: int
    text: Callable[[Sequence[str]], str]
    halves: bool = False

    def signs(self, operands: int) -> list[int]:
        """How what a rule gives grows with each of so many operands."""
        first = operands // 2 if self.halves else 1
        return [self.first] * first + [self.others] * (operands - first)


def _sum(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"


RULES: Mapping[str, Rule] = {
    "same": Rule(1, 1, lambda t: t[0]),
    "sum": Rule(1, 1, " + ".join),
    "mean": Rule(1, 1, lambda t: f"({' + '.join(t)}) / {len(t)}"),
    "max": Rule(1, 1, lambda t: f"max({', '.join(t)})"),
    "min": Rule(1, 1, lambda t: f"min({', '.join(t)})"),
    "difference": Rule(1, -1, " - ".join),
    "change_pct": Rule(1, -1, lambda t: f"({_sum(t[: len(t) // 2])} / {_sum(t[len(t) // 2 :])} - 1) x 100", True),
    "saving_pct": Rule(-1, 1, lambda t: f"(1 - {t[0]} / {t[1]}) x 100"),
    "quotient": Rule(1, -1, lambda t: f"{t[0]} / {t[1]}"),
    "quotient_pct": Rule(1, -1, lambda t: f"{t[0]} / {t[1]} x 100"),
    "product": Rule(1, 1, " x ".join),
    "largest_deviation": Rule(1, -1, lambda t: f"sqrt(({t[0]} - {t[1]}) x ({t[1]} - {t[2]}))"),
}


def admitted(rule: str, intervals: Sequence[Interval], factor: float = 1.0) -> Interval | None:
    """All values a rule can give for positive operands within their intervals; None where it divides by zero."""
    signs = RULES[rule].signs(len(intervals))
    low = compute(rule, [i.lo if sign > 0 else i.hi for i, sign in zip(intervals, signs, strict=True)], factor)
    high = compute(rule, [i.hi if sign > 0 else i.lo for i, sign in zip(intervals, signs, strict=True)], factor)
    return None if low is None or high is None else Interval(min(low, high), max(low, high))


def as_text(rule: str, operands: Sequence[str], factor: float = 1.0) -> str:
    """The arithmetic in words."""
    text = RULES[rule].text(operands)
    return text if factor == 1 else f"({text}) x {factor:g}"
