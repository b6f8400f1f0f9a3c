"""Plans of growth in TOML, as keys of a question: growth a year, steps with dates, seasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.capacity.values import QuestionError

GROWTH = "growth_pct_per_year"
TABLES = {"steps": "step_pct", "seasons": "season_pct"}
FORM = f"it takes {GROWTH}, [steps] and [seasons], for all classes and for each as [classes.NAME]"


def plan_keys(text: str) -> dict[str, float | str]:
    """The keys of a question that a plan stands for.

    Raises:
        QuestionError: the text is no TOML, or has anything else in it.
    """
    import tomli

    try:
        content: dict[str, Any] = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise _refused(f"the plan cannot be read: {error}") from error
    classes = content.pop("classes", {})
    if not isinstance(classes, Mapping) or not all(isinstance(one, Mapping) for one in classes.values()):
        raise _refused("classes should be tables")
    found = _keys(content, "")
    for name, plan in classes.items():
        found |= _keys(plan, f".{name}")
    return found


def _keys(plan: Mapping[str, Any], suffix: str) -> dict[str, float | str]:
    unknown = sorted(set(plan) - {GROWTH, *TABLES})
    if unknown:
        raise _refused(f"{', '.join(unknown)} is not understood")
    found: dict[str, float | str] = {f"{GROWTH}{suffix}": plan[GROWTH]} if GROWTH in plan else {}
    for table, key in TABLES.items():
        if table in plan:
            if not isinstance(plan[table], Mapping):
                raise _refused(f"{table} should be a table, such as 12 = 30")
            found[f"{key}{suffix}"] = ",".join(f"{name}:{pct}" for name, pct in plan[table].items())
    return found


def _refused(message: str) -> QuestionError:
    return QuestionError("plan", None, f"{message}; {FORM}")
