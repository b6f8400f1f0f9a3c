"""How often transactions come back to a station from others, and what they do in between."""

from __future__ import annotations

import numpy as np

from model.network.flows import Flows
from model.network.solvers.arrays import Returns

LEAST = 1e-9
"""Share of visits below which they are taken never to be returns."""


def returns_of(flow_of: Flows, row: int, column: dict[str, int], at: list[int], stays: list[list[int]]) -> Returns:
    """Returns of class ``row`` to the stations ``at``: ``share`` (stations,) and ``between`` (stations, stations).

    Of the chain of visits, as the route leads from one to the next, what lies before a visit and what lies after it do
    not depend on each other. Visits of one of the ``stays`` on an engine are one there.
    """
    visits = [i for i in flow_of.visited(row) if flow_of.ops[i].kind == "visit"]
    index = {i: n for n, i in enumerate(visits)}
    moves = np.zeros((len(visits) + 1, len(visits)))
    for n, i in enumerate((*visits, None)):
        for to, share in flow_of.next_visits(i, row).items():
            moves[n, index[to]] = share
    moves, starts = moves[:-1], moves[-1]
    flow = np.array([flow_of.runs[row, i] * min(flow_of.ops[i].count, 1.0) for i in visits])
    where = np.array([column[flow_of.ops[i].name] for i in visits])
    on_engine = where.copy()
    for stay in stays:
        for i in stay:
            on_engine[index[i]] = where[index[stay[0]]]
    times = np.array([max(flow_of.ops[i].count, 1.0) for i in visits]) * flow
    out = Returns(np.zeros(len(column)), np.zeros((len(column), len(column))))
    for k in at:
        here, away = on_engine == k, on_engine != k
        if not here.any() or not away.any():
            continue
        inner = np.eye(int(away.sum())) - moves[np.ix_(away, away)]
        ahead = np.linalg.solve(inner, moves[np.ix_(away, here)].sum(axis=1))
        before = np.linalg.solve(inner.T, starts[away])
        entries = starts[here].sum() + flow[away] @ moves[np.ix_(away, here)].sum(axis=1)
        reached = starts[here].sum() + before @ moves[np.ix_(away, here)].sum(axis=1)
        out.share[k] = 1 - reached / entries if entries > 0 else 0.0
        if out.share[k] < LEAST:
            out.share[k] = 0.0
            continue
        part = (1 - before / flow[away]).clip(0, 1) * ahead.clip(0, 1)
        for j in np.unique(where[away]):
            at_j = where[away] == j
            out.between[k, j] = float(times[away][at_j] @ part[at_j] / times[where == j].sum())
    return out
