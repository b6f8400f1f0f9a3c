"""Single figures left out: how well a figure follows from another named level, or from a sibling.

Of tables without a numeric condition, where no law says how sure an answer is, the figures left out say how much wider
intervals must be.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.capacity.conditions.beliefs import metric_of
from model.capacity.conditions.evaluating import Evaluator, Value
from model.capacity.conditions.rows import Row
from model.capacity.conditions.tables import ALTERNATIVES, POINT, RATES, SYSTEM, Cell, Table, Tables
from model.capacity.conditions.weighing import Facts, drawn, factor, is_behind


@dataclass(frozen=True)
class SingleFigure:
    """A figure left out: what the others say of it, and its value at another level or of a sibling."""

    cell: Cell
    family: str
    measured: float
    found: Value
    naive: float

    @property
    def missed(self) -> float | None:
        """The error in half-widths of the interval, of logarithms; None at zero."""
        if min(self.measured, self.found.low) <= 0:
            return None
        off = math.log(self.measured / self.found.value)
        reach = math.log((self.found.high if off > 0 else self.found.low) / self.found.value)
        return off / reach if reach else 0.0


def single_figures(tables: Tables, facts: Facts) -> list[SingleFigure]:
    """Every judged figure that another named level or a sibling has too, but for rates and numbered points."""
    by_study: dict[str, list[Row]] = defaultdict(list)
    for row in tables.rows:
        by_study[row.study or row.system].append(row)
    return [
        found
        for block, table in tables.blocks.items()
        if table.numeric is None and POINT not in table.levels
        for cell in sorted(table.judged, key=repr)
        if cell.metric not in RATES and (found := _left_out(by_study[block[0]], facts, table, cell)) is not None
    ]


def widening(figures: Iterable[SingleFigure], but: Cell | None = None) -> Mapping[str, float]:
    """How much wider intervals must be to hold 90 % of the figures but one: by family, and by metric within it."""
    missed: dict[str, list[float]] = defaultdict(list)
    of_metric: dict[tuple[str, str], list[float]] = defaultdict(list)
    for figure in figures:
        if figure.missed is not None and figure.cell != but:
            missed[figure.family].append(figure.missed)
            of_metric[figure.family, metric_of(figure.family, figure.cell)].append(figure.missed)
    factors = {family: factor(found) for family, found in missed.items()}
    return factors | {name: drawn(found, factors[family]) for (family, name), found in of_metric.items()}


def behind(figures: Iterable[SingleFigure]) -> list[str]:
    """The families whose figures were nearer to their value at another level than to what ratios said."""
    off_by: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for figure in figures:
        if min(figure.measured, figure.found.value, figure.naive) > 0:
            errors = abs(math.log(figure.found.value / figure.measured)), abs(math.log(figure.naive / figure.measured))
            off_by[figure.family].append(errors)
    return [family for family, found in off_by.items() if is_behind(found)]


def _left_out(rows: list[Row], facts: Facts, table: Table, cell: Cell) -> SingleFigure | None:
    place = cell.system, cell.block[1], cell.metric, cell.subject, table.condition(cell)
    evaluator = Evaluator(
        Tables(row for row in rows if (row.system, row.table, row.metric, row.subject, row.condition) != place),
        {},
        facts,
    )
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
    return SingleFigure(cell, evaluator.beliefs.family(table, cell), table.values[cell][0], found, donors[0][2])
