"""SMF 70 subtype 1 of an interval: CPU activity of an LPAR with dedicated CPs."""

from model.lab.construct import IntervalData
from model.lab.records.clock import TOD_UNITS_PER_US
from model.lab.records.common import Record, Setting, rmf_product, samples, standard_header

DEDICATED = 0xFFFF
ONLINE_AT_END = 0x01
RATIO_ONE = 1024
SPEED_ONE = 256


def cpu_activity(setting: Setting, interval: IntervalData) -> Record:
    """The record of an interval.

    Wait time stands in the CPU sections in store clock units and in the logical processor sections in us. An engine
    that waits is not dispatched, so that busy time is the same from either.
    """
    plan, engines = setting.plan, setting.plan.engines
    online_us = interval.length_ms * 1000
    control = {
        "smf70mod": bytes.fromhex(setting.machine_type),
        "smf70bnp": engines,
        "smf70dsa": samples(interval),
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
    cpus = [
        {"smf70wat": wait * TOD_UNITS_PER_US, "smf70cid": number, "smf70cnf": ONLINE_AT_END, "smf70typ": 0}
        for number, wait in enumerate(interval.wait_us)
    ]
    partition = {
        "smf70lpm": plan.lpar_name,
        "smf70lpn": 1,
        "smf70bdn": engines,
        "smf70bda": engines * samples(interval),
        "smf70stn": plan.system_name,
    }
    logical = [
        {
            "smf70pdt": online_us - wait,
            "smf70edt": online_us - wait,
            "smf70vpa": number,
            "smf70bps": DEDICATED,
            "smf70cix": 1,
            "smf70ont": online_us,
            "smf70wst": wait,
        }
        for number, wait in enumerate(interval.wait_us)
    ]
    return Record(
        "smf70_1",
        {
            "header": [standard_header(setting, "smf70", 70, 1, interval.end)],
            "product": [rmf_product(setting, "smf70", interval)],
            "control": [control],
            "cpu": cpus,
            "partition": [partition],
            "logical_processor": logical,
            "cpu_identification": [
                {"smf70cin": "CP", "smf70ctn": engines, "smf70can": engines * samples(interval)},
            ],
        },
    )
