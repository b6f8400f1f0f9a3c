"""Figures left out one by one: what the others say of each, and how much wider intervals must be to hold them.

A level of a numeric condition is left out of its table with all that was measured at it; of tables without a numeric
condition, each figure that another named level or a sibling has too. Neither laws nor ratios know how sure they are:
intervals are scaled to hold 90 % of what was left out (conformal prediction; Lei and others 2018, *Journal of the
American Statistical Association* 113).
"""

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.capacity.conditions.beliefs import Beliefs, family
from model.capacity.conditions.evaluating import Evaluator, Value
from model.capacity.conditions.identities import repeated
from model.capacity.conditions.mixtures import student
from model.capacity.conditions.names import ALTERNATIVES, POPULATIONS, RATES
from model.capacity.conditions.rows import Row
from model.capacity.conditions.tables import (
    POINT,
    SYSTEM,
    Cell,
    Table,
    Tables,
    block_of,
    number,
)

LEAST_POINTS = 2
COVERED = 0.9
"""Share of figures that intervals are to hold."""
MEANS_COVERED = 2.06
"""Errors of a normal distribution are within so many times their mean size in that share of cases."""
WIDER_CASES = 2.0
"""How many figures of a group the wider group that it belongs to counts for."""
ROUNDING = 1e-9
LEAST_WIDENING, MOST_WIDENING, LEAST_OFF = 0.25, 4.0, 1e-4

Facts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class LeftOut:
    """A figure left out: what the others say of it with a 90 % interval, and the naive answer.

    `relatives` are the names of the figures that err alike, all first and the most alike last; none where it follows
    from others.
    """

    cell: Cell
    family: str
    relatives: tuple[str, ...]
    measured: float
    low: float
    value: float
    high: float
    naive: float

    @property
    def missed(self) -> float | None:
        """The error in half-widths of the interval, of logarithms; None at zero."""
        if min(self.measured, self.low) <= 0:
            return None
        off = math.log(self.measured / self.value)
        reach = math.log((self.high if off > 0 else self.low) / self.value)
        return off / reach if reach else 0.0

    @property
    def off(self) -> float:
        """The error, of logarithms."""
        return abs(math.log(self.measured / self.value))


def left_out(tables: Tables, facts: Facts) -> list[LeftOut]:
    """All figures that can be left out."""
    return [*of_levels(tables, facts), *single_figures(tables, facts)]


def of_levels(tables: Tables, facts: Facts) -> list[LeftOut]:
    """All figures that are left out with a level of a condition."""
    return [*numeric_levels(tables, facts), *named_levels(tables, facts)]


def numeric_levels(tables: Tables, facts: Facts) -> list[LeftOut]:
    """Every judged figure of a series that has two more levels, as the laws see it without its level.

    A series that two tables have counts once.
    """
    found, again = [], repeated(tables)
    for block, table in tables.blocks.items():
        rows = [row for row in tables.rows if block_of(row) == block]
        for system, level in sorted({(cell.system, cell.x) for cell in table.values if cell.x is not None}):
            key = str(table.numeric)
            others = Tables(row for row in rows if row.system != system or number(row.condition.get(key, "")) != level)
            kept = others.blocks.get(block)
            if kept is None or kept.numeric != table.numeric:
                continue
            beliefs = Beliefs(others, facts)
            for cell, (y, _) in table.values.items():
                own = cell in table.judged and (cell.system, cell.x) == (system, level)
                points = kept.series(cell) if own and replace(cell, x=None) not in again else []
                if y <= 0 or len(points) < LEAST_POINTS or any(other <= 0 for _, other, _ in points):
                    continue
                inference = beliefs.infer(cell)
                assert inference is not None
                low, value, high = inference.belief.bounded(-math.inf, math.inf).quantiles(0.05, 0.5, 0.95)
                naive = neighbours(points, cell.x)
                found.append(LeftOut(cell, family(kept, cell), inference.relatives, y, low, value, high, naive))
    return found


def named_levels(tables: Tables, facts: Facts) -> list[LeftOut]:
    """Every judged figure at a named level of a system, as the others see it without that level."""
    found = []
    for question in questions(tables):
        if question.kept.numeric not in question.level.keys:
            evaluator = Evaluator(question.tables, facts)
            for cell in question.judged():
                value = evaluator.value(cell)
                if value is not None:
                    found.append(_left_out(question.table, cell, value, question.naive(cell)))
    return found


@dataclass(frozen=True)
class Level:
    """A level of a condition, under any of its names, of a system."""

    system: str
    keys: tuple[str, ...]
    level: str

    @property
    def numeric(self) -> bool:
        """Whether it is a number."""
        return number(self.level) is not None

    def has(self, row: Row) -> bool:
        """Whether a row was measured at it."""
        texts = [text for key in self.keys if (text := row.condition.get(key)) is not None]
        return row.system == self.system and any(
            text == self.level or (self.numeric and number(text) == number(self.level)) for text in texts
        )

    def left_out_of(self, tables: Tables) -> Tables:
        """Tables without it."""
        stay = () if self.numeric else RATES
        return tables.without(lambda row: self.has(row) and row.metric not in stay)


@dataclass(frozen=True)
class Question:
    """A level left out of all tables of a system.

    `table` is one that had it, `kept` the same without it, `tables` all tables without it.
    """

    level: Level
    table: Table
    kept: Table
    tables: Tables

    def asked(self) -> list[Cell]:
        """The cells of the table that are asked for."""
        return [
            cell
            for cell in self.table.values
            if cell.system == self.level.system
            and cell not in self.kept.values
            and self.level.level in [self.table.condition(cell).get(key) for key in self.level.keys]
        ]

    def judged(self) -> list[Cell]:
        """Those of them that answers are compared with."""
        return [cell for cell in self.asked() if cell in self.table.judged]

    def of_number(self, cell: Cell) -> bool:
        """Whether the level of a cell is one of a numeric condition."""
        return self.kept.numeric in self.level.keys and cell.x is not None

    def naive(self, cell: Cell) -> float:
        """The mean of the neighbouring levels, or the value at the other named level; NaN without one."""
        if self.of_number(cell):
            return neighbours(self.kept.series(cell), cell.x)
        found = [
            value[0]
            for other, value in self.kept.values.items()
            if replace(other, labels=()) == replace(cell, labels=())
            and {key for key, level in cell.labels if other.level(key) != level} == set(self.level.keys)
        ]
        return float(np.mean(found)) if found else math.nan


def questions(tables: Tables) -> Iterator[Question]:
    """Every level of every condition, left out once of all tables of its system.

    With a named level the transaction rates stay, which a question about it gives; others have to have it.
    """
    for level in _known_levels(tables):
        kept = level.left_out_of(tables)
        for block in {block_of(row) for row in tables.rows if level.has(row)} & kept.blocks.keys():
            before = kept.blocks[block]
            known = [found for key in level.keys for found in before.levels.get(key, ())]
            if before.numeric is not None if level.numeric else level.level in known:
                yield Question(level, tables.blocks[block], before, kept)


def _known_levels(tables: Tables) -> Iterator[Level]:
    found: dict[Level, None] = {}
    for table in tables.blocks.values():
        for cell in table.values:
            if table.numeric is not None and cell.x is not None:
                keys = POPULATIONS if table.numeric in POPULATIONS else (table.numeric,)
                found[Level(cell.system, keys, f"{cell.x:.12g}")] = None
            for key, level in cell.labels:
                if key in ALTERNATIVES:
                    found[Level(cell.system, (key,), level)] = None
    yield from found


def neighbours(points: Sequence[tuple[float, float, float]], x: float | None) -> float:
    """The naive answer at a level: the mean of the measured levels on either side of it; NaN without one."""
    if x is None:
        return math.nan
    near = [y for level, y, _ in points if level < x][-1:] + [y for level, y, _ in points if level > x][:1]
    return float(np.mean(near)) if near else math.nan


def single_figures(tables: Tables, facts: Facts) -> list[LeftOut]:
    """Every judged figure that another named level or a sibling has too, but for rates and numbered points."""
    by_study = {study: tables.of_study(study) for study, _ in tables.blocks}
    return [
        found
        for block, table in tables.blocks.items()
        if table.numeric is None and POINT not in table.levels
        for cell in sorted(table.judged, key=repr)
        if cell.metric not in RATES and (found := _single(by_study[block[0]], facts, table, cell)) is not None
    ]


def _single(tables: Tables, facts: Facts, table: Table, cell: Cell) -> LeftOut | None:
    evaluator = Evaluator(without(tables, table, cell), facts)
    before = evaluator.tables.blocks.get(cell.block)
    if before is None:
        return None
    donors = sorted(
        (key == SYSTEM, repr(donor), before.values[donor][0])
        for donor, key in evaluator.beliefs.donors(before, cell)
        if key in (SYSTEM, *ALTERNATIVES)
    )
    found = evaluator.value(cell) if donors else None
    if found is None:
        return None
    return _left_out(table, cell, found, donors[0][2])


def _left_out(table: Table, cell: Cell, found: Value, naive: float) -> LeftOut:
    names = found.inference.relatives if found.inference is not None else ()
    return LeftOut(cell, family(table, cell), names, table.values[cell][0], found.low, found.value, found.high, naive)


def without(tables: Tables, table: Table, cell: Cell) -> Tables:
    """All but one figure."""
    place = cell.system, cell.block[1], cell.metric, cell.subject, table.condition(cell)
    return tables.without(lambda row: (row.system, row.table, row.metric, row.subject, row.condition) == place)


def widening(figures: Iterable[LeftOut], but: Container[Cell] = ()) -> dict[str, tuple[float, float]]:
    """How much wider intervals must be to hold 90 % of the figures but some, and the half-width that would hold as many
    if all had the same, of logarithms.

    By the names of their relatives. Of a family these are the 90 % quantiles of errors over half-widths and of errors;
    of figures more alike, what their means say, in the geometric mean with the wider group. Few figures are as sure as
    Student's distribution has it.
    """
    missed: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for figure in figures:
        if figure.missed is not None and figure.cell not in but:
            for count in range(len(figure.relatives)):
                missed[figure.relatives[: count + 1]].append((figure.missed, figure.off))
    logs: dict[tuple[str, ...], NDArray[np.float64]] = {}
    factors = {}
    for names, found in sorted(missed.items(), key=lambda entry: len(entry[0])):
        cases, wider = float(len(found)), logs.get(names[:-1])
        means = MEANS_COVERED * np.mean(found, axis=0)
        said = np.quantile(found, COVERED, axis=0, method="hazen") if wider is None else means
        logs[names] = np.log(np.clip(said, (LEAST_WIDENING, LEAST_OFF), (MOST_WIDENING, math.inf)))
        if wider is not None:
            logs[names] = (WIDER_CASES * wider + cases * logs[names]) / (WIDER_CASES + cases)
            cases += WIDER_CASES
        factor, reach = np.exp(logs[names]) * student(cases)
        factors[names[-1]] = float(factor), float(reach)
    return factors


def behind(figures: Iterable[LeftOut]) -> list[str]:
    """The families in which the naive answer was nearer in the median."""
    off_by: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for figure in figures:
        if min(figure.measured, figure.value, figure.naive) > 0:
            errors = abs(math.log(figure.value / figure.measured)), abs(math.log(figure.naive / figure.measured))
            off_by[figure.family].append(errors)
    medians = {name: np.median(np.array(found), axis=0) for name, found in off_by.items()}
    return sorted(name for name, (error, naive) in medians.items() if error > naive + ROUNDING)
