"""Intervals made for the tests, with a busy and a rate each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from model.studies.comparison import Interval, Measure, Metric
from model.studies.comparison.runs import Part
from model.studies.comparison.verdicts import About

START = datetime(2026, 3, 1, 10)
SECONDS = 120.0
BUSY = Metric(None, "cpu_busy_pct")
RATE = Metric("ims", "etr_tps")
ITR = Metric("ims", "itr_tps")
COST = Metric("ims", "ims_cpu_us_per_tran")
MEASURES = {
    BUSY: Measure(100.0),
    RATE: Measure(1.0),
    ITR: Measure(1.0),
    COST: Measure(1e6),
}
CATALOGUE = {
    "itr_tps": About("ITR", "tran/s", "higher", False, None),
    "etr_tps": About("ETR", "tran/s", "higher", True, None),
    "cpu_busy_pct": About("CPU busy", "pct", None, False, None),
    "ims_cpu_us_per_tran": About("CPU per transaction: ims", "us/tran", "lower", False, "ims"),
}


def intervals(
    busy_pct: Sequence[float],
    *,
    rate: float = 1000.0,
    point: str | None = None,
    system: str = "S",
    hole_after: int = -1,
) -> list[Interval]:
    """Adjoining intervals of four engines at these loads; a rate in proportion to 80 % busy, 100 µs of IMS each."""
    made = []
    for place, busy in enumerate(busy_pct):
        late = timedelta(hours=1) if 0 <= hole_after < place else timedelta()
        ended = rate * SECONDS * busy / 80
        parts = {
            BUSY: Part(busy / 100 * 4 * SECONDS, 4 * SECONDS),
            RATE: Part(ended, SECONDS),
            ITR: Part(ended, busy / 100 * SECONDS),
            COST: Part(ended * 100e-6, ended),
        }
        start = START + timedelta(seconds=SECONDS * place) + late
        made.append(
            Interval(system, point or f"{start}", "", point is not None, place + 1, start, SECONDS, parts, busy)
        )
    return made
