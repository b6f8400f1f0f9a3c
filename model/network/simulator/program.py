"""A network compiled to the engine's tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from model.network import Distribution, Network, NetworkError, demands
from model.network.lowering import Op
from model.network.simulator import layout as L
from model.network.simulator.randoms import Distributions
from model.network.simulator.station_table import lane_tables, resource_tables, station_tables

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
    over the class's visits there in proportion to their described service. The classes in ``random_classes`` arrive as
    described.
    """

    arrival_s: np.ndarray
    class_index: np.ndarray
    work_s: np.ndarray
    columns: tuple[str, ...]
    random_classes: frozenset[str] = frozenset()


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


def compile_network(network: Network, trace: Trace | None = None) -> Program:
    """Compile a network, and a trace if given, to the engine's tables.

    Raises :class:`NetworkError` for a route that never ends and for users who would go round in no time.
    """
    work_s = demands(network).demand_s.sum(axis=1)
    for cls, work in zip(network.classes, work_s, strict=True):
        if cls.users and work + (cls.think.mean if cls.think else 0.0) <= 0:
            raise NetworkError(f"class {cls.name!r}: users who neither think nor are served would never let time pass")
        if (
            cls.users
            and (cls.think is None or cls.think.mean == 0)
            and (full := _turned_away_at_once(network, cls.name))
        ):
            raise NetworkError(
                f"class {cls.name!r}: users turned away at {full!r} who do not think come back at once and for ever; "
                "give them a think time"
            )
    dists = Distributions()
    levels = sorted({c.priority for c in network.classes}, reverse=True)
    blocking = [s for s in network.stations if s.capacity is not None and s.when_full == "block"]
    resources = (*network.resource_names, *(f"{s.name} places" for s in blocking))
    arrays = _Programs(network, dists, resources, trace, bool(blocking)).arrays()
    station_tables(arrays, network, len(levels), resources)
    lane_tables(arrays, network, levels)
    resource_tables(arrays, network, blocking, len(levels))
    _classes(arrays, network, levels, dists, trace)
    arrays["dist_i"] = np.array(dists.ints, np.int64).reshape(-1, 3)
    arrays["dist_f"] = np.array(dists.floats).reshape(-1, 3)
    arrays["dist_table"] = np.array(dists.table or [0.0])
    for name in _UNSIGNED:
        arrays[name] = arrays[name].astype(np.uint32)
    return Program(network, arrays, resources, trace)


def _turned_away_at_once(network: Network, name: str) -> str:
    """The full station or queue that may turn a user away before any time has passed; '' where there is none."""
    ops = network.operations(name)
    refusing = {s.name for s in network.stations if s.capacity is not None and s.when_full == "reject"}
    refusing |= {r.name for r in network.resources if r.queue_limit is not None}
    open_ = any(c.arrivals is not None for c in network.classes)
    if not open_:
        # Places for every user there is turn nobody away.
        users = sum(c.users for c in network.classes)
        refusing -= {s.name for s in network.stations if s.capacity is not None and s.capacity >= users}
    seen, pending = set(), [0]
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        op = ops[at]
        if op.kind in ("visit", "acquire") and op.name in refusing:
            return op.name
        if op.kind in ("end", "join", "switch"):
            continue
        pending += [target for target, _ in op.targets]
        served = op.kind == "visit" and op.count >= 1 and op.service is not None and op.service.mean > 0
        if not served and (op.kind != "go" or sum(p for _, p in op.targets) < 1 - 1e-12):
            pending.append(at + 1)
    return ""


class _Programs:
    """The lowered routes of every class as one list of coded operations."""

    def __init__(
        self, network: Network, dists: Distributions, resources: tuple[str, ...], trace: Trace | None, block: bool
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
        tails: dict[frozenset[tuple[str, int]], int] = {}
        for index, op in enumerate(lowered):
            if op.kind not in ("visit", "acquire"):
                continue
            if op.holdings not in tails:
                tails[op.holdings] = len(self.ints)
                for resource, units in sorted(op.holdings):
                    self.emit(Op(kind="release", name=resource, units=units), at)
                self.row(L.LOST)
            self.ints[at[index]][L.P_LOST] = tails[op.holdings]

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
            flags = L.KEEP * (op.keep or op.stays) + L.RETAIN * op.retain + L.OBSERVE * op.observe
            flags |= L.GOES_ON * op.goes_on
            if op.count != 1.0:
                flags |= L.REPEAT
                floats[L.PF_WHOLE], floats[L.PF_FRACTION] = math.floor(op.count), op.count - math.floor(op.count)
            if self.block and not op.retain and not flags & L.KEEP:
                flags |= L.KEEP_UNTIL_ENTRY
            row[L.P_FLAGS] = flags
            self.traced(row, floats, op, cls, label)
        if op.kind == "free":
            row[L.P_FLAGS] = L.KEEP * op.stays
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


def _classes(
    arrays: dict[str, np.ndarray], network: Network, levels: list[int], dists: Distributions, trace: Trace | None
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
        if c.arrivals is not None and (trace is None or c.name in trace.random_classes):
            a = c.arrivals
            batch = dists.add(None if a.batch == Distribution.deterministic(1.0) else a.batch)
            sources.append([i, dists.add(a.interarrival), batch, dists.add(a.on), dists.add(a.off), 0, 0, 0])
    if trace is not None:
        sources.append([0, -1, -1, -1, -1, 0, 1, 0])
    arrays["src_i"] = np.array(sources, np.int64).reshape(-1, L.A_WIDTH)
    arrays["src_f"] = np.zeros((len(sources), 1))
    arrays["trace_time"] = trace.arrival_s if trace else np.zeros(0)
    arrays["trace_class"] = trace.class_index if trace else np.zeros(0, np.uint16)
    arrays["trace_work"] = trace.work_s if trace else np.zeros((0, 1))
    if not sources and not any(c.users for c in network.classes):
        raise NetworkError(f"network {network.name!r}: no class has arrivals or users, so nothing would happen")
