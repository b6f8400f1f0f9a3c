"""The intervals of an LPAR as arrays: engines, classes, devices and machine, and what in them contradicts itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.queueing.lpar_share import Sharer, Sharing

Array = NDArray[np.float64]

# A history that says how load and cost vary: this many days with intervals, and this many intervals.
FEWEST_DAYS = 3
FEWEST_INTERVALS = 72
# Part of an interval from which a transaction is long.
LONG = 0.1
# A class has ended when nothing of it came for this long at the end, and begun when nothing did at the beginning.
GONE_DAYS = 5
# Busy over what the engines can be, and CPU of classes over busy, with engines beside it, that are no rounding.
IMPOSSIBLE, ABOVE, BESIDE = 1.02, 1.1, 0.02
# Transactions of one interval whose CPU stands for so many times fewer of the class, and in how many intervals that is
# not another kind of load; costs of fewer transactions than this say nothing.
TOO_MANY, SELDOM, FEWEST_COUNTED = 20.0, 0.05, 30.0
# Rates and dates that make one class the likely successor of another.
ALIKE, SAME_DAYS = 1.5, 1
# Users are idle at least for this part of the time for which they wait.
IDLE = 0.5


@dataclass(frozen=True, eq=False)
class Devices:
    """A group of volumes, or a coupling facility's processors, by interval (I,).

    ``requests``, and seconds for which ``servers`` worked and requests waited; ``others_s`` they worked for other
    LPARs. Requests to a facility are not recorded by class, nor how long they waited, which is then None: the time its
    processors worked stands for them.
    """

    servers: float
    requests: Array
    busy_s: Array
    waited_s: Array | None
    others_s: Array | float = 0.0

    def others(self, seconds: Array) -> Array:
        """(I,) part of the group that other LPARs use in intervals of so many seconds."""
        return np.asarray(self.others_s / seconds / self.servers)

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> Devices:
        """The intervals chosen."""
        others = self.others_s[kept] if isinstance(self.others_s, np.ndarray) else self.others_s
        waited_s = None if self.waited_s is None else self.waited_s[kept]
        return Devices(self.servers, self.requests[kept], self.busy_s[kept], waited_s, others)


@dataclass(frozen=True, eq=False)
class SharedMachine:
    """The machine an LPAR shares, interval by interval (I,).

    ``others_s`` is dispatch time of the other LPARs, ``management_s`` of PHYSICAL, both on engines of the CPs' type;
    ``weight`` of ``total_weight`` is the LPAR's share, ``others`` are the LPARs that share the engines with it;
    ``others_recorded_s`` (I,) is the part of ``others_s`` of LPARs with records of their own, ``others_variance`` (I,)
    in s^2 how far the work of their transactions varies; ``cap_engines`` are the engines the LPAR is held to, None
    without an absolute cap. ``lpar`` is its name there, ``lpars_s`` (I,) dispatch time of each of the others by name,
    ``ziips`` the shared zIIPs and ``ziip_others_s`` (I,) what the others use of them.
    """

    name: str
    engines: float
    weight: float
    total_weight: float
    capped: bool
    others_s: Array
    management_s: Array
    others: tuple[Sharer, ...] = ()
    others_recorded_s: Array | float = 0.0
    others_variance: Array | float = 0.0
    cap_engines: float | None = None
    lpar: str = ""
    lpars_s: Mapping[str, Array] = field(default_factory=dict)
    ziips: float = 0.0
    ziip_others_s: Array | float = 0.0


@dataclass(frozen=True, eq=False)
class Groups:
    """Counts and CPU by interval (I,).

    ``ended`` has the transactions of each workload and of each transaction class with a name; ``cpu_s`` (I, 3) of each
    workload and address-space group its seconds on CPs, on zIIPs and, zIIP-eligible, on CPs; NaN where not recorded.
    """

    ended: Mapping[str, Array]
    cpu_s: Mapping[tuple[str, str], Array]

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> Groups:
        """The intervals chosen."""
        return replace(
            self,
            ended={name: counts[kept] for name, counts in self.ended.items()},
            cpu_s={name: seconds[kept] for name, seconds in self.cpu_s.items()},
        )


@dataclass(frozen=True, eq=False)
class History:
    """One LPAR by interval (I) and WLM service class (C); seconds and counts, NaN where the records do not say.

    ``cp_s`` is CPU on CPs with ``ziip_on_cp_s`` in it; ``busy_s`` and ``ziip_busy_s`` (I,) engine time of the pools,
    ``density`` (I,) threads by busy zIIP core; ``response_ms``, ``p90_ms`` (I, C); ``importance`` (C,) 0 for system
    work, 6 for discretionary. ``idle_s`` (I, C) is what samples found idle, such as users between their transactions.
    ``waited_s`` has (I, C) for each limit that the records name: what transactions waited for it, NaN where a class
    does not name it, found by samples every ``sampling_s``. ``devices`` are groups of volumes by name; where classes
    wait for one, it is among the limits. ``serves`` has by class of address spaces the classes that these were seen
    serving; ``hosts`` by class of regions that only a groups file tells apart the service class in which they run.
    ``jobs`` has by class of long work the jobs that ended, where ``ended`` are those whose CPU was used
    (:func:`with_jobs_in_progress`). ``dearer`` (I,) is by how much the same work took more CPU than at the usual
    busy.
    """

    system_id: str
    smf_sid: str
    cpc_type: str
    start_utc: NDArray[np.datetime64]
    start_local: NDArray[np.datetime64]
    seconds: Array
    engines: Array
    busy_s: Array
    ziips: Array
    ziip_busy_s: Array
    density: Array
    classes: tuple[str, ...]
    importance: NDArray[np.int64]
    workloads: tuple[str, ...]
    ended: Array
    idle_s: Array
    cp_s: Array
    ziip_s: Array
    ziip_on_cp_s: Array
    response_ms: Array
    p90_ms: Array
    machine: SharedMachine | None = None
    report_classes: Mapping[str, str] | None = None
    groups: Groups | None = None
    dearer: Array | float = 1.0
    waited_s: Mapping[str, Array] = field(default_factory=dict)
    sampling_s: float = 0.25
    samples: Mapping[str, Array] = field(default_factory=dict)
    devices: Mapping[str, Devices] = field(default_factory=dict)
    serves: Mapping[str, Collection[str]] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, Array] = field(default_factory=dict)

    def limited_ms(self, but: Collection[str] = ()) -> Array:
        """(I, C) mean wait of a transaction for all limits ``but`` some that the records name; 0 where none ended."""
        chosen = [np.nan_to_num(waited) for name, waited in self.waited_s.items() if name not in but]
        waited = sum(chosen, np.zeros(self.ended.shape))
        return np.where(self.ended > 0, 1e3 * waited / np.maximum(self.ended, 1.0), 0.0)

    def thinking_s(self) -> Array:
        """(I, C) what users thought between their transactions; 0 of a class whose transactions come by themselves, or
        that is next to never idle, which users who think are for a good part of their time."""
        elapsed_s = np.nansum(self.response_ms * self.ended, axis=0) / 1e3
        return np.where(self.idle_s.sum(axis=0) >= IDLE * elapsed_s, self.idle_s, 0.0)

    @property
    def day(self) -> NDArray[np.int64]:
        """Ordinal of the local day of each interval, (I,)."""
        return self.start_local.astype("datetime64[D]").astype(np.int64)

    def sharing(self, engines: float) -> Sharing | None:
        """The LPAR, with so many logical engines, among the others of its machine; None where it shares none."""
        m = self.machine
        if m is None:
            return None
        others = m.others or ((Sharer(m.engines, m.total_weight - m.weight),) if m.total_weight > m.weight else ())
        management = float(np.median(m.management_s / self.seconds))
        most = engines if m.cap_engines is None else min(engines, m.cap_engines)
        return Sharing.of(m.engines, management, Sharer(most, m.weight or 1e-9, m.capped), others)

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> History:
        """The intervals chosen."""
        changed: dict[str, Any] = {
            name: getattr(self, name)[kept]
            for name in (
                "start_utc", "start_local", "seconds", "engines", "busy_s", "ziips", "ziip_busy_s", "density",
                "ended", "idle_s", "cp_s", "ziip_s", "ziip_on_cp_s", "response_ms", "p90_ms",
            )
        }  # fmt: skip
        changed["devices"] = {name: group.rows(kept) for name, group in self.devices.items()}
        changed["waited_s"] = {name: waited[kept] for name, waited in self.waited_s.items()}
        changed["jobs"] = {name: ended[kept] for name, ended in self.jobs.items()}
        changed["samples"] = {name: seconds[kept] for name, seconds in self.samples.items()}
        if self.machine is not None:
            m, zero = self.machine, np.zeros(len(self.seconds))
            changed["machine"] = replace(
                m,
                others_s=m.others_s[kept],
                management_s=m.management_s[kept],
                others_recorded_s=(m.others_recorded_s + zero)[kept],
                others_variance=(m.others_variance + zero)[kept],
                lpars_s={name: used_s[kept] for name, used_s in m.lpars_s.items()},
                ziip_others_s=(m.ziip_others_s + zero)[kept],
            )
        if self.groups is not None:
            changed["groups"] = self.groups.rows(kept)
        return replace(self, **changed)


def with_jobs_in_progress(h: History) -> History:
    """The history with the jobs of each interval whose CPU it has, in classes whose jobs are long.

    A job that takes longer than a tenth of an interval uses CPU in other intervals than the one in which it ends. The
    CPU of its class is recorded in each of them; divided by the mean of all jobs, it is the number of jobs done.
    """
    elapsed_s, ended_all = np.nansum(h.response_ms * h.ended, axis=0) / 1e3, h.ended.sum(axis=0)
    cpu_s = np.nan_to_num(h.cp_s) + h.ziip_s
    ended, jobs = h.ended.copy(), {}
    for c in np.flatnonzero((elapsed_s > LONG * np.median(h.seconds) * ended_all) & (cpu_s.sum(axis=0) > 0)):
        jobs[h.classes[c]] = h.ended[:, c]
        ended[:, c] = cpu_s[:, c] * ended_all[c] / cpu_s[:, c].sum()
    return replace(h, ended=ended, jobs=jobs) if jobs else h


def enough(history: History) -> bool:
    """Whether the intervals are many enough to be a history, rather than a few measured points."""
    return len(history.seconds) >= FEWEST_INTERVALS and len(np.unique(history.day)) >= FEWEST_DAYS


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
    often = counted.sum(axis=0) * SELDOM >= 1.0
    usual = np.full(len(h.classes), np.nan)
    usual[often] = np.nanmedian(cost[:, often], axis=0)
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
        complete = np.isfinite(h.response_ms[:, c]) & np.isfinite(h.cp_s[:, c]) & (h.ended[:, c] > 0)
        if not complete.any():
            continue
        ended = h.ended[complete, c]
        response = float(np.average(h.response_ms[complete, c], weights=ended))
        service = 1e3 * float((h.cp_s[complete, c] + h.ziip_s[complete, c]).sum() / ended.sum())
        if response >= service:
            continue
        opening = f"{h.classes[c]}: its response of {response:.3g} ms is less than the {service:.3g} ms of CPU of a "
        if response * most < service:
            impossible.append(c)
            notes.append(f"{opening}transaction: its response time is not predicted; check whether it counts other "
            "transactions")
        else:
            notes.append(
                f"{opening}transaction: its work is assumed to run in parallel; "
                "check whether it counts other transactions"
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
