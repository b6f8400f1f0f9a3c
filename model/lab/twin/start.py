"""The load that a question starts from."""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from model.lab.twin.activity import Lived
from model.lab.twin.load import expected_per_s
from model.lab.twin.measured import Measured
from model.lab.twin.when import recorded_at


@dataclass(frozen=True, slots=True)
class Start:
    """Transactions/s and mean response in s of each class, (K,), with the `when` that a model is asked for.

    Until a time to come classes grow: `growth` (K,) is how many times as much comes then; users are as many times more.
    """

    when: str
    rates: np.ndarray
    response_s: np.ndarray
    growth: np.ndarray


def start(lived: Lived, m: Measured, when: str) -> Start:
    """The load of an LPAR's classes at a time. LabError for a time that neither was recorded nor is to come."""
    twin, activity = lived.twin, lived.activity
    named = recorded_at([twin.local(one) for one in m.starts], timedelta(seconds=twin.interval_s), when)
    rows = [max(named.rows, key=lambda row: m.busy_s[row])] if named.busiest else named.rows
    at = [twin.starts.index(m.starts[row]) for row in rows or range(len(m.starts))]
    ended, elapsed_s = activity.ended[at].sum(axis=0), activity.elapsed_s[at].sum(axis=0)
    rates, response_s = ended / (len(at) * twin.interval_s), elapsed_s / np.maximum(ended, 1.0)
    if named.to_come is None:
        text = twin.local(m.starts[rows[0]]).isoformat(timespec="minutes") if len(rows) == 1 else when
        return Start(text, rates, response_s, np.ones(len(rates)))
    loads = [twin.classes.get(name) for name in lived.networks[-1].class_names]
    middle = m.starts[0] + (m.starts[-1] - m.starts[0]) / 2
    weeks = (named.to_come - twin.local(m.starts[rows[0]] if rows else middle)) / timedelta(weeks=1)
    growth = np.array([1.0 if load is None else (1 + load.growth_pct_per_week / 100) ** weeks for load in loads])
    for k, load in enumerate(loads):
        if load is not None and not rows:
            then = named.to_come - timedelta(hours=twin.utc_offset_hours)
            rates[k] = expected_per_s(twin, load, [then])[0] / growth[k]
    return Start(when, rates, response_s, growth)
