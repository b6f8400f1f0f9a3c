"""Figures left out: what the others say of each, and how much wider intervals must be to hold them.

Every level of every condition is left out once of all tables of its system, with all that was measured at it; named
levels but for transaction rates, which a question about them gives, and as long as other systems have them. Figures of
tables without a covariate are left out one by one as well. A regression does not know how sure it is: intervals are
scaled to hold 90 % of what was left out (conformal prediction; Lei and others 2018, *Journal of the American
Statistical Association* 113).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from model.capacity.adjustments import POPULATIONS, RATES
from model.published.observations import ALTERNATIVES, Observation
from model.published.prediction import Predictor, Value, family
from model.published.tables import POINT, SYSTEM, Cell, Table, Tables, block_of, number

COVERED = 0.9
"""Share of figures that intervals are to hold."""
MEANS_COVERED = 2.06
"""Errors of a normal distribution are within so many times their mean size in that share of cases."""
WIDER_CASES = 2.0
"""How many figures of a group the wider group that it belongs to counts for."""
LEAST_SCALE, MOST_SCALE = 0.25, 8.0
ROUNDING = 1e-9

Facts = Mapping[str, Mapping[str, str]]
Choose = Callable[[Any], Mapping[str, float]]


@dataclass(frozen=True)
class Figure:
    """A figure left out: what the others say of it with a 90 % interval, and the naive answer.

    `errs_like` are the names of the figures that err alike; none where it follows from others.
    """

    cell: Cell
    family: str
    errs_like: tuple[str, ...]
    measured: float
    low: float
    value: float
    high: float
    naive: float

    @property
    def missed(self) -> float | None:
        """The error in half-widths of the interval, of logarithms; None at zero."""
        if min(self.measured, self.low, self.value) <= 0:
            return None
        off = math.log(self.measured / self.value)
        reach = math.log((self.high if off > 0 else self.low) / self.value)
        return off / reach if reach else 0.0


@dataclass(frozen=True)
class LeftOut:
    """Cells of a table that are left out together.

    `name` says what was left out, `predictor` predicts from the rest, `asked` are all of the cells and `judged` those
    that predictions are compared with, each with the naive answer.
    """

    name: str
    table: Table
    predictor: Predictor
    cells: tuple[Cell, ...]
    judged: Mapping[Cell, float]
    single: bool = False

    def rescaled(self, scales: Mapping[str, float]) -> LeftOut:
        """The same with intervals so many times as wide."""
        return replace(self, predictor=self.predictor.rescaled(scales))

    def figures(self) -> Iterator[Figure]:
        """The judged figures, as the others see them."""
        for cell, naive in self.judged.items():
            value = self.predictor.value(cell)
            if value is not None:
                yield _figure(self.table, cell, value, naive)


def left_out(tables: Tables, facts: Facts, choose: Choose | None = None) -> list[LeftOut]:
    """All that can be left out; `choose` gives the standard deviations of each regression of the rest."""
    return [*_levels(tables, facts, choose), *_singles(tables, facts, choose)]


def scales(figures: Iterable[Figure], but: Container[Cell] = ()) -> dict[str, float]:
    """How much wider intervals must be to hold 90 % of the figures but some, by the names of those that err alike.

    Of a family it is the 90 % quantile of errors over half-widths; of figures more alike, what their mean says, in the
    geometric mean with the wider group. Few figures are as sure as Student's distribution has it.
    """
    missed: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for figure in figures:
        if (one := figure.missed) is not None and figure.cell not in but:
            for count in range(len(figure.errs_like)):
                missed[figure.errs_like[: count + 1]].append(one)
    logs: dict[tuple[str, ...], float] = {}
    factors = {}
    for names, off in sorted(missed.items(), key=lambda entry: len(entry[0])):
        cases, wider = float(len(off)), logs.get(names[:-1])
        covering = MEANS_COVERED * np.mean(off) if wider is not None else np.quantile(off, COVERED, method="hazen")
        logs[names] = math.log(min(max(float(covering), LEAST_SCALE), MOST_SCALE))
        if wider is not None:
            logs[names] = (WIDER_CASES * wider + cases * logs[names]) / (WIDER_CASES + cases)
            cases += WIDER_CASES
        factors[names[-1]] = math.exp(logs[names]) * _student(cases)
    return factors


def behind(figures: Iterable[Figure]) -> list[str]:
    """The families in which the naive answer was nearer in the median."""
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for figure in figures:
        if min(figure.measured, figure.value, figure.naive) > 0:
            error, naive = (abs(math.log(value / figure.measured)) for value in (figure.value, figure.naive))
            errors[figure.family].append((error, naive))
    medians = {name: np.median(np.array(pairs), axis=0) for name, pairs in errors.items()}
    return sorted(name for name, (error, naive) in medians.items() if error > naive + ROUNDING)


def _student(degrees: float) -> float:
    """How many times as far as the normal 90 % limits those are that rest on so few degrees of freedom (Student)."""
    from scipy.stats import norm, t

    return float(t.ppf(0.95, degrees) / norm.ppf(0.95))


def _figure(table: Table, cell: Cell, value: Value, naive: float) -> Figure:
    names = value.inference.errs_like if value.inference is not None else ()
    return Figure(cell, family(table, cell), names, table.values[cell][0], value.low, value.value, value.high, naive)


@dataclass(frozen=True)
class _Level:
    """A level of a condition, under any of its names, of a system."""

    system: str
    keys: tuple[str, ...]
    level: str

    @property
    def is_number(self) -> bool:
        return number(self.level) is not None

    def has(self, row: Observation) -> bool:
        """Whether a row was measured at it."""
        texts = [text for key in self.keys if (text := row.condition.get(key)) is not None]
        return row.system == self.system and any(
            text == self.level or (self.is_number and number(text) == number(self.level)) for text in texts
        )

    def left_out_of(self, tables: Tables) -> Tables:
        """Tables without it."""
        stay = () if self.is_number else RATES
        return tables.without(lambda row: self.has(row) and row.metric not in stay)


def _levels(tables: Tables, facts: Facts, choose: Choose | None) -> Iterator[LeftOut]:
    """Every level of every condition, left out once of all tables of its system."""
    for level in _known_levels(tables):
        kept = level.left_out_of(tables)
        predictor = Predictor(kept, facts, choose=choose)
        for block in {block_of(row) for row in tables.rows if level.has(row)} & kept.blocks.keys():
            table, rest = tables.blocks[block], kept.blocks[block]
            others = [text for key in level.keys for text in rest.levels.get(key, ())]
            if not (rest.covariate is not None if level.is_number else level.level in others):
                continue
            cells = tuple(
                cell
                for cell in table.values
                if cell.system == level.system
                and cell not in rest.values
                and level.level in [table.condition(cell).get(key) for key in level.keys]
            )
            judged = {
                cell: naive
                for cell in cells
                if cell in table.judged
                and not math.isnan(naive := _naive(rest, level, cell))
            }
            name = level.keys[0] if len(level.keys) == 1 else table.covariate
            yield LeftOut(f"{name}={level.level}", table, predictor, cells, judged)


def _naive(rest: Table, level: _Level, cell: Cell) -> float:
    """The mean of the neighbouring levels, or the value at the other named level; NaN without one."""
    if rest.covariate in level.keys and cell.x is not None:
        return neighbours(rest.series(cell), cell.x)
    errors = [
        value[0]
        for other, value in rest.values.items()
        if replace(other, factors=()) == replace(cell, factors=())
        and {key for key, other_level in cell.factors if other.level(key) != other_level} == set(level.keys)
    ]
    return float(np.mean(errors)) if errors else math.nan


def _known_levels(tables: Tables) -> Iterator[_Level]:
    levels: dict[_Level, None] = {}
    for table in tables.blocks.values():
        for cell in table.values:
            if table.covariate is not None and cell.x is not None:
                keys = POPULATIONS if table.covariate in POPULATIONS else (table.covariate,)
                levels[_Level(cell.system, keys, f"{cell.x:.12g}")] = None
            for key, level in cell.factors:
                if key in ALTERNATIVES:
                    levels[_Level(cell.system, (key,), level)] = None
    yield from levels


def neighbours(points: Sequence[tuple[float, float, float]], x: float) -> float:
    """The naive answer at a level: the mean of the measured levels on either side of it; NaN without one."""
    near = [y for level, y, _ in points if level < x][-1:] + [y for level, y, _ in points if level > x][:1]
    return float(np.mean(near)) if near else math.nan


def _singles(tables: Tables, facts: Facts, choose: Choose | None) -> Iterator[LeftOut]:
    """Every judged figure that another named level or a sibling has too, but for rates and numbered points."""
    by_study = {study: tables.of_study(study) for study, _ in tables.blocks}
    for block, table in tables.blocks.items():
        if table.covariate is not None or POINT in table.levels:
            continue
        for cell in sorted((cell for cell in table.judged if cell.metric not in RATES), key=repr):
            predictor = Predictor(without(by_study[block[0]], table, cell), facts, choose=choose)
            rest = predictor.tables.blocks.get(block)
            if rest is None:
                continue
            others = sorted(
                (key == SYSTEM, repr(other), rest.values[other][0])
                for other, key in predictor.relatives(rest, cell)
                if key in (SYSTEM, *ALTERNATIVES)
            )
            if others:
                yield LeftOut("itself", table, predictor, (cell,), {cell: others[0][2]}, single=True)


def without(tables: Tables, table: Table, cell: Cell) -> Tables:
    """All but one figure."""
    place = cell.system, cell.block[1], cell.metric, cell.subject, table.condition(cell)
    return tables.without(lambda row: (row.system, row.table, row.metric, row.subject, row.condition) == place)
