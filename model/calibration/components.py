"""Address-space groups as components of a calibrated system: their CPU follows the transactions of their workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.demands import demand, stream_law
from model.calibration.groups import Groups, shares
from model.calibration.history import History

Array = NDArray[np.float64]


GROUPS_FILE = "groups file"


def with_components(entry: Mapping[str, Any], history: History) -> dict[str, Any]:
    """The system's entry with what its groups file names.

    ``mixes`` has each workload and transaction class as shares of streams. A usage law for each workload and each of
    its groups is driven by the workload; it is part of no total, as the service classes have the same CPU already.
    """
    if history.groups is None:
        return dict(entry)
    names = [stream["name"] for stream in entry["streams"]]
    streams = history.ended[:, [history.classes.index(name) for name in names]]
    mixes: dict[str, dict[str, float]] = {}
    notes = list(entry["notes"])
    for name, counted in history.groups.ended.items():
        found = shares(counted, streams)
        if found is None:
            if counted.any():
                notes.append(f"{name}: its transactions are not those of the service classes that used CPU; left out")
        elif name not in names:
            mixes[name] = {names[i]: float(share) for i, share in enumerate(found) if share > 0}
    usage, outputs = dict(entry["usage"]), list(entry["outputs"])
    workloads = {workload for workload, _ in history.groups.cpu_s}
    for name in mixes:
        if name not in workloads:
            outputs.append({"metric": f"{name}_tps", "form": "rate", "unit": "tran/s", "stream": name})
            continue
        laws, figures = _workload(history, history.groups, name, _level(entry, mixes[name]))
        usage |= laws
        outputs += figures
    return {**entry, "usage": usage, "outputs": outputs, "mixes": mixes, "notes": notes}


def _level(entry: Mapping[str, Any], mix: Mapping[str, float]) -> int:
    return min(int(entry["usage"][name]["level"]) for name in mix)


def _workload(
    history: History, groups: Groups, name: str, level: int
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Laws and figures of a workload and of each of its groups."""
    cpu = {group: seconds for (workload, group), seconds in groups.cpu_s.items() if workload == name}
    about = {"class": name, "stream": name}
    laws: dict[str, dict[str, Any]] = {}
    figures: list[dict[str, Any]] = [{"metric": "etr_tps", "form": "rate", "unit": "tran/s", **about}]
    driven = replace(
        history, classes=(name,), ended=groups.ended[name][:, None], importance=np.array([level]), groups=None
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
                laws[key] = {**law, "part": False, "evidence": GROUPS_FILE}
                figures.append({"metric": metric, "form": "us_per_tran", "series": key, "unit": "us/tran", **about})

    add(name, np.sum(list(cpu.values()), axis=0), "service_cpu_us_per_tran", "ziip_service_us_per_tran")
    for group, seconds in cpu.items():
        add(f"{name} {group}", seconds, f"{group}_cpu_us_per_tran", f"{group}_ziip_us_per_tran")
    return laws, figures
