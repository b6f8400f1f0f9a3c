"""What predictions are made from: one observation for one metric at one condition of one system.

``model.published.reading`` makes them of the reference catalogue and of marts. The names of conditions, rates and
configuration attributes are listed by their meaning in ``names.toml``.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_NAMES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))

RELEASES = tuple(_NAMES["releases"])
ALTERNATIVES = (*RELEASES, *_NAMES["alternatives"])
RUN_LENGTHS = tuple(_NAMES["run_lengths"])
TRANSACTION_COUNTS = tuple(_NAMES["transaction_counts"])
CHANGES = tuple(_NAMES["changes"])
REQUESTED_RATE: str = _NAMES["requested_rate"]
UNPACED: str = _NAMES["unpaced"]
ENGINES = tuple(_NAMES["engines"])
CUSTOMERS = tuple(_NAMES["customers"])
SIZES = tuple(_NAMES["sizes"])
ASKING = tuple(_NAMES["asking"])
CARRIED = tuple(_NAMES["carried"])
SERVING = tuple(_NAMES["serving"])
SENT = tuple(_NAMES["sent"])
SENT_SIZES = tuple(_NAMES["sent_sizes"])
ELAPSED: str = _NAMES["elapsed"]
ENDINGS = tuple(_NAMES["endings"])

WORKLOAD, RUN_S = "workload", "duration_s"
"""Attributes of the configuration: what a system runs, and for how many seconds it was measured."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of a metric of a system at a condition.

    `table` and `study` say which rows were measured alike: systems of a study that have a table in common are
    siblings. `subject` is what was measured where the condition does not say it. `se` is the standard error, 0 where
    unknown, `rounding` half a unit of its last printed digit. `mart_metric` is the name that the marts have for the
    metric, empty where they do not have it; `point` is the measured point that it is of, if its runs name one.
    """

    system: str
    metric: str
    condition: Mapping[str, str]
    value: float
    unit: str = ""
    table: str = ""
    study: str = ""
    subject: str = ""
    se: float = 0.0
    judged: bool = True
    mart_metric: str = ""
    rounding: float = 0.0
    point: str = ""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value an identity takes: the cell of the result with `condition` replaced (an empty text removes a key)."""

    system: str = ""
    table: str = ""
    metric: str = ""
    condition: Mapping[str, str] = field(default_factory=dict)
    constant: float | None = None
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A metric at a condition that follows from other cells by a rule of `model.published.printed`."""

    system: str
    table: str
    study: str
    metric: str
    condition: Mapping[str, str]
    unit: str
    rule: str
    operands: tuple[Operand, ...]
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that laws are fitted to: rows, identities, and the configuration of each system."""

    rows: tuple[Observation, ...]
    identities: tuple[Identity, ...]
    facts: Mapping[str, Mapping[str, str]]


@cache
def parse_condition(condition: str) -> dict[str, str]:
    """The condition as a mapping, made once and not to be changed; parts without an equals sign are left out."""
    pairs = (part.split("=", 1) for part in condition.split(";") if "=" in part)
    return {key.strip(): value.strip() for key, value in pairs}


def condition_text(pairs: Mapping[str, str]) -> str:
    """The inverse of `parse_condition`."""
    return "; ".join(f"{key}={value}" for key, value in pairs.items())
