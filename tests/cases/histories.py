"""Histories of LPARs whose truth the tests know, by formulas that share nothing with the code under test."""

import math

import numpy as np

from model.calibration.history import History
from model.calibration.lpar import calibrate_lpar
from model.capacity.bundle import build, dumps, loads


def mmm_slowdown(load: float | np.ndarray, servers: int) -> np.ndarray:
    """Residence over service time in M/M/m, from its state probabilities summed one by one."""
    found = []
    for a in np.atleast_1d(np.asarray(load, float)).ravel():
        terms = [a**n / math.factorial(n) for n in range(servers)]
        tail = a**servers / math.factorial(servers) * servers / (servers - a)
        waiting = tail / (sum(terms) + tail)
        found.append(1.0 + waiting / (servers - a))
    return np.reshape(found, np.shape(load))


ENGINES, SECONDS, DAYS = 4, 900.0, 14
DEMAND_S = np.array([0.004, 0.012])
REST_MS = np.array([2.0, 9.0])
FIXED, SHARE = 0.15, 0.05


def history(growth_per_week: float = 0.0, seed: int = 1) -> History:
    """Two classes of equal importance on four engines: M/M/4 together, an office's day, uncaptured time by a line."""
    random = np.random.default_rng(seed)
    intervals = DAYS * 96
    start = np.datetime64("2026-09-07T00:00:00") + np.arange(intervals) * np.timedelta64(900, "s")
    hour = (np.arange(intervals) % 96) / 4.0
    shape = 0.2 + np.exp(-0.5 * ((hour - 11.0) / 3.0) ** 2)
    growth = np.exp(growth_per_week * np.arange(intervals) / 672.0)
    mean = np.outer(shape * growth, [210.0, 95.0]) * SECONDS * random.normal(1.0, 0.05, (intervals, 2))
    ended = random.poisson(np.maximum(mean, 0.0)).astype(float)
    cp_s = ended * DEMAND_S + np.sqrt(ended) * DEMAND_S * random.standard_normal(ended.shape)
    captured = cp_s.sum(axis=1)
    busy_s = FIXED * SECONDS + (1.0 + SHARE) * captured
    stretch = mmm_slowdown(busy_s / SECONDS, ENGINES)[:, None]
    response = (1e3 * DEMAND_S * stretch + REST_MS) * random.normal(1.0, 0.01, ended.shape)
    none = np.zeros(intervals)
    return History(
        system_id="PRDA",
        smf_sid="PRDA",
        cpc_type="",
        start_utc=start,
        start_local=start,
        seconds=np.full(intervals, SECONDS),
        engines=np.full(intervals, float(ENGINES)),
        busy_s=busy_s,
        ziips=none,
        ziip_busy_s=none,
        density=np.ones(intervals),
        classes=("HIGH", "LOW"),
        importance=np.array([2, 2]),
        workloads=("CICS", "CICS"),
        ended=ended,
        idle_s=np.zeros_like(ended),
        cp_s=cp_s,
        ziip_s=np.zeros_like(ended),
        ziip_on_cp_s=np.zeros_like(ended),
        response_ms=response,
        p90_ms=response * 2.2,
    )


def bundle_of(given: History) -> dict:
    return loads(dumps(build({"PRDA": calibrate_lpar(given)}, data={}, validation={})))


def truth(rates: np.ndarray) -> tuple[float, np.ndarray]:
    """Busy percent and mean responses in ms at rates of both classes."""
    busy = FIXED + (1.0 + SHARE) * float(rates @ DEMAND_S)
    return 100.0 * busy / ENGINES, 1e3 * DEMAND_S * mmm_slowdown(busy, ENGINES) + REST_MS


def peak_rates(given: History) -> np.ndarray:
    return given.ended[np.argmax(given.busy_s)] / SECONDS


