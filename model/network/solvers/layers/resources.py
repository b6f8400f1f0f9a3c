"""Waits for passive resources: limits that are held while other stations are visited."""

from __future__ import annotations

import numpy as np

from model.network.solvers.amva import amva
from model.network.solvers.arrays import FCFS, HEAD_OF_LINE, Floats
from model.network.solvers.layers.limits import ENDLESS_S, wait_at_limits
from model.network.solvers.layers.state import LayerState
from model.network.solvers.reduction import Reduced, holding_variation
from model.network.solvers.stations import mmc_response


def wait_for_resources(net: Reduced, state: LayerState, damping: float) -> None:
    """Wait for each passive resource: a queue with a server per unit whose service is the time it is held."""
    resources = net.network.resources
    if not resources:
        return
    solved = wait_at_limits(net, state, damping)
    stretch = state.stretch(net)
    total = np.nan_to_num(state.residence, posinf=1e9).sum(axis=1) + state.wait.sum(axis=1) - state.saving
    for rho, resource in enumerate(resources):
        if rho in solved:
            continue
        units = net.largest[rho]
        taken = net.acquires[:, rho] / units
        hold = (net.inside[:, rho, :] * stretch).sum(axis=1)
        for sigma in range(len(resources)):
            acquired = net.acquires[:, sigma]
            per_unit = np.divide(state.wait[:, sigma], acquired, out=np.zeros_like(acquired), where=acquired > 0)
            hold += net.nested[:, rho, sigma] * per_unit
        state.held[:, rho] = state.throughput * hold * units
        servers = int(resource.capacity // units)
        users = net.users * (taken > 0)
        if np.all(taken == 0):
            continue
        if users.sum() <= servers and resource.instances == 1 and not np.any((net.rates > 0) & (taken > 0)):
            new = np.zeros(len(hold))
        else:
            new = _resource_wait(net, resource.instances, servers, hold, taken, total, state, rho)
        state.wait[:, rho] += damping * (new - state.wait[:, rho])


def _resource_wait(
    net: Reduced, instances: int, servers: int, hold: Floats, taken: Floats, total: Floats, state: LayerState, rho: int
) -> Floats:
    """(classes,) wait per transaction for one resource."""
    copies = min(instances, 8)
    if instances > copies:
        rate = float(state.throughput @ taken)
        mean = float(state.throughput @ hold) / rate if rate > 0 else 0.0
        return taken * min(max(mmc_response(rate / instances, mean, servers) - mean, 0.0), ENDLESS_S)
    outside = np.maximum(net.think + total - hold - state.wait[:, rho], 0.0)
    code = HEAD_OF_LINE if net.network.resources[rho].scheduling == "hol" else FCFS
    with np.errstate(invalid="ignore", divide="ignore"):
        service = np.where(taken > 0, hold / taken, 0.0)
    variation = holding_variation(net, rho, state.residence)
    result = amva(
        net.users * (taken > 0),
        np.tile(hold / copies, (copies, 1)),
        np.full(copies, servers),
        outside,
        rates=np.where(net.rates >= 0, net.rates * (taken > 0), net.rates),
        discipline=np.full(copies, code),
        service=np.tile(service, (copies, 1)),
        scv=np.tile(variation, (copies, 1)),
        priority=net.priority,
    )
    wait = result.residence.sum(axis=0) - hold
    load = float(net.rates.clip(0) @ hold) / instances
    if load >= servers:
        wait = np.where(taken > 0, ENDLESS_S, 0.0)
    return np.maximum(wait, 0.0)
