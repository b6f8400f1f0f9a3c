"""SMF 119 subtype 70: transfers of an FTP server, one record each.

It writes `ftp_bytes_per_s`: the bytes of all transfers that ended in the point over its length. Options: `operation`
(4 retrieve, 5 store), `command` and `file_bytes` (about the size of a file).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import SYSTEM_FLAGS, Record, Setting
from model.lab.split import around_one, split
from model.lab.writers.interface import Output, Target, Window

FILE_SPREAD = 0.002
TRANSFER_S = 0.05
EVENT = 0x08
REPLY = "250"


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
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
            _record(setting, options, window.start + timedelta(seconds=float(at)), size, number)
            for number, (at, size) in enumerate(zip(moments, sizes, strict=True))
        ]
    )


def _record(setting: Setting, options: Any, end: datetime, size: int, number: int) -> Record:
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
