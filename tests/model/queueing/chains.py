"""Markov chains solved as they stand, which share nothing with the closed forms under test."""

import math

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve


def mmm_states(load: float, servers: int) -> tuple[list[float], float]:
    """Probabilities of fewer customers than servers in M/M/m, and that all servers are busy."""
    terms = [load**n / math.factorial(n) for n in range(servers)]
    full = load**servers / math.factorial(servers) * servers / (servers - load)
    whole = sum(terms) + full
    return [term / whole for term in terms], full / whole


def preemptive(rates: tuple[float, float], service: tuple[float, float], servers: int, most: int) -> list[float]:
    """Residence over service time of two classes on M/M/m, the first before the second, up to ``most`` of each."""
    size = most + 1

    def at(high: int, low: int) -> int:
        return high * size + low

    rows, columns, values = [], [], []
    for high in range(size):
        for low in range(size):
            on_high = min(high, servers)
            on_low = min(low, servers - on_high)
            for target, rate in (
                ((high + 1, low), rates[0]),
                ((high, low + 1), rates[1]),
                ((high - 1, low), on_high / service[0]),
                ((high, low - 1), on_low / service[1]),
            ):
                if rate > 0 and max(target) < size:
                    rows += [at(*target), at(high, low)]
                    columns += [at(high, low)] * 2
                    values += [rate, -rate]
    flows = sparse.csr_matrix((values, (rows, columns)), shape=(size**2, size**2)).tolil()
    flows[-1] = 1.0
    chance = spsolve(flows.tocsc(), np.eye(1, size**2, size**2 - 1)[0]).reshape(size, size)
    inside = np.arange(size) @ chance.sum(axis=1), np.arange(size) @ chance.sum(axis=0)
    return [float(n / rate / one) for n, rate, one in zip(inside, rates, service, strict=True)]
