"""SMF 88: system logger, one record per interval with every log stream. Writes `log_writes_per_s` of a log stream."""

from collections.abc import Sequence

import numpy as np

from model.lab.errors import LabError
from model.lab.records.clock import tod
from model.lab.records.common import SYSTEM_FLAGS, WRITTEN_AFTER, Record, Setting, Span
from model.lab.split import around_one, split
from model.lab.writers.interface import Output, Target, Window

METRIC = "log_writes_per_s"
INTERVAL_SPREAD = 0.01


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
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
            _record(setting, span, {stream: counts[i] for stream, counts in writes.items()})
            for i, span in enumerate(window.spans)
        ]
    )


def _record(setting: Setting, span: Span, writes: dict[str, int]) -> Record:
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
