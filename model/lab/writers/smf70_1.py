"""SMF 70 subtype 1 of a point of which only busy time is known: no transactions, no CPU of classes.

It writes `cpu_busy_pct`.
"""

from collections.abc import Sequence

import numpy as np

from model.lab.construct import IntervalData
from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.records.smf70_1 import cpu_activity
from model.lab.split import around_one, below, split
from model.lab.writers.interface import Output, Target, Window

SPREAD = 0.01
CEILING = 0.998


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record per interval."""
    if {target.metric for target in targets} != {"cpu_busy_pct"}:
        raise LabError(f"CPU activity cannot write {', '.join(target.metric for target in targets)}")
    busy, engines = targets[0].value / 100, setting.plan.engines
    online = engines * np.array([span.length_ms for span in window.spans]) * 1000
    factors = below(around_one(random, len(online), SPREAD), busy, CEILING)
    used = split(round(busy * int(online.sum())), factors * online)
    return Output(
        records=[
            cpu_activity(
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
