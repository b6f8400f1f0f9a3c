"""From the intervals of an LPAR to its network: demands, uncaptured time, zIIP overflow, machine, growth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.capacity import n_way_draws
from model.calibration.draws import DRAWS, around, known, normals
from model.calibration.intervals import History
from model.calibration.regression import Fit, fit
from model.calibration.responses import responses
from model.capacity.ensemble import CAPTURED, WORK, ZIIP_WORK
from model.capacity.queues import bounded_pool

Array = NDArray[np.float64]

# A class is a stream of transactions where this many end in a day, on average.
FEWEST_A_DAY = 20.0
# A change of cost from one day to the next: improvement of fit it must bring, and how large it must be.
CHANGE_GAIN, CHANGE_SIZE, CHANGE_DAYS = 25.0, 0.01, 2
# What the structure of a demand cannot follow: relative scatter, and drift for each e-fold outside the data.
SCATTER, DRIFT = 0.0015, 0.004
# Cost growing with busy, over the whole range of busy: standard deviation of what is held beforehand.
BUSY_SD = 0.02
CONTRADICTION = 1.02
# Growth a week: what is held beforehand, and how many whole days say more.
GROWTH_SD, FEWEST_TREND_DAYS = 0.01, 10


class Unusable(ValueError):
    """The records of an LPAR cannot be calibrated; the message says why."""


@dataclass(frozen=True)
class Demand:
    """CPU of one class: fixed engines and seconds per transaction with their posterior, valid from ``start``."""

    fit: Fit
    fixed: bool
    start: int
    change: str
    spread: float


def entry(history: History) -> dict[str, Any]:
    """The system as a bundle holds it.

    Raises:
        Unusable: no class has transactions, or classes report more CPU than the LPAR used.
    """
    h = history
    days = max(len(np.unique(h.day)), 1)
    has_cpu = np.nansum(h.cp_s, axis=0) + h.ziip_s.sum(axis=0) > 0
    streams = [c for c in range(len(h.classes)) if h.ended[:, c].sum() / days >= FEWEST_A_DAY and has_cpu[c]]
    background = [c for c in range(len(h.classes)) if c not in streams and has_cpu[c]]
    if not streams:
        raise Unusable("no service class has both ended transactions and CPU of its own")
    captured = np.nansum(h.cp_s, axis=1)
    if captured.sum() > CONTRADICTION * h.busy_s.sum():
        raise Unusable(
            f"its classes report {captured.sum():.0f} s of CPU and the LPAR only {h.busy_s.sum():.0f} s: "
            "records of one are missing or of another LPAR"
        )
    name = h.system_id
    notes: list[str] = []
    usage: dict[str, dict[str, Any]] = {}
    work = np.zeros(len(h.seconds))
    for c in streams:
        label = h.classes[c]
        found = demand(h, c, h.cp_s[:, c] - h.ziip_on_cp_s[:, c])
        usage[label] = stream_law(h, c, found, label, f"{name} {label}", "cp")
        work += np.nan_to_num(h.cp_s[:, c])
        if found.change:
            notes.append(f"{label}: {found.change}")
        eligible = h.ziip_s[:, c] + h.ziip_on_cp_s[:, c]
        if eligible.sum() > 1e-6 * h.busy_s.sum():
            own = demand(h, c, eligible)
            usage[f"{label}:ziip"] = stream_law(h, c, own, label, f"{name} {label} zIIP", "ziip")
    extra: dict[str, list[float]] = {}
    for c in background:
        law, residual = _background(h, c, work)
        usage[h.classes[c]] = law
        extra[h.classes[c]] = residual
    usage["uncaptured"] = _uncaptured(h, captured)
    ziip = _ziip(h, streams, usage)
    laws = responses(h, streams, ziip, name)
    top = int(np.argmax(h.busy_s / h.seconds / h.engines))
    engines = float(h.engines[-1])
    rates = (h.ended[:, streams] / h.seconds[:, None]).T
    total = rates.sum(axis=0)
    labels = [h.classes[c] for c in streams]
    machine = _machine(h)
    made: dict[str, Any] = {
        "workload": "",
        "machine": h.cpc_type,
        "software": "",
        "smf_sid": h.smf_sid,
        "engines": engines,
        "streams": [
            {
                "name": h.classes[c],
                "workload": h.workloads[c],
                "report_class": (h.report_classes or {}).get(h.classes[c], ""),
                "importance": int(h.importance[c]),
            }
            for c in streams
        ],
        "capacity": [*labels, *(h.classes[c] for c in background), "uncaptured"],
        "busy_assumed": False,
        "support_tps": [float(np.quantile(total, 0.01)), float(total.max())],
        "n_way": n_way_draws(h.cpc_type, name),
        "main_total": "",
        "exhaustive": False,
        "points": [],
        "operating": top,
        "operating_point": str(h.start_local[top]),
        "profile": {
            "start_local": [str(start) for start in h.start_local.astype("datetime64[s]")],
            "seconds": float(np.median(h.seconds)),
            "rates": [_short(row) for row in rates],
            "extra": {key: _short(values) for key, values in extra.items()},
            "cpu_busy_pct": _short(100.0 * h.busy_s / h.seconds / h.engines),
            **({"others": _short(h.machine.others_s / h.seconds)} if h.machine is not None else {}),
        },
        "growth_per_week": _trend(h, streams),
        "usage": usage,
        "cost_by_busy": {**known(0.0), "from": 0.0},
        "ziip": ziip,
        **laws,
        "outputs": [],
        "intervals": len(h.seconds),
        "seconds": float(h.seconds.sum()),
        "period": [str(h.start_local[0]), str(h.start_local[-1])],
        "relatives": [],
        "notes": notes,
        **machine,
    }
    made["outputs"] = _outputs(made, labels)
    return made


def _short(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def demand(h: History, c: int, cpu_s: Array) -> Demand:
    """CPU of class ``c`` against its ended transactions, since its cost last changed."""
    kept = np.isfinite(cpu_s) & ((h.ended[:, c] > 0) | (cpu_s > 0))
    start, change = _since(h, kept, cpu_s, h.ended[:, c])
    kept &= h.day >= start
    ended, cpu, seconds, day = h.ended[kept, c], cpu_s[kept], h.seconds[kept], h.day[kept]
    weight = 1.0 / np.maximum(ended, np.quantile(ended[ended > 0], 0.05) if (ended > 0).any() else 1.0)
    level = float(cpu.sum()) / max(float(ended.sum()), 1.0)
    plain = fit(ended[:, None], cpu, weight, day)
    usual = max(cpu.sum() / seconds.sum(), 1e-12)
    both = fit(np.column_stack([seconds, ended]), cpu, weight, day, [0.0, level], [0.1 * usual, 10.0 * level + 1e-12])
    fixed = both.bic < plain.bic - 4.0 and both.mean[0] > 0
    chosen = both if fixed else plain
    per_day, _ = _by_day(day, cpu - (both.mean[0] * seconds if fixed else 0.0), ended)
    spread = float(np.std(per_day)) / max(float(np.mean(per_day)), 1e-300) if len(per_day) > 2 else 0.01
    a_day = float(np.sum(ended)) / max(len(per_day), 1)
    expected = chosen.scale / math.sqrt(max(a_day, 1.0)) / max(level, 1e-300)
    return Demand(chosen, fixed, int(start), change, math.sqrt(max(spread**2 - expected**2, 0.0)))


def _by_day(day: NDArray[np.int64], top: Array, bottom: Array) -> tuple[Array, Array]:
    _, index = np.unique(day, return_inverse=True)
    tops, bottoms = (np.bincount(index, weights=one).astype(float) for one in (top, bottom))
    enough = bottoms > 0.05 * np.median(bottoms)
    return tops[enough] / bottoms[enough], bottoms[enough]


def _since(h: History, kept: NDArray[np.bool_], cpu: Array, ended: Array) -> tuple[int, str]:
    """First day since which the cost per transaction has stayed, and what changed there."""
    days = np.unique(h.day[kept])
    if len(days) < 2 * CHANGE_DAYS + 1:
        return int(days[0]) if len(days) else 0, ""
    index = np.searchsorted(days, h.day[kept])
    tops, bottoms = (np.bincount(index, weights=one[kept]).astype(float) for one in (cpu, ended))
    usable = bottoms > 0
    days, cost, weight = days[usable], tops[usable] / bottoms[usable], bottoms[usable]
    first, told = 0, ""
    while len(cost) - first >= 2 * CHANGE_DAYS + 1:
        best = _split(cost[first:], weight[first:])
        if best is None:
            break
        at, before, after = best
        first += at
        date = np.datetime64(int(days[first]), "D")
        size = 100.0 * (after / before - 1.0)
        told = f"CPU per transaction changed by {size:+.1f} % on {date}; only what came since counts"
    return int(days[first]) if len(days) else 0, told


def _split(cost: Array, weight: Array) -> tuple[int, float, float] | None:
    """Where the weighted mean of a series changes, if it plainly does: index, mean before, mean after."""
    whole = np.average(cost, weights=weight)
    total = float(np.sum(weight * (cost - whole) ** 2))
    best, found = math.inf, None
    for at in range(CHANGE_DAYS, len(cost) - CHANGE_DAYS + 1):
        left, right = (np.average(cost[s], weights=weight[s]) for s in (slice(None, at), slice(at, None)))
        rest = float(np.sum(weight[:at] * (cost[:at] - left) ** 2) + np.sum(weight[at:] * (cost[at:] - right) ** 2))
        if rest < best:
            best, found = rest, (at, float(left), float(right))
    if found is None or found[1] <= 0:
        return None
    gain = len(cost) * math.log(max(total, 1e-300) / max(best, 1e-300))
    return found if gain > CHANGE_GAIN and abs(found[2] / found[1] - 1.0) > CHANGE_SIZE else None


def stream_law(h: History, c: int, found: Demand, driver: str, name: str, engine: str) -> dict[str, Any]:
    """A usage law of a stream: engines in use against its rate."""
    rate = h.ended[:, c] / h.seconds
    reference = float(np.quantile(rate[rate > 0], 0.95))
    drawn = found.fit.drawn(name)
    mean = found.fit.mean
    fixed, each = (mean[0], mean[1]) if found.fixed else (0.0, mean[0])
    fixed_draws, each_draws = (drawn[:, 0], drawn[:, 1]) if found.fixed else (np.zeros(len(drawn)), drawn[:, 0])
    scale = max(fixed + each * reference, 1e-12)
    z = normals(2, f"{name} scatter")
    scatter = math.hypot(SCATTER, found.spread)
    return {
        "reference_rate": reference,
        "scale": scale,
        "support": [float(np.quantile(rate[rate > 0], 0.01)), float(rate.max())],
        "points": len(np.unique(h.day[h.day >= found.start])),
        "origin": "measured",
        "part": True,
        "total": False,
        "assumed": False,
        "driver": driver,
        "engine": engine,
        "level": int(h.importance[c]),
        "coef": [fixed / scale, each * reference / scale, 0.0],
        "draws": {
            "coef": np.column_stack(
                [fixed_draws / scale, each_draws * reference / scale, np.zeros(len(drawn))]
            ).tolist(),
            "noise": (scatter * z[:, 0]).tolist(),
            "drift": (DRIFT * z[:, 1]).tolist(),
        },
    }


def _driven(x: Array, found: Fit, used: list[bool], driver: str, name: str, level: int, part: bool) -> dict[str, Any]:
    """A law of work that is driven by other work: fixed engines, and a share of the driver with its bend."""
    reference = max(float(np.quantile(x, 0.95)), 1e-9)
    drawn = found.drawn(name)
    coef, draws = np.zeros(3), np.zeros((len(drawn), 3))
    positions = [i for i, use in enumerate(used) if use]
    factors = np.array([1.0, reference, reference**2])
    for column, i in enumerate(positions):
        coef[i], draws[:, i] = found.mean[column] * factors[i], drawn[:, column] * factors[i]
    # The bend is nil at the reference: x^2 = x (x - 1) + x.
    coef[1], draws[:, 1] = coef[1] + coef[2], draws[:, 1] + draws[:, 2]
    scale = max(float(coef[:2].sum()), 1e-9)
    z = normals(2, f"{name} scatter")
    return {
        "reference_rate": reference,
        "scale": scale,
        "support": [float(np.quantile(x, 0.01)), float(x.max())],
        "points": 1,
        "origin": "measured",
        "part": part,
        "total": False,
        "assumed": False,
        "driver": driver,
        "engine": "cp",
        "level": level,
        "coef": (coef / scale).tolist(),
        "draws": {
            "coef": (draws / scale).tolist(),
            "noise": (SCATTER * z[:, 0]).tolist(),
            "drift": (DRIFT * z[:, 1]).tolist(),
        },
    }


def _uncaptured(h: History, captured: Array) -> dict[str, Any]:
    """Time of the LPAR that no class reports, against the captured: fixed, a share, a bend where it plainly has one."""
    x, y = captured / h.seconds, (h.busy_s - captured) / h.seconds
    weight = 1.0 / np.maximum(x, 0.02 * x.max())
    mean = max(float(y.mean()), 1e-6)
    straight = fit(np.column_stack([np.ones_like(x), x]), y, weight, h.day)
    bent = fit(np.column_stack([np.ones_like(x), x, x**2]), y, weight, h.day)
    if bent.bic < straight.bic - 6.0:
        return _driven(x, bent, [True, True, True], CAPTURED, f"{h.system_id} uncaptured", 0, False)
    if straight.mean[0] < 0:
        only = fit(x[:, None], y, weight, h.day, [mean / max(float(x.mean()), 1e-9)], [1.0])
        return _driven(x, only, [False, True, False], CAPTURED, f"{h.system_id} uncaptured", 0, False)
    return _driven(x, straight, [True, True, False], CAPTURED, f"{h.system_id} uncaptured", 0, False)


def _background(h: History, c: int, work: Array) -> tuple[dict[str, Any], list[float]]:
    """Work without transactions, against that of the transactions, and what each interval had beyond it in engines."""
    x, y = work / h.seconds, np.nan_to_num(h.cp_s[:, c]) / h.seconds
    weight = np.ones(len(x))
    flat = fit(np.ones((len(x), 1)), y, weight, h.day)
    driven = fit(np.column_stack([np.ones_like(x), x]), y, weight, h.day)
    moves = driven.bic < flat.bic - 6.0 and driven.mean[1] > 0 and driven.mean[0] > -0.1 * max(y.mean(), 1e-9)
    name = f"{h.system_id} {h.classes[c]}"
    if moves:
        law = _driven(x, driven, [True, True, False], WORK, name, int(h.importance[c]), True)
        expected = driven.mean[0] + driven.mean[1] * x
    else:
        law = _driven(x, flat, [True, False, False], WORK, name, int(h.importance[c]), True)
        expected = np.full(len(x), flat.mean[0])
    return law, (y - expected).tolist()


def _ziip(h: History, streams: list[int], usage: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The zIIP pool: engines, threads, SMT gain, what overflows, and busy against work."""
    if not h.ziips.max() > 0 or not any(law["engine"] == "ziip" for law in usage.values()):
        return {}
    cores, name = float(h.ziips[-1]), f"{h.system_id} zIIP"
    on_zip, on_cp = h.ziip_s[:, streams].sum(axis=1), h.ziip_on_cp_s[:, streams].sum(axis=1)
    eligible = on_zip + on_cp
    smt = bool(np.median(h.density) > 1.0005)
    busy = h.ziip_busy_s / h.seconds
    used = eligible > 0
    gain = known(1.0)
    if smt:
        x = busy * (h.density - 1.0)
        found = fit(x[:, None], on_zip / h.seconds - busy, 1.0 / np.maximum(busy, 0.01), h.day, [0.25], [0.15])
        gain = around(1.0 + float(np.clip(found.mean[0], 0.0, 0.9)), float(np.sqrt(found.cov[0, 0])), f"{name} gain")
    threads = 2.0 if smt else 1.0
    x = on_zip / h.seconds
    bent = fit(np.column_stack([x, x**2])[used], busy[used], 1.0 / np.maximum(x[used], 0.02 * x.max()), h.day[used])
    usage[ZIIP_WORK] = {
        **_driven(x, bent, [False, True, True], ZIIP_WORK, f"{name} busy", 0, False),
        "engine": "ziip_busy",
    }
    return {
        "engines": cores,
        "threads": threads,
        "gain": gain,
        "overflow": _overflow(
            eligible[used] / h.seconds[used],
            on_cp[used] / eligible[used],
            cores,
            threads,
            gain["centre"],
            h.day[used],
            name,
        ),
    }


def _overflow(
    work: Array, share: Array, cores: float, threads: float, gain: float, day: NDArray[np.int64], name: str
) -> dict[str, Any]:
    """Share of zIIP work that runs on CPs, against the probability of finding the pool full."""
    if share.max() < 1e-4:
        return {}
    fits = []
    for waiting in range(13):
        full, _ = bounded_pool(work, max(round(cores), 1), gain, round(threads), waiting)
        design = np.column_stack([np.ones_like(full), full])
        fits.append((waiting, fit(design, share, work, day, [0.0, 1.0], [0.02, 0.3])))
    best = min(found.bic for _, found in fits)
    chance = np.exp(-0.5 * np.array([found.bic - best for _, found in fits]))
    chance /= chance.sum()
    picked = np.searchsorted(np.cumsum(chance), (np.arange(DRAWS) + 0.5) / DRAWS)
    centre = int(np.argmax(chance))
    drawn = [found.drawn(f"{name} overflow") for _, found in fits]
    rows = np.array([drawn[min(p, len(fits) - 1)][k] for k, p in enumerate(picked)])
    mean = fits[centre][1].mean
    return {
        "waiting": {"centre": float(fits[centre][0]), "draws": [float(fits[min(p, len(fits) - 1)][0]) for p in picked]},
        "floor": {"centre": float(mean[0]), "draws": rows[:, 0].tolist()},
        "factor": {"centre": float(mean[1]), "draws": rows[:, 1].tolist()},
    }


def _trend(h: History, streams: list[int]) -> list[dict[str, Any]]:
    """Growth of each stream for each week, as a logarithm: log-linear in time beside the days of the week."""
    found = []
    days, index = np.unique(h.day, return_inverse=True)
    recorded = np.bincount(index, weights=h.seconds)
    whole = recorded > 0.9 * np.median(recorded)
    for c in streams:
        ended = np.bincount(index, weights=h.ended[:, c])
        kept = whole & (ended > 0)
        name = f"{h.system_id} {h.classes[c]} growth"
        if kept.sum() < FEWEST_TREND_DAYS:
            found.append(around(0.0, GROWTH_SD, name))
            continue
        week = (days[kept] - days[kept].mean()) / 7.0
        weekday = (days[kept] + 3) % 7
        dummies = [(weekday == d).astype(float) for d in np.unique(weekday)]
        design = np.column_stack([week, *dummies])
        sd = [GROWTH_SD, *([10.0] * len(dummies))]
        level = float(np.mean(np.log(ended[kept])))
        weeks = days[kept] // 7
        fitted = fit(design, np.log(ended[kept]), np.ones(int(kept.sum())), weeks, [0.0, *([level] * len(dummies))], sd)
        found.append(around(float(fitted.mean[0]), float(np.sqrt(fitted.cov[0, 0])), name))
    return found


def _machine(h: History) -> dict[str, Any]:
    if h.machine is None:
        return {}
    m = h.machine
    return {
        "on_machine": {
            "name": m.name,
            "engines": float(m.engines),
            "share": float(m.weight / m.total_weight) if m.total_weight > 0 else 1.0,
            "capped": bool(m.capped),
            "management": float(np.median(m.management_s / h.seconds)),
        },
        "weights": {"own": float(m.weight), "total": float(m.total_weight)},
    }


def _outputs(found: Mapping[str, Any], labels: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"metric": "etr_tps", "form": "total_rate", "unit": "tran/s"},
        {"metric": "cpu_busy_pct", "form": "busy_pct", "series": "", "unit": "pct"},
        {"metric": "itr_tps", "form": "internal_rate", "series": "", "unit": "tran/s"},
        {"metric": "cpu_us_per_tran", "form": "us_per_tran", "series": "", "unit": "us/tran"},
    ]
    if "on_machine" in found:
        rows.append({"metric": "machine_busy_pct", "form": "machine_busy_pct", "unit": "pct"})
    if found["ziip"]:
        rows.append({"metric": "ziip_busy_pct", "form": "ziip_busy_pct", "unit": "pct"})
    for label in labels:
        about = {"class": label, "stream": label}
        rows.append({"metric": "etr_tps", "form": "rate", "unit": "tran/s", **about})
        rows.append({"metric": "cpu_us_per_tran", "form": "us_per_tran", "series": label, "unit": "us/tran", **about})
        if f"{label}:ziip" in found["usage"]:
            ziip = {"series": f"{label}:ziip", "unit": "us/tran", **about}
            rows.append({"metric": "ziip_us_per_tran", "form": "us_per_tran", **ziip})
        law = found["response"].get(label)
        if law is not None:
            rows.append(
                {"metric": "response_ms", "form": "response_ms", "response": "response_ms", "unit": "ms", **about}
            )
            if law.get("p90"):
                rows.append(
                    {"metric": "response_p90_ms", "form": "p90_ms", "response": "response_ms", "unit": "ms", **about}
                )
    for limit in found["limits"]:
        rows.append({"metric": "utilization_pct", "form": "limit_pct", "station": limit["name"], "unit": "pct"})
    return rows
