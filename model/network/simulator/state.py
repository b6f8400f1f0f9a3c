"""The state of one replication: its tables at time zero, and more room when more transactions are inside at once."""

from __future__ import annotations

import math

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import randoms
from model.network.simulator.arrivals import next_arrival
from model.network.simulator.calendar import insert
from model.network.simulator.program import Program
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


def start(
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
