"""Volumes, coupling facilities, and other LPARs of the machine: what an LPAR shares with them and waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import Devices, History
from model.calibration.regression import fit

Array = NDArray[np.float64]

# The waits of a class for a group are its own only where they are at most this part of its responses: other work
# under its name may wait too.
MOST_OF_RESPONSE = 0.7
# Volumes that nobody waited for still tell who uses them.
LEAST_WAIT = 1e-6
# How far the part of a class's requests that goes to a group may be from that of all classes, relatively.
SHARE_SD = 0.5
BURSTY = 2.0
"""How many times Poisson's the standard deviation of the number of arrivals in an interval is taken to be."""
# Median of a chi-squared variable of one degree of freedom.
MEDIAN_SQUARE = 0.4549
# LPARs whose records differ by less, relatively, in how busy a coupling facility of that name was use the same: in the
# middle of all intervals, and in the middle of the differences, which records out of phase have.
SAME_BUSY, OUT_OF_PHASE = 0.01, 0.1


def with_device_waits(h: History, ios: Array) -> History:
    """The history whose classes wait for devices as they do for limits.

    Parameters
    ----------
    ios
        (I, C) requests to devices of each class.
    """
    waited_s, devices = dict(h.waited_s), {}
    for called, group in h.devices.items():
        requests = _requests(h, group, h.ended if group.waited_s is None else np.nan_to_num(ios))
        if requests is not None:
            waited = _waits(h, group, requests)
            # Transactions may wait for a resource of the same name.
            name = called if called not in h.waited_s else f"{called} volumes"
            waited_s[name], devices[name] = waited, group
    return replace(h, waited_s=waited_s, devices=devices)


def _requests(h: History, group: Devices, ios: Array) -> Array | None:
    """(I, C) requests of each class to a group; None where none has any."""
    asking = (ios.sum(axis=0) > 0) & (h.ended.sum(axis=0) > 0)
    if not asking.any() or not group.requests.sum() > 0:
        return None
    usual = group.requests.sum() / ios[:, asking].sum()
    kept = group.requests > 0
    prior = np.full(int(asking.sum()), usual)
    design, target = ios[kept][:, asking], group.requests[kept]
    shares = fit(design, target, 1.0 / target, h.day[kept], prior, SHARE_SD * prior)
    requests = np.zeros(ios.shape)
    requests[:, asking] = ios[:, asking] * np.maximum(shares.mean, 0.0)
    return requests


def _waits(h: History, group: Devices, requests: Array) -> Array:
    """(I, C) seconds that transactions of each class waited for a group."""
    total_s = (
        LEAST_WAIT * group.busy_s if group.waited_s is None else np.maximum(group.waited_s, LEAST_WAIT * group.busy_s)
    )
    waited = total_s[:, None] * requests / np.maximum(requests.sum(axis=1), 1e-12)[:, None]
    response_s = np.nansum(h.response_ms * h.ended, axis=0) / 1e3
    plausible = waited.sum(axis=0) <= MOST_OF_RESPONSE * response_s
    return np.where(plausible, waited, 0.0)


def with_neighbours(h: History, histories: Mapping[str, History]) -> History:
    """The history with what is known of other LPARs from their own records.

    Volumes of a group also work for the LPARs of the machine that have one of the same name, whose work varies as that
    of their classes does; a coupling facility for every LPAR that reports the same of it.
    """
    every = [one for one in histories.values() if one is not h]
    h = _with_shared_facilities(h, every)
    if h.machine is None or not h.machine.name:
        return h
    others = [one for one in every if one.machine is not None and one.machine.name == h.machine.name]
    groups = {}
    for name, group in h.devices.items():
        theirs = np.zeros(len(h.seconds))
        for one in others:
            if name in one.devices and group.waited_s is not None:
                theirs += _meanwhile(h, one, one.devices[name].busy_s)
        groups[name] = group if group.waited_s is None else replace(group, others_s=theirs)
    none = np.zeros(len(h.seconds))
    used_s = sum((_meanwhile(h, one, one.busy_s) for one in others), none)
    varied = sum((_meanwhile(h, one, work_variance(one) + arrival_variance(one)) for one in others), none)
    return replace(h, devices=groups, machine=replace(h.machine, others_recorded_s=used_s, others_variance=varied))


def _with_shared_facilities(h: History, others: Sequence[History]) -> History:
    """The history whose coupling facilities work for others as far as requests come from these."""
    groups, waited = dict(h.devices), dict(h.waited_s)
    for name, group in h.devices.items():
        if group.waited_s is not None:
            continue
        theirs = np.zeros(len(h.seconds))
        for one in others:
            other = one.devices.get(name)
            if other is None or other.waited_s is not None:
                continue
            covered = _meanwhile(h, one, one.seconds) > (1.0 - SAME_BUSY) * h.seconds
            if _alike(group.busy_s[covered], _meanwhile(h, one, other.busy_s)[covered]):
                theirs += _meanwhile(h, one, other.requests)
        share = group.requests / np.maximum(group.requests + theirs, 1e-12)
        groups[name] = replace(group, busy_s=group.busy_s * share, others_s=group.busy_s * (1.0 - share))
        if name in waited:
            waited[name] = waited[name] * share[:, None]
    return replace(h, devices=groups, waited_s=waited)


def _alike(one: Array, other: Array) -> bool:
    """Whether two LPARs, (intervals,) each, saw a facility as busy, but for a few intervals and for where these lie."""
    most = np.maximum(one, other)
    apart = (other - one)[most > 0] / most[most > 0]
    if not len(apart):
        return False
    return bool(abs(np.median(apart)) <= SAME_BUSY and np.median(np.abs(apart)) <= OUT_OF_PHASE)


def work_variance(h: History) -> Array:
    """(I,) variance, in s^2 of CPU, of an interval's work about what its transactions take on average.

    Read for each class from how costs of a transaction differ from one interval to the next, which neither a trend nor
    a release disturbs. CPU of classes without transactions is that of the transactions without CPU.
    """
    cpu, ended = _work(h)
    variance = np.zeros(len(h.seconds))
    for used, count in zip(cpu.T, ended.T, strict=True):
        some = count > 0
        cost, each = used[some] / count[some], count[some]
        if len(cost) > 1:
            squares = np.diff(cost) ** 2 / (1.0 / each[1:] + 1.0 / each[:-1])
            variance += count * float(np.median(squares)) / MEDIAN_SQUARE
    return variance


def arrival_variance(h: History) -> Array:
    """(I,) variance, in s^2 of CPU, of an interval's work by how many transactions come. CPU of long jobs has none: it
    is recorded wherever they end."""
    short = np.array([name not in h.jobs for name in h.classes])
    cpu, ended = _work(replace(h, cp_s=h.cp_s * short, ended=h.ended * short))
    return np.asarray(np.where(ended > 0, (BURSTY * cpu) ** 2 / np.maximum(ended, 1.0), 0.0).sum(axis=1))


def _work(h: History) -> tuple[Array, Array]:
    """CPU s and transactions by class, (I, n) each: last CPU of classes without transactions, with the transactions
    without CPU."""
    cpu, ended = np.nan_to_num(h.cp_s), np.nan_to_num(h.ended)
    bare = (cpu.sum(axis=0) <= 0) & (ended.sum(axis=0) > 0)
    served = (cpu.sum(axis=0) > 0) & (ended.sum(axis=0) <= 0)
    cpu = np.column_stack([cpu[:, ~served & ~bare], cpu[:, served].sum(axis=1)])
    return cpu, np.column_stack([ended[:, ~served & ~bare], ended[:, bare].sum(axis=1)])


def _meanwhile(h: History, other: History, busy_s: Array) -> Array:
    """(I,) seconds of those in another LPAR's intervals that fall into those of ``h``, by overlap in time."""
    begin, start = ((one.start_utc - h.start_utc[0]) / np.timedelta64(1, "s") for one in (other, h))
    end = np.minimum(begin + other.seconds, np.append(begin[1:], np.inf))
    until = np.cumsum(busy_s)
    edges, done = (np.column_stack(pair).ravel() for pair in ((begin, end), (until - busy_s, until)))
    return np.interp(start + h.seconds, edges, done) - np.interp(start, edges, done)
