"""Plans of growth as files: what `docs/model.md` says of planned growth, as keys of a question."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli

from pipelines.exits import EtalonError, Exit

GROWTH = "growth_pct_per_year"
TABLES = {"steps": "step_pct", "seasons": "season_pct"}
FORM = f"it takes {GROWTH}, [steps] and [seasons], for all classes and for each as [classes.NAME]"


def read(path: Path) -> dict[str, float | str]:
    """The keys of a question that a plan stands for.

    Raises EtalonError (QUESTION) for a file that cannot be read or says anything else.
    """
    try:
        content: dict[str, Any] = tomli.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomli.TOMLDecodeError) as error:
        raise EtalonError(f"{path}: the plan cannot be read: {error}; {FORM}", Exit.QUESTION) from error
    classes = content.pop("classes", {})
    if not isinstance(classes, Mapping) or not all(isinstance(one, Mapping) for one in classes.values()):
        raise EtalonError(f"{path}: classes should be tables; {FORM}", Exit.QUESTION)
    found = _keys(path, content, "")
    for name, plan in classes.items():
        found |= _keys(path, plan, f".{name}")
    return found


def _keys(path: Path, plan: Mapping[str, Any], suffix: str) -> dict[str, float | str]:
    unknown = sorted(set(plan) - {GROWTH, *TABLES})
    if unknown:
        raise EtalonError(f"{path}: {', '.join(unknown)} is not understood; {FORM}", Exit.QUESTION)
    found: dict[str, float | str] = {f"{GROWTH}{suffix}": plan[GROWTH]} if GROWTH in plan else {}
    for table, key in TABLES.items():
        if table in plan:
            if not isinstance(plan[table], Mapping):
                raise EtalonError(f"{path}: {table} should be a table, such as 12 = 30; {FORM}", Exit.QUESTION)
            found[f"{key}{suffix}"] = ",".join(f"{name}:{pct}" for name, pct in plan[table].items())
    return found
