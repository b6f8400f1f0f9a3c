"""Which row of the marts each published figure of a system has to come out of, by the value rules of its file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from model.published.catalogue import CatalogueError, Figure, System
from model.published.printed import Interval, rounded_interval
from model.published.values import Contradiction, DerivedRule, RuleError, ValueRule, fill

Selected = TypeVar("Selected", Contradiction, DerivedRule, ValueRule)


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure and the row of the marts it has to come out of.

    printed = `factor` x value of `metric` of `subject` at the point.
    """

    figure: Figure
    point: str
    smf_sid: str
    subject: str
    metric: str
    factor: float
    options: Mapping[str, Any]
    step: str = ""

    @property
    def value(self) -> float:
        """The printed figure in the unit of the marts."""
        return float(self.figure.value) / self.factor

    @property
    def interval(self) -> Interval:
        """Values in the unit of the marts that round to the printed figure."""
        lo, hi = rounded_interval(self.figure.value, self.step)
        return Interval(lo / self.factor, hi / self.factor)


def derived_rule(system: System, figure: Figure) -> DerivedRule | None:
    """The rule by which a figure follows from others; None when it has none."""
    return _first(system.lab.derived if system.lab is not None else (), figure)


def contradiction(system: System, figure: Figure) -> Contradiction | None:
    """Why the paper is said to contradict a figure; None when nothing says so."""
    return _first(system.lab.contradictions if system.lab is not None else (), figure)


def value_rule(system: System, figure: Figure) -> ValueRule | None:
    """The rule that says where a figure is found in the marts; None when it follows from others or has no rule."""
    if system.lab is None or figure.number is None or derived_rule(system, figure) is not None:
        return None
    return _first(system.lab.values, figure)


def _first(entries: Iterable[Selected], figure: Figure) -> Selected | None:
    """The first entry whose selector selects the figure."""
    table, conditions, metric, unit = figure.table, figure.conditions, figure.metric, figure.unit
    return next((entry for entry in entries if entry.selector.selects(table, conditions, metric, unit)), None)


def target(system: System, figure: Figure) -> Target | None:
    """Where a figure has to come out; None when no value rule selects it.

    Raises CatalogueError where the rule does not fit the figure.
    """
    rule = value_rule(system, figure)
    if rule is None or system.lab is None:
        return None
    conditions, printed = figure.conditions, figure.metric
    try:
        subject = fill(rule.subject, conditions, printed)
        sid = fill(rule.smf_sid, conditions, printed)
        return Target(
            figure=figure,
            point=system.lab.point(fill(rule.point, conditions, printed)).id,
            smf_sid=rule.names.get(sid, sid) or system.lab.smf_sid,
            subject=rule.names.get(subject, subject),
            metric=rule.metrics.get(printed) or fill(rule.metric, conditions, printed),
            factor=rule.factor,
            options=rule.options,
            step=rule.step,
        )
    except (RuleError, ValueError) as error:
        raise CatalogueError(f"{system.id}: {printed} of {figure.table} [{figure.condition}]: {error}") from error


def targets_by_writer(system: System) -> Mapping[tuple[str, str, str], Sequence[Target]]:
    """The targets of a system by point, SMF system identifier and writer.

    A figure that the paper contradicts is set aside: it follows from the rest. What the plan assumes is written too.
    """
    targets: list[tuple[tuple[str, str, str], Target]] = []
    for figure in system.figures:
        wanted, rule = target(system, figure), value_rule(system, figure)
        if contradiction(system, figure) is not None:
            continue
        if wanted is not None and rule is not None:
            targets.append(((wanted.point, wanted.smf_sid, rule.writer), wanted))
    if system.lab is None:
        return {}
    for entry in system.lab.assumed:
        key = (system.lab.point(entry.point).id, entry.smf_sid or system.lab.smf_sid, entry.writer)
        figure = Figure("", "assumed", "", entry.metric, entry.value, entry.unit, "assumed", "low", False)
        targets.append((key, Target(figure, key[0], key[1], entry.subject, entry.metric, 1.0, entry.options)))
    targets.sort(key=lambda pair: pair[0])
    return {key: [wanted for _, wanted in group] for key, group in groupby(targets, key=lambda pair: pair[0])}
