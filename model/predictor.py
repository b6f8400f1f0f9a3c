"""Capacity answers from a bundle: what a system would use and take at a load, and how many engines a rate needs.

Needs the standard library alone: the service answers with it in the request, and starts without a scientific stack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model import laws
from model.laws import Estimate
from model.questions import (
    LOADS,
    MOST_ENGINES,
    QuestionError,
    as_text,
    check_keys,
    point_entry,
    positive,
    system_entry,
    whole,
)

__all__ = ["QuestionError", "predict", "size"]

INTERVAL_PCT = 90
Z90 = 1.6448536269514722
HIGHEST_RATE = 1e12
LPAR = "lpar"
CPS = "general-purpose CPs of the LPAR"


@dataclass(frozen=True)
class Load:
    """A load on a system: rate with limits (equal where the rate is given), and the engines it runs on."""

    entry: Mapping[str, Any]
    rate: Estimate
    engines: int
    engine_exponent_sd: float

    @property
    def engine_sd(self) -> float:
        """Relative uncertainty of the cost on another number of engines: the n-way effect is not known."""
        return self.engine_exponent_sd * abs(math.log(self.engines / self.entry["engines"]))

    def usage(self, series: str, rate: float | None = None) -> Estimate:
        """Engines in use by the series, at the load's rate unless another is given."""
        law = self.entry["usage"][series]
        at = self.rate.value if rate is None else rate
        found = laws.usage(law, at)
        half = math.hypot(found.half, Z90 * self.engine_sd * found.value)
        return Estimate(found.value, max(0.0, found.value - half), found.value + half)

    def reconciled(self, series: str, rate: float | None = None) -> Estimate:
        """Usage of the series, moved so that groups which are known to make up the total add up to it."""
        found = self.usage(series, rate)
        law = self.entry["usage"][series]
        if not self.entry["exhaustive"] or not law["part"] or not law["points"]:
            return found
        parts = {
            name: self.usage(name, rate) for name, own in self.entry["usage"].items() if own["part"] and own["points"]
        }
        value = _adding_up(parts, self.usage(self.entry["main_total"], rate).value)[series]
        return Estimate(value, max(0.0, value - found.half), value + found.half)

    @property
    def capacity_series(self) -> str:
        """The series that fills the LPAR: its own busy time, or the workload's total where no busy time is known."""
        return LPAR if LPAR in self.entry["usage"] else self.entry["main_total"]

    def busy_pct(self) -> Estimate:
        """Percent of the LPAR's engines in use."""
        return Estimate(*(100.0 * value / self.engines for value in self.usage(self.capacity_series)))


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the system uses and how long its transactions take at a load, with 90 % limits.

    Args:
        bundle: a calibrated model, see ``model.bundle``.
        system: id of a calibrated system.
        at: ``etr_tps`` (transactions/s), ``cpu_busy_pct`` (percent of the LPAR's CPs) or ``point`` (name of a measured
            point) for the load, and ``engines`` (number of CPs). Without a load, the highest measured point.

    Raises:
        QuestionError: unknown system or key, or a value out of its domain.
    """
    entry = system_entry(bundle, system)
    asked = dict(at or {})
    try:
        check_keys(asked)
        load, point = _load(bundle, entry, asked)
    except QuestionError as error:
        error.field = f"at.{error.field}"
        raise
    shown = _condition(entry, asked, point)
    outputs = _load_output(load, asked, point, shown)
    for output in entry["outputs"]:
        if output["metric"] in asked:
            continue
        estimate = _output(load, output)
        if estimate is not None:
            outputs.append(_row(output["metric"], shown(output["metric"]), estimate, output["unit"]))
    extrapolated, notes = _notes(load)
    if any(row["metric"] == "etr_tps" for row in outputs) and "cpu_busy_pct" not in asked:
        notes.insert(0, "etr_tps: the limits are the rates at which the model is as busy as it is here")
    return {
        "system": system,
        "at": {key: value if key == "point" else float(value) for key, value in asked.items()}
        | ({} if any(key in asked for key in LOADS) else {"etr_tps": load.rate.value}),
        "model_version": bundle["model_version"],
        "outputs": outputs,
        "bottleneck": _bottleneck(load),
        "extrapolated": extrapolated,
        "interval_pct": INTERVAL_PCT,
        "notes": notes,
        "evidence": evidence(bundle, entry),
    }


def size(
    bundle: Mapping[str, Any],
    system: str,
    etr_tps: float,
    *,
    max_busy_pct: float | None = None,
    max_response_ms: float | None = None,
) -> dict[str, Any]:
    """The smallest number of engines that carries a rate within a busy and a response target.

    ``engines.value`` meets the targets at even odds, ``lo`` with probability 5 % and ``hi`` with 95 %; null where no
    number up to 256 does. Without a target the engines must only not be saturated.

    Raises:
        QuestionError: unknown system, a value out of its domain, or a response target for a system without responses.
    """
    entry = system_entry(bundle, system)
    rate = positive("etr_tps", etr_tps)
    busy_target = 100.0 if max_busy_pct is None else positive("max_busy_pct", max_busy_pct, 100.0)
    response_target = None if max_response_ms is None else positive("max_response_ms", max_response_ms)
    metric = min(entry["response"], default=None)
    if response_target is not None and metric is None:
        raise QuestionError(
            "max_response_ms",
            max_response_ms,
            f"max_response_ms: no response of {system} was measured; use max_busy_pct",
        )
    base = Load(entry, Estimate(rate, rate, rate), entry["engines"], bundle["assumptions"]["engine_exponent_sd"])
    rows = []
    for engines in range(1, MOST_ENGINES + 1):
        load = replace(base, engines=engines)
        rows.append(_size_row(load, metric, busy_target, response_target))
        if rows[-1]["probability"] >= 0.95:
            break
    value, lo, hi = (next((row["engines"] for row in rows if row["probability"] >= p), None) for p in (0.5, 0.05, 0.95))
    chosen = replace(base, engines=value or entry["engines"])
    extrapolated, notes = _notes(chosen)
    if value is not None and hi is None:
        notes.append(
            "no number of engines is sure to meet the targets: what more engines cannot change is too uncertain"
        )
    if value is None:
        notes.append(f"no number of engines up to {MOST_ENGINES} meets the targets at this rate")
    likeliest = max(rows, key=lambda row: row["probability"])["engines"]
    first, last = (lo or likeliest) - 2, (hi or max(value or 1, likeliest)) + 1
    return {
        "system": system,
        "at": {"etr_tps": rate},
        "targets": {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
        "model_version": bundle["model_version"],
        "engines": {"value": value, "lo": lo, "hi": hi},
        "bottleneck": _bottleneck(chosen),
        "extrapolated": extrapolated,
        "interval_pct": INTERVAL_PCT,
        "notes": notes,
        "evidence": evidence(bundle, entry),
        "table": [row for row in rows if first <= row["engines"] <= last],
    }


def _adding_up(parts: Mapping[str, Estimate], total: float) -> dict[str, float]:
    """The values nearest to the parts that add up to the total, none below zero.

    Distance is measured in each part's own uncertainty: the surest moves least. A part that would fall below zero is
    held there, and the others make up for it.
    """
    free = dict(parts)
    found = dict.fromkeys(parts, 0.0)
    while free:
        gap = total - sum(part.value for part in free.values())
        spread = sum(part.half**2 for part in free.values())
        if spread == 0.0:
            spread, weights = float(len(free)), dict.fromkeys(free, 1.0)
        else:
            weights = {name: part.half**2 for name, part in free.items()}
        moved = {name: part.value + gap * weights[name] / spread for name, part in free.items()}
        below = [name for name, value in moved.items() if value < 0.0]
        if not below:
            return {**found, **moved}
        for name in below:
            del free[name]
    return found


def evidence(bundle: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer was calibrated on: points, intervals and seconds, relatives, origins that are not own

    measurements.
    """
    rates = [point["etr_tps"] for point in entry["points"]]
    known = {**entry["usage"], **entry["response"]}
    origins = {name: law["origin"] for name, law in known.items() if law["origin"] != "measured"}
    return {
        "points": len(rates),
        "etr_tps": [min(rates), max(rates)],
        "engines": entry["engines"],
        "machine": entry["machine"],
        "workload": entry["workload"],
        "intervals": entry["intervals"],
        "seconds": entry["seconds"],
        "relatives": entry["relatives"],
        "origins": origins,
        "data": bundle.get("data", {}),
    }


def _load(
    bundle: Mapping[str, Any], entry: Mapping[str, Any], asked: Mapping[str, Any]
) -> tuple[Load, Mapping[str, Any] | None]:
    engines = whole("engines", asked["engines"]) if "engines" in asked else entry["engines"]
    sd = bundle["assumptions"]["engine_exponent_sd"]
    if "etr_tps" in asked:
        rate = positive("etr_tps", asked["etr_tps"])
        return Load(entry, Estimate(rate, rate, rate), engines, sd), None
    if "cpu_busy_pct" in asked:
        busy = positive("cpu_busy_pct", asked["cpu_busy_pct"], 100.0)
        blank = Load(entry, Estimate(0.0, 0.0, 0.0), engines, sd)
        found = _rate_at(blank, busy * engines / 100.0)
        if found.value <= 1e-9 * entry["usage"][blank.capacity_series]["reference_rate"]:
            told = f"cpu_busy_pct: {busy:g} is less than the fixed part alone takes"
            raise QuestionError("cpu_busy_pct", asked["cpu_busy_pct"], told)
        return replace(blank, rate=found), None
    point = point_entry(entry, asked.get("point", entry["operating_point"]))
    rate = point["etr_tps"]
    return Load(entry, Estimate(rate, rate, rate), engines, sd), point


def _rate_at(load: Load, engines_used: float) -> Estimate:
    """The rate at which that many engines are in use, with the rates at which the limits are; infinite where none."""
    series = load.capacity_series

    def solve(side: Callable[[Estimate], float]) -> float:
        low, high = 0.0, load.entry["usage"][series]["reference_rate"]
        while side(load.usage(series, high)) < engines_used:
            low, high = high, 2.0 * high
            if high > HIGHEST_RATE:
                return math.inf
        for _ in range(200):
            middle = (low + high) / 2.0
            low, high = (middle, high) if side(load.usage(series, middle)) < engines_used else (low, middle)
        return high

    value = solve(lambda e: e.value)
    return Estimate(value, solve(lambda e: e.hi), max(value, solve(lambda e: e.lo)))


def _output(load: Load, output: Mapping[str, Any]) -> Estimate | None:
    """One metric at the load; limits of the rate, where the busy was asked, widen it."""
    here = _output_at(load, output, load.rate.value)
    if load.rate.lo == load.rate.hi or here is None or math.isinf(here.hi):
        return here
    limits = [max(rate, 1e-9) for rate in (load.rate.lo, load.rate.hi) if math.isfinite(rate)]
    ends = [end.value for end in (_output_at(load, output, rate) for rate in limits) if end is not None]
    swing = (max(here.value, *ends) - min(here.value, *ends)) / 2.0 if ends else 0.0
    down, up = math.hypot(here.value - here.lo, swing), math.hypot(here.hi - here.value, swing)
    return Estimate(here.value, max(0.0, here.value - down), here.value + up)


def _output_at(load: Load, output: Mapping[str, Any], rate: float) -> Estimate | None:
    form = output["form"]
    if form == "response_ms":
        law = load.entry["response"][output["series"]]
        used = load.usage(LPAR, rate)
        found = laws.response(law, 1e3 * used.value / rate, used, load.engines)
        return None if math.isinf(found.value) else found
    used = load.reconciled(output["series"], rate)
    if form == "pct":
        return Estimate(*(100.0 * value for value in used))
    if form == "us_per_tran":
        return Estimate(*(1e6 * value / rate for value in used))
    if form == "busy_pct":
        return Estimate(*(100.0 * value / load.engines for value in used))
    if used.value == 0.0:
        return None
    limit = math.inf if used.lo == 0.0 else rate * load.engines / used.lo
    return Estimate(rate * load.engines / used.value, rate * load.engines / used.hi, limit)


def _load_output(
    load: Load, asked: Mapping[str, Any], point: Mapping[str, Any] | None, shown: Callable[[str], str]
) -> list[dict[str, Any]]:
    """The rate itself is an answer where the busy was asked, and at a measured point with a busy of its own."""
    if "cpu_busy_pct" in asked:
        return [_row("etr_tps", shown("etr_tps"), load.rate, "tran/s")]
    if point is None or LPAR not in load.entry["usage"] or load.engines != load.entry["engines"]:
        return []
    solved = _rate_at(load, load.usage(LPAR).value)
    return [_row("etr_tps", shown("etr_tps"), Estimate(load.rate.value, solved.lo, solved.hi), "tran/s")]


def _row(metric: str, condition: str, estimate: Estimate, unit: str) -> dict[str, Any]:
    value, lo, hi = _plain(estimate)
    return {"metric": metric, "condition": condition, "value": value, "lo": lo, "hi": hi, "unit": unit}


def _plain(estimate: Estimate) -> list[float | None]:
    """An estimate as JSON has it: null for what has no limit."""
    return [None if math.isinf(number) else number for number in estimate]


def _condition(
    entry: Mapping[str, Any], asked: Mapping[str, Any], point: Mapping[str, Any] | None
) -> Callable[[str], str]:
    """The condition of a metric: as published at a measured point; else the keys that hold at all points, and the

    question.
    """
    extra = {key: float(value) for key, value in asked.items() if key != "point"}
    if point is not None and not extra:
        return lambda metric: point["conditions"][metric]
    named = [point] if point is not None else entry["points"]

    def of(metric: str) -> str:
        pairs = [[pair.strip() for pair in p["conditions"][metric].split(";") if "=" in pair] for p in named]
        kept = [pair for pair in pairs[0] if all(pair in other for other in pairs[1:])]
        if point is None:
            kept = [pair for pair in kept if not pair.startswith("point=")]
        return "; ".join([*kept, *(f"{key}={as_text(value)}" for key, value in extra.items())])

    return of


def _notes(load: Load) -> tuple[bool, list[str]]:
    """Whether the answer is extrapolated, and what a reader must know to use it."""
    entry, notes = load.entry, []
    rates = [point["etr_tps"] for point in entry["points"]]
    low, high = min(rates), max(rates)
    rate, busy = load.rate.value, load.busy_pct()
    outside = not low * (1 - 1e-9) <= rate <= high * (1 + 1e-9)
    if outside:
        measured = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        notes.append(f"{rate:g} transactions/s is outside the calibrated rates ({measured}); the interval is widened")
    if busy.value > 100.0:
        notes.append("the engines are saturated: the rate cannot be reached, usage is what it would ask for")
    elif busy.hi > 100.0:
        notes.append("saturation is within the interval: responses have no upper limit")
    if load.engines != entry["engines"]:
        notes.append(
            f"measured on {entry['engines']} engines, asked for {load.engines}: "
            "the n-way effect was not measured and only widens the interval"
        )
    if LPAR not in entry["usage"]:
        notes.append("no busy time of the LPAR is known: the engines are taken to serve this workload alone")
    known = {**entry["usage"], **entry["response"]}
    notes += [f"{name}: {law['origin']}" for name, law in sorted(known.items()) if law["origin"] != "measured"]
    return outside or busy.value > 100.0 or load.engines != entry["engines"], notes


def _bottleneck(load: Load) -> dict[str, Any]:
    """The station nearest to saturation, with what each group of address spaces takes of it.

    Regions share the CPs, so the CPs are the one station whose limit is known here.
    """
    busy = load.busy_pct()
    stations = [{"resource": CPS, "utilization_pct": busy.value, "lo": busy.lo, "hi": busy.hi}]
    for name, law in sorted(load.entry["usage"].items()):
        if law["part"]:
            share = Estimate(*(100.0 * value / load.engines for value in load.reconciled(name)))
            row = {"resource": f"of which {name}", "utilization_pct": share.value, "lo": share.lo, "hi": share.hi}
            stations.append(row)
    return {**stations[0], "stations": stations}


def _size_row(load: Load, metric: str | None, busy_target: float, response_target: float | None) -> dict[str, Any]:
    busy = load.busy_pct()
    probability = _below(busy, busy_target)
    response = None
    if metric is not None:
        response = _output_at(load, {"form": "response_ms", "series": metric}, load.rate.value)
    if response_target is not None:
        probability = min(probability, 0.0 if response is None else _below(response, response_target))
    return {
        "engines": load.engines,
        "cpu_busy_pct": {"value": busy.value, "lo": busy.lo, "hi": busy.hi},
        "response_ms": None if response is None else dict(zip(("value", "lo", "hi"), _plain(response), strict=True)),
        "probability": probability,
        "meets": probability >= 0.5,
    }


def _below(estimate: Estimate, target: float) -> float:
    """Probability that the quantity is at most ``target``: normal above its centre, log-normal below."""
    if math.isinf(estimate.value):
        return 0.0
    if target >= estimate.value:
        reach = estimate.hi - estimate.value
        return 1.0 if reach == 0.0 else _normal((target - estimate.value) * Z90 / reach)
    # Uncertain by a factor, as it is above zero: a limit cut off at zero says nothing of what lies near it.
    factors = [estimate.value / estimate.lo if estimate.lo > 0.0 else math.inf, estimate.hi / estimate.value]
    reach = math.log(min(factors))
    if reach == 0.0 or math.isinf(reach):
        return 0.0
    return _normal(-math.log(estimate.value / target) * Z90 / reach)


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
