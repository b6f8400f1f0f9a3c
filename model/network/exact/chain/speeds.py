"""How fast everybody goes on in a state of a chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.network.arrays import Floats
from model.network.exact.chain.tables import DELAY, PRIORITY_SHARING, SHARING, WEIGHTED, Kinds, Places
from model.network.kernel_cache import kernel


@kernel()
def speeds_of(row: NDArray[np.int16], kinds: Kinds, places: Places) -> tuple[Floats, Floats]:
    """(width,) what each customer of a state gets done, of what it would do alone, and the engines it keeps busy."""
    speeds, busy = np.zeros(len(row)), np.zeros(len(row))
    stations = len(places.servers) - 1 - len(places.units)
    engines = _engines(row, kinds, places)
    begin = 0
    while begin < len(row) and row[begin] >= 0:
        place = kinds.place[row[begin]]
        end = begin
        while end < len(row) and row[end] >= 0 and kinds.place[row[end]] == place:
            end += 1
        discipline, servers = places.discipline[place], places.servers[place]
        if place >= stations:
            speeds[begin:end] = 1.0 if place == len(places.servers) - 1 else 0.0
        elif discipline == DELAY:
            speeds[begin:end] = 1.0
        elif discipline == SHARING:
            speeds[begin:end] = min(1.0, engines[place] / (end - begin))
        elif discipline in (WEIGHTED, PRIORITY_SHARING):
            _share(row, begin, end, discipline, engines[place], kinds, places, speeds)
        else:
            speeds[begin : min(end, begin + servers)] = 1.0
        if place < stations and discipline != DELAY:
            at = min(end - begin, servers) - 1
            busy[begin:end] = speeds[begin:end] * places.used[place, at]
            speeds[begin:end] *= places.work[place, at]
        else:
            busy[begin:end] = speeds[begin:end]
        begin = end
    return speeds, busy


@kernel()
def _engines(row: NDArray[np.int16], kinds: Kinds, places: Places) -> Floats:
    """(stations,) engines that each has: its own, or of a machine as many as it asks for while that is below its part
    by weight, and that part of the rest."""
    out = places.servers[: len(places.machine)].astype(np.float64)
    if len(places.engines) == 0:
        return out
    asked = np.zeros(len(out))
    for kind in row:
        if kind >= 0 and kinds.place[kind] < len(out):
            asked[kinds.place[kind]] += 1.0
    for machine in range(len(places.engines)):
        left, total = places.engines[machine], 0.0
        here = places.machine == machine
        for k in np.flatnonzero(here):
            asked[k] = min(asked[k], out[k], places.cap[k])
            here[k] = asked[k] > 0.0
            total += places.share[k] if here[k] else 0.0
        given = True
        while given:
            given, level = False, left / total if total > 0.0 else 0.0
            for k in np.flatnonzero(here):
                if asked[k] <= level * places.share[k] * (1.0 + 1e-12):
                    out[k], here[k], given = asked[k], False, True
                    left, total = left - asked[k], total - places.share[k]
        for k in np.flatnonzero(here):
            out[k] = left * places.share[k] / total
    return out


@kernel()
def _share(
    row: NDArray[np.int16],
    begin: int,
    end: int,
    discipline: int,
    servers: float,
    kinds: Kinds,
    places: Places,
    out: Floats,
) -> None:
    """Divide servers by weight, or among the most important first; nobody has more than one."""
    given = begin
    while given < end and servers > 0.0:
        total, top = 0.0, -np.inf
        for e in range(begin, end):
            if out[e] == 0.0:
                top = max(top, places.priority[kinds.row[row[e]]])
        for e in range(begin, end):
            if out[e] == 0.0 and (discipline == WEIGHTED or places.priority[kinds.row[row[e]]] == top):
                total += places.weight[kinds.row[row[e]]] if discipline == WEIGHTED else 1.0
        left, whole = servers, False
        for e in range(begin, end):
            each = places.weight[kinds.row[row[e]]] if discipline == WEIGHTED else 1.0
            here = discipline == WEIGHTED or places.priority[kinds.row[row[e]]] == top
            if out[e] == 0.0 and here and each * servers >= total:
                out[e], left, whole = 1.0, left - 1.0, True
                given += 1
        servers = max(left, 0.0)
        if whole:
            continue
        for e in range(begin, end):
            each = places.weight[kinds.row[row[e]]] if discipline == WEIGHTED else 1.0
            if out[e] == 0.0 and (discipline == WEIGHTED or places.priority[kinds.row[row[e]]] == top):
                out[e] = each * servers / total
                given += 1
        servers = 0.0
