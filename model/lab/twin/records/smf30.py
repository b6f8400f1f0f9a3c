"""SMF 30 subtype 2: the interval records of the address spaces in which service classes run."""

from collections.abc import Sequence

import numpy as np

from model.lab.records.clock import tod
from model.lab.records.common import SYSTEM_FLAGS, WRITTEN_AFTER
from model.lab.records.smf30 import COEFFICIENT_ONE, FIRST_ASID, FIRST_JOB_NUMBER, INTERVAL, UNIT_US
from model.lab.twin.measured import Measured
from model.lab.twin.records.columns import Columns, Frame
from model.lab.twin.records.smf72_3 import INTERRUPT_SHARE, SRB_SHARE

SHARES = (0.6, 0.4)
"""How the work of a service class divides over its address spaces."""
PROGRAMS = {"CICS": "DFHSIP", "IMS": "DFSRRC00"}
OTHER_PROGRAM = "IKJEFT01"


def job_names(m: Measured) -> list[str]:
    """Job names of an LPAR's address spaces, those of each service class one after another."""
    return [f"{name[:7]}{number + 1}" for name in m.service_classes for number in range(len(SHARES))]


def address_spaces(columns: Columns, frame: Frame, record: np.ndarray, m: Measured) -> None:
    """One record of each interval and address space; `record` (I, J) says where."""
    setting, clock = frame.setting, frame.setting.clock
    at, each = record.ravel(), record.shape[1]
    jobs = job_names(m)
    classes = [c for c in range(len(m.service_classes)) for _ in SHARES]
    starts = [span.start for span in frame.spans]
    ends = [span.end for span in frame.spans]

    def repeated(values: Sequence[object]) -> list[object]:
        """A value of each interval for every address space."""
        return [value for value in values for _ in range(each)]

    def tiled(values: Sequence[object]) -> list[object]:
        """A value of each address space for every interval."""
        return list(values) * len(starts)

    written = [end + WRITTEN_AFTER for end in ends]
    header = {
        "smf30flg": SYSTEM_FLAGS, "smf30rty": 30, "smf30tme": repeated([clock.hundredths(t) for t in written]),
        "smf30dte": repeated([clock.day(t) for t in written]), "smf30sid": setting.plan.smf_sid, "smf30wid": "STC",
        "smf30stp": INTERVAL,
    }  # fmt: skip
    columns.add("smf30_header", at, header)
    subsystem = {
        "smf30typ": INTERVAL, "smf30rvn": "05", "smf30pnm": "SMF", "smf30osl": "SP7.2.5",
        "smf30syn": setting.plan.system_name, "smf30syp": setting.plan.sysplex,
    }  # fmt: skip
    columns.add("smf30_subsystem", at, subsystem)
    began = starts[0]
    identification = {
        "smf30jbn": tiled(jobs), "smf30stm": tiled(jobs),
        "smf30pgm": tiled([_program(m.workloads[c]) for c in classes]),
        "smf30jnm": tiled([f"STC{FIRST_JOB_NUMBER + i:05d}" for i in range(each)]), "smf30stn": 1,
        "smf30sit": clock.hundredths(began), "smf30std": clock.day(began), "smf30rst": clock.hundredths(began),
        "smf30rsd": clock.day(began), "smf30iss_raw": repeated([tod(t) for t in starts]),
        "smf30iet_raw": repeated([tod(t) for t in ends]), "smf30asi": tiled([FIRST_ASID + i for i in range(each)]),
    }  # fmt: skip
    columns.add("smf30_identification", at, identification)
    share = np.tile(SHARES, len(m.service_classes))

    def hundredths(seconds: np.ndarray) -> np.ndarray:
        return np.rint(100 * seconds[:, classes] * share).astype(np.int64).ravel()

    tcb, srb = hundredths(m.cp_s * (1 - SRB_SHARE - INTERRUPT_SHARE)), hundredths(m.cp_s * SRB_SHARE)
    cpu = {
        "smf30cpt": tcb, "smf30cps": srb, "smf30iip": hundredths(m.cp_s * INTERRUPT_SHARE),
        "smf30ist": repeated([clock.hundredths(t) for t in starts]),
        "smf30idt": repeated([clock.day(t) for t in starts]), "smf30_time_on_ziip": hundredths(m.ziip_s),
        "smf30_time_ziip_on_cp": hundredths(m.ziip_on_cp_s),
    }  # fmt: skip
    columns.add("smf30_cpu", at, cpu)
    rate = setting.rate
    units = {name: np.rint(time / 100 * rate.su_per_s) for name, time in (("csu", tcb), ("srb", srb))}
    resident = round(frame.spans[0].length_ms * 1000 / UNIT_US)
    performance = {
        "smf30csu_l": units["csu"], "smf30srb_l": units["srb"], "smf30srv_l": units["csu"] + units["srb"],
        "smf30tat": resident, "smf30res": resident, "smf30sus": rate.adjustment,
        "smf30wlm": tiled([m.workloads[c].upper() for c in classes]),
        "smf30scn": tiled([m.service_classes[c] for c in classes]), "smf30cpc": COEFFICIENT_ONE,
        "smf30src": COEFFICIENT_ONE, "smf30snf": 256,
    }  # fmt: skip
    columns.add("smf30_performance", at, performance)


def _program(workload: str) -> str:
    return next((program for name, program in PROGRAMS.items() if name in workload.upper()), OTHER_PROGRAM)
