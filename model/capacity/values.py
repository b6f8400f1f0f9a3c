"""Keys of a question and their values: numbers in their domains, words, plans, and the error for everything else.

Nothing here loads NumPy.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

LOADS = ("etr_tps", "cpu_busy_pct", "point")
LPARS = ("cpc", "add_lpar", "remove_lpar")
CAPS = ("cap", "cap_engines", "cap_msu")
CPC = (*LPARS, "physical_cps", "physical_ziips", "weight", *CAPS)
ZIIPS = "ziip_engines"
CHANGES = ("engines", ZIIPS, "smt", "machine", *CPC)
GROWTH = "growth_pct"
PLANNED = ("growth_pct_per_year", "step_pct", "season_pct")
KEYS = (*LOADS, "when", "shift", GROWTH, *PLANNED, *CHANGES)
OBSERVED = "response_ms."
NUMBERS = ("growth_pct.", "growth_pct_per_year.", "rate.", "limit.", OBSERVED)
MOVE_TO, MOVE_FROM = "move_to.", "move_from."
PREFIXES = (*NUMBERS, "step_pct.", "season_pct.", "adjust.", MOVE_TO, MOVE_FROM)
MOVES, OFFLOADS = (MOVE_TO, MOVE_FROM), (ZIIPS, "adjust.")
CONFIGURATION = (*CHANGES, "limit.", "adjust.")
"""How keys begin that move classes, move work to zIIPs, and change the configuration."""
TEXTS = ("point", "when", "shift", "machine", "cap", "smt", "step_pct", "season_pct", *LPARS)
SHORT_HISTORY = "short history"
"""What begins a note on records that are too short to tell growth."""
MOST_TPS = 1e12
MOST_ENGINES = 256
TABLES = {"steps": "step_pct", "seasons": "season_pct"}
FORM = f"it takes {PLANNED[0]}, [steps] and [seasons], for all classes and for each as [classes.NAME]"


def asks_for(question: Mapping[str, Any], beginnings: tuple[str, ...]) -> bool:
    """Whether a question has a key that begins so: what only such questions need is loaded for these."""
    return any(str(key).startswith(beginnings) for key in question)


def takes_number(key: str) -> bool:
    """Whether a key of loads, engines or limits takes a number only; what others take depends on the system."""
    return (key in KEYS and key not in TEXTS) or key.startswith(NUMBERS)


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
    """Whether the share by weight is a cap of the LPAR.

    Raises
    ------
    QuestionError
        the value is neither on nor off.
    """
    word = str(value).casefold()
    if word in ("yes", "on", "share", "no", "off", "none"):
        return word in ("yes", "on", "share")
    text = "cap: takes on (held to its share by weight) or off; an absolute cap is cap_engines=N or cap_msu=N"
    raise QuestionError("cap", value, text, ("on", "off"))


def smt_threads(value: Any) -> float:
    """Threads of a zIIP core: 1 or off, 2 or on."""
    threads = {"1": 1.0, "off": 1.0, "2": 2.0, "on": 2.0}.get(str(value).casefold().removesuffix(".0"))
    if threads is None:
        raise QuestionError("smt", value, "smt must be off (1 thread per core) or on (2)", ("on", "off"))
    return threads


def number_text(value: float, digits: int = 6) -> str:
    """A number in a sentence: 127,900 where digits alone would be 1.279e+05."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def as_text(value: float) -> str:
    """A number as in the question: 5 for 5.0, 110560.9 for 110560.9."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def with_cap_unit(question: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The question with a cap that is a number as ``cap_engines``, and a note that says so."""
    if "cap" not in question or isinstance(question["cap"], bool):
        return question, ()
    try:
        engines = float(question["cap"])
    except (TypeError, ValueError):
        return question, ()
    rest = {key: value for key, value in question.items() if key != "cap"}
    note = f"cap: {engines:g} is taken as engines; write cap_engines={engines:g}, or cap_msu for MSU"
    return {**rest, "cap_engines": question["cap"]}, (note,)


def not_understood(key: str, others: Iterable[str] = ()) -> QuestionError:
    """The refusal of an unknown key, with the keys of networks and any others."""
    shown = {*KEYS, *others, *(f"{prefix}NAME" for prefix in PREFIXES)}
    return QuestionError(key, key, f"at: unknown key {key!r}", shown)


def check_keys(at: Mapping[str, Any]) -> None:
    """Refuse unknown keys and more than one way of saying the load."""
    for key in at:
        if key not in KEYS and (not str(key).startswith(PREFIXES) or str(key) in PREFIXES):
            raise not_understood(str(key))
    given = [key for key in LOADS if key in at]
    if len(given) > 1:
        raise QuestionError(given[1], at[given[1]], f"at: {' and '.join(given)} both set the load; give one of them")
    for load in ("etr_tps", "cpu_busy_pct"):
        others = [key for key in at if str(key) == GROWTH or str(key).startswith((f"{GROWTH}.", "rate."))]
        if load in at and others:
            raise QuestionError(
                others[0], at[others[0]], f"at: {load} already sets the load; leave out {', '.join(others)}, or {load}"
            )
    for key in ("when", "shift"):
        if "point" in at and key in at:
            raise QuestionError(key, at[key], f"at: point and {key} both set the load; give one of them")


def is_planned(keys: Iterable[str]) -> bool:
    """Whether a question plans growth."""
    return any(str(key).partition(".")[0] in PLANNED for key in keys)


def plan_keys(text: str) -> dict[str, float | str]:
    """The keys of a question that a plan stands for.

    Raises
    ------
    QuestionError
        the text is no TOML, or has anything else in it.
    """
    import tomli

    try:
        content: dict[str, Any] = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise _refused(f"the plan cannot be read: {error}") from error
    classes = content.pop("classes", {})
    if not isinstance(classes, Mapping) or not all(isinstance(one, Mapping) for one in classes.values()):
        raise _refused("classes should be tables")
    keys = _keys(content, "")
    for name, plan in classes.items():
        keys |= _keys(plan, f".{name}")
    return keys


def _keys(plan: Mapping[str, Any], suffix: str) -> dict[str, float | str]:
    unknown = sorted(set(plan) - {PLANNED[0], *TABLES})
    if unknown:
        raise _refused(f"{', '.join(unknown)} is not understood")
    keys: dict[str, float | str] = {f"{PLANNED[0]}{suffix}": plan[PLANNED[0]]} if PLANNED[0] in plan else {}
    for table, key in TABLES.items():
        if table in plan:
            if not isinstance(plan[table], Mapping):
                raise _refused(f"{table} should be a table, such as 12 = 30")
            keys[f"{key}{suffix}"] = ",".join(f"{name}:{pct}" for name, pct in plan[table].items())
    return keys


def _refused(message: str) -> QuestionError:
    return QuestionError("plan", None, f"{message}; {FORM}")
