"""From the intervals of an LPAR to its network: demands, uncaptured time, machine, growth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.attribution import OWN_CPU, Attribution, attribute_cpu
from model.calibration.demands import (
    Demand,
    at_usual_busy,
    cost_by_busy,
    demand,
    driven_law,
    stream_law,
    uncaptured,
    ziip_pool,
)
from model.calibration.devices import BURSTY
from model.calibration.growth import growth
from model.calibration.history import (
    History,
    below_service,
    come_and_gone,
    engines_changed,
    without_contradiction,
    without_miscounts,
    without_overlap,
)
from model.calibration.points import n_way
from model.calibration.regression import DRAWS, Fit, fit, normal_samples
from model.calibration.responses import responses
from model.calibration.steps import FEWEST_STEADY_DAYS, Step
from model.capacity.parameters import (
    BusyCost,
    DemandModel,
    Limit,
    Machine,
    RecordedIntervals,
    ResponseModel,
    SystemParameters,
    TransactionClass,
    Weights,
)
from model.capacity.samples import ZERO
from model.capacity.state import WORK, ZIIP_WORK

Array = NDArray[np.float64]

EVIDENCE = {"uncaptured": "busy time of the LPAR less the CPU of all classes", ZIIP_WORK: "busy time of the zIIPs"}
"""What laws that belong to no class rest on."""
# A class is a stream of transactions where this many end in a day, on average.
FEWEST_A_DAY = 20.0
CONTRADICTION = 1.02
# Part of the intervals that must not contradict themselves.
MOSTLY = 0.5
STEP_OF_BUSY = 0.005
"""Relative change of LPAR busy from which a step of a class's CPU separates records before and after it."""
# Of a class whose CPU is all on zIIPs.
NO_COST = Fit(np.zeros(1), np.zeros((1, 1)), 0.0, 0.0, 1.0), np.zeros(DRAWS)


class NotCalibratable(ValueError):
    """The records of an LPAR cannot be calibrated; the message says why."""


def calibrate_lpar(history: History, *, trends: bool = True) -> SystemParameters:
    """The parameters of an LPAR.

    Parameters
    ----------
    history
        the intervals.
    trends
        whether to fit the growth of classes and other LPARs, which only questions about the future need.

    Raises
    ------
    NotCalibratable
        No class has transactions, or classes report more CPU than the LPAR used.
    """
    classes, costs, notes, cost, cost_at_most = _with_demands(history)
    h = classes.history
    notes += costs.notes
    demands, extra = dict(costs.demands), {}
    for c in classes.background:
        step = classes.served.steps.get(c)
        demands[h.classes[c]], extra[h.classes[c]] = _background(h, c, costs.work, step.first if step else 0)
    demands["uncaptured"] = uncaptured(h, np.nansum(h.cp_s, axis=1))
    streams = classes.streams
    ziip = ziip_pool(h, streams, demands)
    impossible, short = below_service(h, streams)
    notes += short + come_and_gone(h, streams) + engines_changed(h)
    unknown = _no_streams(classes)
    notes += [unknown[h.classes[c]] for c in classes.bare if h.classes[c] in unknown]
    laws = responses(h, [c for c in streams if c not in impossible], ziip, classes.served.served_by, h.system_id)
    notes += _own_use(h, laws["limits"]) + _without_percentile(laws["responses"])
    total = h.ended[:, streams].sum(axis=1) / h.seconds
    top = _peak(h, costs.first)
    thinking = bool(h.thinking_s()[:, streams].any())
    return SystemParameters(
        machine_type=h.cpc_type,
        smf_sid=h.smf_sid,
        engines=float(h.engines[-1]),
        classes=tuple(
            _class(h, c, scatter, thinking, trends) for c, scatter in zip(streams, costs.scatter, strict=True)
        ),
        without_transactions=unknown,
        busy_components=(*(h.classes[c] for c in (*streams, *classes.background)), "uncaptured"),
        support_tps=(float(np.quantile(total, 0.01)), float(total.max())),
        n_way=n_way(h.system_id, cost_at_most),
        peak=top,
        operating_point=str(h.start_local[top]),
        steady_since=str(h.start_local[costs.first]),
        recorded=_recorded(classes, extra, costs.varies),
        demands={key: _with_evidence(classes, key, law) for key, law in demands.items()},
        busy_cost=cost,
        ziip=ziip,
        intervals=len(h.seconds),
        seconds=float(h.seconds.sum()),
        period=(str(h.start_local[0]), str(h.start_local[-1])),
        notes=tuple(notes),
        divided=tuple(h.classes[c] for c in (*classes.served.direct, *classes.served.divided)),
        # Work varies from interval to interval: that of other LPARs too.
        **_machine(h, _interval_sd(h, h.cp_s, streams, costs.varies), trends),
        **laws,
    )


def steady_since(history: History) -> np.datetime64:
    """Local start of the records since the last step of the CPU per transaction that changed busy.

    Raises
    ------
    NotCalibratable
        As :func:`calibrate_lpar`.
    """
    classes, costs, *_ = _with_demands(history)
    return np.datetime64(classes.history.start_local[costs.first])


def _with_demands(history: History) -> tuple[_Classes, _Streams, list[str], BusyCost, float]:
    """The classes with their demands, what was left out, and the growth of cost with utilization with its bound."""
    h, notes = _plausible(history)
    classes = _divided(h)
    counted = [c for c in classes.streams if h.classes[c] not in h.jobs and c not in classes.bare]
    cost, cost_at_most = cost_by_busy(classes.history, counted)
    classes = replace(classes, history=replace(classes.history, dearer=at_usual_busy(classes.history, cost)))
    return classes, _streams(classes), notes, cost, cost_at_most


def _class(h: History, c: int, scatter_s: float, thinking: bool, trends: bool) -> TransactionClass:
    """A class with its growth; where any class has users, how far thinking found by samples for one second deviates,
    relative. For longer it deviates with the root of the time. Samples are taken as independent, which says too much
    where users think for many of them."""
    name, sd = h.classes[c], math.sqrt(h.sampling_s)
    return TransactionClass(
        name=name,
        workload=h.workloads[c],
        report_class=(h.report_classes or {}).get(name, ""),
        importance=int(h.importance[c]),
        cpu_scatter_s=scatter_s,
        thinking_noise=normal_samples(0.0, sd, f"{h.system_id} {name} thinking") if thinking else ZERO,
        growth=growth(h, h.ended[:, c], f"{h.system_id} {name} growth") if trends else None,
    )


def _with_evidence(classes: _Classes, key: str, law: DemandModel) -> DemandModel:
    """A law with its priority, and what it rests on."""
    h, name = classes.history, key.removesuffix(":ziip")
    priorities = dict(zip(h.classes, h.importance.tolist(), strict=True))
    evidence = EVIDENCE.get(key) or classes.evidence.get(name, OWN_CPU)
    return replace(law, priority=priorities.get(name, 0), evidence=evidence)


def _plausible(history: History) -> tuple[History, list[str]]:
    """The intervals that do not contradict each other, and what was left out."""
    h, notes = without_overlap(history)
    whole = h
    h, contradictions = without_contradiction(h)
    if len(h.seconds) < MOSTLY * len(whole.seconds):
        raise NotCalibratable(f"{contradictions[0]}; too few remain")
    if np.nansum(h.cp_s) > CONTRADICTION * h.busy_s.sum():
        raise NotCalibratable(
            f"its classes report {np.nansum(h.cp_s):.0f} s of CPU and the LPAR only {h.busy_s.sum():.0f} s: "
            "records are missing or belong to another LPAR"
        )
    h, miscounts = without_miscounts(h)
    return h, notes + contradictions + miscounts


@dataclass(frozen=True)
class _Classes:
    """The service classes by what is known of them, by number.

    ``streams`` have ended transactions; those of them that are ``bare`` have no CPU of their own, but a part of that of
    regions, as ``served`` has it. ``background`` has CPU and no transactions. ``evidence`` says by name what the cost
    of a class rests on.
    """

    history: History
    streams: list[int]
    bare: list[int]
    background: list[int]
    served: Attribution
    evidence: Mapping[str, str]


def _divided(h: History) -> _Classes:
    """The classes of a history, CPU of regions divided among the transactions that ran there."""
    days = max(len(np.unique(h.day)), 1)
    has_cpu = np.isfinite(h.cp_s).any(axis=0) & (np.nansum(h.cp_s, axis=0) + h.ziip_s.sum(axis=0) > 0)
    ends = h.ended.sum(axis=0) / days >= FEWEST_A_DAY
    every = range(len(h.classes))
    bare = [c for c in every if ends[c] and not has_cpu[c]]
    background = [c for c in every if has_cpu[c] and not ends[c]]
    attribution = attribute_cpu(h, bare, background)
    direct = set(attribution.direct.values())
    bare = [c for c in bare if c not in direct]
    streams = sorted({*(c for c in every if ends[c] and has_cpu[c]), *(c for c, _ in attribution.costs), *direct})
    if not streams:
        raise NotCalibratable(
            "no service class has both ended transactions and CPU, and the CPU of other classes does not follow the "
            "transactions"
        )
    background = [c for c in background if c not in attribution.direct]
    evidence = {h.classes[c]: one for c, one in attribution.evidence.items()}
    return _Classes(attribution.history, streams, bare, background, attribution, evidence)


def _no_streams(classes: _Classes) -> dict[str, str]:
    """Why classes cannot be asked for, by name."""
    h, reasons = classes.history, {}
    regions = {*classes.served.direct, *classes.served.divided}
    for c in sorted({*classes.background, *regions}):
        name = h.classes[c]
        if c in regions:
            reasons[name] = f"{name}: its CPU is attributed to the classes that it serves; use these classes"
        elif h.ended[:, c].any():
            reasons[name] = (
                f"{name}: fewer than {FEWEST_A_DAY:.0f} transactions per day: treated as work without transactions"
            )
        else:
            reasons[name] = f"{name}: no transactions end: its CPU follows that of other classes, or is constant"
    for c in set(classes.bare) - set(classes.streams):
        name = h.classes[c]
        reasons[name] = f"{name}: transactions end, but no CPU follows them: their demand is not known"
    return reasons


def _without_percentile(responses: Mapping[str, ResponseModel]) -> list[str]:
    """What to say of classes whose mean response is known and whose 90th percentile is not."""
    missing = [name for name, law in responses.items() if law.p90 is None]
    if not missing:
        return []
    return [
        f"{', '.join(missing)}: no 90th percentile is predicted: recorded distributions do not show it, as where 90 % "
        "end within half the goal or some take more than four times it"
    ]


@dataclass
class _Streams:
    """Laws of the streams by series, their ``work`` (intervals,) in CPU s, how far the work of the same transactions
    ``varies`` where the LPAR is busiest, relative, and what is to be said. ``scatter`` (streams,) is how far the CPU of
    one transaction is from its mean, in s. ``first`` is the first interval after the last step that changed busy."""

    demands: dict[str, DemandModel]
    work: Array
    varies: float
    scatter: list[float]
    notes: list[str]
    first: int


def _streams(classes: _Classes) -> _Streams:
    """What the transactions of each class take."""
    h, top = classes.history, _busiest(classes.history)
    demands: dict[str, DemandModel] = {}
    work, scatter, notes = np.zeros(len(h.seconds)), _divided_scatter(classes), []
    steps: list[tuple[Step, float]] = []
    for c in classes.streams:
        label = h.classes[c]
        work += np.nan_to_num(h.cp_s[:, c])
        if c in classes.bare:
            for engine, key in (("cp", label), ("ziip", f"{label}:ziip")):
                if engine == "cp" or (c, engine) in classes.served.costs:
                    cost, drawn = classes.served.costs.get((c, engine), NO_COST)
                    step = classes.served.steps.get(classes.served.served_by[c])
                    attributed = Demand(cost, False, step, 0.0)
                    demands[key] = stream_law(h, c, attributed, label, f"{h.system_id} {key}", engine, drawn[:, None])
            continue
        fitted = demand(h, c, (h.cp_s[:, c] - h.ziip_on_cp_s[:, c]) / h.dearer)
        demands[label] = stream_law(h, c, fitted, label, f"{h.system_id} {label}", "cp")
        scatter[c] = fitted.fit.scale
        if fitted.step is not None:
            steps.append((fitted.step, float(np.nansum(h.cp_s[:, c]))))
            notes.append(_step_note(h, label, fitted.step))
        eligible = h.ziip_s[:, c] + h.ziip_on_cp_s[:, c]
        if eligible.sum() > 1e-6 * h.busy_s.sum():
            key = f"{label}:ziip"
            demands[key] = stream_law(h, c, demand(h, c, eligible), label, f"{h.system_id} {label} zIIP", "ziip")
    for region, step in classes.served.steps.items():
        if region in classes.served.divided:
            members = list(classes.served.divided[region])
            steps.append((step, float(np.nansum(h.cp_s[:, members]))))
            notes.append(_step_note(h, h.classes[region], step))
    for whose in dict.fromkeys(classes.served.divided.values()):
        regions = [region for region, those in classes.served.divided.items() if those == whose]
        divided, among = (", ".join(h.classes[c] for c in some) for some in (regions, whose))
        notes.append(f"CPU of {divided} is divided among {among} by regression on their transactions")
    each = [scatter[c] for c in classes.streams]
    varies = math.sqrt(float(np.square(each) @ h.ended[top, classes.streams])) / max(float(work[top]), 1e-9)
    matters = [step.first for step, cpu_s in steps if abs(step.change) * cpu_s > STEP_OF_BUSY * h.busy_s.sum()]
    return _Streams(demands, work, varies, each, notes, max(matters, default=0))


def _step_note(h: History, name: str, step: Step) -> str:
    """What an answer reports of a step of the CPU per transaction."""
    return (
        f"{name}: CPU per transaction changed by {100.0 * step.change:+.1f} % at {h.start_local[step.first]}; demands "
        "are fitted to the records since then; a question about an earlier interval keeps its earlier CPU"
    )


def _divided_scatter(classes: _Classes) -> dict[int, float]:
    """Scatter in s of a transaction's CPU, by class, where it was divided from that of regions: in proportion to the
    cost of each."""
    costs = {c: one for (c, engine), (one, _) in classes.served.costs.items() if engine == "cp"}
    ended = {c: float(classes.history.ended[:, c].sum()) for c in classes.bare}
    squares = sum(ended[c] * one.mean[0] ** 2 for c, one in costs.items())
    whole = sum(ended[c] * one.scale**2 for c, one in costs.items())
    alike = math.sqrt(whole / squares) if squares > 0 else 0.0
    return {c: alike * float(costs[c].mean[0]) if c in costs else 0.0 for c in classes.bare}


def _own_use(h: History, limits: Sequence[Limit]) -> list[str]:
    """What to say of volumes that other LPARs of the machine may use as well: records tell the own requests."""
    named = {one.name: h.devices[one.name] for one in limits if one.name in h.devices}
    volumes = [name for name, group in named.items() if group.waited_s is not None and not np.any(group.others_s)]
    if not volumes or h.machine is None or not h.machine.others:
        return []
    return [
        f"{', '.join(volumes)}: use is that of this LPAR's own requests; what other LPARs do there is in the recorded "
        "waits, and taken to stay as it was"
    ]


def _busiest(h: History, first: int = 0) -> int:
    return first + int(np.argmax((h.busy_s / h.seconds / h.engines)[first:]))


def _peak(h: History, first: int) -> int:
    """The busiest interval since a step of the cost at interval ``first``, or of all where few days are since then."""
    enough = len(np.unique(h.day[first:])) >= FEWEST_STEADY_DAYS
    return _busiest(h, first if enough else 0)


def _recorded(classes: _Classes, extra: Mapping[str, Array], varies: float) -> RecordedIntervals:
    """What was recorded, interval by interval. Engines of classes that have CPU of their own are measured."""
    h, streams = classes.history, classes.streams
    cp_s, ziip_s = np.nan_to_num(h.cp_s) - h.ziip_on_cp_s, h.ziip_s + h.ziip_on_cp_s
    measured = [c for c in streams if c not in classes.bare]
    components = {h.classes[c]: cp_s[:, c] for c in measured}
    components |= {f"{h.classes[c]}:ziip": ziip_s[:, c] for c in measured if ziip_s[:, c].any()}
    return RecordedIntervals(
        start_local=tuple(str(start) for start in h.start_local.astype("datetime64[s]")),
        seconds=float(np.median(h.seconds)),
        rates=_short((h.ended[:, streams] / h.seconds[:, None]).T),
        extra={key: _short(values) for key, values in extra.items()},
        cpu_busy_pct=_short(100.0 * h.busy_s / h.seconds / h.engines),
        component_engines={name: _short(seconds / h.seconds) for name, seconds in components.items()},
        busy=_short(h.busy_s / h.seconds),
        ziip_busy=_short(h.ziip_busy_s / h.seconds),
        engines=_short(h.engines),
        response_ms={h.classes[c]: _short(h.response_ms[:, c]) for c in streams},
        p90_ms={h.classes[c]: _short(h.p90_ms[:, c]) for c in streams},
        busy_sd=_interval_sd(h, h.cp_s, streams, varies),
        ziip_busy_sd=_interval_sd(h, h.ziip_s, streams, varies),
        **_of_machine(h),
        **_users(h, streams),
    )


def _of_machine(h: History) -> dict[str, Any]:
    """Engines in use by the other LPARs of the machine, interval by interval: all together, each, and of zIIPs."""
    m = h.machine
    if m is None:
        return {}
    lpars = {name: _short(used_s / h.seconds) for name, used_s in m.lpars_s.items()}
    ziips = {"ziip_others": _short(m.ziip_others_s / h.seconds)} if m.ziips > 0 else {}
    return {"others": _short(m.others_s / h.seconds), "lpars": lpars, **ziips}


def _users(h: History, streams: list[int]) -> dict[str, Any]:
    """Users of the streams, and those of them who think, interval by interval; empty where no class has any."""
    thinking = h.thinking_s()[:, streams] / h.seconds[:, None]
    if not thinking.any():
        return {}
    inside = np.nan_to_num(h.response_ms)[:, streams] * h.ended[:, streams] / 1e3 / h.seconds[:, None]
    users = np.where(thinking.any(axis=0), thinking + inside, 0.0)
    return {"users": _short(users.T), "thinking": _short(thinking.T)}


def _interval_sd(h: History, cpu_s: Array, streams: Sequence[int], varies: float) -> float:
    """Relative scatter of the work of one interval at the peak about that of its load: of the work of single
    transactions, and of their number, more than Poisson's as arrivals come in bursts. CPU of long jobs is as recorded.
    """
    top = _busiest(h)
    counted = [c for c in streams if h.classes[c] not in h.jobs]
    ended, cpu = h.ended[top, counted], np.nan_to_num(cpu_s[top, counted])
    squares = float(np.sum(cpu**2 / np.maximum(ended, 1.0)))
    return math.hypot(varies, BURSTY * math.sqrt(squares) / max(float(np.nansum(cpu_s[top, list(streams)])), 1e-9))


def _short(values: Array) -> Array:
    """The values with six significant digits."""
    flat = [float(f"{value:.6g}") for value in np.ravel(values)]
    return np.reshape(flat, np.shape(values))


def _background(h: History, c: int, work: Array, first: int) -> tuple[DemandModel, Array]:
    """Work without transactions, against that of the transactions, and what each interval had beyond it in engines.

    The law is that since the interval ``first``; what earlier ones had at another cost is beyond it.
    """
    all_x, all_y = work / h.seconds, np.nan_to_num(h.cp_s[:, c]) / h.seconds
    x, y, day = all_x[first:], all_y[first:], h.day[first:]
    weight = np.ones(len(x))
    flat = fit(np.ones((len(x), 1)), y, weight, day)
    driven = fit(np.column_stack([np.ones_like(x), x]), y, weight, day)
    moves = driven.bic < flat.bic - 6.0 and driven.mean[1] > 0 and driven.mean[0] > -0.1 * max(y.mean(), 1e-9)
    name = f"{h.system_id} {h.classes[c]}"
    if moves:
        law = driven_law(x, driven, [True, True, False], WORK, name, int(h.importance[c]), True)
        expected = driven.mean[0] + driven.mean[1] * all_x
    else:
        law = driven_law(x, flat, [True, False, False], WORK, name, int(h.importance[c]), True)
        expected = np.full(len(all_x), flat.mean[0])
    return law, all_y - expected


def _machine(h: History, varies: float, trends: bool) -> dict[str, Any]:
    """The machine an LPAR shares; work of LPARs without records of their own is taken to vary as the own ``varies``."""
    if h.machine is None:
        return {}
    m, zero = h.machine, np.zeros(len(h.seconds))
    unknown_s = varies * np.maximum(m.others_s - m.others_recorded_s, 0.0)
    varying_s = np.sqrt(m.others_variance + zero + unknown_s**2)
    others = float((varying_s / np.maximum(m.others_s, 1e-9))[_busiest(h)])
    return {
        "machine": Machine(
            name=m.name,
            lpar=m.lpar,
            ziips=float(m.ziips),
            engines=float(m.engines),
            share=float(m.weight / m.total_weight) if m.total_weight > 0 else 1.0,
            capped=bool(m.capped),
            cap_engines=m.cap_engines,
            management=float(np.median(m.management_s / h.seconds)),
            others=m.others,
        ),
        "weights": Weights(float(m.weight), float(m.total_weight)),
        "others_noise": normal_samples(0.0, others, f"{h.system_id} other LPARs"),
        "others_pieces": normal_samples(0.0, 1.0, f"{h.system_id} pieces of other LPARs"),
        "others_growth": growth(h, m.others_s, f"{h.system_id} growth of other LPARs") if trends else None,
    }
