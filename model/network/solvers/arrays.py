"""A network as the arrays that the Linearizer reads, and the codes of its stations' disciplines.

Arrays have the order (classes, stations), so that its inner loop runs over neighbouring stations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARING, FCFS, HEAD_OF_LINE, PREEMPTIVE, WEIGHTED, PRIORITY_SHARING, DELAY = range(7)
CODES = {
    "delay": DELAY,
    "ps": SHARING,
    "fcfs": FCFS,
    "hol": HEAD_OF_LINE,
    "preemptive": PREEMPTIVE,
    "dps": WEIGHTED,
    "priority_ps": PRIORITY_SHARING,
}
"""The code of each scheduling of a station."""
RANKED = ("hol", "preemptive", "priority_ps")
"""The schedulings that serve by importance."""
IN_TURN = ("fcfs", "hol", "preemptive")
"""The schedulings that put those who come back behind those who wait."""
MOST_BUSY = 0.999
"""Of what a station can do: the most that it is taken to be asked for where its queue is worked out by itself."""


class Returns(NamedTuple):
    """How transactions come back to a station from others.

    ``share`` (classes, stations) is the part of the visits to a station, those that follow at once on others left out,
    that are not a transaction's first; ``between`` (classes, stations, stations) the part of the time at the last
    station that lies between two visits to the one before.
    """

    share: Floats
    between: Floats

    @classmethod
    def none(cls, classes: int, stations: int) -> Returns:
        return cls(np.zeros((classes, stations)), np.zeros((classes, stations, stations)))


class Known(NamedTuple):
    """All that stays as it is while a network is solved. Functions read its fields where they need them: to keep a part
    of it in a variable costs compiled code more than most formulas.

    Of classes (classes,): ``rates`` are arrival rates of open classes, -1 for closed ones; ``think`` are the seconds
    that users are away for; ``in_turn`` is the part of their residence by which a transaction takes longer, less than
    one where branches of it run side by side; a larger ``priority`` goes first; ``weights`` are shares under
    ``WEIGHTED``.

    Of visits (classes, stations): ``demands`` are visits x service; ``service`` is the time of one visit and ``scv``
    its squared coefficient of variation, which sharing stations and delays do not look at. ``slowed`` is how much of
    what busy servers slow each other down falls on a visit in order, relative to all work there. ``hindered`` is how
    much of what those at a station on average would delay a visit does delay it: less than one where a limit lets only
    few be there. ``in_a_row`` is how many visits in order follow one another with nothing in between. ``share`` and
    ``between`` are those of :class:`Returns`; ``most_above`` is how many more important customers there can be at a
    time, infinite where nothing limits them.

    Of stations: ``discipline`` (stations,) holds the codes of this module. ``capacity`` (stations, levels) is the work
    done per second with 1, 2, ... customers, in multiples of one server; the last of the station's ``levels`` holds
    beyond.
    """

    rates: Floats
    think: Floats
    in_turn: Floats
    priority: Floats
    weights: Floats
    demands: Floats
    service: Floats
    scv: Floats
    slowed: Floats
    hindered: Floats
    in_a_row: Floats
    share: Floats
    between: Floats
    most_above: Floats
    discipline: Ints
    capacity: Floats
    levels: Ints


class State(NamedTuple):
    """Who is where: ``users`` (classes,) of closed classes; ``queue`` and ``residence`` per transaction (classes,
    stations) and ``throughput`` (classes,), filled by the solver."""

    users: Floats
    queue: Floats
    residence: Floats
    throughput: Floats
