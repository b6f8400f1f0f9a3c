"""Million service units an hour: of the LPAR, of its machine, and as the rolling four-hour average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.cache import cached
from model.capacity.evaluation import System
from model.capacity.parameters import RecordedIntervals
from model.capacity.state import Scenario, State

Array = NDArray[np.float64]

# An engine of so many service units a second delivers this many MSU for each of them.
MSU_PER_SU = 3600e-6
FOUR_HOURS = np.timedelta64(4, "h")
# Of several recorded intervals, such as those of an hour of the week, the last so many.
MOST_WINDOWS = 8
# Loads whose four hours are evaluated in one go: about as many numbers as a processor keeps near.
LOADS_AT_ONCE = 8


def ratings(service_units_per_s: float | None, software_service_units_per_s: float | None) -> dict[str, Any]:
    """The ratings of an engine as parameters; without what the records do not tell."""
    ratings_of: dict[str, Any] = {}
    if service_units_per_s and service_units_per_s > 0:
        ratings_of["service_units_per_s"] = float(service_units_per_s)
    if software_service_units_per_s and software_service_units_per_s > 0:
        ratings_of["msu_per_engine"] = float(software_service_units_per_s) * MSU_PER_SU
    return ratings_of


def msu(ready: System, state: State, form: str) -> Array | None:
    """(draws, loads) MSU: ``msu`` of the LPAR, ``machine_msu`` with the other LPARs, ``r4ha_msu``."""
    each = state.scenario.msu_per_engine or ready.msu_per_engine
    if each is None:
        return None
    if form == "msu":
        return each * state.used.busy
    if form == "machine_msu":
        return each * (state.used.busy + state.scenario.others)
    recorded, scenario = ready.parameters.recorded, state.scenario
    if recorded is None or not scenario.recorded:
        return None
    loads = range(scenario.rates.shape[1])
    some = (loads[at : at + LOADS_AT_ONCE] for at in loads[::LOADS_AT_ONCE])
    return each * np.concatenate([_four_hours(ready, recorded, scenario, chosen) for chosen in some], axis=1)


def _four_hours(ready: System, recorded: RecordedIntervals, scenario: Scenario, loads: Sequence[int]) -> Array:
    """Mean engines in use over the four hours up to the end of the interval asked, (draws, loads), at some loads.

    The intervals before it have their recorded loads, changed as the interval asked is; no more is used than
    engines and caps let.
    """
    base, before, extra = cached(recorded, scenario.recorded, lambda: _until(recorded, scenario.recorded))
    rates = scenario.rates[:, loads[0] : loads[-1] + 1, None]
    scaled = np.where(base > 0, rates / np.where(base > 0, base, 1.0), 1.0) * before
    # A class that had no transactions in the interval asked, and is to have some, has them for the four hours.
    changed = np.where((base <= 0) & (rates > 0), rates, scaled)
    everywhere = {name: np.tile(values, len(loads)) for name, values in extra.items()}
    changed = changed.reshape(len(changed), -1, changed.shape[-1])
    used = ready.usage(replace(scenario, rates=changed, extra=everywhere)).busy
    sharing = ready.partition.sharing(scenario)
    most = scenario.engines if sharing is None else sharing.own.engines
    return np.asarray(np.minimum(used, most).reshape(len(used), len(loads), -1).mean(axis=2))


def _until(recorded: RecordedIntervals, intervals: Sequence[int]) -> tuple[Array, Array, dict[str, Array]]:
    """Mean transactions/s (streams,) of some recorded intervals; of all in the four hours up to the end of each, their
    transactions/s (1, intervals, streams) and other work (1, intervals) in engines."""
    times, rates = recorded.times, recorded.rates
    length = np.timedelta64(int(recorded.seconds), "s")
    windows = [
        np.flatnonzero((times > times[i] + length - FOUR_HOURS - np.timedelta64(1, "s")) & (times <= times[i]))
        for i in intervals[-MOST_WINDOWS:]
    ]
    index = np.concatenate(windows)
    extra = {name: values[index][None, :] for name, values in recorded.extra.items()}
    return rates[:, list(intervals)].mean(axis=1), rates[:, index].T[None], extra
