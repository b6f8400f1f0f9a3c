"""SMF 30 subtype 2: the interval records of the address spaces in which service classes run."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from model.lab.records.clock import tod
from model.lab.records.common import WRITTEN_AFTER
from model.lab.records.smf30 import (
    FIRST_ASID,
    INTERVAL,
    header,
    identification,
    performance,
    processor_times,
    started_task,
    subsystem,
)
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

    def local(times: Sequence[datetime]) -> tuple[list[object], list[object]]:
        return repeated([clock.hundredths(t) for t in times]), repeated([clock.day(t) for t in times])

    columns.add("smf30_header", at, header(setting, *local([end + WRITTEN_AFTER for end in ends]), INTERVAL, "STC"))
    columns.add("smf30_subsystem", at, subsystem(setting, INTERVAL, os_level="SP7.2.5"))
    programs = tiled([_program(m.workloads[c]) for c in classes])
    job_ids = tiled([started_task(i) for i in range(each)])
    began = clock.hundredths(starts[0]), clock.day(starts[0])
    named = {
        **identification(tiled(jobs), tiled(jobs), programs, job_ids, *began),
        "smf30iss_raw": repeated([tod(t) for t in starts]), "smf30iet_raw": repeated([tod(t) for t in ends]),
        "smf30asi": tiled([FIRST_ASID + i for i in range(each)]),
    }  # fmt: skip
    columns.add("smf30_identification", at, named)
    share = np.tile(SHARES, len(m.service_classes))

    def hundredths(seconds: np.ndarray) -> np.ndarray:
        return np.rint(100 * seconds[:, classes] * share).astype(np.int64).ravel()

    tcb, srb = hundredths(m.cp_s * (1 - SRB_SHARE - INTERRUPT_SHARE)), hundredths(m.cp_s * SRB_SHARE)
    cpu = {
        **processor_times(*local(starts), tcb, srb), "smf30iip": hundredths(m.cp_s * INTERRUPT_SHARE),
        "smf30_time_on_ziip": hundredths(m.ziip_s), "smf30_time_ziip_on_cp": hundredths(m.ziip_on_cp_s),
    }  # fmt: skip
    columns.add("smf30_cpu", at, cpu)
    tcb_units, srb_units = (np.rint(time / 100 * setting.rate.su_per_s) for time in (tcb, srb))
    workloads = tiled([m.workloads[c].upper() for c in classes])
    service_classes = tiled([m.service_classes[c] for c in classes])
    row = performance(setting, frame.spans[0].length_ms, tcb_units, srb_units, workloads, service_classes)
    columns.add("smf30_performance", at, row)


def _program(workload: str) -> str:
    return next((program for name, program in PROGRAMS.items() if name in workload.upper()), OTHER_PROGRAM)
