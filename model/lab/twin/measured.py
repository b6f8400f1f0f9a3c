"""What an LPAR's measurement says of each interval: the activity of its classes, added up as z/OS does.

Records are written from it, and it can be read without them where hundreds of twins are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from model.lab.twin.activity import Lived
from model.lab.twin.description import ClassLoad
from model.lab.twin.network import CF, Partition
from model.network import Network, Station, demands

TRANSACTION_MANAGERS = ("CICS", "IMS")
TCB = "tcb"
"""Kind of a resource that is dispatched inside a region."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One LPAR by recorded interval (I) and service class (C), limit (R), facility (F) and device (D).

    Seconds and counts. `cp_s` is captured time on CPs, `ziip_on_cp_s` included; `ziip_s` that of zIIPs as if one thread
    of a core ran alone; `idle_s` is what users think. `busy_s` and `ziip_busy_s` (I,) are engine time of the pools,
    uncaptured time included. `density` (I,) is threads by busy zIIP core; `work_s` (I,) what those cores did, counted
    as `ziip_s`. Waiting is for engines and devices; `elsewhere_s` (I, C) is spent on neither and for no limit.
    `working_s`, `ready_s` and `io_states_s` (I, C) are what a transaction manager sees of its transactions, wherever
    their CPU and I/O are reported. `subsystems` (C) are the transaction managers that report states of the classes,
    empty where none does; `names` (C, R) says which limits these know.
    """

    lpar: Partition
    starts: tuple[datetime, ...]
    service_classes: tuple[str, ...]
    importances: tuple[int, ...]
    workloads: tuple[str, ...]
    goals_ms: tuple[int, ...]
    subsystems: tuple[str, ...]
    resources: tuple[str, ...]
    names: np.ndarray
    facilities: tuple[str, ...]
    devices: tuple[str, ...]
    ended: np.ndarray
    elapsed_s: np.ndarray
    squares_s2: np.ndarray
    idle_s: np.ndarray
    buckets: np.ndarray
    cp_s: np.ndarray
    ziip_s: np.ndarray
    ziip_on_cp_s: np.ndarray
    cp_waiting_s: np.ndarray
    ziip_waiting_s: np.ndarray
    ios: np.ndarray
    io_using_s: np.ndarray
    io_waiting_s: np.ndarray
    resource_waiting_s: np.ndarray
    elsewhere_s: np.ndarray
    working_s: np.ndarray
    ready_s: np.ndarray
    io_states_s: np.ndarray
    busy_s: np.ndarray
    ziip_busy_s: np.ndarray
    density: np.ndarray
    work_s: np.ndarray
    device_ios: np.ndarray
    device_using_s: np.ndarray
    device_waiting_s: np.ndarray
    requests: np.ndarray
    request_s: np.ndarray
    asynchronous: np.ndarray
    facility_busy_s: np.ndarray


def measured(lived: Lived, lpar: Partition) -> Measured:
    """What an LPAR's records say, of the intervals that were recorded."""
    twin, network, at = lived.twin, lived.network, lived.recorded
    a = lived.activity
    column = {name: i for i, name in enumerate(network.station_names)}
    cp, ziip = column[lpar.cp], column.get(lpar.ziip)
    devices = tuple(s.name for s in network.stations if is_device(s))
    facilities = tuple(s.name for s in network.stations if s.component == CF)
    members = _members(lived, lpar)
    rows = {name: [network.class_names.index(c) for c in classes] for name, classes in members.items()}
    home = {
        name: [network.class_names.index(c) for c in classes if c in lpar.home_classes]
        for name, classes in members.items()
    }

    def added(values: np.ndarray, among: dict[str, list[int]] = rows) -> np.ndarray:
        """Classes (axis 1 of `values`) added up by service class."""
        return np.stack([values[at][:, ks].sum(axis=1) for ks in among.values()], axis=1)

    def column_or_zero(values: np.ndarray, s: int | None) -> np.ndarray:
        return values[:, :, s] if s is not None else np.zeros(values.shape[:2])

    cp_using_s = (a.using_s - a.overflow_s)[:, :, cp] / (1 + twin.per_captured)
    cost = np.ones(len(a.busy_s)) if network.station(lpar.cp).smt else a.stretch_cost[:, cp]
    here = sorted(set().union(*rows.values()))
    ds, fs = [column[name] for name in devices], [column[name] for name in facilities]
    engines = {*ds, *fs, cp, *([ziip] if ziip is not None else [])}
    others = [s for s, station in enumerate(network.stations) if s not in engines and _is_elsewhere(station)]
    first = {name: twin.classes[classes[0]] for name, classes in members.items()}
    goals = {name: lived.goals_ms[ks[0]] for name, ks in rows.items()}
    holds = demands(network).acquires > 0
    holders = np.array([holds[ks].any(axis=0) for ks in rows.values()])
    subsystems = tuple(_subsystem(load, bool(h.any())) for load, h in zip(first.values(), holders, strict=True))
    cp_s = added((cp_using_s + a.overflow_s[:, :, cp]) * cost[:, None] + a.spin_s[:, :, cp])
    ziip_s = added(column_or_zero(a.using_s, ziip))
    cp_waiting_s, ziip_waiting_s = added(a.waiting_s[:, :, cp]), added(column_or_zero(a.waiting_s, ziip))
    io_using_s, io_waiting_s = (added(one[:, :, ds].sum(axis=2)) for one in (a.using_s, a.waiting_s))
    whole = Measured(
        lpar=lpar,
        starts=tuple(start for start, kept in zip(twin.starts, at, strict=True) if kept),
        service_classes=tuple(members),
        importances=tuple(load.importance for load in first.values()),
        workloads=tuple(load.workload for load in first.values()),
        goals_ms=tuple(goals.values()),
        subsystems=subsystems,
        resources=network.resource_names,
        names=np.array([holders[[one == kind != "" for one in subsystems]].any(axis=0) for kind in subsystems]),
        facilities=facilities,
        devices=devices,
        ended=added(a.ended, home),
        elapsed_s=added(a.elapsed_s, home),
        squares_s2=added(a.squares_s2, home),
        idle_s=added(a.idle_s, home),
        buckets=added(a.buckets, home),
        cp_s=cp_s,
        ziip_s=ziip_s,
        ziip_on_cp_s=added(a.overflow_s[:, :, cp] * cost[:, None]),
        cp_waiting_s=cp_waiting_s,
        ziip_waiting_s=ziip_waiting_s,
        ios=added(a.visits[:, :, ds].sum(axis=2)),
        io_using_s=io_using_s,
        io_waiting_s=io_waiting_s,
        resource_waiting_s=added(a.wait_s[:, :, : len(network.resources)], home),
        elsewhere_s=added((a.using_s + a.waiting_s)[:, :, others].sum(axis=2), home),
        working_s=cp_s + ziip_s,
        ready_s=cp_waiting_s + ziip_waiting_s,
        io_states_s=io_using_s + io_waiting_s,
        busy_s=a.busy_s[at][:, cp],
        ziip_busy_s=a.busy_s[at][:, ziip] if ziip is not None else np.zeros(at.sum()),
        density=a.density[at][:, ziip] if ziip is not None else np.ones(at.sum()),
        work_s=a.using_s[at][:, :, ziip].sum(axis=1) if ziip is not None else np.zeros(at.sum()),
        device_ios=a.visits[at][:, here][:, :, ds].sum(axis=1),
        device_using_s=a.using_s[at][:, here][:, :, ds].sum(axis=1),
        device_waiting_s=a.waiting_s[at][:, here][:, :, ds].sum(axis=1),
        requests=a.visits[at][:, here][:, :, fs].sum(axis=1),
        request_s=(a.using_s + a.waiting_s)[at][:, here][:, :, fs].sum(axis=1),
        asynchronous=a.asynchronous[at][:, fs],
        facility_busy_s=a.busy_s[at][:, fs],
    )
    return _in_regions(whole, network, [load.region for load in first.values()])


_BY_CLASS = (
    "ended", "elapsed_s", "squares_s2", "idle_s", "buckets", "resource_waiting_s", "elsewhere_s", "working_s",
    "ready_s", "io_states_s",
)  # fmt: skip
_OF_ADDRESS_SPACES = (
    "cp_s", "ziip_s", "ziip_on_cp_s", "cp_waiting_s", "ziip_waiting_s", "ios", "io_using_s", "io_waiting_s",
)  # fmt: skip
"""Fields (I, C, ...) of transactions, and of the address spaces in which they run."""


def _in_regions(m: Measured, network: Network, regions: Sequence[str]) -> Measured:
    """The measurement with a class for each service class of regions, which has the CPU and I/O of what runs there.

    Waits for a TCB of the regions have no name there: their transactions count as ready.
    """
    names = list(dict.fromkeys(filter(None, regions)))
    if not names:
        return m
    inside = [[c for c, region in enumerate(regions) if region == name] for name in names]
    alone = np.array([not region for region in regions])
    tcbs = np.array([resource.kind == TCB for resource in network.resources], bool)
    ready_s = m.ready_s + m.resource_waiting_s[:, :, tcbs].sum(axis=2) * ~alone
    m = replace(m, ready_s=ready_s, names=m.names & ~(tcbs & ~alone[:, None]))
    changed: dict[str, Any] = {}
    for field in _BY_CLASS:
        values = getattr(m, field)
        changed[field] = np.concatenate([values, np.zeros((len(values), len(names), *values.shape[2:]))], axis=1)
    for field in _OF_ADDRESS_SPACES:
        values = getattr(m, field)
        of_regions = np.stack([values[:, members].sum(axis=1) for members in inside], axis=1)
        changed[field] = np.concatenate([values * alone, of_regions], axis=1)
    firsts = [members[0] for members in inside]
    for field in ("importances", "workloads", "goals_ms"):
        recorded = getattr(m, field)
        changed[field] = (*recorded, *(recorded[c] for c in firsts))
    none = np.zeros((len(names), m.names.shape[1]), bool)
    return replace(
        m, **changed, service_classes=(*m.service_classes, *names), subsystems=(*m.subsystems, *("" for _ in names)),
        names=np.concatenate([m.names, none]),
    )  # fmt: skip


def _subsystem(load: ClassLoad, holds: bool) -> str:
    """The subsystem type by which a class is classified; empty where no transaction manager reports its states."""
    named = f"{load.workload} {load.service_class}".upper()
    kind_of_load = next((kind for kind in TRANSACTION_MANAGERS if kind in named), "")
    return kind_of_load or (load.workload.upper()[:4] if holds else "")


def is_device(station: Station) -> bool:
    """Whether a station stands for volumes that are started and wait: neither engines nor a facility nor a delay."""
    return station.component not in ("cp", "ziip", CF, "link", "network") and _queues(station)


def _queues(station: Station) -> bool:
    return station.discipline.queues and station.lpar is None and station.name != "cp"


def _is_elsewhere(station: Station) -> bool:
    return not station.discipline.queues or station.component in ("link", "network")


def _members(lived: Lived, lpar: Partition) -> dict[str, list[str]]:
    """The network's classes of each service class on an LPAR."""
    members: dict[str, list[str]] = {}
    for name in lpar.classes:
        if name in lived.twin.classes:
            members.setdefault(lived.twin.classes[name].service_class, []).append(name)
    return members
