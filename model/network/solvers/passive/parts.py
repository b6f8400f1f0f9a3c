"""The limits of a network and what is inside each: one within another, or apart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from model.network.solvers.passive.series import log_convolved
from model.network.solvers.reduction import Floats, Reduced, unhindered
from model.network.solvers.stations import erlang_c

LARGEST = 1_000
"""Of the transactions inside a limit."""
SPREAD = 600
"""Of those at a limit, how many are spread over its copies one by one: beyond it takes time, and changes little."""

HARDLY = 1e-3
"""Share of those who wait for a limit, below which it may be left out."""


@dataclass
class Limited:
    """The inside of resource ``rho``, whose units let ``most`` transactions into each of its ``copies``.

    ``own`` (classes, stations) is the work done inside and in no limit within, ``entries`` (classes,) how often a
    transaction enters.
    """

    rho: int
    most: int
    copies: int
    entries: Floats
    own: Floats
    within: list[Limited] = field(default_factory=list)

    def inside(self, size: int) -> Floats:
        """(size,) mean number let in of 1, 2, ... there: who waits for one copy leaves others idle, all ways to be
        spread over the copies having the weight they have in product form. Of many more than there are units, what is
        idle is in inverse proportion to them, as it is exactly for copies of one unit."""
        if self.copies == 1:
            return np.minimum(np.arange(1.0, size + 1), self.most)
        units = self.most * self.copies
        n = np.arange(min(size, max(SPREAD, 4 * units)) + 1)
        one = np.concatenate(([0.0], -np.cumsum(np.log(np.minimum(n[1:], self.most)))))
        others, power, left = np.where(n == 0, 0.0, -np.inf), one, self.copies - 1
        while left:
            others = log_convolved(others, power) if left % 2 else others
            power, left = log_convolved(power, power), left // 2
        whole = log_convolved(others, one)
        with np.errstate(divide="ignore"):
            busy = log_convolved(others, one + np.log(np.minimum(n, self.most)))
        found = self.copies * np.exp(busy[1:] - whole[1:])
        further = np.arange(len(n), size + 1)
        idle = (units - found[-1]) * (n[-1] + self.copies - 1) / (further + self.copies - 1)
        return np.concatenate((found, units - idle))


def limited_parts(net: Reduced) -> list[Limited] | None:
    """The outermost limits with those within; None where limits overlap, or there are none.

    Where they do overlap, limits that hardly anybody waits for are left out.
    """
    used = [rho for rho in range(len(net.network.resources)) if np.any(net.acquires[:, rho] > 0)]
    if not used:
        return None
    parts = _tree(net, used)
    waited_for = [rho for rho in used if not _hardly_waited_for(net, rho)]
    if parts is None and 0 < len(waited_for) < len(used):
        parts = _tree(net, waited_for)
    return parts


def ever_inside(net: Reduced, part: Limited) -> int:
    """How many come that are ever inside at a time, if nothing limits them."""
    takers = part.entries > 0
    rates, work = np.where(takers, net.rates.clip(0), 0.0), net.inside[:, part.rho] * net.pace
    coming = int(net.users[takers].sum())
    if rates.any():
        ceiling = np.array([np.inf if d else curve[-1] for d, (curve, _) in zip(net.delay, net.curves, strict=True)])
        offered = float((rates @ work).sum())
        busiest = float((net.rates.clip(0) @ net.demand * net.pace / ceiling).max())
        coming += int(offered + 10 * np.sqrt(offered) + np.log(1e-12) / np.log(min(max(busiest, 0.1), 0.9999)))
    return max(coming, 1)


def _hardly_waited_for(net: Reduced, rho: int) -> bool:
    """Whether nobody would wait if holders waited for nothing else and held it twice as long."""
    resource = net.network.resources[rho]
    held = 2 * float(unhindered(net) @ net.inside[:, rho].sum(axis=1)) / resource.instances
    return erlang_c(held, int(resource.capacity // net.largest[rho])) < HARDLY


def _tree(net: Reduced, used: list[int]) -> list[Limited] | None:
    """The outermost of the limits ``used`` with those within; None where they overlap."""
    resources = net.network.resources
    parts: dict[int, Limited] = {}
    around: dict[int, list[int]] = {}
    for rho in used:
        resource, taken = resources[rho], net.acquires[:, rho] > 0
        most = int(resource.capacity // net.largest[rho])
        if resource.scheduling != "fcfs" or resource.queue_limit is not None:
            return None
        entries = net.acquires[:, rho] / net.largest[rho]
        parts[rho] = Limited(rho, most, resource.instances, entries, net.inside[:, rho] * net.pace)
        nested = net.nested[:, :, rho]
        around[rho] = [sigma for sigma in used if np.allclose(nested[taken, sigma], net.acquires[taken, rho])]
        if any(np.any(nested[:, sigma] > 0) for sigma in used if sigma not in around[rho]) or rho in around[rho]:
            return None
    outermost = []
    for rho, part in parts.items():
        parent = max(around[rho], key=lambda sigma: len(around[sigma]), default=None)
        if parent is None:
            outermost.append(part)
        elif rho in around[parent]:
            return None
        else:
            parts[parent].within.append(part)
    for part in sorted(parts.values(), key=lambda part: len(around[part.rho])):
        part.own = np.maximum(part.own - sum(net.inside[:, inner.rho] * net.pace for inner in part.within), 0.0)
    return outermost
