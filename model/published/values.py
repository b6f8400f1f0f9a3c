"""How printed figures hang together with the marts, as data of a system file.

A `ValueRule` says where a printed figure is found in the marts (point, subject, metric) and which record carries it. A
`DerivedRule` says how a figure follows from others. A `Contradiction` names a figure the paper itself contradicts; the
contradiction is proved by arithmetic when figures are compared, never taken on trust.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from model.published.arithmetic import COMPUTED

BOUNDS = ("", "over", "under")
ACTIVITY = "activity"
_KEY = re.compile(r"\{([^{}]+)\}")


class RuleError(ValueError):
    """A rule is incomplete or cannot be applied to a figure; the message says which."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Figures of a table whose condition holds `where` (and may hold more), of all or the named metrics and unit."""

    table: str
    where: Mapping[str, str]
    metrics: tuple[str, ...] = ()
    unit: str = ""

    def selects(self, table: str, conditions: Mapping[str, str], metric: str, unit: str) -> bool:
        """Whether a figure is selected."""
        return (
            table == self.table
            and self.where.items() <= conditions.items()
            and (not self.metrics or metric in self.metrics)
            and (not self.unit or unit == self.unit)
        )


@dataclass(frozen=True, slots=True)
class ValueRule:
    """Where the selected figures are found in the marts, and what carries them.

    `point`, `subject` and `smf_sid` are templates over the figure's condition (`{key}`; `{metric}` is the printed
    metric); what comes of `subject` and `smf_sid` is looked up in `names`. `metrics` maps printed metrics to metrics of
    the marts; where it is empty, the template `metric` says it for all. printed value = `factor` x value in the marts.
    `step` is the unit to which the paper prints (1000 for "242,395K"), where it is coarser than the last digit.
    """

    selector: Selector
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


@dataclass(frozen=True, slots=True)
class Assumed:
    """A value no one published, that a writer writes so that what was published of it (a difference) can follow."""

    point: str
    writer: str
    metric: str
    value: str
    unit: str
    basis: str
    subject: str = ""
    smf_sid: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operand:
    """One value a derived figure follows from: a figure of this or another system, a row of the marts, a constant.

    A figure is named by what differs from the derived one: `conditions` replaces keys of its condition (an empty text
    removes one), `table` and `metric` replace its table and metric. A row of the marts is named by `point`, `subject`
    and `metric`, templates as in a value rule; a constant by `value`.
    """

    system: str = ""
    table: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    point: str = ""
    subject: str = ""
    value: str = ""
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class DerivedRule:
    """How the selected figures follow from others.

    `step` is the unit to which the paper cuts or rounds (1000 for "174,000"), where it is coarser than the last digit;
    `bound` is `over` or `under` for a claim that only bounds the value.
    """

    selector: Selector
    rule: str
    operands: tuple[Operand, ...]
    factor: float = 1.0
    step: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadIdentity:
    """A metric of a table that follows from others in every system that runs the workload."""

    table: str
    metric: str
    unit: str
    rule: str
    operands: tuple[Operand, ...]
    source: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Figures the paper contradicts: `rule` over `operands` gives another value from the digits printed there."""

    selector: Selector
    rule: str
    operands: tuple[Operand, ...]
    reason: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Suspect:
    """Figures that are printed without contradiction and still hardly what was measured; `reason` says why."""

    selector: Selector
    reason: str


Rule = TypeVar("Rule")


def fill(template: str, conditions: Mapping[str, str], metric: str) -> str:
    """A template with `{key}` replaced by the condition's values; RuleError for a key the condition lacks."""
    values = {**conditions, "metric": metric}

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise RuleError(f"template {template!r}: the condition has no {match[1]!r}")
        return values[match[1]]

    return _KEY.sub(value, template)


def read_rules(kind: type[Rule], entries: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Entries of a list in a system or workload file as rules of a kind.

    Raises
    ------
    RuleError
        A rule that nothing computes, an unknown bound, or no reason where one is needed.
    KeyError, TypeError
        A field is missing or unknown.
    """
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    rules = []
    for entry in entries:
        content: dict[str, Any] = dict(entry)
        if "selector" in names:
            printed = content.get("metrics", ()) if "metrics" in names else content.pop("metrics", ())
            metrics: tuple[str, ...] = (*printed, *content.pop("only", ()))
            where = dict(content.pop("where", {}))
            content["selector"] = Selector(content.pop("table"), where, metrics, content.pop("unit", ""))
        if "operands" in names:
            content["operands"] = tuple(Operand(**operand) for operand in content["operands"])
        rule = kind(**content)
        computed, bound = getattr(rule, "rule", "same"), getattr(rule, "bound", "")
        if computed not in COMPUTED or bound not in BOUNDS or not getattr(rule, "reason", "none"):
            raise RuleError(f"{kind.__name__} of {dict(entry)}: no rule {computed!r} {bound!r}, or no reason")
        rules.append(rule)
    return tuple(rules)
