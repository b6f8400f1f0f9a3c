"""What a history says that cannot be, or that a planner must know before trusting an answer: each in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History

# A class has ended when nothing of it came for this long at the end, and begun when nothing did at the beginning.
GONE_DAYS = 5
# Busy over what the engines can be, and CPU of classes over busy, with engines beside it, that are no rounding.
IMPOSSIBLE, ABOVE, BESIDE = 1.02, 1.1, 0.02
# Transactions of one interval whose CPU stands for so many times fewer of the class, and in how many intervals that is
# not another kind of load; costs of fewer transactions than this say nothing.
TOO_MANY, SELDOM, FEWEST_COUNTED = 20.0, 0.05, 30.0
# Rates and dates that make one class the likely successor of another.
ALIKE, SAME_DAYS = 1.5, 1


def without_overlap(h: History) -> tuple[History, list[str]]:
    """The history without intervals that begin before the one before has ended."""
    seconds = (h.start_utc - h.start_utc[0]) / np.timedelta64(1, "s")
    kept = np.ones(len(seconds), bool)
    end = -np.inf
    for i, (start, length) in enumerate(zip(seconds, h.seconds, strict=True)):
        kept[i] = start >= end - 1.0
        end = max(end, start + length) if kept[i] else end
    if kept.all():
        return h, []
    note = f"{_left_out(h, ~kept)} overlap: check the clock"
    return h.rows(kept), [note]


def without_contradiction(h: History) -> tuple[History, list[str]]:
    """The history without intervals that say what cannot be: more busy than engines, more CPU of classes than busy."""
    busy, captured = h.busy_s, np.nansum(h.cp_s, axis=1)
    wrong = (busy > IMPOSSIBLE * h.engines * h.seconds) | (captured > ABOVE * busy + BESIDE * h.seconds)
    if not wrong.any() or wrong.all():
        return h, []
    note = (
        f"{_left_out(h, wrong)} have more CPU of classes than of the LPAR, or of the LPAR than of its engines: check "
        "for missing or duplicate records"
    )
    return h.rows(~wrong), [note]


def without_miscounts(h: History) -> tuple[History, list[str]]:
    """The history without intervals that count many times the transactions of a class that their CPU stands for."""
    counted = (h.ended >= FEWEST_COUNTED) & (h.cp_s > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = np.where(counted, h.cp_s / h.ended, np.nan)
    told = counted.sum(axis=0) * SELDOM >= 1.0
    usual = np.full(len(h.classes), np.nan)
    usual[told] = np.nanmedian(cost[:, told], axis=0)
    cheap = np.asarray(cost < usual / TOO_MANY)
    wrong = cheap & (cheap.sum(axis=0) <= SELDOM * counted.sum(axis=0))
    if not wrong.any():
        return h, []
    names = ", ".join(name for name, some in zip(h.classes, wrong.any(axis=0), strict=True) if some)
    left = wrong.any(axis=1)
    return h.rows(~left), [
        f"{_left_out(h, left)} count more than {TOO_MANY:.0f} times the transactions of {names} that their CPU stands "
        "for"
    ]


def _left_out(h: History, wrong: NDArray[np.bool_]) -> str:
    return f"{wrong.sum()} of {len(wrong)} intervals, from {h.start_local[np.argmax(wrong)]} on, are left out as they"


def below_service(h: History, streams: Sequence[int]) -> tuple[list[int], list[str]]:
    """Classes whose transactions are said to take less time than the CPU they use, and a sentence for each: those of
    whom not even all engines together would be so fast, whose responses are of other transactions."""
    most, impossible, notes = float((h.engines + h.ziips * h.density).max()), [], []
    for c in streams:
        known = np.isfinite(h.response_ms[:, c]) & np.isfinite(h.cp_s[:, c]) & (h.ended[:, c] > 0)
        if not known.any():
            continue
        ended = h.ended[known, c]
        response = float(np.average(h.response_ms[known, c], weights=ended))
        service = 1e3 * float((h.cp_s[known, c] + h.ziip_s[known, c]).sum() / ended.sum())
        if response >= service:
            continue
        said = f"{h.classes[c]}: its response of {response:.3g} ms is less than the {service:.3g} ms of CPU of a "
        if response * most < service:
            impossible.append(c)
            notes.append(f"{said}transaction: its response time is not predicted; check whether it counts other "
            "transactions")
        else:
            notes.append(
                f"{said}transaction: its work is assumed to run in parallel; check whether it counts other transactions"
            )
    return impossible, notes


def come_and_gone(h: History, streams: Sequence[int]) -> list[str]:
    """Classes whose transactions stop before the end of the history, and which may have taken their place."""
    seen = {c: h.day[h.ended[:, c] > 0] for c in streams}
    gone = [c for c in streams if seen[c].max() <= h.day.max() - GONE_DAYS]
    come = [c for c in streams if seen[c].min() >= h.day.min() + GONE_DAYS]
    notes = []
    for c in gone:
        heirs = [
            h.classes[n]
            for n in come
            if abs(int(seen[n].min() - seen[c].max()) - 1) <= SAME_DAYS
            and 1.0 / ALIKE < _daily(h, n, seen[n]) / _daily(h, c, seen[c]) < ALIKE
        ]
        last = np.datetime64(int(seen[c].max()), "D")
        now = f"; {' or '.join(heirs)} may be its new name" if heirs else ""
        notes.append(f"{h.classes[c]}: no transactions since {last}{now}")
    return notes


def _daily(h: History, c: int, days: NDArray[np.int64]) -> float:
    return float(h.ended[:, c].sum() / len(np.unique(days)))


def engines_changed(h: History) -> list[str]:
    """A sentence where the LPAR had other engines before."""
    before = h.engines[:-1] != h.engines[1:]
    if not before.any():
        return []
    last = int(np.flatnonzero(before)[-1])
    return [
        f"engines: {h.engines[last]:g} until {h.start_local[last]}, {h.engines[-1]:g} since; answers are for "
        f"{h.engines[-1]:g}, whatever interval is asked"
    ]
