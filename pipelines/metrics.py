"""Every metric: those of the project, and those of an installation from `metrics.toml` in the state folder."""

import json
import re
from functools import cache
from typing import Literal

import tomli
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines.exits import EtalonError, Exit
from pipelines.home import DBT_PROJECT, Home

#: Grains with several subjects at a time: the name of a metric has to say which.
_NAMED = ("baseline", "group", "transaction_class")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_COLUMN = re.compile(r"{(\w+)}")


class Metric(BaseModel):
    """An entry of the registry; what its fields mean stands in dbt_project.yml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    grain: str | None = None
    name: str | None = Field(None, pattern=r"^[a-z0-9_{}]+$")
    like: str | None = None
    label: str | None = None
    about: str | None = None
    unit: str | None = Field(None, pattern=r"^[^'{}]+$")
    scale: float = 1.0
    numerator: str | None = None
    denominator: str | None = None
    aggregation: Literal["ratio", "sum", "min", "max", "point"] = "ratio"
    better: Literal["higher", "lower"] | None = None
    follows_load: bool = False
    formula: str | None = None
    source: str | None = None
    domain: tuple[float | None, float | None] = (0.0, None)
    description: str | None = None


def _lacks(metric: Metric) -> str | None:
    """The missing field of an installation's metric, in words; None if it is complete."""
    for field in ("label", "unit", "numerator", "denominator"):
        if getattr(metric, field) is None:
            return f"field {field} is missing"
    if metric.grain not in grains():
        return f"field grain: unknown grain {metric.grain!r}; allowed: {', '.join(sorted(grains()))}"
    if metric.grain in _NAMED and "{about}" not in (metric.name or ""):
        return f"field name: the grain {metric.grain} has several members, so the name must contain {{about}}"
    return None


@cache
def registry() -> dict[str, Metric]:
    """The project's metrics by name, in the order in which they are shown."""
    project = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text(encoding="utf-8"))
    return {name: Metric(**entry) for name, entry in project["vars"]["metrics"].items()}


def grains() -> frozenset[str]:
    """Grains whose metrics need no more than their entry."""
    return frozenset(
        metric.grain for metric in registry().values() if metric.grain and (metric.numerator or metric.like)
    )


def of_installation(home: Home) -> dict[str, Metric]:
    """The installation's metrics by name; EtalonError names file, metric, field and what it should be."""
    path = home.metrics
    if not path.exists():
        return {}
    try:
        entries = tomli.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise EtalonError(f"{path}: {error}; correct it: docs/metrics.md has an example", Exit.NO_INPUT) from error
    metrics = {}
    for name, entry in entries.items():
        if not _NAME.fullmatch(name):
            raise EtalonError(f"{path}: metric {name!r}: use lower-case letters, digits and _", Exit.NO_INPUT)
        if name in registry():
            raise EtalonError(f"{path}: metric {name} is shipped with Etalon: choose another name", Exit.NO_INPUT)
        if not isinstance(entry, dict):
            raise EtalonError(f"{path}: {name} is not a metric: write its fields below [{name}]", Exit.NO_INPUT)
        try:
            metrics[name] = Metric(**entry)
        except ValidationError as error:
            first = error.errors()[0]
            field = f", field {'.'.join(str(part) for part in first['loc'])}" if first["loc"] else ""
            raise EtalonError(f"{path}: metric {name}{field}: {first['msg']}", Exit.NO_INPUT) from error
        missing = _lacks(metrics[name])
        if missing is not None:
            raise EtalonError(f"{path}: metric {name}: {missing}", Exit.NO_INPUT)
    return metrics


def unknown_column(home: Home, failure: str) -> str | None:
    """Which of the installation's metrics names the column that DuckDB, by a build's failure, does not know."""
    for name, metric in of_installation(home).items():
        for field in ("numerator", "denominator"):
            for column in _COLUMN.findall(getattr(metric, field)):
                if f'column "{column}" not found' in failure:
                    return (
                        f"{home.metrics}: metric {name}, field {field}: {{{column}}} is not a column of the grain "
                        f"{metric.grain}; shipped metrics use {', '.join(_columns_of(metric.grain))}"
                    )
    return None


def _columns_of(grain: str | None) -> list[str]:
    """Columns that the project's metrics of a grain are made of."""
    parts = [f"{metric.numerator} {metric.denominator}" for metric in registry().values() if metric.grain == grain]
    return sorted({column for part in parts for column in _COLUMN.findall(part)})


def environment(home: Home) -> dict[str, str]:
    """The variable by which dbt knows of the installation's metrics."""
    entries = {name: metric.model_dump(exclude_defaults=True) for name, metric in of_installation(home).items()}
    return {"ETALON_METRICS": json.dumps(entries)}
