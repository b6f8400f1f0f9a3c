"""Rates of which records count the events: log writes (SMF 88) and FTP transfers (SMF 119.70).

`smf88`: `log_writes_per_s` of a log stream (the subject). `smf119_70`: `ftp_bytes_per_s`, the bytes of all transfers
that ended in the point over its length. Options: `operation` (4 retrieve, 5 store), `command` and `file_bytes` (about
the size of a file).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import SYSTEM_FLAGS, WRITTEN_AFTER, Record, Setting, Span, tod
from model.lab.records.interface import Output, Target, Window
from model.lab.samples import around_one, split

METRIC = "log_writes_per_s"
INTERVAL_SPREAD = 0.01


def smf88(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """One record per interval."""
    if any(target.metric != METRIC or not target.subject for target in targets):
        raise LabError(f"the system logger carries {METRIC} of log streams only")
    lengths = np.array([span.length_ms for span in window.spans], dtype=float)
    writes = {
        target.subject: split(
            round(target.value * window.seconds), lengths * around_one(random, len(lengths), INTERVAL_SPREAD)
        )
        for target in targets
    }
    return Output(
        records=[
            _log_record(setting, span, {stream: counts[i] for stream, counts in writes.items()})
            for i, span in enumerate(window.spans)
        ]
    )


def _log_record(setting: Setting, span: Span, writes: dict[str, int]) -> Record:
    written = span.end + WRITTEN_AFTER
    header = {
        "smf88flg": SYSTEM_FLAGS,
        "smf88rty": 88,
        "smf88tme": setting.clock.hundredths(written),
        "smf88dte": setting.clock.day(written),
        "smf88sid": setting.plan.smf_sid,
        "smf88wid": "LOGR",
        "smf88stp": 1,
    }
    streams = [
        {"smf88lsn": stream, "smf88ltd_raw": tod(span.end), "smf88lwi": count} for stream, count in writes.items()
    ]
    return Record("smf88", {"header": [header], "log_stream": streams})


FILE_SPREAD = 0.002
TRANSFER_S = 0.05
EVENT = 0x08
REPLY = "250"


def smf119_70(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record for every transfer, in the order they ended."""
    if {target.metric for target in targets} != {"ftp_bytes_per_s"}:
        raise LabError(f"FTP transfers cannot write {', '.join(target.metric for target in targets)}")
    options = targets[0].options
    total = round(targets[0].value * window.seconds)
    count = max(1, round(total / int(options["file_bytes"])))
    sizes = split(total, around_one(random, count, FILE_SPREAD))
    moments = np.sort(random.uniform(TRANSFER_S, window.seconds, count))
    return Output(
        records=[
            _transfer(setting, options, window.start + timedelta(seconds=float(at)), size, number)
            for number, (at, size) in enumerate(zip(moments, sizes, strict=True))
        ]
    )


def _transfer(setting: Setting, options: Any, end: datetime, size: int, number: int) -> Record:
    clock = setting.clock
    start = end - timedelta(seconds=TRANSFER_S)
    header = {
        "smf119hdflags": SYSTEM_FLAGS,
        "smf119hdtype": 119,
        "smf119hdtime": clock.hundredths(end),
        "smf119hddate": clock.day(end),
        "smf119hdsid": setting.plan.smf_sid,
        "smf119hdssi": "TCP",
        "smf119hdsubtype": 70,
    }
    identification = {
        "smf119ti_sysname": setting.plan.system_name,
        "smf119ti_sysplexname": setting.plan.sysplex,
        "smf119ti_stack": "TCPIP",
        "smf119ti_comp": "FTPS",
        "smf119ti_asname": "FTPD1",
        "smf119ti_reason": EVENT,
    }
    transfer = {
        "smf119ft_fsoper": int(options["operation"]),
        "smf119ft_fscmd": str(options["command"]),
        "smf119ft_fsftype": "SEQ",
        "smf119ft_fstype": "I",
        "smf119ft_fsstime": clock.hundredths(start),
        "smf119ft_fssdate": clock.day(start),
        "smf119ft_fsetime": clock.hundredths(end),
        "smf119ft_fsedate": clock.day(end),
        "smf119ft_fsdur": round(TRANSFER_S * 100),
        "smf119ft_fsbytes": size,
        "smf119ft_fslreply": REPLY,
        "smf119ft_fssessionid": f"FTPD1{number:05d}",
    }
    return Record(
        "smf119_70",
        {"header": [header], "identification": [identification], "transfer": [transfer]},
    )
