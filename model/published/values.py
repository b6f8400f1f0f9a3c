"""How printed figures hang together with the marts, as data of a system file.

A `ValueRule` says where a printed figure is found in the marts (point, subject, metric) and which record carries it. A
`DerivedRule` says how a figure follows from others. A `Contradiction` names a figure the paper itself contradicts; the
contradiction is proved by arithmetic when figures are compared, never taken on trust.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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


def fill(template: str, conditions: Mapping[str, str], metric: str) -> str:
    """A template with `{key}` replaced by the condition's values; RuleError for a key the condition lacks."""
    known = {**conditions, "metric": metric}

    def value(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise RuleError(f"template {template!r}: the condition has no {match[1]!r}")
        return known[match[1]]

    return _KEY.sub(value, template)


def read_values(entries: list[Mapping[str, Any]]) -> tuple[ValueRule, ...]:
    """The `[[lab.values]]` of a system file. TypeError or KeyError for an entry that is not a rule."""
    found = []
    for entry in entries:
        content = dict(entry)
        metrics = content.pop("metrics", {})
        only = tuple(metrics) + tuple(content.pop("only", ()))
        selector = Selector(content.pop("table"), dict(content.pop("where", {})), only, content.pop("unit", ""))
        found.append(ValueRule(selector=selector, metrics=metrics, **content))
    return tuple(found)


def read_derived(entries: list[Mapping[str, Any]]) -> tuple[DerivedRule, ...]:
    """The `[[lab.derived]]` of a system file. Raises RuleError, TypeError or KeyError."""
    found = []
    for entry in entries:
        content = dict(entry)
        selector, operands = _selector(content), _operands(content)
        found.append(DerivedRule(selector=selector, operands=operands, **content))
        if found[-1].rule not in COMPUTED or found[-1].bound not in BOUNDS:
            raise RuleError(f"derived figures of {selector.table}: no rule {found[-1].rule!r} {found[-1].bound!r}")
    return tuple(found)


def read_contradictions(entries: list[Mapping[str, Any]]) -> tuple[Contradiction, ...]:
    """The `[[lab.contradictions]]` of a system file. Raises RuleError, TypeError or KeyError."""
    found = []
    for entry in entries:
        content = dict(entry)
        selector, operands = _selector(content), _operands(content)
        found.append(Contradiction(selector=selector, operands=operands, **content))
        if found[-1].rule not in COMPUTED or not found[-1].reason:
            raise RuleError(f"contradiction in {selector.table}: no rule {found[-1].rule!r}, or no reason")
    return tuple(found)


def read_identities(entries: list[Mapping[str, Any]]) -> tuple[WorkloadIdentity, ...]:
    """The `[[identity]]` of a workload file. Raises RuleError, TypeError or KeyError."""
    found = []
    for entry in entries:
        content = dict(entry)
        found.append(WorkloadIdentity(operands=_operands(content), **content))
        if found[-1].rule not in COMPUTED:
            raise RuleError(f"identity of {found[-1].metric}: no rule {found[-1].rule!r}")
    return tuple(found)


def read_suspects(entries: list[Mapping[str, Any]]) -> tuple[Suspect, ...]:
    """The `[[suspect]]` of a system file. TypeError or KeyError for an entry that is none."""
    found = []
    for entry in entries:
        content = dict(entry)
        found.append(Suspect(_selector(content), **content))
    return tuple(found)


def _selector(content: dict[str, Any]) -> Selector:
    where, metrics = dict(content.pop("where", {})), tuple(content.pop("metrics", ()))
    return Selector(content.pop("table"), where, metrics, content.pop("unit", ""))


def _operands(content: dict[str, Any]) -> tuple[Operand, ...]:
    return tuple(Operand(**operand) for operand in content.pop("operands"))
