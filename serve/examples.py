"""Examples of questions, about systems that the model in service knows: each can be asked as it stands."""

from __future__ import annotations

from typing import Any

from serve.workers import Workers

# The schemas of questions that only a system with a recorded history can answer.
OF_HISTORIES = ("HeadroomQuestion", "ForecastMsuQuestion")


def with_examples(document: dict[str, Any], workers: Workers | None) -> dict[str, Any]:
    """The OpenAPI document with examples about systems of these workers; unchanged if nothing is in service yet.

    A question that no system in service could answer has no example.
    """
    if workers is None:
        return document
    systems = workers.systems
    schemas = dict(document["components"]["schemas"])
    for name, schema in schemas.items():
        answerable = [system for system, recorded in sorted(systems.items()) if recorded or name not in OF_HISTORIES]
        if "examples" in schema:
            schemas[name] = {**schema, "examples": _about(schema["examples"], answerable) if answerable else []}
    return {**document, "components": {**document["components"], "schemas": schemas}}


def _about(example: Any, systems: list[str]) -> Any:
    """An example with a system that is not known replaced by the first of those that are."""
    if isinstance(example, list):
        return [_about(one, systems) for one in example]
    if not isinstance(example, dict):
        return example
    copied = {key: _about(value, systems) for key, value in example.items()}
    return {**copied, "system": systems[0]} if copied.get("system") not in (None, *systems) else copied
