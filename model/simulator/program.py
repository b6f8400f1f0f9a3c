"""A network compiled to the engine's tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from model.network import Distribution, Network, NetworkError, Station, demands
from model.network.lowering import Op
from model.simulator import layout as L
from model.simulator import randoms
from model.simulator.calendar import insert
from model.simulator.engine import Tables, next_arrival

FIRST_ROOM = 256
_OPS = {
    "visit": L.VISIT,
    "acquire": L.ACQUIRE,
    "release": L.RELEASE,
    "go": L.GO,
    "fork": L.FORK,
    "join": L.JOIN,
    "switch": L.SWITCH,
    "free": L.FREE,
    "cf_decide": L.CF_DECIDE,
    "end": L.END,
}


@dataclass(frozen=True, slots=True)
class Trace:
    """Recorded transactions: arrivals in seconds (ascending), class indices, and work in seconds.

    ``work`` has one column for each ``column`` name: a visit's label, or a station, whose recorded total is divided
    over the class's visits there in proportion to their described service.
    """

    arrival_s: np.ndarray
    class_index: np.ndarray
    work_s: np.ndarray
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Tables that do not depend on the replication, with what their columns stand for."""

    network: Network
    arrays: dict[str, np.ndarray]
    resources: tuple[str, ...]
    trace: Trace | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of classes, stations and resources (places of blocking stations included)."""
        return len(self.network.classes), len(self.network.stations), len(self.resources)


_UNSIGNED = (
    "op_i", "branch_to", "st_i", "server", "queue_head", "queue_tail", "lane_of", "lane_i", "gr_i", "gr_stations",
    "res_i", "inst_i", "cls_i", "src_i", "cust_instance", "dist_i",
)  # fmt: skip


class _Distributions:
    """The distribution tables, each distinct distribution once."""

    def __init__(self) -> None:
        self.index: dict[Distribution, int] = {}
        self.ints: list[list[int]] = []
        self.floats: list[list[float]] = []
        self.table: list[float] = []

    def add(self, d: Distribution | None) -> int:
        if d is None:
            return -1
        if d not in self.index:
            self.index[d] = len(self.ints)
            ints, floats = self.row(d)
            self.ints.append(ints)
            self.floats.append([*floats, d.offset])
        return self.index[d]

    def row(self, d: Distribution) -> tuple[list[int], list[float]]:
        first = d.values[0]
        if d.kind == "exponential":
            return [randoms.EXPONENTIAL, 0, 0], [first, 0.0]
        if d.kind == "deterministic":
            return [randoms.DETERMINISTIC, 0, 0], [first, 0.0]
        if d.kind == "erlang":
            return [randoms.ERLANG, 0, int(d.shape)], [first / d.shape, 0.0]
        if d.kind == "lognormal":
            if first == 0:
                return [randoms.DETERMINISTIC, 0, 0], [0.0, 0.0]
            variance = math.log1p(d.shape)
            return [randoms.LOGNORMAL, 0, 0], [math.log(first) - variance / 2, math.sqrt(variance)]
        start = len(self.table)
        if d.kind == "quantiles":
            self.table.extend(d.values)
            return [randoms.QUANTILES, start, len(d.values) - 1], [0.0, 0.0]
        accept, alias = alias_table(np.asarray(d.weights))
        values = np.asarray(d.values)
        self.table.extend([*accept, *values, *values[alias]])
        kind = randoms.HYPER if d.kind == "hyperexponential" else randoms.ALIAS
        return [kind, start, len(values)], [0.0, 0.0]


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias table (Vose's construction): acceptance probability and alternative of each cell."""
    n = len(weights)
    scaled = weights * (n / weights.sum())
    accept, alias = np.ones(n), np.arange(n)
    small = [i for i in range(n) if scaled[i] < 1]
    large = [i for i in range(n) if scaled[i] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        accept[low], alias[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return accept, alias


def compile_network(network: Network, trace: Trace | None = None) -> Program:
    """Compile a network, and a trace if given, to the engine's tables."""
    dists = _Distributions()
    levels = sorted({c.priority for c in network.classes}, reverse=True)
    blocking = [s for s in network.stations if s.capacity is not None and s.when_full == "block"]
    resources = (*network.resource_names, *(f"{s.name} places" for s in blocking))
    arrays = _Programs(network, dists, resources, trace, bool(blocking)).arrays()
    _stations(arrays, network, len(levels), resources)
    _lanes(arrays, network, levels)
    _resources(arrays, network, blocking, len(levels))
    _classes(arrays, network, levels, dists, trace)
    arrays["dist_i"] = np.array(dists.ints, np.int64).reshape(-1, 3)
    arrays["dist_f"] = np.array(dists.floats).reshape(-1, 3)
    arrays["dist_table"] = np.array(dists.table or [0.0])
    for name in _UNSIGNED:
        arrays[name] = arrays[name].astype(np.uint32)
    return Program(network, arrays, resources, trace)


class _Programs:
    """The lowered routes of every class as one list of coded operations."""

    def __init__(
        self, network: Network, dists: _Distributions, resources: tuple[str, ...], trace: Trace | None, block: bool
    ) -> None:
        self.network = network
        self.dists = dists
        self.trace = trace
        self.block = block
        self.station = {name: i for i, name in enumerate(network.station_names)}
        self.resource = {name: i for i, name in enumerate(resources)}
        self.cls = {name: i for i, name in enumerate(network.class_names)}
        self.ints: list[list[int]] = []
        self.floats: list[list[float]] = []
        self.branch_to: list[int] = []
        self.branch_p: list[float] = []
        self.starts: list[int] = []
        self.demand = demands(network).demand_s if trace is not None else None

    def arrays(self) -> dict[str, np.ndarray]:
        for name in self.network.class_names:
            self.one(name)
        return {
            "op_i": np.array(self.ints, np.int64),
            "op_f": np.array(self.floats),
            "branch_to": np.array(self.branch_to or [0], np.int64),
            "branch_p": np.array(self.branch_p or [0.0]),
            "starts": np.array(self.starts, np.int64),
        }

    def one(self, name: str) -> None:
        lowered = self.network.operations(name)
        base = len(self.ints)
        self.starts.append(base)
        route = dict(enumerate(next(c for c in self.network.classes if c.name == name).route))
        before = [i for i, op in enumerate(lowered) if self.block and op.kind in ("acquire", "fork", "switch")]
        at = [base + i + sum(b < i for b in before) for i in range(len(lowered))]
        for index, op in enumerate(lowered):
            if index in before:
                self.emit(Op(kind="free"), at)
            label = getattr(route.get(op.step), "label", "")
            self.emit(op, at, self.cls[name], label)
        tails: dict[tuple[frozenset[tuple[str, int]], bool], int] = {}
        branches = _in_branches(lowered)
        for index, op in enumerate(lowered):
            if op.kind not in ("visit", "acquire"):
                continue
            key = (op.held, index in branches)
            if key not in tails:
                tails[key] = len(self.ints)
                for held, units in sorted(op.held):
                    self.emit(Op(kind="release", name=held, units=units), at)
                self.row(L.LOST)[L.P_LOST] = len(self.ints)
                self.row(L.JOIN)
            self.ints[at[index]][L.P_LOST] = tails[key]

    def row(self, op: int) -> list[int]:
        self.ints.append([0] * L.P_WIDTH)
        self.floats.append([0.0] * 4)
        row = self.ints[-1]
        row[L.P_OP], row[L.P_EXTRA], row[L.P_TRACE] = op, -1, -1
        return row

    def emit(self, op: Op, at: list[int], cls: int = -1, label: str = "") -> None:
        row = self.row(_OPS[op.kind])
        floats = self.floats[-1]
        row[L.P_UNITS] = op.units
        if op.kind in ("visit", "cf_decide"):
            row[L.P_PLACE] = self.station[op.name]
        elif op.kind in ("acquire", "release"):
            row[L.P_PLACE] = self.resource[op.name]
        elif op.kind == "switch":
            row[L.P_PLACE] = self.cls[op.name]
        if op.kind == "visit":
            row[L.P_DIST] = self.dists.add(op.service)
            row[L.P_EXTRA] = self.dists.add(op.extra)
            flags = L.KEEP * op.keep + L.RETAIN * op.retain + L.OBSERVE * op.observe
            if op.count != 1.0:
                flags |= L.REPEAT
                floats[L.PF_WHOLE], floats[L.PF_FRACTION] = math.floor(op.count), op.count - math.floor(op.count)
            if self.block and not op.retain and not op.keep:
                flags |= L.KEEP_UNTIL_ENTRY
            row[L.P_FLAGS] = flags
            self.traced(row, floats, op, cls, label)
        floats[L.PF_THRESHOLD] = op.threshold_s
        row[L.P_TARGETS], row[L.P_N_TARGETS] = len(self.branch_to), len(op.targets)
        total = math.fsum(p for _, p in op.targets)
        sum_so_far = 0.0
        for target, p in op.targets:
            sum_so_far += p
            self.branch_to.append(at[target])
            self.branch_p.append(1.0 if op.kind == "go" and sum_so_far >= total > 1 - 1e-12 else sum_so_far)

    def traced(self, row: list[int], floats: list[float], op: Op, cls: int, label: str) -> None:
        """Point a visit at the trace column that holds its work, if there is one."""
        if self.trace is None or self.demand is None or op.service is None:
            return
        if label and label in self.trace.columns:
            row[L.P_TRACE], floats[L.PF_SCALE] = self.trace.columns.index(label), 1.0
        elif op.name in self.trace.columns:
            total = self.demand[cls, self.station[op.name]]
            mean = op.service.mean + (op.extra.mean if op.extra is not None else 0.0)
            row[L.P_TRACE] = self.trace.columns.index(op.name)
            floats[L.PF_SCALE] = mean / total if total > 0 else 0.0


def _in_branches(ops: list[Op]) -> set[int]:
    """Positions inside the branches of a fork."""
    inside: set[int] = set()
    for fork in (op for op in ops if op.kind == "fork"):
        first = min(target for target, _ in fork.targets)
        last = max(target for target, _ in fork.targets)
        while ops[last].kind != "join":
            last += 1
        inside.update(range(first, last + 1))
    return inside


def _stations(arrays: dict[str, np.ndarray], network: Network, n_levels: int, resources: tuple[str, ...]) -> None:
    ints = np.zeros((len(network.stations), L.S_WIDTH), np.int64)
    floats = np.zeros((len(network.stations), L.SF_WIDTH))
    queues = 0
    speeds: list[float] = []
    costs: list[float] = []
    rates: list[float] = []
    for i, station in enumerate(network.stations):
        kind = _kind(station)
        ints[i, L.S_KIND], ints[i, L.S_SERVERS] = kind, station.servers
        ints[i, L.S_LEVELS] = n_levels if station.scheduling in ("hol", "preemptive") else 1
        ints[i, L.S_QUEUE] = queues
        queues += ints[i, L.S_LEVELS]
        rejecting = station.capacity is not None and station.when_full == "reject"
        ints[i, L.S_CAPACITY] = station.capacity or 0 if rejecting else 0
        blocking = station.capacity is not None and station.when_full == "block"
        ints[i, L.S_PLACES] = resources.index(f"{station.name} places") if blocking else -1
        over = station.overflow
        ints[i, L.S_OVER] = network.station_names.index(over.to) if over else -1
        ints[i, L.S_OVER_WAIT] = over.waiting if over else 0
        ints[i, L.S_SERVER0] = len(speeds)
        each = sorted(station.speeds, reverse=True) if len(station.speeds) > 1 else station.speeds * station.servers
        speeds.extend(each)
        speed = station.speeds[0] if len(set(station.speeds)) == 1 else 1.0
        floats[i, L.SF_SPEED] = speed
        floats[i, L.SF_PACE] = 1.0 if kind in (L.SHARING, L.UNEQUAL) else 1.0 / speed
        ints[i, L.S_COST], ints[i, L.S_N_COST] = (
            len(costs),
            0
            if kind == L.SHARING and station.lpar is None and station.scheduling == "ps"
            else len(station.cost_by_busy),
        )
        costs.extend(station.cost_by_busy)
        ints[i, L.S_LIMIT] = 2 * station.servers if station.smt else L.MANY
        ints[i, L.S_RATES] = len(rates)
        if kind == L.SHARING:
            rates.extend(speed * r for r in sharing_rates(station))
        ints[i, L.S_N_RATES] = len(rates) - ints[i, L.S_RATES]
        ints[i, L.S_PACKING] = int(station.smt is not None and station.smt.packing == "dense")
    arrays |= {
        "st_i": ints,
        "st_f": floats,
        "speeds": np.array(speeds),
        "costs": np.array(costs or [1.0]),
        "rates": np.array(rates or [1.0]),
        "server": np.full(len(speeds), -1, np.int64),
        "n_queues": np.array([queues]),
    }


def _kind(station: Station) -> int:
    if station.scheduling == "delay":
        return L.DELAY
    if station.scheduling == "preemptive":
        return L.PREEMPTIVE
    if station.scheduling in ("fcfs", "hol"):
        return L.UNEQUAL if len(set(station.speeds)) > 1 else L.QUEUE
    return L.SHARING


def sharing_rates(station: Station) -> list[float]:
    """Total rate of a sharing station with 1, 2, … customers in service, in engines; the last one holds beyond."""
    c = station.servers
    if station.smt is None:
        plain = [float(n) for n in range(1, max(c, len(station.cost_by_busy)) + 1)]
        busy = [min(n, float(c)) for n in plain]
    elif station.smt.packing == "spread":
        busy = [n if n <= c else (2 * c - n) + (n - c) * station.smt.gain for n in map(float, range(1, 2 * c + 1))]
    else:
        busy = [n // 2 * station.smt.gain + n % 2 for n in range(1, 2 * c + 1)]
    cost = station.cost_by_busy or (1.0,)
    return [rate / cost[min(n, len(cost) - 1)] for n, rate in enumerate(busy)]


def _lanes(arrays: dict[str, np.ndarray], network: Network, levels: list[int]) -> None:
    """Lanes by station, with priority and weight; groups by machine or station."""
    lane_of = np.full((len(network.stations), len(network.classes)), -1, np.int64)
    groups: dict[str, list[int]] = {}
    for i, station in enumerate(network.stations):
        if _kind(station) == L.SHARING:
            groups.setdefault(f"cec {station.lpar.cec}" if station.lpar else f"station {i}", []).append(i)
    engines = {f"cec {c.name}": float(c.engines) for c in network.cecs}
    lanes: list[list[int]] = []
    gr_i: list[list[int]] = []
    gr_f: list[list[float]] = []
    gr_stations: list[int] = []
    lane_floats: list[list[float]] = []
    for g, (name, members) in enumerate(groups.items()):
        first, first_station = len(lanes), len(gr_stations)
        for i in members:
            station = network.stations[i]
            kinds = {}
            for k, cls in enumerate(network.classes):
                rank = levels.index(cls.priority) if station.scheduling == "priority_ps" else 0
                weight = cls.weight if station.scheduling == "dps" else 1.0
                if (rank, weight) not in kinds:
                    kinds[rank, weight] = len(lanes)
                    lanes.append([i, 0, 0, g, rank, 0])
                    lane_floats.append([0.0, 0.0, 0.0, weight])
                lane_of[i, k] = kinds[rank, weight]
            _dense_ranks(lanes, i)
            arrays["st_i"][i, L.S_GROUP] = g
            gr_stations.append(i)
        single = len(lanes) - first == 1 and name.startswith("station")
        gr_i.append([first, len(lanes) - first, first_station, len(members), int(single), 0])
        total = engines.get(name, float(network.stations[members[0]].servers))
        gr_f.append([total])
        shares = [network.stations[i].lpar for i in members]
        weights = sum(s.weight for s in shares if s) or 1.0
        for i, share in zip(members, shares, strict=True):
            part = share.weight / weights if share else 1.0
            cap = math.inf if share is None or share.cap == "none" else share.cap
            arrays["st_f"][i, L.SF_WEIGHT] = part
            arrays["st_f"][i, L.SF_CAP] = part * total if cap == "share" else float(cap)
            vertical = share is not None and share.polarity == "vertical"
            arrays["st_f"][i, L.SF_LOW_COST] = share.low_cost if vertical and share else 1.0
    arrays |= {
        "lane_of": lane_of,
        "lane_i": np.array(lanes, np.int64).reshape(-1, L.L_WIDTH),
        "lane_f": np.array(lane_floats).reshape(-1, L.LF_WIDTH),
        "gr_i": np.array(gr_i, np.int64).reshape(-1, L.G_WIDTH),
        "gr_f": np.array(gr_f).reshape(-1, 1),
        "gr_stations": np.array(gr_stations or [0], np.int64),
    }


def _dense_ranks(lanes: list[list[int]], station: int) -> None:
    own = [lane for lane in lanes if lane[L.L_STATION] == station]
    order = sorted({lane[L.L_RANK] for lane in own})
    for lane in own:
        lane[L.L_RANK] = order.index(lane[L.L_RANK])


def _resources(arrays: dict[str, np.ndarray], network: Network, blocking: list[Station], n_levels: int) -> None:
    rows: list[list[int]] = []
    instances: list[list[int]] = []
    slots = 0
    queues = int(arrays.pop("n_queues")[0])
    for resource in network.resources:
        levels = n_levels if resource.scheduling == "hol" else 1
        limit = resource.queue_limit if resource.queue_limit is not None else L.MANY
        slot = slots if resource.instances > 1 else -1
        slots += resource.instances > 1
        rows.append([resource.capacity, len(instances), resource.instances, levels, limit, slot])
        for _ in range(resource.instances):
            instances.append([0, 0, queues, 0])
            queues += levels
    for station in blocking:
        rows.append([station.capacity or 0, len(instances), 1, 1, L.MANY, -1])
        instances.append([0, 0, queues, 0])
        queues += 1
    arrays |= {
        "res_i": np.array(rows, np.int64).reshape(-1, L.R_WIDTH),
        "inst_i": np.array(instances, np.int64).reshape(-1, L.I_WIDTH),
        "queue_head": np.full(queues, -1, np.int64),
        "queue_tail": np.full(queues, -1, np.int64),
        "cust_instance": np.zeros((0, max(1, slots)), np.int64),
    }


def _classes(
    arrays: dict[str, np.ndarray], network: Network, levels: list[int], dists: _Distributions, trace: Trace | None
) -> None:
    starts = arrays.pop("starts")
    arrays["cls_i"] = np.array(
        [
            [starts[i], int(c.users > 0), dists.add(c.think), levels.index(c.priority)]
            for i, c in enumerate(network.classes)
        ],
        np.int64,
    )
    sources = []
    for i, c in enumerate(network.classes):
        if c.arrivals is not None and trace is None:
            a = c.arrivals
            batch = dists.add(a.batch)
            sources.append([i, dists.add(a.interarrival), batch, dists.add(a.on), dists.add(a.off), 0, 0, 0])
    if trace is not None:
        sources.append([0, -1, -1, -1, -1, 0, 1, 0])
    arrays["src_i"] = np.array(sources, np.int64).reshape(-1, L.A_WIDTH)
    arrays["src_f"] = np.zeros((len(sources), 1))
    arrays["trace_time"] = trace.arrival_s if trace else np.zeros(0)
    arrays["trace_class"] = trace.class_index if trace else np.zeros(0, np.int16)
    arrays["trace_work"] = trace.work_s if trace else np.zeros((0, 1))
    if not sources and not any(c.users for c in network.classes):
        raise NetworkError(f"network {network.name!r}: no class has arrivals or users, so nothing would happen")


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


def start(program: Program, sequence: np.random.SeedSequence, keep_departures: bool = False) -> Tables:
    """Tables of one replication at time zero, with its own random stream."""
    shared = ("op_i", "op_f", "branch_to", "branch_p", "dist_i", "dist_f", "dist_table", "rates", "costs", "speeds",
              "lane_of", "gr_i", "gr_f", "gr_stations", "res_i", "cls_i", "trace_time", "trace_class", "trace_work",
)  # fmt: skip
    arrays = {k: (v if k in shared else v.copy()) for k, v in program.arrays.items()}
    n_classes, _, _ = program.shape
    bits = np.zeros(1, np.int64)
    n_traced = len(program.trace.arrival_s) if program.trace is not None and keep_departures else 0
    arrays |= accumulators(program)[1]
    arrays |= {
        "rng": randoms.stream(sequence),
        "control": np.zeros(L.CONTROL, np.int64),
        "heap": np.zeros(2, np.int64),
        "clock": np.zeros(1),
        "histogram": np.zeros((n_classes, L.BUCKETS), np.int64),
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
