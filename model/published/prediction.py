"""Values of any cell of the studies: measured, following from other cells, or predicted by a regression.

What was measured is not predicted: its limits are those of repeating the run. What documents and totals define is
computed from what it is made of. The rest is predicted by the regression of its group (`model.published.regression`).
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from model.published.definitions import following
from model.published.identities import WHOLE_PCT, Sum, SumElsewhere, shares, sums, sums_elsewhere
from model.published.observations import ALTERNATIVES, REQUESTED_RATE, UNPACED, WORKLOAD, Identity, Operand
from model.published.printed import compute
from model.published.regression import Context, Group, Regression, options
from model.published.tables import BEYOND, PEAK, SYSTEM, TIMES, Cell, Kept, Table, Tables, differ, is_closed, spans

Array = NDArray[np.float64]

FOLLOWS, MEASURED = "follows from other values", "measured"
DRAWS = 100
Z_90 = NormalDist().inv_cdf(0.95)
DEEPEST = 8
DIGITS, PREDICTED_DIGITS = 10, 7
"""Significant digits of values: what was measured may have many, what is predicted has none beyond these."""
REPEATED, TIMES_REPEATED, WORK_REPEATED = 0.003, 0.03, 0.015
"""Relative standard deviations within which storage and buffers, times, and work and rates repeat from run to run."""
DOUBTFUL = 0.1
"""A value with a larger relative standard error is predicted, with itself as one of what it is predicted from."""
OUTSIDE_SD = 0.003
"""Relative standard deviation by which a prediction is less sure for each e-fold outside the measured levels."""
UNREPRESENTED = 1.78
"""How many times as far limits are where only the priors say how much a system or level differs: those of a normal
distribution whose standard deviation has a log-normal one of 1, as Student's of two degrees of freedom."""
MOST_SD = 2.5
"""Largest standard deviation of a logarithm: limits are no more than about a factor of 60 away."""
MEAN_RESPONSE = "response_avg_s"
"""The name that the marts have for a mean response."""
UNPACED_TIMES = (
    "times cannot be known: the users send as fast as they are answered, so that the time of a class depends on what "
    "holds the other classes back"
)
COUNTED = ("count", "buffers")
"""Units of what is counted and printed whole."""
SELDOM, MOST_CHANCE, APPEARING = 0.1, 0.5, 0.1
"""The chance that rounding leaves as much as it can; the largest that something is there where relatives show nothing,
and how many of two pairs of which one is nothing show something, before any is seen."""
_SCORES: Array = np.array([NormalDist().inv_cdf((i + 0.5) / DRAWS) for i in range(DRAWS)])

Scales = Mapping[str, float]


@dataclass(frozen=True)
class Predictive:
    """A predictive distribution: log-normal, or normal where it may not be above zero, in terms of a normal score.

    Of a throughput of a `population` the mean and deviation are those of ln of its response, beside `think_s`. `rare`
    are the values of what is nothing but with a `chance`, which are as likely as each other.
    """

    mean: float
    sd: float
    logarithmic: bool = True
    population: float | None = None
    think_s: float = 0.0
    chance: float = 0.0
    rare: tuple[float, ...] | None = None

    @classmethod
    def around(cls, value: float, sd: float) -> Predictive:
        """A value with its standard deviation."""
        return cls(math.log(value), sd / value) if value > 0 else cls(value, sd, False)

    def quantiles(self, *levels: float) -> tuple[float, ...]:
        """The values below which these shares lie."""
        return tuple(self._at(np.array([NormalDist().inv_cdf(level) for level in levels])).tolist())

    def draws(self, seed: int) -> Array:
        """`DRAWS` values in random order, at quantiles in even steps."""
        return np.random.default_rng(seed).permutation(self._at(_SCORES))

    def _at(self, scores: Array) -> Array:
        if self.rare is not None:
            levels = np.array([NormalDist().cdf(score) for score in scores])
            above = (levels - (1.0 - self.chance)) / self.chance if self.chance else np.full(len(levels), -1.0)
            index = np.clip(above * len(self.rare), 0, max(len(self.rare) - 1, 0)).astype(int)
            return np.where(above > 0, np.array([*sorted(self.rare), 0.0])[index], 0.0)
        if not self.logarithmic:
            return self.mean + self.sd * scores
        if self.population is None:
            return np.asarray(np.exp(self.mean + self.sd * scores), dtype=np.float64)
        return np.asarray(self.population / (self.think_s + np.exp(self.mean - self.sd * scores)), dtype=np.float64)


@dataclass(frozen=True)
class Inference:
    """A predictive distribution, and what it rests on in words; `errs_like` names the figures that err alike, all of
    the family first."""

    distribution: Predictive
    basis: str
    points: int
    extrapolated: bool = False
    errs_like: tuple[str, ...] = ()


@dataclass(frozen=True)
class Value:
    """A value with 90 % limits and draws of what it may be; `inference` is None where it follows from other cells.

    `note` says what a reader has to know of it.
    """

    value: float
    low: float
    high: float
    draws: Array
    inference: Inference | None
    basis: str
    note: str = ""


class Predictor:
    """Predicts cells, each once but for those asked long ago.

    Args:
        tables: all observations.
        facts: configuration of each system by attribute.
        identities: what follows from other values.
        scales: how many times as far limits are as the regression has them, by the names of figures that err alike.
        choose: the standard deviations of a regression's terms, where those of the priors are not to be taken.
        seed: of the draws that totals and ratios are made of.
    """

    def __init__(
        self,
        tables: Tables,
        facts: Mapping[str, Mapping[str, str]],
        identities: Sequence[Identity] = (),
        scales: Scales | None = None,
        choose: Callable[[Regression], Mapping[str, float]] | None = None,
        seed: int = 0,
    ) -> None:
        self.tables, self.facts, self.identities = tables, facts, tuple(identities)
        self.context = Context(tables, facts)
        self._scales, self._choose, self._seed = scales or {}, choose, seed
        self._by_metric: dict[tuple[str, str, str], list[Identity]] = defaultdict(list)
        for entry in identities:
            self._by_metric[entry.system, entry.table, entry.metric].append(entry)
        self._regressions: dict[str, Regression] = {}
        self._sums: dict[tuple[str, str], list[Sum | SumElsewhere]] = {}
        self._shares: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._values: Kept[Value | None] = Kept()
        self._depth = 0

    def value(self, cell: Cell) -> Value | None:
        """The value of a cell; None when nothing measured is related to it."""
        if cell not in self._values:
            self._depth += 1
            try:
                value = self._following(cell) if self._depth <= DEEPEST else None
            finally:
                self._depth -= 1
            self._values[cell] = value or self._inferred(cell)
        return self._values[cell]

    def regression(self, group: Group) -> Regression:
        """The regression of a group, conditioned once."""
        if group.name not in self._regressions:
            self._regressions[group.name] = Regression(self.context, group, self._choose)
        return self._regressions[group.name]

    def hyperparameters(self) -> dict[str, dict[str, float]]:
        """The standard deviations of all regressions, by group and term."""
        groups = {group.name: group for table in self.tables.blocks.values() for cell in table.values
                  if (group := self.context.group(cell)) is not None}  # fmt: skip
        return {name: dict(self.regression(group).sd) for name, group in groups.items()}

    def rescaled(self, scales: Scales) -> Predictor:
        """The same with other scales of intervals; regressions are shared."""
        other = copy(self)
        other._scales, other._values = scales, Kept()
        return other

    def identity(self, entry: Identity, condition: Mapping[str, str]) -> Value | None:
        """What an identity gives at a condition; None when an operand is not known."""
        terms: list[Value | float] = []
        for operand in entry.operands:
            if operand.constant is not None:
                terms.append(operand.constant * operand.factor)
            elif (value := self._operand(entry, operand, condition)) is not None:
                terms.append(_times(value, operand.factor))
            else:
                return None
        return _combine(entry.rule, terms, entry.factor)

    def _operand(self, entry: Identity, operand: Operand, condition: Mapping[str, str]) -> Value | None:
        levels = {key: level for key, level in {**condition, **operand.condition}.items() if level not in ("", "*")}
        system, table_name = operand.system or entry.system, operand.table or entry.table
        metric = operand.metric or entry.metric
        table = self.tables.blocks.get((entry.study, table_name))
        cell = None if table is None else table.cell(system, metric, levels)
        value = None if cell is None else self.value(cell)
        if value is not None:
            return value
        for other in self._by_metric.get((system, table_name, metric), ()):
            if other.condition.keys() == levels.keys() and other is not entry:
                return self.identity(other, levels)
        return None

    def _measured(self, cell: Cell) -> tuple[float, float] | None:
        """The measured value and its standard error; None without, and where it is doubtful."""
        measured = self.tables.value(cell)
        return measured if measured is not None and measured[1] <= DOUBTFUL * abs(measured[0]) else None

    def _following(self, cell: Cell) -> Value | None:
        block = cell.block
        table = self.tables.blocks[block]
        for total in self._sums_of(table):
            of = total.operands(cell)
            if of is not None:
                operands = self._all(of)
                return None if operands is None else _combine("sum", operands, 1.0)
        if cell not in table.values:
            for entry in following(table, cell):
                operands = self._all(entry.operands)
                if operands is not None and (value := _computed(entry.value, operands)) is not None:
                    return value
        if block not in self._shares:
            self._shares[block] = shares(table)
        for larger, smaller in self._shares[block]:
            if cell.metric in (larger, smaller) and cell not in table.values:
                rest = replace(cell, metric=larger if cell.metric == smaller else smaller)
                share = self.value(rest) if cell.metric == larger or rest in table.values else None
                return None if share is None else _combine("difference", [WHOLE_PCT, share], 1.0)
        return None

    def _sums_of(self, table: Table) -> list[Sum | SumElsewhere]:
        if table.block not in self._sums:
            self._sums[table.block] = [*sums(table), *sums_elsewhere(self.tables, table)]
        return self._sums[table.block]

    def _all(self, cells: Sequence[Cell]) -> list[Value] | None:
        """The values of all cells; None where one is not known."""
        values = [value for value in map(self.value, cells) if value is not None]
        return values if len(values) == len(cells) else None

    def _inferred(self, cell: Cell) -> Value | None:
        table = self.tables.blocks[cell.block]
        inference = self.infer(cell)
        rests = [rest for total in self._sums_of(table) if (rest := total.rest(table, cell)) is not None]
        if rests:
            nothing = Predictive(0.0, 0.0, chance=SELDOM, rare=(min(rests),))
            inference = Inference(nothing, "the other parts make up the measured total", 0)
        if inference is None:
            return None
        unit = table.unit(cell)
        least, most = _bounds([table.values[other][0] for other in table.units[cell.metric][unit]], unit)
        if cell not in table.values and cell.x is not None and not cell.metric.startswith(PEAK):
            low, high = between(table.series(cell), cell.x, 2.0 * _repeated_within(table, cell))
            least, most = max(least, low), min(most, high)
        ends = np.clip(inference.distribution.quantiles(0.05, 0.5, 0.95), least, most)
        digits = DIGITS if cell in table.values else PREDICTED_DIGITS
        low, value, high = (float(f"{end:.{digits}g}") for end in ends)
        if unit in COUNTED and _whole(table, cell.metric):
            low, value, high = (float(round(end)) for end in (low, value, high))
        seed = zlib.crc32(repr(replace(cell, x=None)).encode()) ^ self._seed
        draws = np.clip(inference.distribution.draws(seed), least, most)
        note = self._unknown(table, cell)
        return self._perhaps_full(table, cell, Value(value, low, high, draws, inference, inference.basis, note))

    def _unknown(self, table: Table, cell: Cell) -> str:
        """Why a time of users who do not think cannot be known where it was not measured; empty for other figures."""
        unpaced = self.facts.get(cell.system, {}).get(REQUESTED_RATE) == UNPACED
        of_responses = MEAN_RESPONSE in table.mart_metrics.values() and table.unit(cell) in TIMES
        return UNPACED_TIMES if unpaced and of_responses and cell not in table.values else ""

    def _perhaps_full(self, table: Table, cell: Cell, value: Value) -> Value:
        """The throughput of far more users than were measured, which may have stopped growing on the way."""
        if not is_closed(table, cell) or cell.x is None:
            return value
        furthest = BEYOND * max((level for level, _, _ in table.series(cell)), default=cell.x)
        furthest_value = self.value(replace(cell, x=furthest)) if cell.x > furthest else None
        return value if furthest_value is None else replace(value, low=min(value.low, furthest_value.low))

    def infer(self, cell: Cell) -> Inference | None:
        """What is measured of a cell, or predicted of it; None when nothing measured is related to it."""
        table = self.tables.blocks[cell.block]
        if (measured := self._measured(cell)) is not None:
            return Inference(self._as_repeated(table, cell, *measured), MEASURED, 1)
        points = table.series(cell) if cell.x is not None else []
        outside = bool(points) and not spans(points, cell.x)
        levels = f"{len(points)} measured level{'s' if len(points) != 1 else ''} of {table.covariate}"
        if cell.x is not None and any(y <= 0 for _, y, _ in points):
            x, y = (np.array(column) for column in zip(*[point[:2] for point in points], strict=True))
            near = float(np.interp(math.log(cell.x), np.log(x), y))
            return Inference(Predictive(near, float(np.std(y)), False), f"between {levels}", len(points), outside)
        if not points and (nothing := self._nothing(table, cell)) is not None:
            return Inference(nothing, "nothing at the levels nearest to it", 0)
        group = self.context.group(cell)
        if group is None:
            return None
        regression = self.regression(group)
        mean, sd = regression.predict(cell)
        names = errs_like(table, cell)
        factor = scale(self._scales, names)
        if not _is_represented(group, cell):
            factor = max(factor, 1.0) * UNREPRESENTED
        sd = MOST_SD if self._unknown(table, cell) else min(sd * factor, MOST_SD)
        if outside and cell.x is not None:
            sd = math.hypot(sd, OUTSIDE_SD * min(abs(math.log(cell.x / x)) for x, _, _ in points))
        predictive = Predictive(mean, sd)
        if is_closed(table, cell):
            predictive = replace(predictive, population=cell.x, think_s=self.tables.think_s(cell, self.facts))
        count = len(regression.cells)
        basis = f"regression over {levels}" if points else f"regression over {count} measured figures"
        return Inference(predictive, basis, len(points), outside, names)

    @staticmethod
    def _as_repeated(table: Table, cell: Cell, value: float, se: float) -> Predictive:
        """A measured value within what runs repeat, and what it was rounded by."""
        rounding = 0.0 if table.unit(cell) in COUNTED else table.rows[cell].rounding / Z_90
        sd = max(se, _repeated_within(table, cell) * abs(value), rounding)
        return Predictive.around(value, sd) if value else Predictive(0.0, 0.0, chance=SELDOM, rare=(Z_90 * sd,))

    def _nothing(self, table: Table, cell: Cell) -> Predictive | None:
        """Nothing, where most relatives show nothing, but for the chance that such relatives show something."""
        relatives = [(other, key) for other, key in self.relatives(table, cell) if other in table.values]
        whole = [pair for pair in relatives if pair[1] in (SYSTEM, *ALTERNATIVES)]
        values = [table.values[other][0] for other, _ in whole or relatives]
        if not values or 2 * values.count(0.0) <= len(values):
            return None
        keys = {key for _, key in whole or relatives}
        pairs = [
            table.values[other][0] > 0
            for zero, (value, _) in table.values.items()
            if value == 0 and zero.metric == cell.metric
            for other, key in self.relatives(table, zero)
            if key in keys and other in table.values
        ]
        units = table.units[cell.metric][table.unit(cell)]
        above = tuple(value for other in units if (value := table.values[other][0]) > 0)
        chance = min((sum(pairs) + 2.0 * APPEARING) / (len(pairs) + 2.0), MOST_CHANCE) if above else 0.0
        return Predictive(0.0, 0.0, chance=chance, rare=above)

    def relatives(self, table: Table, cell: Cell) -> list[tuple[Cell, str]]:
        """Cells of the same metric that differ in one factor, with that; another system runs the same workload."""
        keys = {
            replace(other, x=cell.x): apart[0]
            for other in table.values
            if other.metric == cell.metric and len(apart := differ(cell, other)) == 1
        }
        return [
            (other, key)
            for other, key in keys.items()
            if other != cell and (key != SYSTEM or self.same_workload(other.system, cell.system))
        ]

    def same_workload(self, one: str, other: str) -> bool:
        """Whether two systems run the same workload, so that one can stand for the other."""
        mine = self.facts.get(one, {}).get(WORKLOAD)
        return mine is not None and mine == self.facts.get(other, {}).get(WORKLOAD)


def _is_represented(group: Group, cell: Cell) -> bool:
    """Whether the metric of a cell was measured in its system, and at its options."""
    metric = [other for other in group.cells if other.metric == cell.metric]
    level = options(cell)
    of_system = any(other.system == cell.system for other in metric)
    return of_system and (not level or any(options(other) == level for other in metric))


def between(points: Sequence[tuple[float, float, float]], x: float, within: float) -> tuple[float, float]:
    """Limits of a value between measured levels: the neighbouring ones, but for a relative rest, where all of three
    levels or more rise, or all fall.
    """
    sure = [(level, y) for level, y, se in points if se <= DOUBTFUL * y and y > 0]
    steps = [math.log(after / before) for (_, before), (_, after) in pairwise(sure)]
    lower, upper = [y for level, y in sure if level < x], [y for level, y in sure if level > x]
    steady = len(steps) > 1 and (min(steps) >= -REPEATED or max(steps) <= REPEATED)
    if not (steady and lower and upper):
        return -math.inf, math.inf
    ends = lower[-1], upper[0]
    return min(ends) * math.exp(-within), max(ends) * math.exp(within)


def _repeated_within(table: Table, cell: Cell) -> float:
    """Relative standard deviation within which a figure repeats from run to run."""
    if cell.x is None or table.kind(cell) in ("storage", "buffers"):
        return REPEATED
    return TIMES_REPEATED if table.unit(cell) in TIMES else WORK_REPEATED


def family(table: Table, cell: Cell) -> str:
    """Figures that err alike: one table, one kind of quantity."""
    return f"{table.block[0]} {table.block[1]}: {table.kind(cell)}"


def errs_like(table: Table, cell: Cell) -> tuple[str, ...]:
    """Names of the figures that err alike: the family, those of one metric and, of a series, of the same levels; and of
    these the ones within the measured levels, or beyond them.
    """
    whole = family(table, cell)
    points = table.series(cell) if cell.x is not None else []
    if not points:
        return whole, f"{whole}, {cell.metric}"
    levels = "; ".join(f"{key}={level}" for key, level in cell.factors)
    series = f"{whole}, {cell.metric} [{levels}]"
    return whole, series, f"{series} {'within' if spans(points, cell.x) else 'beyond'}"


def scale(scales: Scales, names: tuple[str, ...]) -> float:
    """How much wider an interval is to be, as of the nearest figures that err alike of which that is known; not
    narrower where that is the family alone, as no figure of the metric could be left out.
    """
    return next((scales[name] for name in reversed(names[1:]) if name in scales), max(scales.get(names[0], 1.0), 1.0))


def _whole(table: Table, metric: str) -> bool:
    return all(value == int(value) for cell, (value, _) in table.values.items() if cell.metric == metric)


def _bounds(values: list[float], unit: str) -> tuple[float, float]:
    """What a metric cannot leave: zero where nothing measured is below, 100 % where nothing measured is above."""
    least = 0.0 if min(values, default=0.0) >= 0 else -np.inf
    most = 100.0 if unit == "pct" and max(values, default=0.0) <= 100 else np.inf
    return least, most


def _times(value: Value, factor: float) -> Value:
    ends = sorted((value.low * factor, value.high * factor))
    return Value(value.value * factor, ends[0], ends[1], value.draws * factor, value.inference, value.basis)


def _combine(rule: str, operands: Sequence[Value | float], factor: float) -> Value | None:
    """A rule over values, and over their draws one by one."""
    return _computed(lambda values: compute(rule, values, factor), operands)


def _computed(rule: Callable[[list[float]], float | None], operands: Sequence[Value | float]) -> Value | None:
    exact = rule([part.value if isinstance(part, Value) else part for part in operands])
    if exact is None:
        return None
    columns = [part.draws if isinstance(part, Value) else np.full(DRAWS, part) for part in operands]
    drawn = [rule([float(column[i]) for column in columns]) for i in range(DRAWS)]
    draws = np.sort([exact if value is None else value for value in drawn])
    low, high = np.interp(np.array([0.05, 0.95]) * (DRAWS - 1), np.arange(DRAWS), draws).tolist()
    unsorted = np.array([exact if value is None else value for value in drawn])
    return Value(exact, min(low, exact), max(high, exact), unsorted, None, FOLLOWS)
