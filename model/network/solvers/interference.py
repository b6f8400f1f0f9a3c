"""Users of more important classes at a station: while they are there, they do not come.

Source: Kleinrock, *Queueing Systems I*, 1975, section 3.8 (finite customer population, machine interference).
"""

from __future__ import annotations

import math

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import Classes, Floats, Visits

MOST_USERS = 100
"""Of more important classes; more are taken for so many, who are nearly a stream."""
MOST_LEFT = 1.0 - 1e-6
"""Above it nobody more important is met."""
NEWTON_STEPS = 50


@kernel()
def users_above(r: int, k: int, users: Floats, classes: Classes, visits: Visits) -> float:
    """Users whose work at station k is more important than class r's; 0 where open classes are."""
    total = 0.0
    for s in range(len(users)):
        if classes.priority[s] > classes.priority[r] and visits.demands[s, k] > 0.0:
            if classes.rates[s] > 0.0:
                return 0.0
            total += users[s] if classes.rates[s] < 0.0 else 0.0
    return total


@kernel(error_model="numpy")
def drained(users: int, left: float) -> float:
    """Time until the more important work that is found has left, over that of a stream of as much work.

    Users who are there do not come: the longer the queue, the fewer. One server, whose users come back after
    exponential times such that the part ``left`` of it is idle (machine interference: Erlang's loss formula).
    """
    if users == 0 or left >= MOST_LEFT:
        return 1.0
    users = min(users, MOST_USERS)
    # Erlang's formula is below offered ** users / users!, and concave in logarithms: Newton's method stays below.
    log_offered = (np.log(left) + math.lgamma(users + 1.0)) / users
    for _ in range(NEWTON_STEPS):
        offered, idle = np.exp(log_offered), 1.0
        for i in range(1, users + 1):
            idle = offered * idle / (i + offered * idle)
        step = np.log(left / idle) / (users - offered * (1.0 - idle))
        log_offered += step
        if step < 1e-10:
            break
    back = np.exp(-log_offered)
    # The chance of so many there, and how long it takes until one less is there, from all of them down.
    weight, above, drain, mean = 1.0, 0.0, 0.0, 0.0
    steps = np.zeros(users + 2)
    for i in range(users, 0, -1):
        steps[i] = 1.0 + back * (users - i) * steps[i + 1]
    for i in range(users + 1):
        above += steps[i]
        drain += weight * above
        mean += weight * i
        weight *= back * (users - i)
    return drain * left / mean
