"""LPARs of one machine, seen by one of them: what others ask of its volumes, and how far their work varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from model.calibration.intervals import History

Array = NDArray[np.float64]

# Median of a chi-squared variable of one degree of freedom.
MEDIAN_SQUARE = 0.4549


def beside(h: History, found: Mapping[str, History]) -> History:
    """The history with what is known of the other LPARs of its machine from their own records.

    Volumes of a group also work for the LPARs that have one of the same name; the work of the others varies as that of
    their classes does.
    """
    if h.machine is None or not h.machine.name:
        return h
    others = [
        one for one in found.values() if one is not h and one.machine is not None and one.machine.name == h.machine.name
    ]
    groups = {}
    for name, group in h.devices.items():
        theirs = np.zeros(len(h.seconds))
        for one in others:
            if name in one.devices and group.waited_s is not None:
                theirs += _meanwhile(h, one, one.devices[name].busy_s)
        groups[name] = replace(group, others_s=theirs)
    varied = sum((_meanwhile(h, one, work_variance(one)) for one in others), np.zeros(len(h.seconds)))
    return replace(h, devices=groups, machine=replace(h.machine, others_variance=varied))


def work_variance(h: History) -> Array:
    """(I,) variance, in s^2 of CPU, of an interval's work about what its transactions take on average.

    Read for each class from how costs of a transaction differ from one interval to the next, which neither a trend nor
    a release disturbs. CPU of classes without transactions is that of the transactions without CPU.
    """
    cpu = np.nan_to_num(h.cp_s)
    ended = np.nan_to_num(h.ended)
    bare = (cpu.sum(axis=0) <= 0) & (ended.sum(axis=0) > 0)
    served = (cpu.sum(axis=0) > 0) & (ended.sum(axis=0) <= 0)
    cpu = np.column_stack([cpu[:, ~served & ~bare], cpu[:, served].sum(axis=1)])
    ended = np.column_stack([ended[:, ~served & ~bare], ended[:, bare].sum(axis=1)])
    variance = np.zeros(len(h.seconds))
    for used, count in zip(cpu.T, ended.T, strict=True):
        some = count > 0
        cost, each = used[some] / count[some], count[some]
        if len(cost) > 1:
            squares = np.diff(cost) ** 2 / (1.0 / each[1:] + 1.0 / each[:-1])
            variance += count * float(np.median(squares)) / MEDIAN_SQUARE
    return variance


def _meanwhile(h: History, other: History, busy_s: Array) -> Array:
    """(I,) seconds of those in another LPAR's intervals that fall into those of ``h``, by overlap in time."""
    begin, start = ((one.start_utc - h.start_utc[0]) / np.timedelta64(1, "s") for one in (other, h))
    end = np.minimum(begin + other.seconds, np.append(begin[1:], np.inf))
    until = np.cumsum(busy_s)
    edges, done = (np.column_stack(pair).ravel() for pair in ((begin, end), (until - busy_s, until)))
    return np.interp(start + h.seconds, edges, done) - np.interp(start, edges, done)
