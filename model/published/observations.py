"""What predictions are made from: one observation for one metric at one condition of one system.

``model.published.reading`` makes them of the reference catalogue and of marts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    """A metric at a condition that follows from other cells by a rule of `model.published.arithmetic`."""

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
