"""The batch job: its step (30.4) and the data sets that it opened (14 for input, 15 for output)."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from model.lab.records.common import Record
from model.lab.subsystems.night import BATCH_HOUR, CONNECT_US, DATA_SETS, Night
from model.lab.subsystems.recording import Recorder, Row

JOB, STEP, PROGRAM, JOB_ID = "SHOPDAY", "REPORT", "SHOPRPT", "JOB00815"
CPU_US = 12_000_000
STEP_TOTAL, STEP_NAMED, HAS_EXTENSIONS = 4, 3, 1 << 2
EXTENSION_BYTES = 36


def records(make: Recorder, night: Night) -> Iterator[Record]:
    """What the step left when it ended."""
    start, end = step(night)
    used = [one for one in DATA_SETS if one.step]
    read_in = {"job_name": JOB, "reader_start_clock_us": start, "reader_start_date": start}
    blocks = sum(one.blocks for one in used)
    yield make.record(
        "smf30", end, {"subtype": STEP_TOTAL, "work_type": "JES2"},
        subsystem={"subtype": STEP_TOTAL, "record_version": "05", "product_name": "SMF", "system_name": "SUBS"},
        identification=read_in | {
            "step_name": STEP, "program_name": PROGRAM, "jes_job_id": JOB_ID, "step_number": 1,
            "step_start_clock_us": start, "step_start_date": start,
        },
        io={"excps_4byte": blocks, "excps": blocks, "device_connect_us": blocks * CONNECT_US},
        completion={"completion_code": 0},
        cpu={"cpu_tcb_us": CPU_US, "interval_start_clock_us": start, "interval_start_date": start},
        excp=[
            {
                "device_class": b"\x20", "unit_type": b"\x0f", "device_number": one.device.to_bytes(2),
                "dd_name": one.dd_name, "blocks": one.blocks, "block_size_bytes": 27_920,
                "device_connect_us": one.blocks * CONNECT_US,
            }
            for one in used
        ],
    )  # fmt: skip
    for one in used:
        opened: Row = read_in | {
            "dd_name": one.dd_name, "data_set_name": one.name, "first_volume_serial": one.volume,
            "open_clock_us": start, "record_flags": HAS_EXTENSIONS,
        }  # fmt: skip
        extension = {
            "section_bytes": EXTENSION_BYTES, "section_type": STEP_NAMED, "step_name": STEP, "program_name": PROGRAM,
            "jes_job_id": JOB_ID,
        }  # fmt: skip
        layout = "smf15" if one.writes_pct else "smf14"
        yield make.record(layout, end, opened, extensions={"extended_bytes": EXTENSION_BYTES}, extension=extension)


def step(night: Night) -> tuple[datetime, datetime]:
    """Start and end of the step, UTC: its I/Os and its CPU follow one another."""
    start = night.hour(BATCH_HOUR) + timedelta(minutes=10)
    waited = sum(one.blocks * night.io(one, BATCH_HOUR).response_us for one in DATA_SETS if one.step)
    return start, start + timedelta(microseconds=waited + CPU_US)
