"""A question about a studied system: its measured point, conditions and loads, and the figures of the studies.

`measured` puts the conditions of a point in place of its name, `parted` tells loads from conditions, and `by_condition`
answers conditions from the studies alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

from model.capacity.adjustments import POPULATIONS, PREFIX, adjusted, choose_adjustments, factor, quantity_of
from model.capacity.answer import Answer, Bottleneck, Output
from model.capacity.parameters import adjustments_from_plain, cached
from model.capacity.values import CHANGES, KEYS, NUMBERS, PREFIXES, QuestionError, not_understood
from model.published.conditions import covers
from model.published.model import NEARER_FIGURES, NEARER_LEVELS
from model.published.observations import ENGINES, condition_text
from model.published.prediction import UNPACED_TIMES
from model.published.system import Studied
from model.published.tables import POINT

FULL_PCT = 100.0
TOO_FEW = "the engines may be too few for this rate with what is adjusted"
OF_METRICS = (TOO_FEW, NEARER_LEVELS, NEARER_FIGURES, UNPACED_TIMES)
"""Notes that name their metrics."""

Question = Mapping[str, Any]


def measured(studied: Studied, at: Question | None) -> dict[str, Any]:
    """A question with the conditions of a measured point in place of its name, where no network has the point.

    They are the levels that all its figures have in common.

    Raises
    ------
    QuestionError
        The point was not measured, or another level is asked of one of its conditions.
    """
    rest = dict(at or {})
    if POINT not in rest:
        return rest
    of_network = [] if studied.network is None else [point.point for point in studied.network.points]
    points, name = _points(studied), str(rest[POINT])
    if name in of_network or not points:
        return rest
    if name not in points:
        raise QuestionError("at.point", name, f"point: {name!r} was not measured", sorted({*of_network, *points}))
    del rest[POINT]
    for key, level in points[name].items():
        if str(rest.setdefault(key, level)) != level:
            raise QuestionError(f"at.{key}", rest[key], f"{key}: point {name!r} was measured at {level!r}")
    return rest


def _points(studied: Studied) -> dict[str, dict[str, str]]:
    """The points of a system that its conditions tell apart, each with these; a population under one of its names."""
    conditions_of: dict[str, dict[str, str]] = {}
    people = ""
    for row in studied.rows:
        # A point among the conditions is one already.
        if not row.get("point") or POINT in row["condition"]:
            continue
        level = dict(row["condition"])
        for key in [key for key in level if key in POPULATIONS]:
            people = people or key
            level[people] = level.pop(key)
        earlier = conditions_of.setdefault(row["point"], level)
        conditions_of[row["point"]] = {key: value for key, value in earlier.items() if level.get(key) == value}
    levels = list(conditions_of.values())
    alone = len(conditions_of) == 1
    return {point: level for point, level in conditions_of.items() if alone or (level and levels.count(level) == 1)}


def parted(studied: Studied, at: Question | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question's keys that a network answers, and its conditions.

    Engines may be asked for under the name that the configuration has for them. A level that all was measured at, or
    that of the configuration, is left out.
    """
    keys, facts = studied.keys, studied.facts
    only = {key: levels[0] for key, levels in keys.items() if key in CHANGES and len(levels) == 1}
    configured = {**{key: fact for key, fact in facts.items() if key in KEYS or key not in keys}, **only}
    loads, conditions = {}, {}
    for key, value in (at or {}).items():
        if key in configured and covers(configured[key], str(value)):
            continue
        if key in ENGINES and key in facts:
            loads["engines"] = value
        elif key in KEYS or str(key).startswith(PREFIXES):
            loads[key] = value
        else:
            conditions[key] = value
    return loads, conditions


def of_network_only(studied: Studied, key: str) -> bool:
    """Whether a key of a network is neither a condition of the system's studies nor a fact of its configuration."""
    return (key in KEYS or key.startswith(NUMBERS)) and key not in studied.keys and key not in studied.facts


def of_point(studied: Studied, at: Question) -> Answer:
    """The figures that were measured at the point of a question, with its what-if adjustments.

    Raises
    ------
    QuestionError
        The point was not measured.
    """
    rest, point = {key: value for key, value in at.items() if key != POINT}, str(at[POINT])
    conditions_of = _points(studied)
    if point in conditions_of:
        return by_condition(studied, {**conditions_of[point], **rest})
    rows = [row for row in studied.rows if row.get("point") == point]
    if not rows:
        return by_condition(studied, at)
    there = {(row["metric"], frozenset(f"{key}={level}" for key, level in row["condition"].items())) for row in rows}
    answer = by_condition(studied, rest)
    chosen = [(one.metric, frozenset(filter(None, one.condition.split("; ")))) in there for one in answer.outputs]
    figures = list(compress(answer.evidence["figures"], chosen))
    return replace(
        answer, at=dict(at), outputs=tuple(compress(answer.outputs, chosen)), extrapolated=False,
        evidence={**answer.evidence, "figures": figures},
    )  # fmt: skip


def by_condition(studied: Studied, at: Question) -> Answer:
    """The figures of a system at a condition, from the studies alone.

    Raises
    ------
    QuestionError
        An unknown key or level, or one that was not measured.
    """
    try:
        if at:
            answer = _by_condition(studied, at)
        else:
            version = studied.bundle["model_version"]
            answer = cached(studied.conditions, ("figures", studied.name, version), lambda: _by_condition(studied, {}))
    except QuestionError as error:
        if studied.network is not None and error.field == error.value:
            error = not_understood(error.field, error.allowed)
        error.field = error.field if error.field in ("system", "at") else f"at.{error.field}"
        raise error from None
    if not answer.outputs:
        words = " and ".join(f"{key}={value}" for key, value in at.items())
        message = f"{studied.name} has no figure"
        if words:
            message = f"no figure of {studied.name} has {words}; ask with fewer conditions"
        raise QuestionError("at", dict(at), f"at: {message}")
    return answer


def _by_condition(studied: Studied, at: Question) -> Answer:
    plain = studied.conditions.get("adjustments", {})
    adjustments = cached(plain, "adjustments", lambda: adjustments_from_plain(plain))
    rest, chosen = choose_adjustments(at, adjustments, studied.levels)
    outputs, figures = [], []
    quantities = set()
    notes: dict[str, list[str]] = {adjustment.note: [] for adjustment in chosen}
    for output in studied.studies.predict(studied.name, rest):
        ends = output.value, output.lo, output.hi
        quantity = quantity_of(output.metric, output.unit)
        quantities.add(quantity)
        if any(quantity in one.quantities for one in chosen):
            ends = adjusted(*ends, factor(chosen, str(quantity)))
            if output.unit == "pct" and ends[2] > FULL_PCT:
                ends = min(ends[0], FULL_PCT), min(ends[1], FULL_PCT), FULL_PCT
                notes.setdefault(TOO_FEW, []).append(output.metric)
        condition = condition_text(output.condition)
        outputs.append(Output(output.metric, condition, *ends, output.unit))
        figures.append({"metric": output.metric, "condition": condition, **output.evidence})
        for note in output.notes:
            notes.setdefault(note, []).append(output.metric)
    for one in chosen:
        if not one.quantities & quantities:
            notes[f"{PREFIX}{one.name}: says nothing of the figures that are known here, so nothing changes"] = []
    return Answer(
        system=studied.name,
        at=dict(at),
        model_version=studied.bundle["model_version"],
        outputs=tuple(outputs),
        bottleneck=Bottleneck("none known", None, None, None, 0.0),
        extrapolated=any(figure.get("extrapolated") for figure in figures),
        notes=tuple(
            f"{', '.join(dict.fromkeys(metrics))}: {note}" if note in OF_METRICS else note
            for note, metrics in notes.items()
        ),
        evidence={"figures": figures, "data": studied.bundle.get("data", {})},
        solver={"method": "Gaussian process over the published studies", "relative_error": 0.0},
    )
