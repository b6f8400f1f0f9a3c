"""What is fullest: utilization of everything that may hold work back, and using and waiting by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import ziip_pool
from model.capacity.answer import Bottleneck, Estimate, Station, plain
from model.capacity.cache import cached
from model.capacity.evaluation import System
from model.capacity.figures import ziip_work
from model.capacity.outputs import reconciled
from model.capacity.parameters import Limit, SystemParameters
from model.capacity.state import State

Array = NDArray[np.float64]

CPS = "general-purpose CPs of the LPAR"
ZIIPS = "zIIPs of the LPAR"
SHARE = "share of the machine by weight or cap"
SOONER = 1e-9
"""By how much CPs are taken to be fuller than zIIPs whose work overflows to them."""


def machine_asked(ready: System, state: State) -> Array | None:
    """Part of the machine that its LPARs ask for, (draws, loads); the own one for no more than its engines and cap."""
    sharing = ready.partition.sharing(state.scenario)
    if sharing is None:
        return None
    return ready.partition.busy(state.scenario, np.minimum(state.busy, sharing.own.engines))


def resources(ready: System, state: State) -> dict[str, Array]:
    """Utilization of everything that holds work back when it is full, as parts of one, (draws, loads).

    A zIIP pool whose work overflows is not among it.
    """
    found = {CPS: state.busy / state.scenario.engines}
    machine = ready.partition.cpc(state.scenario)
    if state.machine_busy is not None and machine is not None:
        found[f"machine {machine.name}"] = state.machine_busy
        if bool(np.any(state.available < state.scenario.engines - 1e-9)):
            of_share = state.busy / state.available
            if ready.partition.is_capped(state.scenario):
                found[SHARE] = of_share
            else:
                # Nothing but the other LPARs' work on a full machine holds it back.
                name, offered = f"machine {machine.name}", machine_asked(ready, state)
                full = np.zeros(1, bool) if offered is None else (of_share >= 1.0) & (offered >= 1.0)
                found[name] = np.where(full, np.maximum(found[name], of_share), found[name])
    known = (one for one in ready.limits if one.name in state.limits and is_known(one, state))
    found.update({one.resource: state.limits[one.name] for one in known})
    if not ready.ziip_pool.overflow:
        found.update(_ziips(ready, state))
    return found


def is_known(limit: Limit, state: State) -> bool:
    """Whether the utilization of a limit is known: from the records, or, where nobody waited, from the places asked."""
    return limit.determined or (not limit.reached and limit.name in state.scenario.limits)


def _ziips(ready: System, state: State) -> dict[str, Array]:
    """Work on the zIIPs as a part of what they can do, with all threads active; empty without zIIPs."""
    if state.ziip_busy is None or state.scenario.ziips <= 0:
        return {}
    most = ziip_pool.servers(ready.ziip_pool, state.scenario)
    return {ZIIPS: ziip_work(ready, state) / most}


def ziips_without_target(ready: System, state: State) -> list[str]:
    """What to say of zIIPs that hold nothing back, as their work overflows; empty where they do, or there are none."""
    if not ready.ziip_pool.overflow or state.scenario.ziips <= 0:
        return []
    return [f"{ZIIPS} are not checked against the target, because overflow runs on CPs"]


def bottleneck(ready: System, state: State) -> Bottleneck:
    """The resource nearest to saturation at load 0, the next one, and with which probability each is the first."""
    on_ziips, state = _ziips(ready, state.used), state.filled
    used = resources(ready, state) | on_ziips
    asked = machine_asked(ready, state)
    machine = {name: np.minimum(found, 1.0) for name, found in used.items() if name.startswith("machine ")}
    if asked is not None:
        used |= dict.fromkeys(machine, asked)
    names = list(used)
    table = np.array([used[name][:, 0] for name in names])
    # zIIPs whose work overflows hold nothing back before the CPs are full, too.
    binding = np.minimum(table, used[CPS][:, 0] - SOONER) if ready.ziip_pool.overflow else table
    binding = np.where(np.isin(names, list(on_ziips))[:, None], binding, table)
    first = np.argmax(binding[:, 1:] if table.shape[1] > 1 else binding, axis=0)
    chances = (np.bincount(first, minlength=len(names)) / len(first)).tolist()
    ranked = np.argsort(-binding[:, 0], kind="stable").tolist()
    # LPARs may ask for more of a machine than they get; what is said is what is used.
    shown = np.array([(used | machine)[name][:, 0] for name in names])
    known = cached(ready.parameters, "groups", lambda: _groups(ready.parameters))
    groups = [name for name in known if name in state.usage]
    each = 100.0 / state.scenario.engines
    parts_pct = [each * state.usage[name][:, 0] for name in groups]
    estimates = Estimate.each(np.array([*(100.0 * shown), *parts_pct]).T)
    stations = [_station(names[i], estimates[i], chances[i]) for i in ranked]
    moved = reconciled(ready, state)
    parts = [
        _station(f"of which {name}", share.moved(each * moved.get(name, 0.0)))
        for name, share in zip(groups, estimates[len(names) :], strict=True)
    ]
    top, cps = stations[0], ranked.index(names.index(CPS)) + 1
    return Bottleneck(
        top.resource,
        top.utilization_pct,
        top.lo,
        top.hi,
        top.probability,
        stations[1] if len(stations) > 1 else None,
        (*stations[:cps], *parts, *stations[cps:]),
    )


def _groups(parameters: SystemParameters) -> list[str]:
    """The groups that use CPs and are part of the total, by name."""
    return [name for name, law in sorted(parameters.demands.items()) if law.additive and law.engine == "cp"]


def _station(name: str, used_pct: Estimate, chance: float = 0.0) -> Station:
    return Station(name, used_pct.value, used_pct.lo, used_pct.hi, chance)


def times(state: State) -> list[dict[str, Any]]:
    """Using and waiting of each class in ms at the centre."""
    rows = []
    for key, using in state.using_ms.items():
        waiting = {name: plain(float(value[0, 0])) for name, value in state.waiting_ms[key].items()}
        rows.append({"metric": key[0], "class": key[1], "using_ms": plain(float(using[0, 0])), "waiting_ms": waiting})
    return rows
