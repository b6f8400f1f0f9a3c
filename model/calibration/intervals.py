"""The intervals of every LPAR from the marts: what its records say of engines, classes and machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.calibration.devices import with_device_waits, with_neighbours
from model.calibration.groups import groups_of, with_group_regions
from model.calibration.history import Devices, History, SharedMachine, with_jobs_in_progress
from model.queueing.lpar_share import Sharer

Array = NDArray[np.float64]

PHYSICAL = ("PHYSICAL", "*PHYSCAL")
SERVED_PART = 0.001
"""Least part of the times of a class of regions in which it was seen serving a class that it is taken to serve."""
EPOCH = np.datetime64("1970-01-01", "us")


def histories(
    utilization: pd.DataFrame,
    classes: pd.DataFrame,
    systems: pd.DataFrame,
    machines: pd.DataFrame | None = None,
    transactions: pd.DataFrame | None = None,
    costs: pd.DataFrame | None = None,
    states: pd.DataFrame | None = None,
    devices: pd.DataFrame | None = None,
    serving: pd.DataFrame | None = None,
) -> dict[str, History]:
    """Every LPAR's history from the marts.

    Parameters
    ----------
    utilization
        Rows of ``fct_interval_utilization`` (interval x engine type).
    classes
        Rows of ``fct_service_class`` of service and report classes (interval x class x period).
    systems
        Rows of ``dim_system``: machine type and rating of each LPAR.
    machines
        Rows of ``fct_cpc_interval`` (machine x interval x LPAR x engine type); None where there are none.
    transactions
        Rows of ``fct_transaction_cost`` of what a groups file names; None where there is no such file.
    costs
        Rows of ``fct_address_space_cost`` of address-space groups; with ``transactions``.
    states
        Rows of ``fct_transaction_state`` of resources that a subsystem names; None where there are none.
    devices
        By interval, storage groups and coupling facilities (``fct_device``, ``fct_facility_utilization``) with
        ``name``, ``servers``, ``requests``, ``busy_s`` and ``waited_s``, NULL where it is a facility; None where there
        are none.
    serving
        Rows of ``fct_served_class``: which class's transactions address spaces of a class serve; None where there are
        none.

    Returns
    -------
    By system id; by system and SMF identifier (``system/SID``) where a system has several LPARs.
    """
    by_name = {}
    for (system, sid), part in utilization.groupby(["system_id", "smf_sid"], sort=True):
        siblings = utilization.loc[utilization["system_id"] == system, "smf_sid"].nunique()
        name = str(system) if siblings == 1 else f"{system}/{sid}"
        of_lpar = classes[classes["interval_key"].isin(part["interval_key"])]
        built = _history(name, str(sid), part, of_lpar, transactions, costs, states, devices)
        if built is not None:
            described = systems[(systems["system_id"] == system) & (systems["smf_sid"] == sid)]
            kind = str(described["cpc_type"].iloc[0] or "") if len(described) else ""
            built = replace(built, cpc_type=kind)
            if serving is not None:
                built = replace(built, serves=_serves(serving[serving["interval_key"].isin(part["interval_key"])]))
            built = with_jobs_in_progress(with_group_regions(built))
            by_name[name] = built if machines is None else _on_machine(built, machines)
    return {name: with_neighbours(history, by_name) for name, history in by_name.items()}


def _history(
    system: str,
    sid: str,
    engines: pd.DataFrame,
    classes: pd.DataFrame,
    transactions: pd.DataFrame | None,
    costs: pd.DataFrame | None,
    states: pd.DataFrame | None,
    devices: pd.DataFrame | None,
) -> History | None:
    cp = engines[engines["engine_type"] == "CP"].drop_duplicates("interval_key").set_index("interval_key")
    cp = cp[(cp["interval_s"] > 0) & cp["busy_s"].notna() & (cp["engines"] > 0)].sort_values("interval_start_utc")
    if cp.empty:
        return None
    keys = cp.index
    ziip = (
        engines[engines["engine_type"] == "zIIP"]
        .drop_duplicates("interval_key")
        .set_index("interval_key")
        .reindex(keys)
    )
    service = classes[classes["class_kind"] == "service_class"]
    names = tuple(sorted(service["class_name"].unique()))
    ranked = service.assign(
        level=np.select(
            [service["goal_kind"].eq("system"), service["goal_kind"].eq("discretionary"), service["importance"] > 0],
            [0, 6, service["importance"].fillna(0)],
            3,
        )
    )
    about = ranked.groupby("class_name").agg(level=("level", "min"), workload=("workload", "last"))
    seconds = cp["interval_s"].to_numpy(float)

    def table(rows: pd.DataFrame, column: str, columns: tuple[str, ...] = names) -> Array:
        spread = rows.pivot_table(index="interval_key", columns="class_name", values=column, aggfunc="sum", min_count=1)
        return spread.reindex(index=keys, columns=list(columns)).to_numpy(float)

    rows = service.assign(
        ziip_s=service["appl_ziip_pct"].fillna(0.0) * service["interval_s"] / 100.0,
        on_cp_s=service["appl_ziip_on_cp_pct"].fillna(0.0) * service["interval_s"] / 100.0,
        idle_s=service["mean_idle"] * service["interval_s"],
        ios=service["ios_per_tran"] * service["transactions_ended"],
        elapsed=service["response_ms"] * service["transactions_ended"],
        p90=service["response_p90_estimate_ms"] * service["transactions_ended"],
        ended_p90=service["transactions_ended"].where(service["response_p90_estimate_ms"].notna()),
    )
    ended = np.nan_to_num(table(rows, "transactions_ended"))
    with np.errstate(divide="ignore", invalid="ignore"):
        response = table(rows, "elapsed") / np.where(ended > 0, ended, np.nan)
        p90 = table(rows, "p90") / table(rows, "ended_p90")
    built = History(
        system_id=system,
        smf_sid=sid,
        cpc_type="",
        start_utc=cp["interval_start_utc"].to_numpy("datetime64[us]"),
        start_local=cp["interval_start_local"].to_numpy("datetime64[s]"),
        seconds=seconds,
        engines=cp["engines"].to_numpy(float),
        busy_s=cp["busy_s"].to_numpy(float),
        ziips=ziip["engines"].fillna(0.0).to_numpy(float),
        ziip_busy_s=ziip["busy_s"].fillna(0.0).to_numpy(float),
        density=ziip["thread_density"].fillna(1.0).to_numpy(float),
        classes=names,
        importance=about["level"].reindex(names).to_numpy(float).astype(np.int64),
        workloads=tuple(str(about["workload"].get(name) or "") for name in names),
        ended=ended,
        idle_s=np.nan_to_num(table(rows, "idle_s")),
        cp_s=table(rows, "cp_s"),
        ziip_s=np.nan_to_num(table(rows, "ziip_s")),
        ziip_on_cp_s=np.nan_to_num(table(rows, "on_cp_s")),
        response_ms=np.where(response > 0, response, np.nan),
        p90_ms=np.where(p90 > 0, p90, np.nan),
        report_classes=_report_classes(classes, keys, names, ended),
        groups=None if transactions is None or costs is None else groups_of(transactions, costs, keys),
        **_named_waits(states, table),
        samples=_samples(rows, states, table),
        devices=_devices(devices, keys),
    )
    return with_device_waits(built, table(rows, "ios")) if built.devices else built


def _devices(devices: pd.DataFrame | None, keys: pd.Index) -> dict[str, Devices]:
    """Groups of volumes and coupling facilities by name."""
    groups = {}
    for name, part in () if devices is None else devices[devices["interval_key"].isin(keys)].groupby("name"):
        rows = part.set_index("interval_key").reindex(keys)
        requests, busy_s, waited_s = (
            rows[column].astype(float).fillna(0.0).to_numpy() for column in ("requests", "busy_s", "waited_s")
        )
        waits = bool(rows["waited_s"].notna().any())
        groups[str(name)] = Devices(float(rows["servers"].median()), requests, busy_s, waited_s if waits else None)
    return groups


def _serves(serving: pd.DataFrame) -> dict[str, frozenset[str]]:
    """Classes that each class of address spaces serves, without those seen by chance."""
    times = serving.groupby(["class_name", "served_class_name"])["times_served"].sum().astype(float)
    served: dict[str, frozenset[str]] = {}
    for name, part in times.groupby(level=0):
        often = part[part >= SERVED_PART * part.sum()]
        served[str(name)] = frozenset(map(str, often.index.get_level_values(1)))
    return served


def _named_waits(states: pd.DataFrame | None, table: Callable[[pd.DataFrame, str], Array]) -> dict[str, Any]:
    """``waited_s`` and ``sampling_s`` of a history. Of what a class waits for in two phases, the longer counts."""
    if states is not None and "is_resource_type" in states:
        states = states[states["is_resource_type"].astype(bool)]
    if states is None or states.empty:
        return {}
    keys = ["interval_key", "class_name", "state", "phase"]
    by_phase = states.groupby(keys, as_index=False)[["state_s", "samples"]].sum()
    longest = by_phase.groupby(keys[:3], as_index=False)[["state_s", "samples"]].max()
    samples = float(longest["samples"].sum())
    waited = {str(name): table(rows, "state_s") for name, rows in longest.groupby("state")}
    named = {name: seconds for name, seconds in waited.items() if np.isfinite(seconds).any()}
    return {"waited_s": named, "sampling_s": float(longest["state_s"].sum()) / samples if samples else 0.25}


def _samples(
    rows: pd.DataFrame, states: pd.DataFrame | None, table: Callable[[pd.DataFrame, str], Array]
) -> dict[str, Array]:
    """``samples`` of a history: states of address spaces and enclaves, and those that subsystems report."""
    made = {}
    for name in ("cp using", "cp delay", "ziip using", "ziip delay"):
        column = f"{name.replace(' ', '_')}_s"
        if column in rows and rows[column].fillna(0.0).any():
            made[name] = table(rows, column)
    if states is not None and len(states) and "is_resource_type" in states:
        reported = states[~states["is_resource_type"].astype(bool)]
        longest = reported.groupby(["interval_key", "class_name", "state", "phase"], as_index=False)["state_s"].sum()
        longest = longest.groupby(["interval_key", "class_name", "state"], as_index=False)["state_s"].max()
        for name, some in longest.replace({"state": {"active application": "active"}}).groupby("state"):
            made[str(name)] = np.nan_to_num(table(some, "state_s"))
    return made


def _report_classes(classes: pd.DataFrame, keys: pd.Index, names: tuple[str, ...], ended: Array) -> dict[str, str]:
    """Service class by the report class that counts the same transactions."""
    reports = classes[(classes["class_kind"] == "report_class") & (classes["transactions_ended"] > 0)]
    by_class = {}
    for report, part in reports.groupby("class_name"):
        counted = part.groupby("interval_key")["transactions_ended"].sum().reindex(keys).fillna(0.0).to_numpy(float)
        same = [name for i, name in enumerate(names) if counted.sum() > 0 and np.array_equal(counted, ended[:, i])]
        if len(same) == 1:
            by_class[same[0]] = str(report)
    return by_class


def _on_machine(history: History, machines: pd.DataFrame) -> History:
    """The history with its machine, as the partition sections of all LPARs' records tell it.

    An LPAR with engines of its own beside others shares nothing with them: it is left without a machine, and is none
    of the others of a machine.
    """
    cps = machines[(machines["engine_type"] == "CP") & (machines["interval_s"] > 0)]
    of_lpar = cps[cps["smf_sid"] == history.smf_sid].sort_values("interval_start_utc")
    if of_lpar.empty:
        return history
    name = str(of_lpar["machine"].iloc[-1])
    here = cps[cps["machine"] == name]
    physical = here["lpar_name"].str.upper().isin(PHYSICAL)
    shared = ~physical & here["is_dedicated"].eq(False)
    others = here[shared & (here["lpar_name"] != of_lpar["lpar_name"].iloc[-1])]
    dispatched = others.groupby(["lpar_name", "interval_start_utc"])["dispatch_s"].sum()
    latest = here[~physical & (here["interval_start_utc"] == of_lpar["interval_start_utc"].iloc[-1])]
    dedicated = bool(of_lpar["is_dedicated"].iloc[-1])
    if dedicated and len(latest) > 1:
        return history
    weight = 1.0 if dedicated else float(of_lpar["weight"].iloc[-1] or 0.0)
    sharing = latest[latest["is_dedicated"].eq(False)]
    lpar = str(of_lpar["lpar_name"].iloc[-1])
    ziips, ziip_others_s = _ziips(history, machines[machines["machine"] == name], lpar)
    return replace(
        history,
        machine=SharedMachine(
            name=name,
            engines=float(of_lpar["physical_engines" if dedicated else "shared_engines"].iloc[-1]),
            weight=weight,
            total_weight=max(float(sharing["weight"].fillna(0.0).sum()), weight),
            capped=bool(of_lpar["is_initially_capped"].iloc[-1]),
            others_s=_during(history, here, others["dispatch_s"].groupby(others["interval_start_utc"]).sum()),
            others=_sharers(sharing[sharing["lpar_name"] != lpar], others),
            management_s=_during(history, here, here["dispatch_s"][physical].groupby(here["interval_start_utc"]).sum()),
            cap_engines=None if pd.isna(of_lpar["cap_engines"].iloc[-1]) else float(of_lpar["cap_engines"].iloc[-1]),
            lpar=lpar,
            lpars_s={
                str(other): _during(history, here, used.droplevel(0)) for other, used in dispatched.groupby(level=0)
            },
            ziips=ziips,
            ziip_others_s=ziip_others_s,
        ),
    )


def _ziips(history: History, machine: pd.DataFrame, lpar: str) -> tuple[float, Array]:
    """The shared zIIPs of a machine, and (I,) what the other LPARs use of them in s."""
    here = machine[(machine["engine_type"] == "zIIP") & (machine["interval_s"] > 0)]
    of_lpar = here[here["lpar_name"] == lpar].sort_values("interval_start_utc")
    if of_lpar.empty or bool(of_lpar["is_dedicated"].iloc[-1]):
        return 0.0, np.zeros(len(history.seconds))
    shared = ~here["lpar_name"].str.upper().isin(PHYSICAL) & here["is_dedicated"].eq(False)
    others = here[shared & (here["lpar_name"] != lpar)]
    used_s = _during(history, here, others["dispatch_s"].groupby(others["interval_start_utc"]).sum())
    ziips = of_lpar["shared_engines"].iloc[-1]
    return 0.0 if pd.isna(ziips) else float(ziips), used_s


def _sharers(latest: pd.DataFrame, others: pd.DataFrame) -> tuple[Sharer, ...]:
    """The other LPARs as last defined, with their parts of what they use in the busiest quarter of the intervals."""
    used = others.pivot_table(index="interval_start_utc", columns="lpar_name", values="dispatch_s", aggfunc="sum")
    used = used.reindex(columns=latest["lpar_name"]).fillna(0.0)
    engines = latest["logical_processors"].astype(float).fillna(latest["shared_engines"])
    engines = np.fmin(engines, latest["cap_engines"].astype(float))
    latest = latest.assign(weight=latest["weight"].astype(float).fillna(0.0), engines=engines)
    total = used.sum(axis=1)
    busy = used[total >= total.quantile(0.75)].sum()
    return tuple(
        Sharer(
            name=str(one["lpar_name"]),
            engines=float(one["engines"]),
            weight=float(one["weight"]),
            capped=bool(one["is_initially_capped"]),
            part=float(busy[one["lpar_name"]] / max(float(busy.sum()), 1e-9)),
        )
        for _, one in latest.iterrows()
    )


def _during(history: History, machine: pd.DataFrame, seconds: pd.Series) -> Array:
    """(I,) a machine's dispatch seconds during each interval of the LPAR, by overlap in time.

    Where records of the machine cover an interval in part, the rest is taken to be like it; 0 where none does.
    """
    grid = machine.groupby("interval_start_utc")["interval_s"].max().sort_index()
    starts = (grid.index.to_numpy("datetime64[us]") - EPOCH) / np.timedelta64(1, "s")
    ends = starts + grid.to_numpy(float)
    edges = np.column_stack([starts, np.minimum(ends, np.append(starts[1:], np.inf))]).ravel()
    share = np.diff(edges)[::2] / grid.to_numpy(float)
    used = seconds.reindex(grid.index).fillna(0.0).to_numpy(float) * share

    def until(values: Array, moment: Array) -> Array:
        sums = np.column_stack([np.concatenate([[0.0], np.cumsum(values)[:-1]]), np.cumsum(values)]).ravel()
        return np.interp(moment, edges, sums)

    begin = (history.start_utc.astype("datetime64[us]") - EPOCH) / np.timedelta64(1, "s")
    end = begin + history.seconds
    covered = until(np.diff(edges)[::2], end) - until(np.diff(edges)[::2], begin)
    used_s = until(used, end) - until(used, begin)
    return np.where(covered > 0, used_s / np.maximum(covered, 1e-9) * history.seconds, 0.0)
