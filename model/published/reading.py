"""Rows of the reference catalogue and of marts.

Their values are those printed in the catalogue, or those that the records of a rendered system gave in
`fct_point_metric`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from model.published import catalogue
from model.published.catalogue import Figure, System, contradiction, derived_rule, target
from model.published.observations import (
    RUN_LENGTHS,
    RUN_S,
    WORKLOAD,
    Identity,
    Observation,
    Operand,
    Study,
    parse_condition,
)
from model.published.printed import compute
from model.published.rules import Contradiction, DerivedRule
from model.published.tables import number

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
SUSPECT_SD = 1.0
"""Relative standard error of a figure that the catalogue says is suspect."""


def read_catalogue(systems: Iterable[str] | None = None, marts: Iterable[Mapping[str, Any]] | None = None) -> Study:
    """Rows and identities of reference systems.

    Args:
        systems: their identities; None for all.
        marts: rows of `fct_point_metric`; None takes the printed values. A figure the marts do not have is left out.
    """
    mart_values = (
        None
        if marts is None
        else {(r["system_id"], r["point"], r["subject"], r["metric"]): (r["value"], r.get("value_se")) for r in marts}
    )
    present = {system for system, *_ in mart_values or ()}
    rows: list[Observation] = []
    identities: list[Identity] = []
    facts: dict[str, dict[str, str]] = {}
    for system_id in catalogue.systems() if systems is None else systems:
        system = catalogue.system(system_id)
        # Of several parts with an attribute the first is that of the system, before its driver's.
        facts[system_id] = {fact.attribute: fact.value for fact in reversed(system.facts)}
        if (length_s := _run_length_s(system)) is not None:
            facts[system_id][RUN_S] = f"{length_s:.12g}"
        if system.workload is not None:
            facts[system_id][WORKLOAD] = system.workload.id
            identities += _of_workload(system)
        for figure in system.figures:
            if figure.number is None:
                continue
            rule = derived_rule(system, figure)
            if rule is None:
                row = _row(system, figure, mart_values)
            elif rule.bound or not any(operand.point for operand in rule.operands):
                identities += [] if rule.bound else [_identity(system, figure, rule)]
                continue
            else:
                row = _row(system, figure, None) if mart_values is None or system_id in present else None
            if row is not None:
                rows.append(row)
    return Study(tuple(rows), tuple(identities), facts)


def read_points(marts: Iterable[Mapping[str, Any]]) -> tuple[Observation, ...]:
    """Rows of measured points, of `fct_point_metric`, of systems whose runs were made at several conditions."""
    named = [row for row in marts if parse_condition(row["condition"] or "") and row["value"] is not None]
    conditions: dict[str, set[str]] = defaultdict(set)
    for row in named:
        conditions[row["system_id"]].add(row["condition"])
    return tuple(
        Observation(
            system=row["system_id"],
            metric=row["metric"],
            condition={
                **parse_condition(row["condition"]),
                **({"subject": row["subject"]} if row["subject"] else {}),
            },
            value=row["value"],
            unit=row.get("unit") or "",
            table=row.get("workload") or "",
            se=row.get("value_se") or 0.0,
            mart_metric=row["metric"],
            point=row["point"],
        )
        for row in named
        if len(conditions[row["system_id"]]) > 1
    )


def _row(system: System, figure: Figure, mart_values: Mapping[Any, Any] | None) -> Observation | None:
    """A figure with its value; as it is printed where `known` is None, of systems known by ratios, claims or formulas
    only, and where it follows from rows of the marts that are no figure.

    A figure that the study contradicts has the value that the other figures leave; one that is suspect weighs little.
    Neither is judged.
    """
    numeric = system.class_ == "numeric"
    if numeric and figure.kind == "statement":
        return None
    doubt = contradiction(system, figure)
    value, se = float(figure.value) if doubt is None else _corrected(system, figure, doubt), 0.0
    if value is None:
        return None
    wanted = target(system, figure)
    if mart_values is not None and numeric:
        measured = None if wanted is None else mart_values.get((system.id, wanted.point, wanted.subject, wanted.metric))
        if wanted is None or measured is None:
            return None
        value, se = measured[0] * wanted.factor, abs(wanted.factor) * (measured[1] or 0.0)
    suspect = system.suspicion(figure) is not None
    return Observation(
        system=system.id,
        metric=figure.metric,
        condition=figure.conditions,
        value=value,
        unit=figure.unit,
        table=figure.table,
        study=figure.study,
        se=max(se, SUSPECT_SD * abs(value)) if suspect else se,
        judged=wanted is not None and figure.target and numeric and doubt is None and not suspect,
        mart_metric="" if wanted is None else wanted.metric,
        rounding=0.5 * 10.0 ** int(Decimal(figure.value).as_tuple().exponent),
        point="" if wanted is None else wanted.point,
    )


def _run_length_s(system: System) -> float | None:
    """How long the run of a system took, where that is printed."""
    for fact in system.facts:
        length = number(fact.value) if fact.attribute in RUN_LENGTHS else None
        if length is not None and fact.unit in SECONDS:
            return length * SECONDS[fact.unit]
    return None


def _corrected(system: System, figure: Figure, doubt: Contradiction) -> float | None:
    """What the other printed figures leave for one that they contradict; None where one of them is not known."""
    values = []
    for operand in doubt.operands:
        if operand.point:
            return None
        condition = {**figure.conditions, **operand.conditions}
        wanted = {key: level for key, level in condition.items() if level}
        of = catalogue.system(operand.system) if operand.system else system
        printed = [
            other.number
            for other in of.select(operand.table or figure.table, metric=operand.metric or figure.metric)
            if other.conditions == wanted
        ]
        value = float(operand.value) if operand.value else printed[0] if printed else None
        if value is None:
            return None
        values.append(value * operand.factor)
    return compute(doubt.rule, values, doubt.factor)


def _of_workload(system: System) -> list[Identity]:
    """What follows in a system as in all that run its workload, where no figure of its own stands for it."""
    if system.workload is None:
        return []
    tables = {figure.table for figure in system.figures}
    printed = {(figure.table, figure.metric) for figure in system.figures}
    return [
        Identity(
            system.id,
            entry.table,
            system.study,
            entry.metric,
            {},
            entry.unit,
            entry.rule,
            tuple(Operand(metric=operand.metric, factor=operand.factor) for operand in entry.operands),
            entry.factor,
        )
        for entry in system.workload.identities
        if entry.table in tables and (entry.table, entry.metric) not in printed
    ]


def _identity(system: System, figure: Figure, rule: DerivedRule) -> Identity:
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
