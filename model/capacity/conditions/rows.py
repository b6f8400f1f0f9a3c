"""What condition laws are fitted to: one row for one metric at one condition of one system.

Rows come of the reference catalogue. Their values are those printed there, or those that the records of a rendered
system gave in `fct_point_metric`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from model.systems import catalogue
from model.systems.catalogue import Figure, System

WORKLOAD = "workload"


@dataclass(frozen=True, slots=True)
class Row:
    """One value of a metric of a system at a condition.

    `table` and `study` say which rows were measured alike: systems of a study that have a table in common are
    siblings. `subject` is what was measured where the condition does not say it. `se` is the standard error, 0 where
    unknown; `better` is `higher`, `lower` or empty.
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
    better: str = ""
    judged: bool = True


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
    """A metric at a condition that follows from other cells by a rule of `model.reproduction.arithmetic`."""

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

    rows: tuple[Row, ...]
    identities: tuple[Identity, ...]
    facts: Mapping[str, Mapping[str, str]]


def read_catalogue(systems: Iterable[str] | None = None, marts: Iterable[Mapping[str, Any]] | None = None) -> Study:
    """Rows and identities of reference systems.

    Args:
        systems: their identities; None for all.
        marts: rows of `fct_point_metric`; None takes the printed values. A figure the marts do not have is left out.
    """
    from model.lab.targeting import derived_rule  # here, as the lab is no part of answering

    known = (
        None
        if marts is None
        else {(r["system_id"], r["point"], r["subject"], r["metric"]): (r["value"], r.get("value_se")) for r in marts}
    )
    rows: list[Row] = []
    identities: list[Identity] = []
    facts: dict[str, dict[str, str]] = {}
    for system_id in catalogue.systems() if systems is None else systems:
        system = catalogue.system(system_id)
        facts[system_id] = {fact.attribute: fact.value for fact in system.facts}
        if system.workload is not None:
            facts[system_id][WORKLOAD] = system.workload.id
        for figure in system.figures:
            if figure.number is None:
                continue
            if derived_rule(system, figure) is not None:
                if (identity := _identity(system, figure)) is not None:
                    identities.append(identity)
            elif (row := _row(system, figure, known)) is not None:
                rows.append(row)
    return Study(tuple(rows), tuple(identities), facts)


def read_points(marts: Iterable[Mapping[str, Any]]) -> tuple[Row, ...]:
    """Rows of measured points of any system whose runs name a condition: those of `fct_point_metric`."""
    return tuple(
        Row(
            system=row["system_id"],
            metric=row["metric"],
            condition=catalogue.parse_condition(row["condition"]),
            value=row["value"],
            unit=row.get("unit") or "",
            table=row.get("workload") or "",
            subject=row["subject"],
            se=row.get("value_se") or 0.0,
        )
        for row in marts
        if row["condition"] and row["value"] is not None
    )


def _row(system: System, figure: Figure, known: Mapping[Any, Any] | None) -> Row | None:
    """A figure with its value; of systems known by ratios, claims or formulas only, as it is printed."""
    from model.lab.targeting import contradiction, target

    numeric = system.class_ == "numeric"
    if (numeric and figure.kind == "statement") or contradiction(system, figure) is not None:
        return None
    value, se = float(figure.value), 0.0
    if known is not None and numeric:
        wanted = target(system, figure)
        found = None if wanted is None else known.get((system.id, wanted.point, wanted.subject, wanted.metric))
        if wanted is None or found is None:
            return None
        value, se = found[0] * wanted.factor, abs(wanted.factor) * (found[1] or 0.0)
    return Row(
        system=system.id,
        metric=figure.metric,
        condition=figure.conditions,
        value=value,
        unit=figure.unit,
        table=figure.table,
        study=figure.study,
        se=se,
        judged=figure.target and numeric,
    )


def _identity(system: System, figure: Figure) -> Identity | None:
    from model.lab.targeting import derived_rule

    rule = derived_rule(system, figure)
    if rule is None or rule.bound or any(operand.point for operand in rule.operands):
        return None
    operands = tuple(
        Operand(
            system=operand.system,
            table=operand.table,
            metric=operand.metric,
            condition=dict(operand.conditions),
            constant=float(operand.value) if operand.value else None,
            factor=operand.factor,
        )
        for operand in rule.operands
    )
    return Identity(
        system.id,
        figure.table,
        figure.study,
        figure.metric,
        figure.conditions,
        figure.unit,
        rule.rule,
        operands,
        rule.factor,
    )
