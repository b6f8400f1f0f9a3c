"""How often each operation of a network runs per transaction: the flow equations of the lowered routes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.network.errors import NetworkError
from model.network.lowering import Op

if TYPE_CHECKING:
    from model.network.description import Network


@dataclass(frozen=True, slots=True)
class Flows:
    """``ops`` of all classes one after the other, ``starts`` where each class's begin, ``runs`` (classes, operations)
    executions per transaction of the class, ``edges`` where each operation leads, as (position, share)."""

    ops: tuple[Op, ...]
    starts: tuple[int, ...]
    runs: np.ndarray
    edges: list[list[tuple[int, float]]]

    def base(self, at: int) -> int:
        """Where the class to which operation ``at`` belongs begins."""
        return max(start for start in self.starts if start <= at)

    def visited(self, row: int) -> list[int]:
        """Positions of the operations that a transaction of class ``row`` may run."""
        return [int(at) for at in np.flatnonzero(self.runs[row] > 0)]


def flows(network: Network) -> Flows:
    """Flows of a network, worked out once for each network.

    A ``heuristic`` coupling-facility request counts as synchronous. Raises :class:`NetworkError` when a route never
    ends.
    """
    result = network.derived.get("flows")
    if not isinstance(result, Flows):
        result = network.derived["flows"] = _flows(network)
    return result


def _flows(network: Network) -> Flows:
    starts: dict[str, int] = {}
    ops: list[Op] = []
    for name in network.class_names:
        starts[name] = len(ops)
        ops.extend(network.operations(name))
    edges: list[list[tuple[int, float]]] = []
    for name in network.class_names:
        base = starts[name]
        for op in network.operations(name):
            edges.append(_successors(op, len(edges), base, starts))
    forward = all(target > at for at, out in enumerate(edges) for target, _ in out)
    runs = np.zeros((len(starts), len(ops)))
    if forward:
        for row, start in enumerate(starts.values()):
            line = [0.0] * len(ops)
            line[start] = 1.0
            for at in range(start, len(ops)):
                if line[at]:
                    for target, weight in edges[at]:
                        line[target] += line[at] * weight
            runs[row] = line
    else:
        runs = _solved(edges, list(starts.values()), tuple(starts))
    return Flows(tuple(ops), tuple(starts.values()), runs, edges)


def _solved(edges: list[list[tuple[int, float]]], starts: list[int], names: tuple[str, ...]) -> np.ndarray:
    """(classes, operations) runs of routes that go back: a set of linear equations."""
    matrix = np.eye(len(edges))
    for at, out in enumerate(edges):
        for target, weight in out:
            matrix[target, at] -= weight
    entries = np.zeros((len(edges), len(starts)))
    entries[starts, range(len(starts))] = 1.0
    try:
        runs = np.linalg.solve(matrix, entries).T
    except np.linalg.LinAlgError:
        return _each(matrix, entries, names)
    return _checked(runs, names)


def _each(matrix: np.ndarray, entries: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Only part of the routes go round for ever: name it."""
    rows = np.full((len(names), len(matrix)), np.nan)
    for row in range(len(names)):
        reached = _reached(matrix, int(np.argmax(entries[:, row])))
        block = matrix[np.ix_(reached, reached)]
        try:
            rows[row] = 0.0
            rows[row, reached] = np.linalg.solve(block, entries[reached, row])
        except np.linalg.LinAlgError:
            rows[row] = np.nan
    return _checked(rows, names)


def _reached(matrix: np.ndarray, start: int) -> list[int]:
    seen, pending = {start}, [start]
    while pending:
        at = pending.pop()
        for target in np.flatnonzero(matrix[:, at]):
            if int(target) not in seen:
                seen.add(int(target))
                pending.append(int(target))
    return sorted(seen)


def _checked(runs: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    for row, name in enumerate(names):
        line = runs[row]
        if not np.all(np.isfinite(line)) or line.min() < -1e-9 or line.max() > 1e12:
            raise NetworkError(f"class {name!r}: the route never ends")
    return np.where(np.abs(runs) < 1e-12, 0.0, runs)


def _successors(op: Op, at: int, base: int, starts: dict[str, int]) -> list[tuple[int, float]]:
    """Where the flow of an operation goes, as (position, weight)."""
    if op.kind in ("end", "join"):
        return []
    if op.kind == "switch":
        return [(starts[op.name], 1.0)]
    if op.kind == "cf_decide" or not op.targets:
        return [(at + 1, 1.0)]
    out = [(base + target, weight) for target, weight in op.targets]
    if op.kind == "fork":
        return [*out, (at + 1, 1.0)]
    rest = 1.0 - math.fsum(weight for _, weight in op.targets)
    return [*out, (at + 1, rest)] if rest > 1e-12 else out
