"""What a groups file makes of an LPAR's intervals: transactions of workloads, CPU of address-space groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.calibration.demands import demand, stream_law
from model.calibration.history import Groups, History
from model.capacity.parameters import DemandModel, SystemParameters

Array = NDArray[np.float64]

# Part of a count that transactions of service classes may leave unexplained.
UNEXPLAINED = 0.02
# Part of the intervals in which a class has at least the CPU of a group that runs in it, and rounding of the records.
MOSTLY, ROUNDING = 0.98, 0.005
GROUPS_FILE = "groups file"
"""Origin of the demands of a groups file."""
# Shares this near to none or all are none or all.
WHOLE = 0.005


def groups_of(transactions: pd.DataFrame, costs: pd.DataFrame, keys: pd.Index) -> Groups:
    """The groups of the intervals named by ``keys``.

    Parameters
    ----------
    transactions
        Rows of ``fct_transaction_cost`` of workloads, and of classes with a ``transaction_class``.
    costs
        Rows of ``fct_address_space_cost`` of address-space groups.
    keys
        (I,) interval keys in order.
    """
    named = transactions[transactions["interval_key"].isin(keys)]
    name = named["transaction_class"].where(named["class_kind"] != "workload", named["workload"])
    counts = named.groupby(["interval_key", name.rename("name")])["transactions_ended"].sum().unstack("name")
    counts = counts.reindex(keys).fillna(0.0)
    columns = ["cp_s", "ziip_s", "ziip_on_cp_s"]
    own = costs[costs["interval_key"].isin(keys)].set_index("interval_key")
    return Groups(
        {str(label): counts[label].to_numpy(float) for label in counts},
        {
            (str(workload), str(group)): part[columns].reindex(keys).to_numpy(float)
            for (workload, group), part in own.groupby(["workload", "name"])
        },
    )


def shares(counted: Array, ended: Array) -> Array | None:
    """(C,) share of each class's transactions in a count (I,) of them; None where the classes do not explain it.

    Parameters
    ----------
    counted
        (I,) transactions of a workload or transaction class.
    ended
        (I, C) transactions of each class.
    """
    from scipy.optimize import lsq_linear

    whole = counted.sum()
    if whole <= 0 or not ended.any():
        return None
    scale = np.maximum(np.sqrt(counted), 1.0)
    part = np.asarray(lsq_linear(ended / scale[:, None], counted / scale, bounds=(0.0, 1.0)).x, float)
    part = np.where(part < WHOLE, 0.0, np.where(part > 1.0 - WHOLE, 1.0, part))
    return part if np.abs(counted - ended @ part).sum() <= UNEXPLAINED * whole else None


def with_group_regions(h: History) -> History:
    """The history with a class of regions for each workload whose CPU the groups file names.

    A groups file tells CPU of regions apart that run in one service class. A workload has such regions if its
    transactions are those of classes without CPU. Its CPU is taken out of the class that has at least as much in nearly
    all intervals; of several, out of the one that correlates with it most. ``serves`` has the classes that they serve.
    A group whose CPU is often not recorded tells nothing.
    """
    bare = [c for c in range(len(h.classes)) if h.ended[:, c].any() and not np.nansum(h.cp_s[:, c]) > 0]
    if h.groups is None or not bare:
        return h
    taken = set[int]()
    for workload, counted in h.groups.ended.items():
        own = (used for (name, _), used in h.groups.cpu_s.items() if name == workload)
        cpu = [used for used in own if np.mean(np.isfinite(used[:, 0])) >= MOSTLY]
        part = shares(counted, h.ended[:, bare])
        if part is None or not cpu:
            continue
        members = {c for c, one in zip(bare, part, strict=True) if one == 1.0}
        if len(members) < np.count_nonzero(part) or members & taken:
            continue
        taken |= members
        for used in cpu:
            h = _moved(h, f"{workload} regions", np.nan_to_num(used), [h.classes[c] for c in sorted(members)])
    return h


def _moved(h: History, workload: str, used: Array, members: list[str]) -> History:
    """The history with CPU (I, 3) of a group moved from the class in which it runs to regions of its workload."""
    cp_s = np.nan_to_num(h.cp_s)
    known = [h.classes.index(name) for name in h.hosts] if h.hosts else []
    hosts = [
        c
        for c in range(len(h.classes))
        if c not in known
        and not h.ended[:, c].any()
        and np.mean(used[:, 0] <= cp_s[:, c] * (1.0 + ROUNDING) + ROUNDING) >= MOSTLY
    ]
    if not hosts or not used.any():
        return h
    host = max(hosts, key=lambda c: _correlation(cp_s[:, c], used[:, 0]))
    name = f"{workload} in {h.classes[host]}"
    if name not in h.classes:
        h = _with_class(h, name, host, members)
    to = h.classes.index(name)
    columns: dict[str, Any] = {}
    for key, seconds in zip(("cp_s", "ziip_s", "ziip_on_cp_s"), used.T, strict=True):
        column = getattr(h, key).copy()
        moved = np.minimum(seconds, np.nan_to_num(column[:, host]))
        column[:, host] -= moved
        column[:, to] = np.nan_to_num(column[:, to]) + moved
        columns[key] = column
    return replace(h, **columns)


def _correlation(one: Array, other: Array) -> float:
    """Correlation of two series, -1 where one never changes."""
    return float(np.corrcoef(one, other)[0, 1]) if np.std(one) > 0 and np.std(other) > 0 else -1.0


def _with_class(h: History, name: str, host: int, members: list[str]) -> History:
    """The history with one class more, without CPU and transactions, whose samples are those of its host."""

    def more(values: Array, fill: float) -> Array:
        return np.column_stack([values, np.full(len(h.seconds), fill)])

    none: dict[str, Any] = {
        **{key: more(getattr(h, key), 0.0) for key in ("ended", "idle_s", "cp_s", "ziip_s", "ziip_on_cp_s")},
        **{key: more(getattr(h, key), np.nan) for key in ("response_ms", "p90_ms")},
    }
    return replace(
        h,
        classes=(*h.classes, name),
        importance=np.append(h.importance, h.importance[host]),
        workloads=(*h.workloads, h.workloads[host]),
        **none,
        waited_s={limit: more(waited, np.nan) for limit, waited in h.waited_s.items()},
        samples={state: np.column_stack([found, found[:, host]]) for state, found in h.samples.items()},
        serves={**h.serves, name: frozenset(members)},
        hosts={**h.hosts, name: h.classes[host]},
    )


def with_components(parameters: SystemParameters, history: History) -> SystemParameters:
    """The system with what its groups file names.

    ``mixes`` has each workload and transaction class as shares of streams. A usage law for each workload and each of
    its groups is driven by the workload; it is part of no total, as the service classes have the same CPU already.
    """
    if history.groups is None:
        return parameters
    names = parameters.class_names
    counts = (history.jobs.get(name, history.ended[:, history.classes.index(name)]) for name in names)
    streams = np.column_stack(list(counts))
    mixes: dict[str, dict[str, float]] = {}
    notes = list(parameters.notes)
    for name, counted in history.groups.ended.items():
        mix = shares(counted, streams)
        if mix is None:
            if counted.any():
                notes.append(f"{name}: excluded, because its transactions are not those of the service classes with "
                "CPU")
        elif name not in names:
            mixes[name] = {names[i]: float(share) for i, share in enumerate(mix) if share > 0}
    demands = dict(parameters.demands)
    workloads = {workload for workload, _ in history.groups.cpu_s}
    for name in mixes:
        if name in workloads:
            demands |= _workload(history, history.groups, name, _priority(parameters, mixes[name]))
    return replace(parameters, demands=demands, mixes=mixes, notes=tuple(notes))


def _priority(parameters: SystemParameters, mix: Mapping[str, float]) -> int:
    return min(parameters.demands[name].priority for name in mix)


def _workload(history: History, groups: Groups, name: str, priority: int) -> dict[str, DemandModel]:
    """Laws of a workload and of each of its groups."""
    cpu = {group: seconds for (workload, group), seconds in groups.cpu_s.items() if workload == name}
    laws: dict[str, DemandModel] = {}
    driven = replace(
        history, classes=(name,), ended=groups.ended[name][:, None], importance=np.array([priority]), groups=None
    )

    def add(series: str, seconds: Array, cp_metric: str, ziip_metric: str) -> None:
        eligible = seconds[:, 1] + seconds[:, 2]
        on_ziip = np.nansum(eligible) > 1e-6 * history.busy_s.sum()
        for key, metric, engine, used in (
            (series, cp_metric, "cp", seconds[:, 0] - np.nan_to_num(seconds[:, 2])),
            (f"{series}:ziip", ziip_metric, "ziip", eligible),
        ):
            if np.nansum(used) > 0 and (engine == "cp" or on_ziip):
                label = f"{history.system_id} {key}"
                law = stream_law(driven, 0, demand(driven, 0, used), name, label, engine)
                laws[key] = replace(law, additive=False, evidence=GROUPS_FILE, metrics=(metric,))

    add(name, np.sum(list(cpu.values()), axis=0), "service_cpu_us_per_tran", "ziip_service_us_per_tran")
    for group, seconds in cpu.items():
        add(f"{name} {group}", seconds, f"{group}_cpu_us_per_tran", f"{group}_ziip_us_per_tran")
    return laws
