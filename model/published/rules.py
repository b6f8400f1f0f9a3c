"""Rules that tie printed figures to the marts, as the files of systems and workloads list them.

A `ValueRule` names the row of the marts (point, subject, metric) of a figure, and the kind of record that carries it. A
`DerivedRule` says how a figure follows from others. A `Contradiction` names a figure that the paper itself contradicts;
the arithmetic proves it when figures are compared.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from model.published.printed import RULES

ACTIVITY = "activity"
STRICT = ConfigDict(extra="forbid")
"""Fields that a dataclass does not have are refused when a file is read."""
_KEY = re.compile(r"\{([^{}]+)\}")


class RuleError(ValueError):
    """A rule cannot be applied to a figure; the message names the missing key."""


def _rule(name: str) -> str:
    if name not in RULES:
        raise ValueError(f"no rule {name!r}; there are {', '.join(RULES)}")
    return name


RuleName = Annotated[str, AfterValidator(_rule)]
Reason = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Figures of a table whose condition has `where` (and may have more); `metrics`, `only` and `unit` limit them."""

    __pydantic_config__ = STRICT

    table: str
    where: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[str, ...] | Mapping[str, str] = ()
    only: tuple[str, ...] = ()
    unit: str = ""

    def selects(self, table: str, conditions: Mapping[str, str], metric: str, unit: str) -> bool:
        """Whether a figure is selected."""
        metrics = (*self.metrics, *self.only)
        return (
            table == self.table
            and self.where.items() <= conditions.items()
            and (not metrics or metric in metrics)
            and (not self.unit or unit == self.unit)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRule(Selector):
    """The row of the marts that gives the selected figures, and the writer of its records.

    `point`, `subject` and `smf_sid` are templates over the figure's condition (`{key}`; `{metric}` is the printed
    metric); `names` maps the results of `subject` and `smf_sid` to names in the records. `metrics` maps printed metrics
    to metrics of the marts; where it is empty, the template `metric` does. printed value = `factor` x value in the
    marts. `step` is the unit to which the paper prints (1000 for "242,395K"), where it is coarser than the last digit.
    """

    point: str
    writer: str
    subject: str = ""
    smf_sid: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)
    metric: str = "{metric}"
    factor: float = 1.0
    step: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """A value that was not published and that a writer writes, so that a published difference of it can follow."""

    __pydantic_config__ = STRICT

    point: str
    writer: str
    metric: str
    value: str
    unit: str
    basis: str
    subject: str = ""
    smf_sid: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One operand of a derived figure: a figure of this or another system, a row of the marts, or a constant.

    A figure is named by its differences from the derived one: `conditions` replaces keys of its condition (an empty
    text removes one), `table` and `metric` replace its table and metric. A row of the marts is named by `point`,
    `subject` and `metric`, templates as in a value rule; a constant by `value`.
    """

    __pydantic_config__ = STRICT

    system: str = ""
    table: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    point: str = ""
    subject: str = ""
    value: str = ""
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRule(Selector):
    """How the selected figures follow from others.

    `step` is the unit to which the paper cuts or rounds (1000 for "174,000"), where it is coarser than the last digit;
    `bound` marks a claim that only bounds the value.
    """

    rule: RuleName
    operands: tuple[Operand, ...]
    factor: float = 1.0
    step: str = ""
    bound: Literal["", "over", "under"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """A metric of a table that follows from others in every system that runs the workload."""

    __pydantic_config__ = STRICT

    table: str
    metric: str
    unit: str
    rule: RuleName
    operands: tuple[Operand, ...]
    source: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction(Selector):
    """Figures that the paper contradicts: `rule` over the printed `operands` gives another value."""

    rule: RuleName
    operands: tuple[Operand, ...]
    reason: Reason
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect(Selector):
    """Figures that are printed without contradiction and are still probably not what was measured."""

    reason: Reason


def fill(template: str, conditions: Mapping[str, str], metric: str) -> str:
    """A template with `{key}` replaced by the condition's values; RuleError for a key the condition lacks."""
    values = {**conditions, "metric": metric}

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise RuleError(f"template {template!r}: the condition has no {match[1]!r}")
        return values[match[1]]

    return _KEY.sub(value, template)
