"""Fit condition laws: weights of laws by family of series, and how much wider intervals must be than they say."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from model.capacity.conditions.evaluating import Evaluator
from model.capacity.conditions.laws import CONFIGURATIONS, Array
from model.capacity.conditions.rows import Identity, Operand, Row
from model.capacity.conditions.single import behind, single_figures, widening
from model.capacity.conditions.tables import Tables
from model.capacity.conditions.weighing import judged, weigh

SCHEMA = "etalon-conditions/1"
LEAST_WEIGHT = 1e-5


def fit(
    rows: Iterable[Row],
    facts: Mapping[str, Mapping[str, str]],
    identities: Iterable[Identity] = (),
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """The model of all systems as plain values for JSON: values, configuration, identities, weights of laws.

    Args:
        rows: one a metric and condition; `model.capacity.conditions.rows.read_catalogue` reads those of the studies.
        facts: configuration of each system by attribute.
        identities: what follows from other values.
        seed: of the draws that totals and ratios are made of.
    """
    known = tuple(rows)
    tables = Tables(known)
    weights = weigh(tables, facts)
    verdict, figures = judged(tables, weights, facts), single_figures(tables, facts)
    return {
        "schema": SCHEMA,
        "seed": seed,
        "rows": [_row(row) for row in known],
        "facts": {system: dict(found) for system, found in facts.items()},
        "identities": [_identity(entry) for entry in identities],
        "weights": {family: _sparse(found) for family, found in weights.items()},
        "widening": {**verdict.widening, **widening(figures)},
        "behind": [*verdict.behind, *behind(figures)],
    }


def evaluator(model: Mapping[str, Any]) -> Evaluator:
    """What answers from a fitted model."""
    return Evaluator(
        Tables(Row(**row) for row in model["rows"]),
        {family: _dense(found) for family, found in model["weights"].items()},
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


def _sparse(weights: Array) -> dict[str, float]:
    return {str(i): round(float(w), 7) for i, w in enumerate(weights) if w > LEAST_WEIGHT}


def _dense(weights: Mapping[str, float]) -> Array:
    found = np.full(CONFIGURATIONS, LEAST_WEIGHT / CONFIGURATIONS)
    for index, weight in weights.items():
        found[int(index)] = weight
    return found / found.sum()
