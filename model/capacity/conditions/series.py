"""What laws say of a series of one metric over a numeric condition, with the series that are like it.

Few levels hardly tell how far a series strays from a law: that is learned from the series like it as well (empirical
Bayes; Carlin and Louis 2008, *Bayesian Methods for Data Analysis*), each of which counts as much as what is assumed of
all of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from model.capacity.conditions.identities import is_total
from model.capacity.conditions.laws import FULL, Array, Explained, Fitted, Series, node_weights, prior
from model.capacity.conditions.mixtures import Belief, student
from model.capacity.conditions.names import ALTERNATIVES, CUSTOMERS, POPULATIONS, SIZES
from model.capacity.conditions.tables import SYSTEM, TIMES, Cell, Kept, Table, number

MOST_SIBLINGS = 4
MOST_APART = math.log(2.0)
"""Series that differ by more at the same levels follow different laws."""
REPEATED_WITHIN = 0.03
"""Relative standard deviation within which times repeat from run to run, however closely a law goes through a few."""
DOUBTFUL = 0.1
"""A sibling's value with a larger relative standard error is not taken as measured, but from its own law."""
RISING = ("storage", "buffers", "s", "ms", "us")
THINK_TIME = "think_time"
LEAST_POINTS, LEAST_SHOWING = 2, 3
"""Levels that two series must have in common, and from which on a series shows how rough it is."""
LEAST_GROWTHS, GROWTH_SD = 2, 0.03
"""So many series show how a metric grows of which one level was measured, within this relative standard deviation."""

Point = tuple[float, float, float]
"""Condition, value and standard error."""


class SeriesLaws:
    """Laws of all series, each fitted once."""

    def __init__(self, facts: Mapping[str, Mapping[str, str]]) -> None:
        self._facts = facts
        self._siblings_alone: Kept[tuple[float, float] | None] = Kept()
        self._siblings: dict[Cell, tuple[Cell, ...]] = {}
        self._fitted: dict[tuple[Cell, tuple[Cell, ...], float], Fitted] = {}
        self._nodes: dict[Cell, Array] = {}

    def at(self, table: Table, cell: Cell, points: list[Point]) -> Belief:
        """What the laws say of a cell, given the points of its series."""
        assert cell.x is not None
        if len(points) == 1 and (grown := growth(table, cell, points[0])) is not None:
            return grown
        think, closed = self.think_time(cell, points), is_closed(table, cell)
        siblings = self._known_siblings(table, cell, think)
        there = [self._alone(table, replace(sibling, x=cell.x)) for sibling in siblings]
        found = self._fit(table, cell, siblings, think).at(cell.x, [value for value in there if value is not None])
        belief = combine(found, reasonable(table, cell), self._node_weights(table, cell))
        if table.unit(cell) in TIMES:
            belief = belief.scaled(1.0, REPEATED_WITHIN)
        return belief.of_population(cell.x, think) if closed else belief

    def think_time(self, cell: Cell, points: list[Point]) -> float:
        """Seconds between requests, where they are known and shorter than every measured cycle; else 0."""
        found = number(self._facts.get(cell.system, {}).get(THINK_TIME, ""))
        return found if found is not None and all(found < x / y for x, y, _ in points) else 0.0

    def siblings(self, table: Table, cell: Cell) -> tuple[Cell, ...]:
        """Series of the same metric with at least two levels that differ in one name, other systems first."""
        series = replace(cell, x=None)
        if series not in self._siblings:
            self._siblings[series] = _siblings(table, series)
        return self._siblings[series]

    def _node_weights(self, table: Table, cell: Cell) -> Array:
        """How likely each scatter and discrepancy is before the series is seen, of what series like it show."""
        series = replace(cell, x=None)
        if series not in self._nodes:
            like = {o for o in table.by_series if o.metric == cell.metric and differ(cell, o) == [SYSTEM]}
            shown = []
            for other in sorted(like | set(self.siblings(table, cell)), key=repr):
                points = table.series(other)
                if _shows(points):
                    middle = replace(other, x=points[len(points) // 2][0])
                    think = self.think_time(middle, points)
                    fitted = self._fit(table, middle, self._known_siblings(table, middle, think), think)
                    shown.append(fitted.by_node(reasonable(table, middle)))
            self._nodes[series] = node_weights(shown)
        return self._nodes[series]

    def _fit(self, table: Table, cell: Cell, siblings: tuple[Cell, ...], think: float) -> Fitted:
        place = replace(cell, x=None), siblings, think
        if place not in self._fitted:
            self._fitted[place] = Fitted(self._series(table, cell, siblings, think))
        return self._fitted[place]

    def _series(self, table: Table, cell: Cell, siblings: tuple[Cell, ...], think: float) -> Series:
        """A cell's own series with its siblings.

        The throughput of a population is turned into the time of one cycle, population over throughput; into the
        response alone where think time is known.
        """
        x, y, se = (np.array(column) for column in zip(*table.series(cell), strict=True))
        if is_closed(table, cell):
            se, y = x / y * (se / y), x / y - think
        curves = []
        for sibling in siblings:
            known = [self._alone(table, replace(sibling, x=float(level))) for level in x]
            values, sds = zip(*[value for value in known if value is not None], strict=True)
            curves.append((np.array(values), np.array(sds)))
        thinking = is_closed(table, cell) and think > 0.0
        return Series(x, y, se, tuple(curves), not thinking and rises(table, cell), think if thinking else 0.0)

    def _known_siblings(self, table: Table, cell: Cell, think: float) -> tuple[Cell, ...]:
        """Siblings that are known at the cell and at all its measured levels: where any was measured at it, these.

        Responses beside a known think time have none.
        """
        if is_closed(table, cell) and think:
            return ()
        levels = [cell.x, *(x for x, _, _ in table.series(cell))]
        known = tuple(
            sibling
            for sibling in self.siblings(table, cell)
            if spans(table.series(sibling), cell.x)
            and all(self._alone(table, replace(sibling, x=level)) is not None for level in levels)
        )
        return tuple(sibling for sibling in known if replace(sibling, x=cell.x) in table.values) or known

    def _alone(self, table: Table, cell: Cell) -> tuple[float, float] | None:
        """A sibling's value, as cycle time where it is a throughput, and its relative standard deviation."""
        if cell not in self._siblings_alone:
            self._siblings_alone[cell] = self._by_itself(table, cell)
        return self._siblings_alone[cell]

    def _by_itself(self, table: Table, cell: Cell) -> tuple[float, float] | None:
        points = table.series(cell)
        assert cell.x is not None
        for x, y, noise in points:
            if x == cell.x and noise < DOUBTFUL * y:
                return x / y if is_closed(table, cell) else y, noise / y
        if len(points) < LEAST_POINTS or any(y <= 0 for _, y, _ in points):
            return None
        belief = combine(self._fit(table, cell, (), 0.0).at(cell.x), reasonable(table, cell))
        return belief.median(), belief.relative_sd()


def growth(table: Table, cell: Cell, point: Point) -> Belief | None:
    """What the only measured level says of a cell, by the growth of the metric in other systems: a power of the
    condition whose exponent varies from series to series as theirs do; None where fewer than two show it.

    They are the series with the same levels of all names; without any, those with the same alternatives. The scatter
    is theirs around their own powers, here and where the level was measured; a few series are as sure as Student's
    distribution says.
    """
    x, y, se = point
    if cell.x is None or cell.x == x or y <= 0 or is_closed(table, cell):
        return None
    others = [o for o in table.by_series if o.metric == cell.metric and o.system != cell.system]
    like = [o for o in others if differ(cell, o) == [SYSTEM]]
    like = like or [o for o in others if all(o.level(key) == cell.level(key) for key in ALTERNATIVES)]
    shown = [np.log(np.array(table.series(other))[:, :2]) for other in like if _shows(table.series(other))]
    if len(shown) < LEAST_GROWTHS:
        return None
    powers = [np.polyfit(logs[:, 0], logs[:, 1], 1, full=True) for logs in shown]
    left = sum(float(np.sum(residual)) for _, residual, *_ in powers)
    scatter = math.sqrt(left / sum(len(logs) - LEAST_POINTS for logs in shown))
    slopes, count = [float(power[0]) for power, *_ in powers], len(shown)
    away = math.log(cell.x / x)
    spread = float(np.std(slopes, ddof=1)) * math.sqrt(1.0 + 1.0 / count) * abs(away)
    sd = math.hypot(spread * student(count - 1), math.sqrt(2.0) * scatter, GROWTH_SD, se / y)
    return Belief(np.ones(1), np.array([math.log(y) + float(np.mean(slopes)) * away]), np.array([sd]), True)


def _siblings(table: Table, series: Cell) -> tuple[Cell, ...]:
    found = []
    for other in table.by_series:
        if other.metric != series.metric or is_total(other) != is_total(series):
            continue
        apart = differ(series, other)
        if len(apart) == 1 and _alike(table, series, other):
            distance = _distance(table, series, other)
            if distance <= MOST_APART:
                found.append(((apart[0] != SYSTEM, distance, other.labels, other.system), other))
    return tuple(other for _, other in sorted(found, key=lambda entry: entry[0])[:MOST_SIBLINGS])


def _shows(points: Sequence[Point]) -> bool:
    """Whether a series shows how it grows and how it scatters."""
    return len(points) >= LEAST_SHOWING and all(y > 0 for _, y, _ in points)


def _alike(table: Table, cell: Cell, other: Cell) -> bool:
    """Whether another series has two levels, and was measured at levels of this one."""
    mine = {x for x, _, _ in table.series(cell)}
    theirs = {x for x, _, _ in table.series(other)}
    return len(theirs) >= LEAST_POINTS and len(mine & theirs) >= min(LEAST_POINTS, len(mine))


def _distance(table: Table, cell: Cell, other: Cell) -> float:
    mine = {x: y for x, y, _ in table.series(cell)}
    theirs = {x: y for x, y, _ in table.series(other)}
    shared = [abs(math.log(mine[x] / theirs[x])) for x in mine if x in theirs and mine[x] > 0 and theirs[x] > 0]
    return sum(shared) / len(shared) if shared else 0.0


def spans(points: list[Point], x: float | None) -> bool:
    """Whether a level lies within the measured ones: beyond them a sibling knows no more than the series itself."""
    return x is not None and points[0][0] <= x <= points[-1][0]


def is_closed(table: Table, cell: Cell) -> bool:
    """Whether a metric is the throughput of a population of users that think between requests."""
    return table.numeric in POPULATIONS and cell.metric == "throughput"


def rises(table: Table, cell: Cell) -> bool:
    """Whether more customers are not expected to lower a metric: storage, buffers, and times, as of waiting."""
    return str(table.numeric).endswith(CUSTOMERS) and (table.kind(cell) in RISING or is_closed(table, cell))


def combine(found: Explained, with_reason: tuple[str, ...], nodes: Array | None = None) -> Belief:
    """The mixture of all laws and grid nodes, given the laws that there is reason for and how likely nodes are."""
    log = found.evidence + np.log(prior(with_reason, nodes)[found.law])
    weight = np.exp(log - log.max())
    return Belief((weight / weight.sum()).ravel(), found.mean.ravel(), found.sd.ravel(), True).of_likely_parts()


def reasonable(table: Table, cell: Cell) -> tuple[str, ...]:
    """Laws that a numeric condition gives reason for.

    Customers hold something each, beside what is there without any. They wait for each other, as many times as long
    as they are where something is saturated, or from where on it is. Data that pass in pieces of a size take a number
    of pieces that is inverse to it.
    """
    if rises(table, cell):
        return ("proportional", "affine") if table.unit(cell) in TIMES else ("constant", "affine", FULL)
    return ("inverse",) if str(table.numeric).endswith(SIZES) else ()


def differ(one: Cell, other: Cell) -> list[str]:
    """The named conditions in which two cells differ; `system` is one of them."""
    if one.subject != other.subject:
        return ["", ""]
    mine, theirs = dict(one.labels), dict(other.labels)
    if mine.keys() != theirs.keys():
        return ["", ""]
    apart = [key for key, level in mine.items() if theirs[key] != level]
    return apart + [SYSTEM] * (one.system != other.system)
