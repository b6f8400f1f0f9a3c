"""One replication: warm up, then collect batches of accumulators, with memory independent of its length."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import randoms
from model.network.simulator import station_table as ST
from model.network.simulator.arrivals import next_arrival
from model.network.simulator.calendar import insert
from model.network.simulator.engine import run
from model.network.simulator.program import Program
from model.network.simulator.statistics import mser5
from model.network.simulator.tables import Tables

FIRST_ROOM = 256


def accumulators(program: Program) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One flat vector of accumulators and the engine's shaped views of it."""
    c, s, r = program.shape
    shapes = {"acc_v": (c, s, L.V_WIDTH), "acc_t": (c, L.T_WIDTH), "acc_q": (c, r, L.Q_WIDTH), "acc_x": (s, L.X_WIDTH)}
    flat = np.zeros(sum(math.prod(shape) for shape in shapes.values()))
    return flat, views(program, flat)


def views(program: Program, flat: np.ndarray) -> dict[str, np.ndarray]:
    """The accumulators by name from flat vectors; leading axes (batches, replications) are kept."""
    c, s, r = program.shape
    shapes = {"acc_v": (c, s, L.V_WIDTH), "acc_t": (c, L.T_WIDTH), "acc_q": (c, r, L.Q_WIDTH), "acc_x": (s, L.X_WIDTH)}
    out, at = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        out[name] = flat[..., at : at + size].reshape(*flat.shape[:-1], *shape)
        at += size
    return out


def start_tables(
    program: Program, sequence: np.random.SeedSequence, keep_departures: bool = False, details: bool = False
) -> Tables:
    """Tables of one replication at time zero, with its own random stream.

    ``details`` are response histograms by station and the parts of every response by band of its length.
    """
    shared = ("op_i", "op_f", "branch_to", "branch_p", "dist_i", "dist_f", "dist_table", "rates", "costs", "speeds",
              "lane_of", "gr_i", "gr_f", "gr_stations", "res_i", "cls_i", "trace_time", "trace_class", "trace_work",
)  # fmt: skip
    arrays = {k: (v if k in shared else v.copy()) for k, v in program.arrays.items()}
    n_classes, n_stations, n_resources = program.shape
    # Using and waiting by station, waiting by resource.
    n_parts = 2 * n_stations + n_resources if details else 0
    bits = np.zeros(1, np.int64)
    n_traced = len(program.trace.arrival_s) if program.trace is not None and keep_departures else 0
    arrays |= accumulators(program)[1]
    arrays |= {
        "rng": randoms.stream(sequence),
        "control": np.zeros(L.CONTROL, np.int64),
        "freed": np.full(L.F_WIDTH, L.NONE, np.uint32),
        "heap": np.zeros(2, np.int64),
        "clock": np.zeros(1),
        "histogram": np.zeros((n_classes, L.BUCKETS), np.int64),
        "visit_histogram": np.zeros((n_stations if details else 0, L.BUCKETS), np.int64),
        "parts": np.zeros((n_classes, L.BANDS, n_parts)),
        "cust_parts": np.zeros((0, n_parts)),
        "bits_view": bits,
        "float_view": bits.view(np.float64),
        "trace_left": np.full(n_traced, np.nan),
        "cust_i": np.zeros((0, L.C_WIDTH), np.uint32),
        "cust_f": np.zeros((0, L.CF_WIDTH)),
        "times": np.zeros(0),
        "owners": np.zeros(0, np.uint32),
        "place": np.full(len(arrays["src_i"]) + len(arrays["lane_i"]), -1, np.int32),
        "free": np.zeros(0, np.uint32),
        "ready": np.zeros(0, np.uint32),
        "lane_keys": np.zeros((len(arrays["lane_i"]), 0)),
        "lane_members": np.zeros((len(arrays["lane_i"]), 0), np.uint32),
    }
    users = sum(c.users for c in program.network.classes)
    tables = grow(Tables(**arrays), max(FIRST_ROOM, users + FIRST_ROOM))
    return _first_events(program, tables)


def grow(tables: Tables, room: int) -> Tables:
    """The same state with space for ``room`` transactions inside at once."""
    old = len(tables.cust_i)
    first = len(tables.src_i) + len(tables.lane_i)
    n_lanes = len(tables.lane_i)
    n_free = int(tables.control[L.N_FREE])
    events = room + first
    sizes: dict[str, tuple[tuple[int, ...], float]] = {
        "cust_i": ((room,), 0),
        "cust_f": ((room,), 0),
        "cust_instance": ((room,), 0),
        "cust_parts": ((room,), 0),
        "times": ((4 * events + 8,), np.inf),
        "owners": ((4 * events + 8,), 0),
        "place": ((events,), -1),
        "free": ((room,), 0),
        "ready": ((room,), 0),
        "lane_keys": ((n_lanes, 2 * room + 2), np.inf),
        "lane_members": ((n_lanes, 2 * room + 2), 0),
    }
    new: dict[str, np.ndarray] = {}
    for name, (size, fill) in sizes.items():
        array: np.ndarray = getattr(tables, name)
        bigger = np.full((*size, *array.shape[len(size) :]), fill, array.dtype)
        bigger[tuple(slice(n) for n in array.shape)] = array
        new[name] = bigger
    new["free"][n_free : n_free + room - old] = np.arange(room - 1, old - 1, -1)
    tables.control[L.N_FREE] = n_free + room - old
    tables.control[L.GROW] = 0
    return tables._replace(**new)


def _first_events(program: Program, t: Tables) -> Tables:
    """Schedule the first arrival of each source and the users' first think times."""
    dists = (t.dist_i, t.dist_f, t.dist_table, t.rng)
    calendar = (t.times, t.owners, t.place, t.heap)
    for source in range(len(t.src_i)):
        if t.src_i[source, L.A_TRACE] == 1:
            if len(t.trace_time):
                insert(source, float(t.trace_time[0]), *calendar)
            continue
        if t.src_i[source, L.A_ON] != L.NONE:
            t.src_f[source, 0] = randoms.draw(t.src_i[source, L.A_ON], *dists)
        insert(source, next_arrival(source, 0.0, t.src_i, t.src_f, *dists), *calendar)
    first = len(t.src_i) + len(t.lane_i)
    for k, cls in enumerate(program.network.classes):
        for _ in range(cls.users):
            t.control[L.N_FREE] -= 1
            customer = int(t.free[t.control[L.N_FREE]])
            row = t.cust_i[customer]
            row[[L.C_CLASS, L.C_ORIGIN, L.C_PC, L.C_PHASE]] = k, k, t.cls_i[k, L.K_START], L.THINKS
            row[[L.C_HELD, L.C_PARENT, L.C_ROW]] = L.NONE
            think = randoms.draw(t.cls_i[k, L.K_THINK], *dists) if cls.think is not None else 0.0
            insert(first + customer, think, *calendar)
    return t


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
        self.tables = start_tables(self.program, self.sequence, self.keep_departures, self.details)._replace(**shaped)

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
        columns = self.tables.st_i[:, [ST.S_WAITING, ST.S_BUSY]].astype(int).max(axis=1)
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
