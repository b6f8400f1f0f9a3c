"""What those who come to a limit find: how many are there, and how long they wait to be let in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.passive.inside import ByPopulation, at_population, longer_waits, times_inside
from model.network.solvers.passive.parts import Limited
from model.network.solvers.reduction import Floats, Reduced
from model.network.solvers.stations import birth_death

NEVER, RARELY, MOST_THERE = 1e-12, 1e-9, 5_000
"""Chances of so many at a limit that more need not be followed: of open classes alone, and with users. No more are."""


class Met(NamedTuple):
    """What arrivals find: ``wait`` (classes,) of an entry in seconds, and ``populations`` (classes, population), the
    chances of being the first, second, ... inside once let in."""

    wait: Floats
    populations: Floats


def met(
    net: Reduced,
    part: Limited,
    found: ByPopulation,
    flow: Floats,
    elsewhere: Floats,
    longer: Floats | float = 1.0,
) -> Met | None:
    """What the arrivals of each class find at a limit; None where it is saturated.

    ``elsewhere`` (classes,) are the seconds of a user's cycle neither in the limit nor waiting for it; ``longer``
    (classes, stations) is the time that a class spends inside besides its work over that of the mix.
    """
    classes, most = len(flow), len(found.rate)
    arrivals = net.rates.clip(0) * part.entries
    users = np.where(part.entries > 0, net.users, 0.0)
    times = times_inside(part, found, longer)
    size, varies = int(users.sum()), np.ones(classes)
    away = np.divide(elsewhere, part.entries, out=np.full(classes, np.inf), where=users > 0).clip(1e-9)
    if arrivals.sum() > 0:
        load = float(arrivals @ times[:, -1]) / most
        # No number: those inside get nothing done, as others that go before them fill a station.
        if not load < 1:
            return None
        size += most + int(np.ceil(np.log(NEVER) / np.log(max(load, 1e-3))))
        varies = np.where(net.rates > 0, longer_waits(net, part, times, flow), 1.0)
    while True:
        let_in = np.minimum(part.inside(size + 1), most)
        stay = at_population(times.T, let_in).T
        if arrivals.sum() <= 0 or users.sum() <= 0 or size >= MOST_THERE:
            break
        # Users keep open classes waiting, of whom there are the more the less is left for them.
        if _distribution(arrivals, users, away, stay, let_in)[0][-1] < RARELY:
            break
        size *= 2
    waits, populations = np.zeros(classes), np.zeros((classes, most))
    low = let_in.astype(int)
    for r in np.flatnonzero((part.entries > 0) & ((net.rates > 0) | (net.users > 0))):
        others = users - (np.arange(classes) == r) * (users > 0)
        p, rate = _distribution(arrivals, others, away, stay, let_in)
        waits[r] = varies[r] * float(p @ ((np.arange(1, size + 2) - let_in) / rate))
        for whole, share in ((low, 1 - (let_in - low)), (np.minimum(low + 1, most), let_in - low)):
            populations[r] += np.bincount(whole - 1, weights=p * share, minlength=most)
    return Met(waits, populations)


def _distribution(
    arrivals: Floats, users: Floats, away: Floats, inside: Floats, let_in: Floats
) -> tuple[Floats, Floats]:
    """Chances (size,) of 0, 1, ... transactions in a limit or waiting for it, and how many leave a second of 1, 2, ...
    there.

    Those there are of each class as it comes and stays: open classes at ``arrivals`` (classes,), users after ``away``
    seconds. Of 1, 2, ... there ``let_in`` (size,) are inside, for ``inside`` (classes, size) seconds.
    """
    coming, rate = _state_by_state(arrivals, users, away, inside, let_in)
    births = np.concatenate(([float((arrivals + users / away).sum())], coming[:-2]))
    if arrivals.sum() <= 0:
        births[np.arange(len(births)) >= users.sum()] = 0.0
    p = birth_death(births, rate[:-1])
    return p, rate


@kernel()
def _state_by_state(
    arrivals: Floats, users: Floats, away: Floats, inside: Floats, let_in: Floats
) -> tuple[Floats, Floats]:
    """How many come and leave a second (size,) while 1, 2, ... are there; arguments as for :func:`_distribution`.

    Of each class there are ``factor`` times as many as come while one stays; the factor that makes them n is found by
    Newton's steps, which approach it from below.
    """
    classes, size = inside.shape
    coming, rate = np.zeros(size), np.zeros(size)
    parts = np.empty(classes)
    for i in range(size):
        n, wait = i + 1.0, 0.0
        for _ in range(8):
            factor = 0.0
            for _ in range(40):
                there, slope = 0.0, 0.0
                for r in range(classes):
                    stay = inside[r, i] + wait
                    there += factor * arrivals[r] * stay
                    slope += arrivals[r] * stay
                    if users[r] > 0.0:
                        there += users[r] * factor * stay / (away[r] + factor * stay)
                        slope += users[r] * stay * away[r] / (away[r] + factor * stay) ** 2
                step = (n - there) / slope if slope > 0.0 else 0.0
                factor += step
                if step <= 1e-9 * factor:
                    break
            total, held = 0.0, 0.0
            for r in range(classes):
                parts[r] = arrivals[r]
                if users[r] > 0.0:
                    parts[r] += users[r] / (away[r] + factor * (inside[r, i] + wait))
                total += parts[r]
                held += parts[r] * inside[r, i]
            coming[i] = total
            rate[i] = let_in[i] * total / held if held > 0.0 else np.inf
            before, wait = wait, (n - let_in[i]) / rate[i]
            if abs(wait - before) <= 1e-6 * wait:
                break
    return coming, rate
