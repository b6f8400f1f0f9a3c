"""What a question holds a system to: a highest busy, and highest mean responses by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.evaluation import System
from model.capacity.question_keys import streams_named
from model.capacity.state import State
from model.capacity.values import QuestionError, must_be_positive

Array = NDArray[np.float64]
Key = tuple[str, str]
MaxResponse = float | Mapping[str, float] | None
RESPONSE = "max_response_ms"
# A response target that is shorter still counts as this one, of which every response is a number of times.
LEAST_MS = 1e-300


@dataclass(frozen=True)
class Targets:
    """Targets: ``busy_pct`` of every resource, ``response_ms`` of responses by metric and class, empty for none."""

    busy_pct: float
    response_ms: Mapping[Key, float]

    def used(self, state: State) -> Array:
        """The largest part of its target that any response is, (draws, loads); 0 where none has one."""
        parts = [state.response_ms[key] / target for key, target in self.response_ms.items()]
        return np.asarray(np.max(parts, axis=0)) if parts else np.zeros((len(state.busy), 1))

    def longest(self, state: State) -> Array:
        """The longest mean response of the classes held to a target, or where none is of any, (draws, loads)."""
        return np.asarray(np.max([state.response_ms[key] for key in self.response_ms or state.response_ms], axis=0))

    def nearest(self, state: State) -> Key:
        """The response that is nearest to its target, or furthest beyond, at the first load."""
        return max(self.response_ms, key=lambda key: float(state.response_ms[key][0, 0]) / self.response_ms[key])


def parse_targets(system: str, ready: System, max_busy_pct: float, max_response_ms: MaxResponse) -> Targets:
    """The targets of a question: a response target is a number of milliseconds for every class, or one by class.

    Raises:
        QuestionError: a target out of its domain, or of responses that were not measured; a class that is not known,
            that stands for several, or that has two targets.
    """
    busy_pct = must_be_positive("max_busy_pct", max_busy_pct, 100.0)
    if max_response_ms is None:
        return Targets(busy_pct, {})
    if not ready.responses:
        text = f"{RESPONSE}: no response of {system} was measured; use max_busy_pct"
        raise QuestionError(RESPONSE, max_response_ms, text)
    keys = [one.key for one in ready.responses]
    if not isinstance(max_response_ms, Mapping):
        return Targets(busy_pct, dict.fromkeys(keys, _target_ms(RESPONSE, max_response_ms)))
    if not max_response_ms:
        raise QuestionError(RESPONSE, {}, f"{RESPONSE} must name at least one class", {stream for _, stream in keys})
    found: dict[Key, float] = {}
    for name, value in max_response_ms.items():
        field = f"{RESPONSE}.{name}"
        streams = {ready.streams[member] for member in streams_named(ready.parameters, field, name)}
        those = [key for key in keys if key[1] in streams]
        if not those:
            text = f"{field}: no response of {name} was measured"
            raise QuestionError(field, name, text, {stream for _, stream in keys})
        if twice := next((stream for metric, stream in those if (metric, stream) in found), None):
            raise QuestionError(field, value, f"{field}: {twice} has a target already")
        found |= dict.fromkeys(those, _target_ms(field, value))
    return Targets(busy_pct, found)


def _target_ms(field: str, value: Any) -> float:
    return max(must_be_positive(field, value), LEAST_MS)
