"""What-if adjustments: published claims and ratios that may be put on top of any answer.

Calibration reads them of the reference catalogue (``model.calibration.adjustments``).
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from model.capacity.answer import Output
from model.capacity.conditions.tables import is_work
from model.capacity.questions import QuestionError

PREFIX = "adjust."
# The quantities that an adjustment may change, as readers call them.
WORDS = {
    "cpu": "CPU time",
    "itr": "ITR",
    "throughput": "throughput",
    "elapsed": "elapsed time",
    "message_time": "time of a message",
}
QUANTITIES = tuple(WORDS)
Z_90 = 1.6449
FULL_PCT = 100.0


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor on a quantity: median and standard deviation of its logarithm."""

    log: float
    log_sd: float

    @property
    def value(self) -> float:
        """The median factor."""
        return math.exp(self.log)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A what-if with a factor for each quantity it changes, and its sources; `scope` its traffic or product."""

    name: str
    title: str
    factors: Mapping[str, Factor]
    sources: tuple[str, ...]
    scope: str = ""

    def concerns(self, parts: Iterable[str]) -> bool:
        """Whether it may be asked of a system with these workloads and components: any, or one of its scope."""
        return not self.scope or any(self.scope in part.casefold() for part in parts)

    @property
    def changes(self) -> str:
        """What it changes, and by how much."""
        return ", ".join(
            f"{WORDS[quantity]} {100 * (math.exp(f.log - Z_90 * f.log_sd) - 1):+.1f} to "
            f"{100 * (math.exp(f.log + Z_90 * f.log_sd) - 1):+.1f} %"
            for quantity, f in self.factors.items()
        )

    @property
    def note(self) -> str:
        """What is assumed and on what grounds, for readers."""
        return f"{PREFIX}{self.name}: {self.title}: {self.changes} ({'; '.join(self.sources)})"


def to_plain(known: Mapping[str, Adjustment]) -> dict[str, Any]:
    """Adjustments as plain values for JSON."""
    return {name: asdict(adjustment) for name, adjustment in known.items()}


def from_plain(plain: Mapping[str, Any]) -> dict[str, Adjustment]:
    """Adjustments from what `to_plain` gave."""
    return {
        name: Adjustment(
            name,
            entry["title"],
            {quantity: Factor(**found) for quantity, found in entry["factors"].items()},
            tuple(entry["sources"]),
            entry.get("scope", ""),
        )
        for name, entry in plain.items()
    }


def parts_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The workloads and components of a system of the bundle, by name."""
    return (*entry["usage"], *(stream["name"] for stream in entry["streams"]))


def asked(
    at: Mapping[str, Any], known: Mapping[str, Adjustment], parts: Collection[str] = ()
) -> tuple[dict[str, Any], tuple[Adjustment, ...]]:
    """The rest of a question, and the adjustments it switches on (`adjust.NAME=on`).

    Args:
        at: the question.
        known: all adjustments.
        parts: workloads and components of the system asked.

    Raises QuestionError for an unknown adjustment, one about traffic that the system is not known to have, or a value
    other than `on` and `off`.
    """
    rest, chosen = {}, []
    for key, value in at.items():
        if not key.startswith(PREFIX):
            rest[key] = value
            continue
        name = key.removeprefix(PREFIX)
        if name not in known:
            such = {one.name: f"{one.name} ({one.title})" for one in known.values() if one.concerns(parts)}
            refused = QuestionError(key, name, f"{key}: no such adjustment; there are {'; '.join(such.values())}")
            refused.allowed = list(such)
            raise refused
        if str(value) not in ("on", "off"):
            raise QuestionError(key, value, f"{key}: {value!r} is neither on nor off", ("on", "off"))
        if str(value) == "on":
            if not known[name].concerns(parts):
                scope = known[name].scope
                text = f"{key}: is about {scope}; no workload or component here is named so: a groups file can name one"
                raise QuestionError(key, name, text, [one for one in known if known[one].concerns(parts)])
            chosen.append(known[name])
    return rest, tuple(chosen)


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
    if unit == "us/tran" or unit in ("SU", "SU/tran") or (unit.startswith("pct") and is_work(metric, unit)):
        return "cpu"
    return None


def factor(chosen: Iterable[Adjustment], quantity: str) -> Factor:
    """What adjustments together do to a quantity; engine time and ITR are each other's inverse."""
    log = variance = 0.0
    for adjustment in chosen:
        inverse = {"cpu": "itr", "itr": "cpu"}.get(quantity, "")
        if quantity in adjustment.factors:
            found = adjustment.factors[quantity]
        elif inverse in adjustment.factors:
            found = replace(adjustment.factors[inverse], log=-adjustment.factors[inverse].log)
        else:
            continue
        log += found.log
        variance += found.log_sd**2
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
