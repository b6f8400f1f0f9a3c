"""Rows of the reference catalogue and of marts.

Their values are those printed in the catalogue, or those that the records of a rendered system gave in
`fct_point_metric`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from model.capacity.conditions.rows import WORKLOAD, Identity, Operand, Row, Study
from model.lab.targeting import contradiction, derived_rule, target
from model.systems import catalogue
from model.systems.catalogue import Figure, System


def read_catalogue(systems: Iterable[str] | None = None, marts: Iterable[Mapping[str, Any]] | None = None) -> Study:
    """Rows and identities of reference systems.

    Args:
        systems: their identities; None for all.
        marts: rows of `fct_point_metric`; None takes the printed values. A figure the marts do not have is left out.
    """
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
