"""Address-space groups as components of a calibrated system: their CPU follows the transactions of their workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.calibration.demands import demand, stream_law
from model.calibration.groups import Groups, shares
from model.calibration.history import History
from model.capacity.parameters import DemandModel, SystemParameters

Array = NDArray[np.float64]


GROUPS_FILE = "groups file"


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
        found = shares(counted, streams)
        if found is None:
            if counted.any():
                notes.append(f"{name}: excluded, because its transactions are not those of the service classes with "
                "CPU")
        elif name not in names:
            mixes[name] = {names[i]: float(share) for i, share in enumerate(found) if share > 0}
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
