"""Transactions that end in one service class and run in address spaces of another: CICS and IMS regions, enclaves.

Their class reports no CPU, the regions' class no transactions. CPU of regions that work for one class is CPU of that
class: a groups file or SMF 72.3 has it as the one class that they serve, or it is the only such class of their
workload. CPU of other regions is divided by a regression on the transactions of the classes they may serve, none of
them cheaper than nothing, with a fixed part. Costs are pooled: held around one cost for all, or one in proportion to
their responses, as near to it as the data let them be (empirical Bayes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History
from model.calibration.regression import Fit, fit, non_negative_fit
from model.calibration.steps import Step, last_step

Array = NDArray[np.float64]

# How far costs may be from the cost common to all, as parts of it.
POOLED = (0.1, 0.3, 1.0, 3.0)
# The same where samples of active transactions tell how costs compare.
SAMPLED = 0.03
# What regions use without transactions, as a part of what they use: standard deviation of what is held beforehand.
FIXED = 0.1
# What a cost rests on, as an answer names it.
OWN_CPU = "CPU of the class itself"
OF_GROUPS = "groups file"
ONLY_SERVED = "only class that these regions serve"
ONLY_OF_WORKLOAD = "only class of the workload whose transactions run in these regions"
BY_SAMPLES = "regions, by samples of active transactions"
BY_REGRESSION = "regions, by regression"
AMONG_GROUPED = " among the classes of the workload in the groups file"
AMONG_SERVED = " among the classes that they serve"
# Improvement of the information criterion that shows that a class's CPU follows transactions of others.
FOLLOWS = 6.0


@dataclass(frozen=True, eq=False)
class Attribution:
    """A history in which served classes have the CPU that was divided, and what is known of their costs.

    ``costs`` holds by class the posterior of its seconds on CPs and eligible for zIIPs, one coefficient each, and the
    draws (draws,) that go with those of the other classes; ``direct`` has by class of regions the one class
    that has all of its CPU, ``divided`` those that share it; ``evidence`` says by class what its cost rests on;
    ``steps`` has by class of regions the last step of their CPU per transaction.
    """

    history: History
    costs: Mapping[tuple[int, str], tuple[Fit, Array]]
    direct: Mapping[int, int]
    divided: Mapping[int, tuple[int, ...]]
    served_by: Mapping[int, int]
    evidence: Mapping[int, str]
    steps: Mapping[int, Step] = field(default_factory=dict)


class Candidates(NamedTuple):
    """Classes whose transactions may run in regions, and what tells so; empty where nothing does."""

    classes: tuple[int, ...]
    evidence: str


def candidates(h: History, bare: Sequence[int], others: Sequence[int]) -> dict[int, Candidates]:
    """Which of the ``bare``, classes without CPU, each of the ``others``, classes without transactions, may serve.

    Direct evidence comes first: the classes that SMF 72.3 names as served, then the only class of a workload with one
    class of regions. Classes with such evidence have no part in other regions.
    """
    by_region = {}
    for region in others:
        names = h.serves.get(h.classes[region], ())
        if names:
            evidence = OF_GROUPS if h.classes[region] in h.hosts else ONLY_SERVED
            by_region[region] = Candidates(tuple(c for c in bare if h.classes[c] in names), evidence)
    served_classes = {c for one in by_region.values() for c in one.classes}
    for workload in filter(None, dict.fromkeys(h.workloads)):
        members = tuple(c for c in bare if h.workloads[c] == workload and c not in served_classes)
        regions = [region for region in others if h.workloads[region] == workload and region not in by_region]
        if len(members) == len(regions) == 1:
            by_region[regions[0]] = Candidates(members, ONLY_OF_WORKLOAD)
    direct = {c for one in by_region.values() for c in one.classes}
    rest = Candidates(tuple(c for c in bare if c not in direct), "")
    return {region: by_region.get(region, rest) for region in others}


def _directly(by_region: Mapping[int, Candidates]) -> dict[int, int]:
    """Regions that serve one class, with that class, which no regions of several classes serve."""
    shared = {c for one in by_region.values() if len(one.classes) > 1 for c in one.classes}
    alone = {region: one.classes[0] for region, one in by_region.items() if one.evidence and len(one.classes) == 1}
    return {region: c for region, c in alone.items() if c not in shared}


def attribute_cpu(h: History, bare: Sequence[int], others: Sequence[int]) -> Attribution:
    """CPU of the ``others``, classes without transactions, as that of the ``bare``, classes without CPU."""
    by_region = candidates(h, bare, others)
    cp_s, ziip_s, on_cp_s = (np.nan_to_num(one) for one in (h.cp_s, h.ziip_s, h.ziip_on_cp_s))
    direct = _directly(by_region)
    evidence, most = dict[int, str](), dict[int, tuple[float, int]]()
    for region, c in direct.items():
        most[c] = max(most.get(c, (0.0, region)), (float(cp_s[:, region].sum()), region))
        for column in (cp_s, ziip_s, on_cp_s):
            column[:, c] += column[:, region]
            column[:, region] = 0.0
        evidence[c] = by_region.pop(region).evidence
    parts: dict[tuple[int, str], list[tuple[Fit, Array]]] = {}
    regions: dict[int, tuple[int, ...]] = {}
    steps: dict[int, Step] = {}
    for region, (those, origin) in by_region.items():
        if not those:
            continue
        ended, chosen = h.ended[:, list(those)], list(those)
        response_s = np.nan_to_num(h.response_ms[:, chosen]) / 1e3
        inside_s = (response_s * ended).sum(axis=0) / np.maximum(ended.sum(axis=0), 1.0)
        active_s = None if "active" not in h.samples else h.samples["active"][:, chosen]
        sampled = active_s is not None and bool((active_s.sum(axis=0) > 0).all())
        eligible = ziip_s[:, region] + on_cp_s[:, region]
        for engine, cpu in (("cp", cp_s[:, region] - on_cp_s[:, region]), ("ziip", eligible)):
            posterior = None
            if cpu.sum() > 1e-6 * h.busy_s.sum():
                step = last_step(cpu, np.column_stack([h.seconds, ended]), h.day)
                steps |= {} if step is None or engine == "ziip" else {region: step}
                since = slice(0 if step is None else step.first, None)
                active = None if active_s is None else active_s[since]
                posterior = attribution_regression(
                    cpu[since], ended[since], inside_s, h.seconds[since], h.day[since], active
                )
            if posterior is None:
                continue
            regions[region] = those
            drawn = np.maximum(posterior.drawn(f"{h.system_id} {h.classes[region]} {engine} divided"), 0.0)
            whole = np.maximum(cpu, 1e-12)
            for k, c in enumerate(those):
                among = {"": "", OF_GROUPS: AMONG_GROUPED}.get(origin, AMONG_SERVED)
                evidence[c] = (BY_SAMPLES if sampled else BY_REGRESSION) + among
                own_mean, own_cov = posterior.mean[[k + 1]], posterior.cov[[k + 1]][:, [k + 1]]
                share_fit = replace(posterior, mean=own_mean, cov=own_cov)
                parts.setdefault((c, engine), []).append((share_fit, drawn[:, k + 1]))
                moved = np.minimum(share_fit.mean[0] * ended[:, k], cpu)
                most[c] = max(most.get(c, (0.0, region)), (float(moved.sum()), region))
                if engine == "cp":
                    cp_s[:, c], cp_s[:, region] = cp_s[:, c] + moved, cp_s[:, region] - moved
                else:
                    for column, also in ((ziip_s, None), (on_cp_s, cp_s)):
                        share = moved * column[:, region] / whole
                        for one in (column,) if also is None else (column, also):
                            one[:, c], one[:, region] = one[:, c] + share, one[:, region] - share
    costs = {key: _added(posterior) for key, posterior in parts.items()}
    served_by = {c: region for c, (_, region) in most.items()}
    importance = h.importance.copy()
    for c, region in served_by.items():
        # Transactions are dispatched as the regions in which they run.
        importance[c] = h.importance[region]
    changed = replace(h, cp_s=cp_s, ziip_s=ziip_s, ziip_on_cp_s=on_cp_s, importance=importance)
    return Attribution(changed if costs or direct else h, costs, direct, regions, served_by, evidence, steps)


def _added(parts: Sequence[tuple[Fit, Array]]) -> tuple[Fit, Array]:
    first = parts[0][0]
    mean, cov = sum(one.mean for one, _ in parts), sum(one.cov for one, _ in parts)
    return replace(first, mean=np.asarray(mean), cov=np.asarray(cov)), np.sum([drawn for _, drawn in parts], axis=0)


def attribution_regression(
    cpu_s: Array,
    ended: Array,
    inside_s: Array,
    seconds: Array,
    day: NDArray[np.int64],
    active_s: Array | None = None,
) -> Fit | None:
    """Fixed engines, and seconds for a transaction of each class; None where CPU does not follow the transactions.

    Parameters
    ----------
    cpu_s
        (n,) CPU of the address spaces.
    ended
        (n, K) transactions of the classes they serve.
    inside_s
        (K,) mean response of each, 0 where it is not known.
    seconds
        (n,) lengths of the intervals.
    day
        (n,) as in :func:`model.calibration.regression.fit`.
    active_s
        (n, K) seconds that samples found transactions of each class active; None where none were taken.
    """
    total = ended.sum(axis=1)
    if not total.any():
        return None
    weight = 1.0 / np.maximum(total, np.quantile(total[total > 0], 0.05))
    usual, level = FIXED * cpu_s.sum() / seconds.sum(), cpu_s.sum() / total.sum()
    flat = fit(seconds[:, None], cpu_s, weight, day)

    def pooled(relative: Array) -> Fit:
        """A fixed part and one cost of all transactions, those of each class counting for so many, (K,)."""
        design = np.column_stack([seconds, ended @ relative])
        return non_negative_fit(design, cpu_s, weight, day, [0.0, level], [usual, 10.0 * level], [usual, level])

    alike = np.ones(ended.shape[1])
    common = pooled(alike)
    if common.bic > flat.bic - FOLLOWS or common.mean[1] <= 0:
        return None
    costs = [common.mean[1] * alike]
    if inside_s.all():
        longer = inside_s * total.sum() / float(inside_s @ ended.sum(axis=0))
        costs.append(max(float(pooled(longer).mean[1]), 1e-3 * level) * longer)
    spreads = list(POOLED)
    if active_s is not None and (active_s.sum(axis=0) > 0).all():
        each = active_s.sum(axis=0) / np.maximum(ended.sum(axis=0), 1.0)
        longer = each * total.sum() / float(each @ ended.sum(axis=0))
        costs, spreads = [max(float(pooled(longer).mean[1]), 1e-3 * level) * longer], [SAMPLED, *POOLED]
    design, best, chosen = np.column_stack([seconds, ended]), np.inf, common
    for cost, spread in product(costs, spreads):
        prior, sd = np.array([0.0, *cost]), np.array([usual, *spread * cost])
        one = non_negative_fit(design, cpu_s, weight, day, prior, sd, [usual, *cost])
        posterior_var = np.minimum(np.diag(one.cov), sd**2)
        criterion = one.bic + float(np.sum(((one.mean - prior) / sd)[1:] ** 2 + np.log(sd**2 / posterior_var)[1:]))
        if criterion < best:
            best, chosen = criterion, one
    return chosen
