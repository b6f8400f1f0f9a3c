"""Answers of systems that were measured at conditions other than load: sessions, buffers, releases, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

from model.capacity.adjustments import POPULATIONS
from model.capacity.answer import Answer, Bottleneck
from model.capacity.bundle import has_conditions
from model.capacity.parameters import adjustments_from_plain, cached
from model.capacity.values import CHANGES, KEYS, NUMBERS, PREFIXES, QuestionError, not_understood
from model.published.observations import ENGINES
from model.published.tables import POINT


def at_point(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> dict[str, Any]:
    """A question with the conditions that a measured point was run at in place of its name, where no network has it.

    They are the levels that all its figures have in common.

    Raises:
        QuestionError: the point was not measured, or another level is asked of one of its conditions.
    """
    rest = dict(at or {})
    if "point" not in rest:
        return rest
    parameters = bundle["systems"].get(system)
    networks = [] if parameters is None else [point.point for point in parameters.points]
    points, name = _points(bundle["conditions"], system), str(rest["point"])
    if name in networks or not points:
        return rest
    if name not in points:
        raise QuestionError("at.point", name, f"point: {name!r} was not measured", sorted({*networks, *points}))
    del rest["point"]
    for key, level in points[name].items():
        if str(rest.setdefault(key, level)) != level:
            raise QuestionError(f"at.{key}", rest[key], f"{key}: point {name!r} was measured at {level!r}")
    return rest


def _points(conditions: Mapping[str, Any], system: str) -> dict[str, dict[str, str]]:
    """The points of a system that its conditions tell apart, each with these; a population under one of its names."""
    conditions_of: dict[str, dict[str, str]] = {}
    people = ""
    for row in conditions["rows"]:
        # A point among the conditions is one already.
        if row["system"] != system or not row.get("point") or "point" in row["condition"]:
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


def of_point(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer:
    """The figures that were measured at the point of a question, with its what-if adjustments.

    Raises:
        QuestionError: the point was not measured.
    """
    rest, point = {key: value for key, value in at.items() if key != POINT}, str(at[POINT])
    conditions_of = _points(bundle["conditions"], system)
    if point in conditions_of:
        return by_condition(bundle, system, {**conditions_of[point], **rest})
    rows = [row for row in bundle["conditions"]["rows"] if row["system"] == system and row.get("point") == point]
    if not rows:
        return by_condition(bundle, system, at)
    measured = {(row["metric"], frozenset(f"{key}={level}" for key, level in row["condition"].items())) for row in rows}
    answer = by_condition(bundle, system, rest)
    there = [(one.metric, frozenset(filter(None, one.condition.split("; ")))) in measured for one in answer.outputs]
    figures = answer.evidence["figures"]
    return replace(
        answer, at=dict(at), outputs=tuple(compress(answer.outputs, there)), extrapolated=False,
        evidence={**answer.evidence, "figures": list(compress(figures, there))},
    )  # fmt: skip


def parted(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question's keys that a network answers, and its conditions.

    Engines may be asked for under the name that the configuration of the system has for them; what says no more than
    the configuration does, or all that was measured (the machine it was measured on), is left out.
    """
    from model.published.conditions import covers
    from model.published.model import published

    facts = bundle["conditions"].get("facts", {}).get(system, {})
    measured = published(bundle["conditions"]).keys(system) if has_conditions(bundle, system) else {}
    only = {key: levels[0] for key, levels in measured.items() if key in CHANGES and len(levels) == 1}
    configured = {**{key: fact for key, fact in facts.items() if key in KEYS or key not in measured}, **only}
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


def by_condition(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Answer:
    """The figures of a system at a condition, from the studies alone.

    Raises:
        QuestionError: an unknown key or level, or one that was not measured.
    """
    result = _figures(bundle, system, at)
    if not result.outputs:
        words = " and ".join(f"{key}={value}" for key, value in (at or {}).items())
        message = f"{system} has no figure"
        if words:
            message = f"no figure of {system} has {words}; ask with fewer conditions"
        raise QuestionError("at", dict(at or {}), f"at: {message}")
    return Answer(
        system=system,
        at=dict(at or {}),
        model_version=bundle["model_version"],
        outputs=result.outputs,
        bottleneck=Bottleneck("none known", None, None, None, 0.0),
        extrapolated=result.extrapolated,
        notes=result.notes,
        evidence={"figures": list(result.evidence), "data": bundle.get("data", {})},
        solver={"method": "Gaussian process over the published studies", "relative_error": 0.0},
    )


def of_network_only(conditions: Mapping[str, Any], system: str, key: str) -> bool:
    """Whether a key of a network is no condition of the system's studies, which is said before it is refused."""
    from model.published.model import published

    if not (key in KEYS or key.startswith(NUMBERS)):
        return False
    return key not in published(conditions).keys(system) and key not in conditions.get("facts", {}).get(system, {})


def _figures(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Any:
    from model.published.figures import figures

    conditions = bundle["conditions"]
    plain = conditions.get("adjustments", {})
    effects = cached(plain, "adjustments", lambda: adjustments_from_plain(plain))
    try:
        if not at:
            return cached(conditions, ("figures", system), lambda: figures(conditions, effects, system, {}))
        return figures(conditions, effects, system, at)
    except QuestionError as error:
        if system in bundle["systems"] and error.field == error.value:
            error = not_understood(error.field, error.allowed)
        error.field = error.field if error.field in ("system", "at") else f"at.{error.field}"
        raise error from None
