"""Levels that no record known holds: `gauge_min`, `gauge_avg` and `gauge_max` of a gauge (the subject).

Options: `ticks` per unit, where the level is not whole.
"""

from collections.abc import Sequence

import numpy as np

from model.lab.levels import levels
from model.lab.records.common import Setting
from model.lab.writers.interface import Cell, Output, Target, Window, by_subject


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A row per gauge and interval."""
    rows: list[dict[str, Cell]] = []
    for gauge, wanted in by_subject(targets).items():
        ticks = int(next(iter(wanted.values())).options.get("ticks", 1))
        for span, level in zip(window.spans, levels(random, wanted, "gauge", len(window.spans), ticks), strict=True):
            rows.append(
                {
                    "smf_sid": window.smf_sid,
                    "start_utc": span.start.isoformat(),
                    "gauge": gauge,
                    "mean": level.mean / ticks,
                    "minimum": level.low / ticks,
                    "maximum": level.high / ticks,
                }
            )
    return Output(rows={"gauges": rows})
