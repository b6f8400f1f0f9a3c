"""What measured cells say of a cell that may not have been measured."""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist, fmean, stdev

import numpy as np

from model.capacity.conditions.mixtures import Belief
from model.capacity.conditions.names import ALTERNATIVES
from model.capacity.conditions.populations import response_growth
from model.capacity.conditions.ratios import OWN_RATIOS, Ratios
from model.capacity.conditions.rows import WORKLOAD
from model.capacity.conditions.series import (
    DOUBTFUL,
    REPEATED_WITHIN,
    Point,
    SeriesLaws,
    differ,
    is_closed,
    rises,
    spans,
)
from model.capacity.conditions.tables import PEAK, SYSTEM, TIMES, Cell, Kept, Table, Tables

OUTSIDE_SD = 0.003
"""Relative standard deviation by which an answer is less sure, for each e-fold outside the measured levels."""
REPEATABILITY = 0.003
WORK_REPEATED_WITHIN = 0.015
"""Relative standard deviation within which work and rates repeat from run to run."""
LIMIT = NormalDist().inv_cdf(0.95)
"""Standard deviations of a normal distribution that its 90 % limits are away."""
LEAST_STEPS, SURELY = 2, 2.0
"""Steps in one direction from which on a series is taken to rise or fall, within so many standard deviations."""
NOTHING_DOUBT = 0.5
"""How unsure a relative is that shows nothing, for each unit of the chance that there is something."""
COUNT, EVENTS = "count", 2.0
"""Events come as a Poisson process: the variance of a count is the count, here and where it was measured."""
SELDOM = 0.1
"""The chance that rounding leaves as much as it can: within the limits of an interval."""
COUNTED = (COUNT, "buffers")
"""Units of what is counted and printed whole."""
SUREST = 4.0
"""Power of how sure a relative is by which it counts beside others."""
LEAST_FELLOWS = 4
"""So many other levels of a part tell what is usual among them."""
STEPS_BEYOND = range(1, 9)
"""How many doublings beyond the measured levels answers are held against each other; laws alone are left farther on."""
LEAST_REACH = 1e-9


@dataclass(frozen=True)
class Inference:
    """A belief, and where it comes from in words; `relatives` are the names of the figures that err alike."""

    belief: Belief
    basis: str
    points: int
    extrapolated: bool = False
    relatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """What one relative says, how unsure it is (relative standard deviation), and whether ratios of the metric itself,
    as figures left out have them, say so at this very level. `key` is the name in which it differs.
    """

    doubt: float
    inference: Inference
    key: str
    by_own: bool = False


class Beliefs:
    """Answers for single cells from all tables."""

    def __init__(
        self,
        tables: Tables,
        facts: Mapping[str, Mapping[str, str]] | None = None,
        widening: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        self.tables = tables
        self.facts = facts or {}
        self.ratios = Ratios(tables, self.facts)
        self.laws = SeriesLaws(self.facts)
        self._widening = widening or {}
        self._cache: Kept[Inference | None] = Kept()
        self._doublings: dict[Cell, tuple[float, float]] = {}

    def infer(self, cell: Cell) -> Inference | None:
        """What is believed of a cell; None when nothing measured is related to it."""
        if cell not in self._cache:
            self._cache[cell] = self._infer(cell)
        return self._cache[cell]

    def _infer(self, cell: Cell) -> Inference | None:
        table = self.tables.blocks[cell.block]
        if cell.x is not None:
            points = table.series(cell)
            if points:
                by_law = self._law(table, cell, points)
                related = self._related(table, cell) if len(points) == 1 and points[0][0] != cell.x else None
                surest = related and related.belief.relative_sd() < by_law.belief.relative_sd()
                return related if surest else by_law
        measured = table.values.get(cell)
        if measured is not None:
            value, se = measured
            rounding = 0.0 if table.unit(cell) in COUNTED else table.rows[cell].rounding
            within = max(se, REPEATABILITY * abs(value), rounding / LIMIT)
            rounded = Belief.of(value, within) if value else Belief.perhaps(SELDOM, [LIMIT * within])
            return Inference(rounded, "measured", 1)
        return self._related(table, cell)

    def _law(self, table: Table, cell: Cell, points: list[Point]) -> Inference:
        x = np.array([point[0] for point in points])
        y = np.array([point[1] for point in points])
        basis = f"law over {len(points)} measured level{'s' if len(points) > 1 else ''} of {table.numeric}"
        assert cell.x is not None
        outside = not x.min() <= cell.x <= x.max()
        if np.any(y <= 0):
            near = float(np.interp(math.log(cell.x), np.log(x), y))
            return Inference(Belief.of(near, float(np.std(y))), basis, len(points), outside)
        measured, noise = table.values.get(cell, (0.0, 0.0))
        known, names = measured > 0 and noise < DOUBTFUL * measured, of_series(table, cell)
        belief = self._widened(self.laws.at(table, cell, points), names, most=1.0 if known else math.inf)
        if known:
            belief = belief.scaled(measured / belief.median(), 0.0)
        elif outside:
            belief = self._no_surer(table, cell, points, belief)
        elif not cell.metric.startswith(PEAK):
            belief = belief.bounded(*between(_sure(points), cell.x, SURELY * _repeated_within(table, cell)))
        return Inference(belief, basis, len(points), outside, names)

    def _no_surer(self, table: Table, cell: Cell, points: list[Point], belief: Belief) -> Belief:
        """A belief beyond the measured levels held against the last one and every doubling from there on: it is no
        surer than any of them, and no lower where nothing is expected to fall, unless a sibling falls between the two.
        """
        assert cell.x is not None
        end, last, _ = _sure(points)[-1 if cell.x > points[-1][0] else 0]
        away = math.log2(cell.x / end)
        steps = [step for step in STEPS_BEYOND if step < abs(away)]
        places = [replace(cell, x=end * math.exp2(math.copysign(step, away))) for step in steps]
        nearer = [self._at_doubling(table, place, points) for place in places]
        reach = max([belief.reach(), *(other for _, other in nearer)])
        rising = rises(table, cell) and not is_closed(table, cell)
        factor = 1.0
        if rising and not any(_falls(table, other, end, cell.x) for other in self.laws.siblings(table, cell)):
            limit = (max if away > 0 else min)([last, *(median for median, _ in nearer)])
            factor = (max if away > 0 else min)(limit / belief.median(), 1.0)
        wider = reach / max(belief.reach(), LEAST_REACH)
        return belief.widened(max(wider, 1.0)).scaled(factor, OUTSIDE_SD * abs(away) * math.log(2.0))

    def _at_doubling(self, table: Table, cell: Cell, points: list[Point]) -> tuple[float, float]:
        """Median and reach of what the laws say so many doublings beyond the measured levels."""
        if cell not in self._doublings:
            belief = self._widened(self.laws.at(table, cell, points), of_series(table, cell))
            self._doublings[cell] = belief.median(), belief.reach()
        return self._doublings[cell]

    def _related(self, table: Table, cell: Cell) -> Inference | None:
        """From users who do not wait between requests; else from the relative whose ratio to the cell is known best."""
        donors = self.donors(table, cell)
        for donor, key in donors:
            growth = response_growth(self.tables, self.facts, donor, cell) if key == SYSTEM else None
            if growth is not None:
                belief = Belief.of(*table.values[donor]).scaled(math.exp(growth[0]), growth[1])
                words = f"{donor.system}, response from users over rate, of users who do not wait between requests"
                return Inference(belief, words, 0)
        found = [*self._by_ratios(table, cell, donors), *self._usual(table, cell, donors)]
        if not found:
            return None
        best = min(found, key=lambda candidate: candidate.doubt)
        if best.doubt == 0 or not best.inference.belief.logarithmic:
            return best.inference
        belief = _together(found, best.doubt)
        if table.unit(cell) == COUNT:
            belief = belief.scaled(1.0, math.sqrt(EVENTS / belief.median()))
        names = of_ratio(table, cell)
        least = 0.0 if best.by_own else 1.0
        wider = self._widened(belief, names, least, capped=best.key in ALTERNATIVES)
        return replace(best.inference, belief=wider, relatives=names)

    def _by_ratios(self, table: Table, cell: Cell, donors: list[tuple[Cell, str]]) -> Iterator["_Candidate"]:
        """What each relative says, by its ratio to the cell."""
        for donor, key in donors:
            come, gone = cell.level(key), donor.level(key)
            points = table.series(donor) if donor.x is not None else []
            inference = self._law(table, donor, points) if points else None
            if inference is None:
                if donor not in table.values:
                    continue
                value, se = table.values[donor]
                if value <= 0:
                    yield self._beside_nothing(table, donor, cell, key)
                    continue
                inference = Inference(Belief.of(value, se), "measured", 1)
            own = inference.belief.of_value()
            value = own.median()
            shown = self._where_shown(table, donor, cell, value)
            ratio = self.ratios.ratio(donor, cell, key, shown)
            elsewhere = abs(math.log(value / shown)) if min(value, shown) > 0 else 0.0
            times = ratio.belief.scaled(self.ratios.work(donor, cell), elsewhere)
            doubt = math.hypot(own.relative_sd(), times.log_sd()) if value else 0.0
            words = f"{gone}, times the ratio of {come} to {gone} ({ratio.seen} such ratios seen)"
            belief = own.times(times)
            by_own = ratio.own >= OWN_RATIOS and shown == value
            yield _Candidate(doubt, Inference(belief, words, 0, inference.extrapolated), key, by_own)

    @staticmethod
    def _where_shown(table: Table, donor: Cell, cell: Cell, value: float) -> float:
        """The value of a relative at the nearest level at which the cell's series was measured as well; its own value
        where the series have no level in common.
        """
        if donor.x is None:
            return value
        own = {x for x, y, _ in table.series(cell) if y > 0}
        both = [(abs(math.log(x / donor.x)), y) for x, y, _ in table.series(donor) if x in own and y > 0]
        return min(both)[1] if both else value

    def _beside_nothing(self, table: Table, donor: Cell, cell: Cell, key: str) -> "_Candidate":
        """A relative shows nothing, so that the cell does neither, or as much as others of its metric do."""
        words = f"nothing at {key}={donor.level(key)}"
        others = [table.values[other][0] for other in table.units[cell.metric][table.unit(cell)]]
        others = [value for value in others if value > 0]
        chance = min(self.ratios.appears(donor, cell, key), 0.5) if others else 0.0
        doubt = NOTHING_DOUBT * chance if key in (SYSTEM, *ALTERNATIVES) else math.inf
        return _Candidate(doubt, Inference(Belief.perhaps(chance, others), words, 0), key)

    @staticmethod
    def _usual(table: Table, cell: Cell, donors: list[tuple[Cell, str]]) -> Iterator["_Candidate"]:
        """What is usual among the other levels of each part that the cell names: transactions, components."""
        values: dict[str, list[float]] = defaultdict(list)
        for donor, key in donors:
            if key not in (SYSTEM, *ALTERNATIVES) and donor in table.values:
                values[key].append(table.values[donor][0])
        for key, level in values.items():
            if len(level) >= LEAST_FELLOWS and min(level) > 0:
                found = [math.log(value) for value in level]
                sd = max(stdev(found) * math.sqrt(1.0 + 1.0 / len(found)), REPEATABILITY)
                belief = Belief(np.ones(1), np.array([fmean(found)]), np.array([sd]), True)
                inference = Inference(belief, f"as usual among {len(found)} other levels of {key}", 0)
                yield _Candidate(belief.relative_sd(), inference, key, True)

    def _widened(
        self, belief: Belief, names: tuple[str, ...], least: float = 0.0, most: float = math.inf, capped: bool = True
    ) -> Belief:
        """A belief as much wider, or narrower, as figures left out that err alike show.

        What was left out may be what shows how rough a series is, or how the ratios of an option scatter: with it an
        interval is as wide by itself, and where that is so it is not widened beyond what held the figures left out.
        """
        factor, reach = scale(self._widening, names)
        if capped and factor > 1.0:
            factor = max(min(factor, reach / max(belief.reach(), LEAST_REACH)), 1.0)
        return belief.widened(min(max(factor, least), most))

    def donors(self, table: Table, cell: Cell) -> list[tuple[Cell, str]]:
        """Cells of the same metric that differ in one name, with that name; a sibling is another system."""
        found = {}
        for other in table.values:
            if other.metric != cell.metric:
                continue
            apart = differ(cell, other)
            if len(apart) == 1:
                found[replace(other, x=cell.x)] = apart[0]
        return [
            (donor, key)
            for donor, key in found.items()
            if donor != cell and (key != SYSTEM or self.same_workload(donor.system, cell.system))
        ]

    def same_workload(self, one: str, other: str) -> bool:
        """Whether two systems run the same workload, so that one can stand for the other."""
        mine = self.facts.get(one, {}).get(WORKLOAD)
        return mine is not None and mine == self.facts.get(other, {}).get(WORKLOAD)


def _together(found: list[_Candidate], least: float) -> Belief:
    """What relatives say together: the surest nearly alone, unless others are as sure and contradict it."""
    said = [(c.inference.belief, (least / c.doubt) ** SUREST) for c in found if c.inference.belief.logarithmic]
    weights = np.concatenate([weight * belief.weight / belief.weight.sum() for belief, weight in said])
    means, sds = (np.concatenate([getattr(belief, name) for belief, _ in said]) for name in ("mean", "sd"))
    return Belief(weights, means, sds, True)


def _falls(table: Table, series: Cell, one: float, other: float) -> bool:
    """Whether a series was measured at two levels and is lower at the larger one."""
    known = {x: y for x, y, _ in _sure(table.series(series))}
    return {one, other} <= known.keys() and known[max(one, other)] < known[min(one, other)]


def _sure(points: list[Point]) -> list[Point]:
    """Points whose values are not doubtful; all of them where each is."""
    return [(x, y, noise) for x, y, noise in points if noise < DOUBTFUL * y] or points


def _repeated_within(table: Table, cell: Cell) -> float:
    """Relative standard deviation within which a metric repeats from run to run."""
    if table.kind(cell) in ("storage", "buffers"):
        return REPEATABILITY
    return REPEATED_WITHIN if table.unit(cell) in TIMES else WORK_REPEATED_WITHIN


def between(points: list[Point], x: float, within: float) -> tuple[float, float]:
    """Limits of a value between measured levels: the neighbouring ones, but for a relative rest, where all of three
    levels or more rise, or all fall.
    """
    values = [y for _, y, _ in points]
    steps = [math.log(after / before) for before, after in pairwise(values)]
    if not spans(points, x) or len(steps) < LEAST_STEPS or (min(steps) < -REPEATABILITY and max(steps) > REPEATABILITY):
        return -math.inf, math.inf
    place = bisect([level for level, _, _ in points], x)
    near = values[place - 1 : place + 1]
    return min(near) * math.exp(-within), max(near) * math.exp(within)


def family(table: Table, cell: Cell) -> str:
    """Figures that err alike: one table, one sort of quantity."""
    return f"{table.block[0]} {table.block[1]}: {table.kind(cell)}"


def of_series(table: Table, cell: Cell) -> tuple[str, ...]:
    """Names of the figures of laws that err alike: the family; those of one metric at the same named levels; and of
    these the ones within the measured levels, or beyond them.
    """
    levels = "; ".join(f"{key}={level}" for key, level in cell.labels)
    series = f"{family(table, cell)}, {cell.metric} of {table.groups.get(cell.system, cell.system)} [{levels}]"
    points = table.series(cell)
    return family(table, cell), series, f"{series} {'within' if points and spans(points, cell.x) else 'beyond'}"


def of_ratio(table: Table, cell: Cell) -> tuple[str, ...]:
    """Names of the figures of ratios that err alike: the family, and those of one metric."""
    return family(table, cell), f"{family(table, cell)}, {cell.metric}"


def scale(widening: Mapping[str, Sequence[float]], names: tuple[str, ...]) -> tuple[float, float]:
    """How much wider an interval is to be, and how far it has to reach: as of its nearest relatives of which that is
    known.

    Where that is the family alone, as no figure of the metric could be left out, it is not narrower.
    """
    for name in reversed(names[1:]):
        if name in widening:
            factor, reach = widening[name]
            return factor, reach
    return max(widening.get(names[0], (1.0,))[0], 1.0), math.inf
