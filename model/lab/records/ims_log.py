"""IMS logs of two systems that exchange messages over an MSC link.

It writes `msc_send_s` (between the first and the last output message of the sending system) and `msc_receive_s`
(between the first and the last arrival at the receiving one). Options: `messages`. A setting of the point with the name
of the metric and `_us` moves the value by so many microseconds within what its printed digits allow. Bodies of the
records are left out: no layout of these records is published.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

import numpy as np
import pyarrow as pa

from ingest import registry
from ingest.formats.ims.encode import encode_log
from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.records.interface import Output, Target, Window

BEGIN = timedelta(seconds=2)
LINK_MS = 3
CODES = {"msc_send_s": "03", "msc_receive_s": "01"}
FILES = {"msc_send_s": "send", "msc_receive_s": "receive"}
FIRST_SEQUENCE = 1


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """One log for each direction: a record for every message."""
    wanted = {target.metric: target for target in targets}
    if not set(wanted) <= CODES.keys():
        raise LabError(f"IMS logs cannot write {', '.join(wanted)}")
    count = int(targets[0].options["messages"])
    known = _layouts()
    files = {}
    for number, (metric, target) in enumerate(wanted.items()):
        span_us = round(target.value * 1e6) + int(window.point.settings.get(f"{metric}_us", 0))
        inner = np.sort(random.integers(1, span_us, count - 2))
        begin = window.start + BEGIN + timedelta(milliseconds=LINK_MS * number)
        if begin + timedelta(microseconds=span_us) > window.end:
            raise LabError(f"the point is shorter than {target.value} s")
        moments = [begin + timedelta(microseconds=int(at)) for at in (0, *inner, span_us)]
        log = encode_log({"ims_log_record": _records(CODES[metric], moments)}, known)
        files[f"{window.point.id}.{FILES[metric]}.imslog"] = log
    return Output(files=files)


@cache
def _layouts() -> registry.Registry:
    """The layouts, read once for all points."""
    return registry.load()


def _records(code: str, moments: Sequence[datetime]) -> pa.Table:
    count = len(moments)
    return pa.table(
        {
            "record_seq": pa.array(range(count), pa.uint32()),
            "log_code": [code] * count,
            "subcode": ["00"] * count,
            "written_utc": pa.array(moments, pa.timestamp("us")),
            "log_seq": pa.array(range(FIRST_SEQUENCE, FIRST_SEQUENCE + count), pa.uint64()),
        }
    )
