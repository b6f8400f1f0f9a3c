"""One replication: warm up, then collect batches of accumulators, with memory independent of its length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.engine import run
from model.network.simulator.program import Program
from model.network.simulator.state import accumulators, grow, start
from model.network.simulator.statistics import mser5
from model.network.simulator.tables import Tables

PILOT = 200
WARM_UP_BATCHES = 100
WARM_UP_DOUBLINGS = 7
BATCHES = 64


class SimulationError(RuntimeError):
    """A simulation that cannot go on; the message says what grew or stopped, and what to change."""


@dataclass(slots=True)
class Replication:
    """State of one replication; ``batches`` has one row of accumulators for each time slice of ``batch_s``."""

    program: Program
    sequence: np.random.SeedSequence
    most_inside: int
    keep_departures: bool = False
    details: bool = False
    tables: Tables = field(init=False)
    flat: np.ndarray = field(init=False)
    batches: list[np.ndarray] = field(default_factory=list)
    batch_s: float = 0.0
    warm_up_s: float = 0.0
    settled: bool = False
    transactions: int = 0

    def __post_init__(self) -> None:
        self.flat, shaped = accumulators(self.program)
        self.tables = start(self.program, self.sequence, self.keep_departures, self.details)._replace(**shaped)

    @property
    def now(self) -> float:
        """Simulated time, seconds."""
        return float(self.tables.clock[0])

    def advance(self, until: float, target: int = 1 << 62) -> None:
        """Run to a time, or until ``target`` transactions more have ended."""
        self.tables.control[L.TARGET] = target
        self.tables.control[L.DONE] = 0
        while True:
            why = run(self.tables, until)
            if why != L.NEEDS_ROOM:
                break
            if not self._goes_on():
                raise self._deadlock()
            inside = len(self.tables.cust_i)
            if inside >= self.most_inside:
                waiting, name = self.longest()
                most = f"{waiting} of them at {name!r}, which cannot keep up with the load" if waiting else "no queue"
                raise SimulationError(f"more than {inside} transactions are inside at {self.now:.6g} s: {most}")
            self.tables = grow(self.tables, min(2 * inside, self.most_inside))
        self.transactions += int(self.tables.control[L.DONE])
        if why == L.RAN_DRY and self.tables.control[L.N_FREE] < len(self.tables.cust_i):
            raise self._deadlock()

    def _goes_on(self) -> bool:
        """Whether anything is to happen but that more transactions come."""
        return bool((self.tables.place[len(self.tables.src_i) :] >= 0).any())

    def _deadlock(self) -> SimulationError:
        return SimulationError(
            f"deadlock at {self.now:.6g} s: every transaction waits for another, most of them at "
            f"{self.longest()[1]!r}. Let "
            "all acquire resources and places of blocking stations in one order, and all units at once"
        )

    def advance_through_trace(self) -> None:
        """Run until every transaction of the trace has left; what comes beside it goes on meanwhile."""
        arrivals = self.program.arrays["trace_time"]
        traced = np.unique(self.program.arrays["trace_class"])
        if len(self.program.arrays["src_i"]) == 1 and not any(c.users for c in self.program.network.classes):
            self.advance(np.inf, len(arrivals))
            return
        self.advance(float(arrivals[-1]))
        step = max(float(arrivals[-1] - arrivals[0]) / 100, 1e-3)
        while self.tables.acc_t[traced][:, [L.T_DONE, L.T_LOST]].sum() < len(arrivals):
            self.advance(self.now + step)

    def longest(self) -> tuple[int, str]:
        """How many transactions wait where most do, and the name of the station or resource."""
        columns = self.tables.st_i[:, [L.S_WAITING, L.S_BUSY]].astype(int).max(axis=1)
        waiting = {n: int(w) for n, w in zip(self.program.network.station_names, columns, strict=True)}
        for i, name in enumerate(self.program.resources):
            row = self.tables.res_i[i].astype(int)
            instances = self.tables.inst_i[row[L.R_FIRST] : row[L.R_FIRST] + row[L.R_INSTANCES], L.I_WAITING]
            waiting[name] = int(instances.sum())
        name = max(waiting, key=lambda key: waiting[key])
        return waiting[name], name

    def take(self) -> np.ndarray:
        """The accumulators of the slice that ends now, which are then started afresh."""
        now = self.now
        units = self.tables.acc_q[..., L.Q_HELD].copy()
        self.tables.acc_q[..., L.Q_AREA] += units * now
        row = self.flat.copy()
        self.flat[:] = 0.0
        self.tables.acc_q[..., L.Q_HELD] = units
        self.tables.acc_q[..., L.Q_AREA] = -units * now
        return row

    def warm_up(self, transactions: int, doublings: int = WARM_UP_DOUBLINGS) -> None:
        """Run until the number inside has settled by MSER-5, doubling the run while it has not."""
        pilot = min(PILOT, max(20, transactions // 10))
        self.advance(np.inf, pilot)
        slice_s = max(self.now * transactions / pilot / WARM_UP_BATCHES, 1e-300)
        self.take()
        series: list[float] = []
        for doubling in range(doublings):
            for _ in range(WARM_UP_BATCHES * (1 if doubling == 0 else 2 ** (doubling - 1))):
                self.advance(self.now + slice_s)
                self.take()
                series.append(float(self.tables.cust_i.shape[0] - self.tables.control[L.N_FREE] - self.thinking()))
            if mser5(np.array(series)) < len(series):
                self.settled = True
                break
        self.warm_up_s = self.now
        self.forget()

    def forget(self) -> None:
        """Start counting responses anew."""
        for counts in (self.tables.histogram, self.tables.visit_histogram, self.tables.parts):
            counts[:] = 0
        self.transactions = 0

    def thinking(self) -> int:
        """Users of closed classes who think now."""
        closed = sum(c.users for c in self.program.network.classes)
        if not closed:
            return 0
        busy = self.tables.place[len(self.tables.src_i) + len(self.tables.lane_i) :] >= 0
        return int(np.count_nonzero(busy & (self.tables.cust_i[:, L.C_PHASE] == L.THINKS)))

    def measure(self, transactions: int, after_slice: Callable[[], None] = lambda: None) -> None:
        """Collect about ``transactions`` more, in at most twice ``BATCHES`` slices of equal length."""
        if not self.batches:
            before = self.now
            self.advance(np.inf, max(1, min(PILOT, transactions // 10)))
            rate = self.transactions / max(self.now - before, 1e-300)
            self.take()
            self.forget()
            self.batch_s = transactions / rate / BATCHES
            slices = BATCHES
        else:
            slices = max(1, round(transactions / max(1, self.transactions) * len(self.batches)))
        end = self.now + (slices - 0.5) * self.batch_s
        while self.now < end:
            self.advance(self.now + self.batch_s)
            self.batches.append(self.take())
            after_slice()
            if len(self.batches) == 2 * BATCHES:
                self.batches = [a + b for a, b in zip(self.batches[::2], self.batches[1::2], strict=True)]
                self.batch_s *= 2
