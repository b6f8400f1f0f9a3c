"""SMF 70 subtype 1: CPU activity of studies, of points of which only `cpu_busy_pct` is known, and of twins.

The record of a twin has the engines of one LPAR, and all LPARs of its machine with PHYSICAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.lab.construct import IntervalData
from model.lab.errors import LabError
from model.lab.records.common import TOD_UNITS_PER_US, Column, Record, Setting, rmf_record, samples
from model.lab.records.interface import Output, Target, Window
from model.lab.records.tables import Columns, Frame
from model.lab.samples import around_one, below, split

if TYPE_CHECKING:
    from model.lab.twin.measured import Measured
    from model.network import Network, Station


DEDICATED = 0xFFFF
ONLINE_AT_END = 0x01
RATIO_ONE = 1024
SPEED_ONE = 256
CP_TYPE, ZIIP_TYPE = 0, 2
CP_INDEX, ZIIP_INDEX = 1, 2


def study_cpu_activity(setting: Setting, interval: IntervalData) -> Record:
    """The record of an interval of a study: an LPAR with dedicated CPs.

    Wait time stands in the CPU sections in store clock units and in the logical processor sections in us. An engine
    that waits is not dispatched, so that busy time is the same from either.
    """
    plan, engines, cycles = setting.plan, setting.plan.engines, samples(interval)
    online_us = interval.length_ms * 1000
    return rmf_record(
        setting,
        "smf70_1",
        1,
        interval,
        control=[control(setting, engines, cycles)],
        cpu=[processor(wait, number, CP_TYPE) for number, wait in enumerate(interval.wait_us)],
        partition=[partition(plan.lpar_name, 1, engines, cycles, plan.system_name)],
        logical_processor=[
            logical_processor(online_us - wait, online_us, number, DEDICATED, CP_INDEX)
            for number, wait in enumerate(interval.wait_us)
        ],
        cpu_identification=[identification("CP", engines, cycles)],
    )


def control(setting: Setting, engines: int, cycles: int) -> dict[str, Column]:
    """The control section: machine, physical engines, and factors of a machine without multithreading."""
    return {
        "smf70mod": bytes.fromhex(setting.machine_type),
        "smf70bnp": engines,
        "smf70dsa": cycles,
        "smf70cpa": setting.software_adjustment,
        "smf70hwm": setting.model,
        "smf70nrm": SPEED_ONE,
        "smf70mcf": RATIO_ONE,
        "smf70cf": RATIO_ONE,
        "smf70atd": RATIO_ONE,
        "smf70adj": setting.rate.adjustment,
        "smf70cpa_actual": setting.software_adjustment,
        "smf70cpa_scaling_factor": 1,
        "smf70cpc_type": setting.machine_type,
    }


def processor(wait_us: Column, number: int, kind: int) -> dict[str, Column]:
    """A CPU section."""
    return {"smf70wat": wait_us * TOD_UNITS_PER_US, "smf70cid": number, "smf70cnf": ONLINE_AT_END, "smf70typ": kind}


def partition(name: str, number: int, engines: int, cycles: int, system: str, first: int = 0) -> dict[str, Column]:
    """A partition section, whose logical processors begin at the `first`."""
    return {
        "smf70lpm": name, "smf70lpn": number, "smf70bdn": engines, "smf70bds": first, "smf70bda": engines * cycles,
        "smf70stn": system,
    }  # fmt: skip


def logical_processor(
    dispatched_us: Column, online_us: int, address: int, weight: int, index: int
) -> dict[str, Column]:
    """A logical processor section; `index` is that of its identification section."""
    return {
        "smf70pdt": dispatched_us,
        "smf70edt": dispatched_us,
        "smf70vpa": address,
        "smf70bps": weight,
        "smf70cix": index,
        "smf70ont": online_us,
        "smf70wst": online_us - dispatched_us,
    }


def identification(name: str, engines: int, cycles: int) -> dict[str, Column]:
    """A CPU identification section: the engines of a type."""
    return {"smf70cin": name, "smf70ctn": engines, "smf70can": engines * cycles}


SPREAD = 0.01
CEILING = 0.998


def busy_time(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record per interval."""
    if {target.metric for target in targets} != {"cpu_busy_pct"}:
        raise LabError(f"CPU activity cannot write {', '.join(target.metric for target in targets)}")
    busy, engines = targets[0].value / 100, setting.plan.engines
    online = engines * np.array([span.length_ms for span in window.spans]) * 1000
    factors = below(around_one(random, len(online), SPREAD), busy, CEILING)
    used = split(round(busy * int(online.sum())), factors * online)
    return Output(
        records=[
            study_cpu_activity(
                setting,
                IntervalData(
                    start=span.start,
                    length_ms=span.length_ms,
                    wait_us=tuple(split(int(available) - part, np.ones(engines))),
                    ended={},
                    elapsed_us={},
                    regions={},
                    other={},
                ),
            )
            for span, available, part in zip(window.spans, online, used, strict=True)
        ]
    )


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
    made = [Pool(cp, *_machine_of(network, cp.name), measured.busy_s, np.ones(len(measured.busy_s)), CP_INDEX)]
    if measured.lpar.ziip:
        ziip = network.station(measured.lpar.ziip)
        made.append(Pool(ziip, *_machine_of(network, ziip.name), measured.ziip_busy_s, measured.density, ZIIP_INDEX))
    return made


def cpu_activity(
    columns: Columns, frame: Frame, record: np.ndarray, network: Network, lpar: Measured, all_lpars: Sequence[Measured]
) -> None:
    """One record of each interval; `record` (I,) says where. LPARs on other machines are not in it."""
    mine = pools(network, lpar)
    neighbours = [
        m for m in all_lpars if m is lpar or (mine[0].machine and mine[0].machine == pools(network, m)[0].machine)
    ]
    frame.header(columns, "smf70_1", "smf70", (70, 1), record[:, None])
    online_us = frame.spans[0].length_ms * 1000
    _control(columns, frame, record, mine, lpar)
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


def _control(columns: Columns, frame: Frame, record: np.ndarray, mine: Sequence[Pool], lpar: Measured) -> None:
    row: dict[str, Column] = {
        **control(frame.setting, sum(pool.physical for pool in mine), samples(frame.spans[0])),
        "smf70inb": PHYSICAL_PRESENT, "smf70csc": (mine[0].machine or lpar.lpar.smf_sid).upper()[:16],
        "smf70hhf": HIPERDISPATCH if _is_vertical(mine[0].station) else 0,
    }  # fmt: skip
    for pool in mine[1:]:
        gain = pool.station.smt.gain if pool.station.smt is not None else 1.0
        speed = pool.station.speeds[0] / mine[0].station.speeds[0]
        worked = np.divide(lpar.work_s, lpar.ziip_busy_s, out=np.ones(len(record)), where=lpar.ziip_busy_s > 0)
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


def _machine_of(network: Network, station: str) -> tuple[str, int]:
    """The machine of an engine pool and its physical engines: its own where it is shared with nobody."""
    here = network.station(station)
    if here.lpar is None:
        return "", here.servers
    return here.lpar.cec, round(next(c.engines for c in network.cecs if c.name == here.lpar.cec))
