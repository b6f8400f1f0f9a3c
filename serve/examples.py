"""Examples of questions, about systems that the model in service knows: each can be asked as it stands."""

from __future__ import annotations

from typing import Any

from serve.workers import Workers

# The schemas of questions that only a system with a recorded history can answer.
OF_HISTORIES = ("HeadroomQuestion", "ForecastMsuQuestion")


def of_systems(described: dict[str, Any], workers: Workers | None) -> dict[str, Any]:
    """The OpenAPI description with examples about these systems; none where they could not be answered.

    As it is where nothing is in service yet.
    """
    if workers is None:
        return described
    known = workers.systems
    schemas = dict(described["components"]["schemas"])
    for name, schema in schemas.items():
        fit = [system for system, recorded in sorted(known.items()) if recorded or name not in OF_HISTORIES]
        if "examples" in schema:
            schemas[name] = {**schema, "examples": _about(schema["examples"], fit) if fit else []}
    return {**described, "components": {**described["components"], "schemas": schemas}}


def _about(example: Any, systems: list[str]) -> Any:
    """An example with a system that is not known replaced by the first of those that are."""
    if isinstance(example, list):
        return [_about(one, systems) for one in example]
    if not isinstance(example, dict):
        return example
    found = {key: _about(value, systems) for key, value in example.items()}
    return {**found, "system": systems[0]} if found.get("system") not in (None, *systems) else found
