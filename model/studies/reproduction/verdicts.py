"""Compare every published figure of reference systems with what the marts say of their rendered records.

The figures come from the catalogue, the values from the marts; nothing goes from one to the other except through the
records. A figure is found in the marts by its value rule, or follows by its derived rule from figures that are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.published import catalogue
from model.published.catalogue import Figure, System, contradiction, derived_rule, target, value_rule
from model.published.printed import Interval, admitted, as_text, compute, decimals, printed_interval, prints_as
from model.published.rules import Contradiction, DerivedRule, Operand, fill

EQUAL, EXCEPTED, FAILING, STATEMENT = "equal", "excepted", "failing", "statement"
MOST_STEPS = 20

Place = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """A published figure beside its computed value.

    `verdict` is equal, excepted (the paper contradicts it; `note` holds the arithmetic), failing (`note` says why) or
    statement (words, a claim no rule derives, or a figure of a system that is known by ratios or claims only).
    `reading` says how the value comes to be printed so: rounded, truncated, over or under for a claim that bounds it;
    with "from printed figures" where that takes the operands as the paper prints them.
    """

    system: str
    figure: Figure
    computed: float | None
    verdict: str
    reading: str
    note: str

    @property
    def difference(self) -> float | None:
        """Computed minus published."""
        if self.computed is None or self.figure.number is None:
            return None
        return self.computed - self.figure.number


class Marts:
    """Values of `fct_point_metric` by system, point, subject and metric."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows with `system_id`, `point`, `subject`, `metric`, `value`; of several workloads the first one counts."""
        self._values: dict[Place, float] = {}
        for row in rows:
            self._values.setdefault((row["system_id"], row["point"], row["subject"], row["metric"]), row["value"])

    def value(self, system: str, point: str, subject: str, metric: str) -> float | None:
        """The value of a metric; None when the marts have none."""
        return self._values.get((system, point, subject, metric))


def compare(system_id: str, marts: Marts) -> tuple[Result, ...]:
    """Every figure of a system, in the order of its file."""
    system = catalogue.system(system_id)
    comparison = _Comparison(marts)
    return tuple(comparison.result(system, figure) for figure in system.figures)


@dataclass(frozen=True, slots=True)
class _Term:
    """An operand as it enters a rule: computed exactly, as the paper prints it, and all values it may stand for."""

    exact: float | None
    printed: float | None
    interval: Interval
    text: str


class _Comparison:
    def __init__(self, marts: Marts) -> None:
        self._marts = marts
        self._depth = 0

    def result(self, system: System, figure: Figure) -> Result:
        doubt = contradiction(system, figure)
        derived = derived_rule(system, figure)
        rule = value_rule(system, figure)
        if doubt is not None and figure.number is not None:
            return self._excepted(system, figure, doubt)
        if figure.number is None or (figure.kind == "statement" and derived is None and rule is None):
            return Result(system.id, figure, None, STATEMENT, "", "")
        if derived is not None:
            return self._derived(system, figure, derived)
        if rule is None and system.class_ != "numeric":
            return Result(system.id, figure, None, STATEMENT, "", f"the system is known as {system.class_} only")
        if rule is None:
            return Result(system.id, figure, None, FAILING, "", "no rule says where it is found")
        value = self.computed(system, figure)
        if value is None:
            wanted = target(system, figure)
            place = f"{wanted.metric} of {wanted.subject or 'the whole'} at point {wanted.point}" if wanted else ""
            return Result(system.id, figure, None, FAILING, "", f"the marts have no {place}")
        reading = prints_as(value, figure.value, rule.step)
        return Result(system.id, figure, value, EQUAL if reading else FAILING, reading or "", "")

    def computed(self, system: System, figure: Figure) -> float | None:
        """The value of a figure from the marts; None when there is none."""
        self._depth += 1
        try:
            if self._depth > MOST_STEPS:
                raise catalogue.CatalogueError(f"{system.id}: {figure.metric} of {figure.table} follows from itself")
            derived = derived_rule(system, figure)
            if derived is not None:
                terms = [self._term(system, figure, operand) for operand in derived.operands]
                values = [term.exact for term in terms]
                return _apply(derived, values)
            wanted = target(system, figure)
            if wanted is None:
                return None
            value = self._marts.value(system.id, wanted.point, wanted.subject, wanted.metric)
            return None if value is None else value * wanted.factor
        finally:
            self._depth -= 1

    def _derived(self, system: System, figure: Figure, rule: DerivedRule) -> Result:
        terms = [self._term(system, figure, operand) for operand in rule.operands]
        exact = _apply(rule, [term.exact for term in terms])
        if exact is None:
            return Result(system.id, figure, None, FAILING, "", "what it follows from is not in the marts")
        note = as_text(rule.rule, [term.text for term in terms], rule.factor)
        published = float(figure.value)
        if rule.bound:
            holds = exact > published if rule.bound == "over" else exact < published
            return Result(system.id, figure, exact, EQUAL if holds else FAILING, rule.bound, note)
        reading = prints_as(exact, figure.value, rule.step)
        if reading:
            return Result(system.id, figure, exact, EQUAL, reading, note)
        printed = _apply(rule, [term.printed for term in terms])
        reading = prints_as(printed, figure.value, rule.step) if printed is not None else None
        if reading and printed is not None:
            return Result(system.id, figure, printed, EQUAL, f"{reading}, from printed figures", note)
        return Result(system.id, figure, exact, FAILING, "", note)

    def _excepted(self, system: System, figure: Figure, doubt: Contradiction) -> Result:
        """Excepted when the printed operands leave no value the figure can stand for; failing when they do."""
        terms = [self._term(system, figure, operand) for operand in doubt.operands]
        implied = admitted(doubt.rule, [term.interval for term in terms], doubt.factor)
        arithmetic = as_text(doubt.rule, [term.text for term in terms], doubt.factor)
        value = self.computed(system, figure)
        if implied is None or implied.meet(printed_interval(figure.value)) is not None:
            return Result(system.id, figure, value, FAILING, "", f"{arithmetic} does not contradict it")
        places = max(decimals(figure.value), 2)
        shown = " to ".join(dict.fromkeys(f"{end:.{places}f}" for end in implied))
        note = f"{arithmetic} gives {shown}, printed is {figure.value}: {doubt.reason}"
        return Result(system.id, figure, value, EXCEPTED, "", note)

    def _term(self, system: System, figure: Figure, operand: Operand) -> _Term:
        if operand.value:
            number = float(operand.value) * operand.factor
            return _Term(number, number, Interval(number, number), operand.value)
        other = catalogue.system(operand.system) if operand.system else system
        if operand.point:
            point = fill(operand.point, figure.conditions, figure.metric)
            subject = fill(operand.subject, figure.conditions, figure.metric)
            value = self._marts.value(other.id, point, subject, operand.metric or figure.metric)
            exact = None if value is None else value * operand.factor
            text = f"{operand.metric or figure.metric} of {subject or point}"
            return _Term(exact, exact, Interval(exact or 0.0, exact or 0.0), text)
        source = named(other, figure, operand)
        value = self.computed(other, source)
        exact = None if value is None else value * operand.factor
        printed = exact
        if value is not None and prints_as(value, source.value):
            printed = float(source.value) * operand.factor
        lo, hi = printed_interval(source.value)
        text = source.value if operand.factor == 1 else f"{source.value} x {operand.factor:g}"
        return _Term(exact, printed, Interval(lo * operand.factor, hi * operand.factor), text)


def named(system: System, figure: Figure, operand: Operand) -> Figure:
    """The figure an operand names. CatalogueError when there is none, or more than one."""
    conditions = {
        key: value for key, value in {**figure.conditions, **operand.conditions}.items() if value and value != "*"
    }
    table, metric = operand.table or figure.table, operand.metric or figure.metric
    matches = [
        other
        for other in system.figures
        if other.table == table and other.metric == metric and other.conditions == conditions
    ]
    if len(matches) != 1:
        shown = "; ".join(f"{key}={value}" for key, value in conditions.items())
        raise catalogue.CatalogueError(
            f"{system.id}: {len(matches)} figures {metric} of {table} [{shown}], from which {figure.metric} "
            f"[{figure.condition}] is to follow"
        )
    return matches[0]


def _apply(rule: DerivedRule, values: Sequence[float | None]) -> float | None:
    operands = [value for value in values if value is not None]
    return compute(rule.rule, operands, rule.factor) if len(operands) == len(values) else None


def with_references(systems: Iterable[str]) -> list[str]:
    """The systems and all they refer to, each once, in the order they are met."""
    needed: list[str] = []
    waiting = list(systems)
    while waiting:
        name = waiting.pop(0)
        if name in needed:
            continue
        needed.append(name)
        plan = catalogue.system(name).lab
        if plan is not None:
            operands = [
                operand for rules in (plan.derived, plan.contradictions) for rule in rules for operand in rule.operands
            ]
            waiting += [operand.system for operand in operands if operand.system]
    return needed
