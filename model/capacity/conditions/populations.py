"""Users who wait for nothing but the answer: the interactive response time law.

Users of a class who are in a cycle of request and response pass it at the class's rate: users = rate x (think +
response). Where a load driver asks for the maximum rate, think time is what little the driver needs, and the response
is nearly the whole cycle, whatever holds it up: engines, or a class limited to one transaction at a time.
"""

import math
from collections.abc import Mapping
from statistics import NormalDist

from model.capacity.conditions.rows import WORKLOAD
from model.capacity.conditions.tables import Cell, Tables, number

USERS, REQUESTED, UNPACED = "concurrent_users", "requested_rate", "maximum"
CLASS, COUNTS, RATE = "tran", ("pass", "fail"), "online_tran_rate_tps"
RESPONSE, LONGEST, SHORTEST = "avg_s", "max_s", "min_s"
RESPONSE_SHARE, RESPONSE_SHARE_SD = 0.9, 0.12
"""Share of an unpaced cycle that is response: median, and standard deviation of its logarithm."""
SHAPES = {RESPONSE: (1.0, 0.0), "p90_s": (1.45, 0.2), "stddev_s": (0.5, 0.4)}
"""Figures of a response that is mostly waiting, in means, with standard deviations of their logarithms: waiting in turn
scatters less than an exponential time (90 % within 2.3 means) and more than a constant."""
LONGEST_SD = 0.4
SHORTEST_SD = 0.3
"""The shortest response waits for nothing, however many users there are: some are first."""
IN_TURN, ONE = "tranclass_maxactive_", "1"
"""Attribute that names the transactions of which a class runs so many at a time."""


def response_growth(
    tables: Tables, facts: Mapping[str, Mapping[str, str]], donor: Cell, wanted: Cell
) -> tuple[float, float] | None:
    """ln(figure of an unpaced class / the same of the paced one) and its standard deviation; None where no law.

    The shortest is the same, the mean is what the users leave, percentiles follow its shape, and the longest is longer
    by what the mean is. Users of a transaction that runs one at a time wait for each other and scatter less.
    """
    paced, unpaced = facts.get(donor.system, {}), facts.get(wanted.system, {})
    users = number(unpaced.get(USERS, ""))
    if wanted.metric not in (*SHAPES, LONGEST, SHORTEST) or unpaced.get(REQUESTED) != UNPACED or users is None:
        return None
    if number(paced.get(REQUESTED, "")) is None or paced.get(WORKLOAD) != unpaced.get(WORKLOAD):
        return None
    rates = [row.value for row in tables.rows if row.system == wanted.system and row.metric == RATE]
    if wanted.metric == SHORTEST:
        return 0.0, SHORTEST_SD
    name, mean, own = wanted.level(CLASS), tables.value(_as_mean(donor)), tables.value(donor)
    theirs, ours = _counts(tables, donor.system), _counts(tables, wanted.system)
    if not rates or mean is None or own is None or name not in theirs or name not in ours:
        return None
    of_users, of_rate = theirs[name] / sum(theirs.values()), ours[name] / sum(ours.values())
    cycle_s = users * of_users / (rates[0] * of_rate)
    response_s = RESPONSE_SHARE * cycle_s
    if wanted.metric == LONGEST:
        return math.log((own[0] + max(response_s - mean[0], 0.0)) / own[0]), LONGEST_SD
    shape, shape_sd = SHAPES[wanted.metric]
    if wanted.metric != RESPONSE and _in_turn(unpaced, name):
        shape = _shape_in_turn(wanted.metric, users * of_users)
    return math.log(shape * response_s / own[0]), math.hypot(RESPONSE_SHARE_SD, shape_sd)


def waits(metric: str) -> bool:
    """Whether a metric is a response that is mostly waiting, where users do not wait between requests."""
    return metric in (*SHAPES, LONGEST)


def _in_turn(facts: Mapping[str, str], name: str) -> bool:
    """Whether a transaction runs one at a time."""
    return any(
        attribute.startswith(IN_TURN) and value == ONE and name in attribute.removeprefix(IN_TURN).split("_")
        for attribute, value in facts.items()
    )


def _shape_in_turn(metric: str, users: float) -> float:
    """A figure of a response in means, of users served one at a time: each waits for all others, so that the response
    is a sum of as many service times, which scatters by one over the root of their number.
    """
    scatter = 1.0 / math.sqrt(max(users, 1.0))
    return scatter if metric == "stddev_s" else 1.0 + NormalDist().inv_cdf(0.9) * scatter


def _as_mean(cell: Cell) -> Cell:
    return Cell(cell.block, cell.system, RESPONSE, cell.subject, cell.labels, cell.x)


def _counts(tables: Tables, system: str) -> dict[str, float]:
    """Transactions by class."""
    found: dict[str, float] = {}
    for row in tables.rows:
        if row.system == system and row.metric in COUNTS and CLASS in row.condition:
            found[row.condition[CLASS]] = found.get(row.condition[CLASS], 0.0) + row.value
    return found
