"""Values of a question: numbers in their domains, words, and the error for everything else."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

MOST_ENGINES = 256


class QuestionError(ValueError):
    """A question that cannot be answered.

    ``field`` and ``value`` say where, ``allowed`` and ``nearest`` what would do.
    """

    def __init__(self, field: str, value: Any, message: str, allowed: Iterable[str] = ()) -> None:
        self.field = field
        self.value = value
        self._said = message
        self.allowed = sorted(map(str, allowed))
        close = difflib.get_close_matches(str(value), self.allowed, n=1, cutoff=0.5)
        self.nearest = close[0] if close else None
        self.message = message
        if self.nearest:
            self.message += f"; did you mean {self.nearest}?"
        if self.allowed:
            self.message += f" (allowed: {', '.join(self.allowed)})"
        super().__init__(self.message)

    def also(self, allowed: Iterable[str]) -> QuestionError:
        """The same refusal where more would do."""
        return QuestionError(self.field, self.value, self._said, {*self.allowed, *map(str, allowed)})


def must_be_positive(field: str, value: Any, most: float = math.inf) -> float:
    """A finite number above zero and at most ``most``."""
    number = must_be_finite(field, value)
    if number <= 0 or number > most:
        limit = f" and at most {number_text(most)}" if math.isfinite(most) else ""
        raise QuestionError(field, value, f"{field} must be above 0{limit} (got {value!r})")
    return number


def must_be_finite(field: str, value: Any) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise QuestionError(field, value, f"{field} must be a number (got {value!r})") from None
    if not math.isfinite(number):
        raise QuestionError(field, value, f"{field} must be finite (got {value!r})")
    return number


def growth_factor(field: str, value: Any) -> float:
    """The factor that a growth in percent stands for."""
    number = must_be_finite(field, value)
    if number < -100:
        raise QuestionError(field, value, f"{field} must be at least -100 % (got {value!r})")
    if number > 1e6:
        raise QuestionError(field, value, f"{field} must be at most 1,000,000 % (got {value!r})")
    return 1.0 + number / 100.0


def must_be_whole(field: str, value: Any, least: int = 1) -> int:
    """A whole number of engines from ``least`` to 256."""
    number = must_be_finite(field, value)
    if number != int(number) or not least <= number <= MOST_ENGINES:
        raise QuestionError(field, value, f"{field} must be an integer from {least} to {MOST_ENGINES} (got {value!r})")
    return int(number)


def cap_to_share(value: Any) -> bool:
    """Whether an LPAR is held to its share by weight.

    Raises:
        QuestionError: the value is neither on nor off.
    """
    word = str(value).casefold()
    if word in ("yes", "on", "share", "no", "off", "none"):
        return word in ("yes", "on", "share")
    text = "cap: takes on (held to its share by weight) or off; an absolute cap is cap_engines=N or cap_msu=N"
    raise QuestionError("cap", value, text, ("on", "off"))


def threads_asked(value: Any) -> float:
    """Threads of a zIIP core: 1 or off, 2 or on."""
    threads = {"1": 1.0, "off": 1.0, "2": 2.0, "on": 2.0}.get(str(value).casefold().removesuffix(".0"))
    if threads is None:
        raise QuestionError("smt", value, "smt must be off (1 thread per core) or on (2)", ("on", "off"))
    return threads


def number_text(value: float, digits: int = 6) -> str:
    """A number in a sentence: 127,900 where digits alone would be 1.279e+05."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def as_text(value: float) -> str:
    """A number as it was asked: 5 for 5.0, 110560.9 for 110560.9."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
