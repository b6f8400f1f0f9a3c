"""Residence at stations whose servers are shared by weight, at most one server to a customer.

A customer meets each other one as so much of itself as their weights say, and never as more than what has a server to
itself takes. Source: Fayolle, Mitrani and Iasnogorodski, *Journal of the ACM* 27, 1980: exact at one server with open
classes of exponential work; approximate elsewhere.
"""

from __future__ import annotations

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import Floats, Known, State
from model.network.solvers.preemption import LEAST_LEFT
from model.network.solvers.servers import mean_found


@kernel(error_model="numpy")
def shared_by_weight(
    r: int, k: int, found: Floats, state: State, known: Known, slope: float, log_x: float
) -> tuple[float, float]:
    """(residence, log_x) of one passage of class r through station k; arguments as those of
    :func:`model.network.solvers.preemption.preempted`, the queue being that of all classes in customers of class r."""
    service, weights, own = known.service, known.weights, known.service[r, k]
    capacity, levels = known.capacity[k], known.levels[k]
    last, times = capacity[levels - 1], known.demands[r, k] / known.service[r, k]
    passed = state.throughput[r] * times
    stretch = max(state.queue[r, k] / passed / own, 1.0) if passed > 0.0 else 1.0
    present, most = 0.0, 0.0
    for s in range(len(found)):
        if known.demands[s, k] > 0.0:
            ratio = _ratio(weights[s] / weights[r], stretch, levels)
            present += ratio * found[s]
            if known.rates[s] > 0.0:
                most = -1.0
            elif known.rates[s] < 0.0 and most >= 0.0:
                most += ratio * (state.users[s] - (1.0 if s == r else 0.0))
    phi = 1.0 / capacity[0]
    if levels > 1:
        alone = np.empty(levels)
        for n in range(levels):
            alone[n] = (n + 1.0) / capacity[n] - n / last
        at, log_x = mean_found(present, False, capacity, 1.0 / capacity, alone, levels, most, slope, log_x)
        phi = at.value
    # The part of those present for whom there is no server.
    short = max((phi - 1.0) + present / last, 0.0) / present if present > 0.0 else 0.0
    delay, coming, crowd, alone_here, spread, lasting = 0.0, 0.0, 0.0, 1.0, 0.0, 0.0
    for s in range(len(found)):
        if known.demands[s, k] <= 0.0 or found[s] <= 0.0:
            continue
        ratio = _ratio(weights[s] / weights[r], stretch, levels)
        rate = state.throughput[s] * known.demands[s, k] / service[s, k]
        if known.rates[s] >= 0.0:
            each = ratio * own * service[s, k] / (ratio * own + service[s, k])
            delay += each * found[s]
            coming += each * rate
            continue
        others = state.users[s] - 1.0 if s == r else state.users[s]
        stay, there = state.queue[s, k] / rate, found[s]
        if s != r:
            # While this customer is there a user stays longer, up to as long as it is away as well.
            longer = short * service[s, k] / ratio
            more = (1.0 + longer / stay) / (1.0 + longer * rate / state.users[s]) - 1.0
            there *= 1.0 + more * own * stretch / (own * stretch + stay)
        part = min(there / others, 1.0)
        crowd += ratio * others * part
        alone_here *= (1.0 - part) ** others
        varies = ratio**2 * others * part * (1.0 - part)
        spread += varies
        lasting += varies * stay * (1.0 - part)
    # Users who come and go while it lasts leave it the mean of its speeds; of those who stay, the mean of times counts.
    slow = 1.0 + short * crowd
    fast = 1.0 / (alone_here + (1.0 - alone_here) / (1.0 + short * crowd / (1.0 - alone_here))) if crowd > 0.0 else 1.0
    stays = lasting / (lasting + spread * own * fast) if spread > 0.0 else 0.0
    time = own * (fast + stays * (slow - fast)) + short * delay
    return times * time / max(1.0 - short * coming, LEAST_LEFT), log_x


@kernel(_nrt=False)
def _ratio(weight: float, stretch: float, levels: int) -> float:
    """Servers that another customer gets over those that this one gets, which gets 1 / ``stretch`` of one."""
    return min(weight, stretch) if levels > 1 else weight
