"""Users who wait for nothing but the answer: the interactive response time law.

Users of a class who are in a cycle of request and response pass it at the class's rate: users = rate x (think +
response). Where a load driver asks for the maximum rate, think time is what little the driver needs, and the response
is nearly the whole cycle, whatever holds it up: engines, or a class limited to one transaction at a time.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

from model.capacity.conditions.names import CONCURRENT_USERS, MOST_RUNNING, REQUESTED_RATE, TRANSACTION, UNPACED
from model.capacity.conditions.rows import WORKLOAD
from model.capacity.conditions.tables import Cell, Table, Tables, number

COUNTS, RATE = ("passed", "failed"), "etr_tps"
MEAN, LONGEST, SHORTEST = "response_avg_s", "response_max_s", "response_min_s"
"""Metrics of the marts, as are those of `SHAPES`."""
RESPONSE_SHARE, RESPONSE_SHARE_SD = 0.9, 0.12
"""Share of an unpaced cycle that is response: median, and standard deviation of its logarithm."""
SCATTER = "response_stddev_s"
SHAPES = {MEAN: (1.0, 0.0), "response_p90_s": (1.45, 0.2), SCATTER: (0.5, 0.4)}
"""Figures of a response that is mostly waiting, in means, with standard deviations of their logarithms: waiting in turn
scatters less than an exponential time (90 % within 2.3 means) and more than a constant."""
WAITING = (*SHAPES, LONGEST)
"""Figures of a response that is mostly waiting, where users do not wait between requests."""
LONGEST_SD = 0.4
SHORTEST_SD = 0.3
"""The shortest response waits for nothing, however many users there are: some are first. The driver's clock goes in
steps: either of two times is known within half of one."""
ONE = "1"


def response_growth(
    tables: Tables, facts: Mapping[str, Mapping[str, str]], donor: Cell, wanted: Cell
) -> tuple[float, float] | None:
    """ln(figure of an unpaced class / the same of the paced one) and its standard deviation; None where no law.

    The shortest is the same, the mean is what the users leave, percentiles follow its shape, and the longest is longer
    by what the mean is. Users of a transaction that runs one at a time wait for each other and scatter less.
    """
    paced, unpaced = facts.get(donor.system, {}), facts.get(wanted.system, {})
    users, table = number(unpaced.get(CONCURRENT_USERS, "")), tables.blocks[wanted.block]
    metric = table.mart_metrics.get(wanted.metric, "")
    if metric not in (*WAITING, SHORTEST) or unpaced.get(REQUESTED_RATE) != UNPACED or users is None:
        return None
    if number(paced.get(REQUESTED_RATE, "")) is None or paced.get(WORKLOAD) != unpaced.get(WORKLOAD):
        return None
    rates = [row.value for row in tables.rows if row.system == wanted.system and row.mart_metric == RATE and row.value]
    name, mean, own = wanted.level(TRANSACTION), _mean(table, donor), tables.value(donor)
    if own is None or own[0] <= 0:
        return None
    if metric == SHORTEST:
        return 0.0, math.hypot(SHORTEST_SD, _step(table, wanted.metric) / math.sqrt(6.0) / own[0])
    theirs, ours = _counts(tables, donor.system), _counts(tables, wanted.system)
    if not rates or mean is None or name is None or not theirs.get(name) or not ours.get(name):
        return None
    of_users, of_rate = theirs[name] / sum(theirs.values()), ours[name] / sum(ours.values())
    cycle_s = users * of_users / (rates[0] * of_rate)
    response_s = RESPONSE_SHARE * cycle_s
    if metric == LONGEST:
        return math.log((own[0] + max(response_s - mean, 0.0)) / own[0]), LONGEST_SD
    shape, shape_sd = SHAPES[metric]
    if metric != MEAN and _in_turn(unpaced, name):
        shape = _shape_in_turn(metric, users * of_users)
    return math.log(shape * response_s / own[0]), math.hypot(RESPONSE_SHARE_SD, shape_sd)


def _in_turn(facts: Mapping[str, str], name: str) -> bool:
    """Whether a transaction runs one at a time."""
    return any(
        attribute.startswith(MOST_RUNNING) and value == ONE and name in attribute.removeprefix(MOST_RUNNING).split("_")
        for attribute, value in facts.items()
    )


def _shape_in_turn(metric: str, users: float) -> float:
    """A figure of a response in means, of users served one at a time: each waits for all others, so that the response
    is a sum of as many service times, which scatters by one over the root of their number.
    """
    scatter = 1.0 / math.sqrt(max(users, 1.0))
    return scatter if metric == SCATTER else 1.0 + NormalDist().inv_cdf(0.9) * scatter


def _step(table: Table, metric: str) -> float:
    """The smallest difference between two values of a metric, which is the step where it is measured in steps."""
    values = sorted({value for cell, (value, _) in table.values.items() if cell.metric == metric})
    return min((after - before for before, after in pairwise(values)), default=0.0)


def _mean(table: Table, cell: Cell) -> float | None:
    """The mean of what a cell is another figure of."""
    names = [name for name, metric in table.mart_metrics.items() if metric == MEAN]
    found = [table.values[mean][0] for name in names if (mean := replace(cell, metric=name)) in table.values]
    return found[0] if found else None


def _counts(tables: Tables, system: str) -> dict[str, float]:
    """Transactions by class."""
    found: dict[str, float] = {}
    for row in tables.rows:
        if row.system == system and row.mart_metric in COUNTS and TRANSACTION in row.condition:
            name = row.condition[TRANSACTION]
            found[name] = found.get(name, 0.0) + row.value
    return found
