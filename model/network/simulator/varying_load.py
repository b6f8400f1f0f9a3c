"""A network whose arrivals grow and shrink while it runs, and what went through it in each stretch of time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from model.network import Network
from model.network.simulator import layout as L
from model.network.simulator import randoms
from model.network.simulator import station_table as ST
from model.network.simulator.calendar import move
from model.network.simulator.program import Program, compile_network
from model.network.simulator.replication import Replication, views

NEVER = 1e-12
"""The factor of arrivals that stop."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Accumulators of a stretch of ``seconds``; their columns are named in :mod:`model.network.simulator.layout`.

    Shapes: ``visit`` (classes, stations, V), ``total`` (classes, T), ``unit`` (classes, resources, Q), ``station``
    (stations, X), ``responses`` (classes, buckets). ``under_way_s`` (stations,) is by how much more work was done on
    what is still inside where engines are shared, at its end than at its beginning, in seconds alone on an engine.
    """

    seconds: float
    visit: np.ndarray
    total: np.ndarray
    unit: np.ndarray
    station: np.ndarray
    responses: np.ndarray
    under_way_s: np.ndarray


class VaryingLoad:
    """One run of a network that goes on from stretch to stretch, each with arrivals of its own.

    Whatever is inside at the end of a stretch is there when the next begins. Times between arrivals, and the thinking
    of users, keep the shape described and are divided by a factor for each class.
    """

    def __init__(self, network: Network, seed: int, most_inside: int = 1 << 20) -> None:
        program = compile_network(network)
        self.rows, arrays = _rows_of_their_own(program)
        self.program = Program(network, arrays, program.resources, None)
        self.floats, self.table = arrays["dist_f"].copy(), arrays["dist_table"].copy()
        self.factors = np.ones(len(network.classes))
        self.replication = Replication(self.program, np.random.SeedSequence(seed), most_inside)

    def run(self, factors: np.ndarray, seconds: float) -> Stretch:
        """Go on for some seconds with the arrivals described times ``factors`` (classes,).

        Raises :class:`model.network.simulator.replication.SimulationError` when too many transactions pile up.
        """
        self._set(np.maximum(factors, NEVER))
        run, before = self.replication, self._under_way_s()
        run.advance(run.now + seconds)
        self._integrate()
        sums = views(self.program, run.take())
        responses = run.tables.histogram.copy()
        run.forget()
        more = self._under_way_s() - before
        return Stretch(seconds, sums["acc_v"], sums["acc_t"], sums["acc_q"], sums["acc_x"], responses, more)

    def _integrate(self) -> None:
        """Count engine and thread time up to now."""
        t, now = self.replication.tables, self.replication.now
        seconds, allocated = now - t.st_f[:, ST.SF_AREA_AT], t.st_f[:, ST.SF_ALLOCATED]
        t.acc_x[:, L.X_BUSY_AREA] += allocated * seconds
        t.acc_x[:, L.X_ACTIVE_AREA] += t.st_f[:, ST.SF_ACTIVE] * seconds
        t.acc_x[:, L.X_LOW_AREA] += np.maximum(allocated - t.st_f[:, ST.SF_ENTITLED], 0.0) * seconds
        t.st_f[:, ST.SF_AREA_AT] = now

    def _under_way_s(self) -> np.ndarray:
        """Work done on what is inside the stations whose engines are shared, in seconds alone on an engine."""
        t, now = self.replication.tables, self.replication.now
        done = np.zeros(len(t.st_i))
        for lane, (numbers, clock) in enumerate(zip(t.lane_i, t.lane_f, strict=True)):
            station, n = int(numbers[L.L_STATION]), int(numbers[L.L_WORKING])
            virtual = clock[L.LF_VIRTUAL] + clock[L.LF_RATE] * (now - clock[L.LF_AT])
            left = t.lane_keys[lane, :n] - virtual
            whole = t.cust_f[t.lane_members[lane, :n], L.CF_WORK]
            done[station] += float(whole.sum() - t.st_f[station, ST.SF_ALONE] * left.sum())
        return done

    def _set(self, factors: np.ndarray) -> None:
        tables, now = self.replication.tables, self.replication.now
        for cls, row in self.rows:
            _scale(
                tables.dist_i[row], tables.dist_f[row], tables.dist_table, self.floats[row], self.table, factors[cls]
            )
        for source, cls in enumerate(tables.src_i[:, L.A_CLASS]):
            at = tables.place[source]
            if at >= 0:
                due = now + (tables.times[at] - now) * self.factors[cls] / factors[cls]
                move(np.uint32(source), due, tables.times, tables.owners, tables.place, tables.heap)
        self.factors = factors.copy()


def _rows_of_their_own(program: Program) -> tuple[list[tuple[int, int]], dict[str, np.ndarray]]:
    """The program's arrays with a distribution for each source and each think time alone: (class, row) of each."""
    arrays = {name: array.copy() for name, array in program.arrays.items()}
    ints, floats, table = [*arrays["dist_i"]], [*arrays["dist_f"]], [*arrays["dist_table"]]
    rows: list[tuple[int, int]] = []

    def copied(cls: int, old: int) -> int:
        kind, start, n = (int(value) for value in ints[old])
        length = {randoms.QUANTILES: n + 1, randoms.HYPER: 3 * n, randoms.ALIAS: 3 * n}.get(kind, 0)
        ints.append(np.array([kind, len(table) if length else start, n], ints[old].dtype))
        floats.append(floats[old].copy())
        table.extend(table[start : start + length])
        rows.append((cls, len(ints) - 1))
        return len(ints) - 1

    for source in arrays["src_i"]:
        source[L.A_INTERVAL] = copied(int(source[L.A_CLASS]), int(source[L.A_INTERVAL]))
    for cls, row in enumerate(arrays["cls_i"]):
        if row[L.K_CLOSED] and row[L.K_THINK] != L.NONE:
            row[L.K_THINK] = copied(cls, int(row[L.K_THINK]))
    arrays |= {"dist_i": np.array(ints), "dist_f": np.array(floats), "dist_table": np.array(table)}
    return rows, arrays


def _scale(
    ints: np.ndarray, floats: np.ndarray, table: np.ndarray, was: np.ndarray, table_was: np.ndarray, factor: float
) -> None:
    """Divide the times of one distribution by ``factor``, from what they ``was`` at first."""
    kind, start, n = (int(value) for value in ints)
    floats[2] = was[2] / factor
    if kind == randoms.LOGNORMAL:
        floats[0] = was[0] - math.log(factor)
    elif kind in (randoms.QUANTILES, randoms.HYPER, randoms.ALIAS):
        first, last = (start, start + n + 1) if kind == randoms.QUANTILES else (start + n, start + 3 * n)
        table[first:last] = table_was[first:last] / factor
    else:
        floats[0] = was[0] / factor
