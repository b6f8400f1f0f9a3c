"""Fit condition laws: the values they are drawn through, and how much wider intervals must be than laws say."""

from collections.abc import Iterable, Mapping
from typing import Any

from model.capacity.conditions.evaluating import Evaluator
from model.capacity.conditions.left_out import behind, left_out, widening
from model.capacity.conditions.rows import Identity, Operand, Row
from model.capacity.conditions.tables import Tables

SCHEMA = "etalon-conditions/4"


def fit(
    rows: Iterable[Row],
    facts: Mapping[str, Mapping[str, str]],
    identities: Iterable[Identity] = (),
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """The model of all systems as plain values for JSON: values, configuration, identities, widening of intervals.

    Args:
        rows: one a metric and condition; `model.capacity.conditions.rows.read_catalogue` reads those of the studies.
        facts: configuration of each system by attribute.
        identities: what follows from other values.
        seed: of the draws that totals and ratios are made of.
    """
    known = tuple(rows)
    figures = left_out(Tables(known), facts)
    return {
        "schema": SCHEMA,
        "seed": seed,
        "rows": [_row(row) for row in known],
        "facts": {system: dict(found) for system, found in facts.items()},
        "identities": [_identity(entry) for entry in identities],
        "widening": widening(figures),
        "behind": behind(figures),
    }


def evaluator(model: Mapping[str, Any]) -> Evaluator:
    """What answers from a fitted model."""
    return Evaluator(
        Tables(Row(**row) for row in model["rows"]),
        model["facts"],
        tuple(
            Identity(**{**entry, "operands": tuple(Operand(**operand) for operand in entry["operands"])})
            for entry in model["identities"]
        ),
        model["widening"],
        model["seed"],
    )


def _row(row: Row) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in Row.__dataclass_fields__}


def _identity(entry: Identity) -> dict[str, Any]:
    plain = {name: _plain(getattr(entry, name)) for name in Identity.__dataclass_fields__ if name != "operands"}
    operands = [
        {name: _plain(getattr(operand, name)) for name in Operand.__dataclass_fields__} for operand in entry.operands
    ]
    return {**plain, "operands": operands}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
