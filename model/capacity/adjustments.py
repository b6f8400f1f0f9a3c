"""What-if adjustments: published claims and ratios that may be put on top of any answer.

Calibration reads them of the reference catalogue (``model.calibration.systems``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.capacity.answer import Output
from model.capacity.values import QuestionError

RATES = ("etr_tps", "tran_rate_tps", "online_tran_rate_tps", "throughput")
"""Metrics that say the rate of the transactions that were measured."""
WHOLE_RATES = ("total_tps", *RATES)
"""The same, with that of all transactions of a system, where there are several sorts of them."""
POPULATIONS = ("users", "sessions", "clients", "terminals", "web_clients", "ims_connect_clients")
"""One population of users, under one name or another; a question may use any of these names."""
ITR, TRANSACTIONS = "itr_tps", "tran/s"
"""Transactions per second of engine time, which are none of a load; and the unit of rates."""
WORK_UNITS = ("1/s", "SU", "service units", "service units/s", "s/s", "MIPS", "MB/s", "KB/s")
OF_ENGINES = re.compile(r"pct of (one CP|\d+ CPs)")
"""The unit of a part of some engines."""


def is_work(metric: str, unit: str) -> bool:
    """Whether a metric grows with the transaction rate: engine time, I/O, requests, service."""
    if unit == "pct":
        return "busy" in metric or "util" in metric
    if unit == TRANSACTIONS:
        return metric not in (*WHOLE_RATES, ITR)
    return unit in WORK_UNITS or OF_ENGINES.fullmatch(unit) is not None


PREFIX = "adjust."
WORDS = {
    "cpu": "CPU time",
    "itr": "ITR",
    "throughput": "throughput",
    "elapsed": "elapsed time",
    "message_time": "time of a message",
    "storage": "common storage",
    "io": "I/O requests",
}
"""Quantities that an adjustment may change, with their names in notes."""
QUANTITIES = tuple(WORDS)
Z_90 = 1.6449
MOST_MOVED = 0.999
"""Largest share of engine time that moves, so that the rest has a logarithm."""
FULL_PCT = 100.0


ON, OFF = "on", "off"


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor on a quantity: median and standard deviation of its logarithm."""

    log: float
    log_sd: float

    @classmethod
    def between(cls, low: float, high: float) -> Factor:
        """The factor whose logarithm has this 90 % interval."""
        return cls(0.5 * (low + high), 0.5 * (high - low) / Z_90)

    @property
    def ends(self) -> tuple[float, float]:
        """The 90 % interval of the logarithm."""
        return self.log - Z_90 * self.log_sd, self.log + Z_90 * self.log_sd

    @property
    def value(self) -> float:
        """The median factor."""
        return math.exp(self.log)

    def of_share(self, share: float) -> Factor:
        """The factor on all where it holds for a share of it, 0 to 1."""
        low, high = (math.log1p(share * math.expm1(end)) for end in self.ends)
        return Factor.between(low, high)

    def or_none(self) -> Factor:
        """A factor that may be as this one, or none at all, or anything between."""
        low, high = self.ends
        return Factor.between(min(low, 0.0), max(high, 0.0))


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A what-if with a factor for each quantity it changes, and its sources; `scope` its traffic or product.

    ``moved`` is what share of the engine time it takes from CPs to zIIPs, least and most; None for one that moves
    none. ``holds_for`` names the work it applies to, for readers, where that is not all work.
    """

    name: str
    title: str
    factors: Mapping[str, Factor]
    sources: tuple[str, ...]
    scope: str = ""
    moved: tuple[float, float] | None = None
    holds_for: str = ""

    def concerns(self, parts: Iterable[str]) -> bool:
        """Whether a system with these workloads and components has the traffic that it was measured on."""
        return not self.scope or any(self.scope in part.casefold() for part in parts)

    @property
    def quantities(self) -> set[str]:
        """What it changes; engine time and ITR are each other's inverse."""
        names = {*self.factors, *(("cpu",) if self.moved else ())}
        return names | {"cpu", "itr"} if names & {"cpu", "itr"} else names

    def of_share(self, share: float) -> Adjustment:
        """It, of a share of the engine time (or the throughput, or the messages)."""
        factors = {quantity: one.of_share(share) for quantity, one in self.factors.items()}
        moved = (share * self.moved[0], share * self.moved[1]) if self.moved else None
        return replace(self, factors=factors, moved=moved, holds_for=f"of {100.0 * share:g} % of the work")

    def elsewhere(self) -> Adjustment:
        """It, on a system whose share of such traffic is unknown: from none to all."""
        factors = {quantity: one.or_none() for quantity, one in self.factors.items()}
        moved = (0.0, self.moved[1]) if self.moved else None
        unknown = f"measured on {self.scope.upper()}, by which no workload or component here is named: of none to all "
        unknown += f"of the work, and {PREFIX}{self.name}=0.3 says of 30 %"
        return replace(self, factors=factors, moved=moved, holds_for=unknown)

    @property
    def changes(self) -> str:
        """What it changes, and by how much."""
        changes = [
            f"{WORDS[quantity]} {100 * math.expm1(one.ends[0]):+.1f} to {100 * math.expm1(one.ends[1]):+.1f} %"
            for quantity, one in self.factors.items()
        ]
        if self.moved:
            least, most = (100.0 * share for share in self.moved)
            changes.append(f"{least:.3g} to {most:.3g} % of the engine time moved from CPs to zIIPs")
        return ", ".join(changes)

    @property
    def note(self) -> str:
        """What is assumed and on what grounds, for readers."""
        holds = f", {self.holds_for}" if self.holds_for else ""
        return f"{PREFIX}{self.name}: {self.title}{holds}: {self.changes} ({'; '.join(self.sources)})"


def choose_adjustments(
    at: Mapping[str, Any], available: Mapping[str, Adjustment], parts: Collection[str] = ()
) -> tuple[dict[str, Any], tuple[Adjustment, ...]]:
    """The rest of a question, and the adjustments that it switches on.

    ``adjust.NAME=on`` applies an adjustment as it was measured, ``adjust.NAME=0.3`` to 30 % of the work. If it was
    measured on traffic that no part of the system is named after, and the question has no share, the share is from
    none to all.

    Parameters
    ----------
    at
        the question.
    available
        all adjustments by name.
    parts
        workloads and components of the system.

    Raises
    ------
    QuestionError
        an unknown adjustment, or a value other than ``on``, ``off`` and a share.
    """
    rest, chosen = {}, []
    for key, value in at.items():
        if not key.startswith(PREFIX):
            rest[key] = value
            continue
        name = key.removeprefix(PREFIX)
        if name not in available:
            raise QuestionError(key, key, f"{key}: no such adjustment", (f"{PREFIX}{one}" for one in available))
        one, share = available[name], share_of(key, value)
        if share is None:
            chosen.append(one if one.concerns(parts) else one.elsewhere())
        elif share > 0.0:
            chosen.append(one.of_share(share))
    return rest, tuple(chosen)


def share_of(key: str, value: Any) -> float | None:
    """The share of the work in a question: 0 for `off`, None for `on`.

    Raises QuestionError for anything else than these and a number from 0 to 1.
    """
    if str(value) in (ON, OFF):
        return None if str(value) == ON else 0.0
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    if not 0.0 <= share <= 1.0:
        text = f"{key}: {value!r} must be on, off, or a share of the work from 0 to 1"
        raise QuestionError(key, value, text, (ON, OFF))
    return share


def quantity_of(metric: str, unit: str) -> str | None:
    """Which quantity a metric is; None for one that no adjustment changes."""
    if metric.startswith("itr"):
        return "itr"
    if metric == "throughput":
        return "throughput"
    if "elapsed" in metric:
        return "elapsed"
    if metric in ("send_s", "receive_s"):
        return "message_time"
    if metric == "csa_kb":
        return "storage"
    if metric == "excps":
        return "io"
    if unit == "us/tran" or unit in ("SU", "SU/tran") or (unit.startswith("pct") and is_work(metric, unit)):
        return "cpu"
    return None


def factor(chosen: Iterable[Adjustment], quantity: str) -> Factor:
    """What adjustments together do to a quantity; engine time and ITR are each other's inverse, and time moved to
    zIIPs is no engine time of CPs."""
    log = variance = 0.0
    inverse = {"cpu": "itr", "itr": "cpu"}.get(quantity, "")
    for adjustment in chosen:
        signed = [(1.0, adjustment.factors[quantity])] if quantity in adjustment.factors else []
        if not signed and inverse in adjustment.factors:
            signed = [(-1.0, adjustment.factors[inverse])]
        if adjustment.moved and inverse:
            left = [math.log1p(-min(share, MOST_MOVED)) for share in adjustment.moved]
            signed.append((1.0 if quantity == "cpu" else -1.0, Factor.between(*sorted(left))))
        log += sum(sign * one.log for sign, one in signed)
        variance += sum(one.log_sd**2 for _, one in signed)
    return Factor(log, math.sqrt(variance))


def adjusted(value: float, lo: float, hi: float, by: Factor) -> tuple[float, float, float]:
    """A value and its 90 % interval under a factor; the spreads of both add in logarithms."""
    if value <= 0 or lo <= 0:
        return value * by.value, lo * by.value, hi * by.value
    below = math.hypot(math.log(value / lo), Z_90 * by.log_sd)
    above = math.hypot(math.log(hi / value), Z_90 * by.log_sd)
    middle = value * by.value
    return middle, middle * math.exp(-below), middle * math.exp(above)


def scaled(output: Output, by: Factor) -> Output:
    """A figure times a factor; a share of 100 % at most stays one."""
    if output.value is None or output.lo is None or output.hi is None:
        return output
    ends = adjusted(output.value, output.lo, output.hi, by)
    most = FULL_PCT if output.unit == "pct" and output.hi <= FULL_PCT else math.inf
    value, low, high = (min(end, most) for end in ends)
    return replace(output, value=value, lo=low, hi=high)


def log_sd(output: Output) -> float:
    """Standard deviation of the logarithm of a figure, by its 90 % limits; 0 without limits above zero."""
    if not output.lo or not output.hi or output.lo <= 0:
        return 0.0
    return math.log(output.hi / output.lo) / (2.0 * Z_90)
