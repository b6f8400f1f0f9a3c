"""SMF 70 subtype 1: CPU activity.

The sections' columns are made here for studies and twins alike; those of twins are arrays.
"""

from model.lab.construct import IntervalData
from model.lab.records.clock import TOD_UNITS_PER_US
from model.lab.records.common import Column, Record, Setting, rmf_record, samples

DEDICATED = 0xFFFF
ONLINE_AT_END = 0x01
RATIO_ONE = 1024
SPEED_ONE = 256
CP_TYPE, ZIIP_TYPE = 0, 2
CP_INDEX, ZIIP_INDEX = 1, 2


def cpu_activity(setting: Setting, interval: IntervalData) -> Record:
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
