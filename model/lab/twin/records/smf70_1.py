"""SMF 70.1: the engines of one LPAR, and all LPARs of its machine with PHYSICAL."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.lab.records.common import Column, samples
from model.lab.records.smf70_1 import (
    CP_INDEX,
    CP_TYPE,
    DEDICATED,
    RATIO_ONE,
    SPEED_ONE,
    ZIIP_INDEX,
    ZIIP_TYPE,
    control,
    identification,
    logical_processor,
    partition,
    processor,
)
from model.lab.twin.measured import Measured, machine_of
from model.lab.twin.records.columns import Columns, Frame
from model.network import Network, Station

CAPPED = 0x10
VERTICAL_LOW, VERTICAL_MEDIUM, VERTICAL_HIGH = 0x40, 0x80, 0xC0
HIPERDISPATCH = 0xC0
PHYSICAL_PRESENT = 0x10
HUNDREDTHS = 100


@dataclass(frozen=True, slots=True)
class Pool:
    """Engines of one type of an LPAR: busy seconds (I,) of them together, and threads by busy core (I,)."""

    station: Station
    machine: str
    physical: int
    busy_s: np.ndarray
    density: np.ndarray
    index: int

    @property
    def threads(self) -> int:
        """Hardware threads of a core."""
        return 2 if self.station.smt is not None else 1


def pools(network: Network, measured: Measured) -> list[Pool]:
    """The CPs of an LPAR, and its zIIPs if it has any."""
    cp = network.station(measured.lpar.cp)
    made = [Pool(cp, *machine_of(network, cp.name), measured.busy_s, np.ones(len(measured.busy_s)), CP_INDEX)]
    if measured.lpar.ziip:
        ziip = network.station(measured.lpar.ziip)
        made.append(Pool(ziip, *machine_of(network, ziip.name), measured.ziip_busy_s, measured.density, ZIIP_INDEX))
    return made


def cpu_activity(
    columns: Columns, frame: Frame, record: np.ndarray, network: Network, own: Measured, all_lpars: Sequence[Measured]
) -> None:
    """One record of each interval; `record` (I,) says where. LPARs on other machines are not in it."""
    mine = pools(network, own)
    neighbours = [
        m for m in all_lpars if m is own or (mine[0].machine and mine[0].machine == pools(network, m)[0].machine)
    ]
    frame.header(columns, "smf70_1", "smf70", (70, 1), record[:, None])
    online_us = frame.spans[0].length_ms * 1000
    _control(columns, frame, record, mine, own)
    _processors(columns, record, mine, online_us)
    physical = {CP_INDEX: mine[0].physical, ZIIP_INDEX: 0}
    seen: set[str] = set()
    for m in neighbours:
        for pool in pools(network, m)[1:]:
            physical[ZIIP_INDEX] += pool.physical if not pool.machine or pool.machine not in seen else 0
            seen.add(pool.machine)
    cycles = samples(frame.spans[0])
    skip = 0
    for number, m in enumerate(neighbours):
        engines = sum(pool.station.servers for pool in pools(network, m))
        sid = m.lpar.smf_sid
        row = partition(sid, all_lpars.index(m) + 1, engines, cycles, sid, skip)
        row["smf70mtid"] = int(any(p.threads > 1 for p in pools(network, m)))
        columns.add("smf70_1_partition", record, row, number)
        first = 0
        for pool in pools(network, m):
            _logical(columns, record, network, pool, online_us, cycles, skip, first)
            skip, first = skip + pool.station.servers, first + pool.station.servers
    management = {"smf70lpm": "PHYSICAL", "smf70bdn": sum(physical.values()), "smf70bds": skip}
    columns.add("smf70_1_partition", record, management, len(neighbours))
    for engine in range(sum(physical.values())):
        index = CP_INDEX if engine < physical[CP_INDEX] else ZIIP_INDEX
        idle = {"smf70vpa": engine, "smf70cix": index, "smf70ont": online_us}
        columns.add("smf70_1_logical_processor", record, idle, skip + engine)
    for index, name in ((CP_INDEX, "CP"), (ZIIP_INDEX, "IIP")):
        identified = identification(name, physical[index], cycles)
        columns.add("smf70_1_cpu_identification", record, identified, index - 1)


def _control(columns: Columns, frame: Frame, record: np.ndarray, mine: Sequence[Pool], own: Measured) -> None:
    row: dict[str, Column] = {
        **control(frame.setting, sum(pool.physical for pool in mine), samples(frame.spans[0])),
        "smf70inb": PHYSICAL_PRESENT, "smf70csc": (mine[0].machine or own.lpar.smf_sid).upper()[:16],
        "smf70hhf": HIPERDISPATCH if _is_vertical(mine[0].station) else 0,
    }  # fmt: skip
    for pool in mine[1:]:
        gain = pool.station.smt.gain if pool.station.smt is not None else 1.0
        speed = pool.station.speeds[0] / mine[0].station.speeds[0]
        worked = np.divide(own.work_s, own.ziip_busy_s, out=np.ones(len(record)), where=own.ziip_busy_s > 0)
        row |= {
            "smf70sup": pool.station.servers, "smf70nrm": round(SPEED_ONE * speed),
            "smf70mcfs": round(RATIO_ONE * gain), "smf70cfs": np.rint(RATIO_ONE * worked),
            "smf70atds": np.rint(RATIO_ONE * pool.density),
        }  # fmt: skip
    columns.add("smf70_1_control", record, row)


def _processors(columns: Columns, record: np.ndarray, mine: Sequence[Pool], online_us: int) -> None:
    """CPU sections, one of each thread, and core sections where cores of the LPAR have two."""
    multithreading = any(pool.threads > 1 for pool in mine)
    section = core = 0
    for pool in mine:
        servers = pool.station.servers
        active_us = pool.busy_s * 1e6 * pool.density / (servers * pool.threads)
        wait = np.maximum(np.rint(online_us - active_us), 0).astype(np.int64)
        for _ in range(servers):
            if multithreading:
                row = {
                    "smf70_core_id": core, "smf70_core_flg": 0x80, "smf70_cpu_skip": section,
                    "smf70_cpu_num": pool.threads, "smf70_prod": RATIO_ONE,
                    "smf70_lpar_busy": np.rint(pool.busy_s * 1000 / servers),
                }  # fmt: skip
                columns.add("smf70_1_core", record, row, core)
            for thread in range(pool.threads):
                number, kind = 2 * core + thread if multithreading else core, _engine_type(pool)
                columns.add("smf70_1_cpu", record, processor(wait, number, kind), section)
                section += 1
            core += 1


def _logical(
    columns: Columns,
    record: np.ndarray,
    network: Network,
    pool: Pool,
    online_us: int,
    cycles: int,
    skip: int,
    first: int,
) -> None:
    """Logical processor sections of one pool of an LPAR, the first at `skip` among all, with address `first`."""
    station = pool.station
    share = station.lpar
    dispatched = np.minimum(np.rint(pool.busy_s * 1e6 / station.servers), online_us).astype(np.int64)
    weight = DEDICATED if share is None else round(share.weight)
    idle = np.rint(dispatched * (2 - pool.density)) if pool.threads > 1 else 0
    for engine in range(station.servers):
        row = logical_processor(dispatched, online_us, first + engine, weight, pool.index)
        row |= {"smf70acs": weight * cycles, "smf70mtit": idle}
        if share is not None:
            row["smf70vpf"] = CAPPED if share.cap == "share" else 0
            row["smf70hw_cap_limit"] = round(HUNDREDTHS * share.cap) if isinstance(share.cap, int | float) else 0
            row["smf70pof"] = _polarisation(network, station, engine)
        columns.add("smf70_1_logical_processor", record, row, skip + engine)


def _engine_type(pool: Pool) -> int:
    return CP_TYPE if pool.index == CP_INDEX else ZIIP_TYPE


def _is_vertical(station: Station) -> bool:
    return station.lpar is not None and station.lpar.polarity == "vertical"


def _polarisation(network: Network, station: Station, engine: int) -> int:
    """Of vertically polarised engines the wholly entitled are high, one entitled in part medium, the others low."""
    share = station.lpar
    if share is None or not _is_vertical(station):
        return 0
    weights = sum(s.lpar.weight for s in network.stations if s.lpar is not None and s.lpar.cec == share.cec)
    entitled = share.weight / weights * next(c.engines for c in network.cecs if c.name == share.cec)
    if engine + 1 <= entitled + 1e-9:
        return VERTICAL_HIGH
    return VERTICAL_MEDIUM if engine < entitled else VERTICAL_LOW
