"""Observations as tables of cells: combinations of the levels of factors, and of a covariate where one is a number.

The *factors* of a table are its named conditions, its *covariate* the condition whose levels are numbers (sessions,
buffers). Systems that have a table in common are siblings.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from typing import TypeVar

from model.capacity.adjustments import POPULATIONS, RATES, WHOLE_RATES, is_work
from model.published.observations import ALTERNATIVES, ELAPSED, RELEASES, Observation

SYSTEM = "system"
POINT = "point"
BEYOND = 4.0
"""Up to so many times the largest measured population its throughput is taken to go on as measured."""
THROUGHPUT, THINK_TIME = "throughput", "think_time"
TIMES = ("s", "ms", "us")
PEAK = "max_"
"""Maxima of a run scatter more than what they are the maximum of."""
COUNTED_IN_RUN = ("passed", "failed", "tasks")
"""Metrics of the marts that count what happened in a run."""
TOTAL = "total"
KINDS: Mapping[str, str] = {
    "KB": "storage", "MB": "storage", "bytes": "storage", "frames": "storage", "buffers": "storage",
    "us/tran": "engine time",
}  # fmt: skip

KEPT = 1 << 13
"""Cells of which answers are kept: questions may have any number between levels."""

Factors = tuple[tuple[str, str], ...]
Answered = TypeVar("Answered")


def kind_of(metric: str, unit: str) -> str:
    """What sort of quantity a metric is: quantities of one sort vary alike between named levels."""
    if unit.startswith("pct") and is_work(metric, unit):
        return "engine time"
    if metric in RATES:
        return "throughput"
    if metric.isupper():
        return f"{unit} of a report field"
    if metric.startswith(ELAPSED) and unit in TIMES:
        return "s"
    return KINDS.get(unit, unit)


def number(text: str) -> float | None:
    """A level as a number above zero; None for a name."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value < float("inf") else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One value's place: table, system, metric, levels of factors, and that of the table's covariate."""

    block: tuple[str, str]
    system: str
    metric: str
    subject: str
    factors: Factors
    x: float | None

    def level(self, key: str) -> str | None:
        """The named level of a condition; the system itself for `system`."""
        return self.system if key == SYSTEM else dict(self.factors).get(key)

    def at_level(self, key: str, level: str) -> "Cell":
        """The cell at another level of a named condition."""
        if key == SYSTEM:
            return replace(self, system=level)
        return replace(self, factors=tuple(sorted({**dict(self.factors), key: level}.items())))


class Kept(dict[Cell, Answered]):
    """Answers for the last `KEPT` cells that there were any for."""

    def __setitem__(self, cell: Cell, answer: Answered) -> None:
        if len(self) >= KEPT:
            del self[next(iter(self))]
        super().__setitem__(cell, answer)


@dataclass(frozen=True)
class Table:
    """One table of a study: the rows of all systems that have it.

    `fixed` are conditions that say no more than the system does, by system; they are left out of the cells. A release
    is never one: what was measured with one release is asked for another. `levels` are those of every condition.
    """

    block: tuple[str, str]
    covariate: str | None
    fixed: Mapping[str, Mapping[str, str]]
    rows: Mapping[Cell, Observation]
    levels: Mapping[str, tuple[str, ...]]

    @cached_property
    def values(self) -> Mapping[Cell, tuple[float, float]]:
        """Value and standard error of every cell."""
        return {cell: (row.value, row.se) for cell, row in self.rows.items()}

    @cached_property
    def judged(self) -> frozenset[Cell]:
        """The cells that answers are compared with."""
        return frozenset(cell for cell, row in self.rows.items() if row.judged)

    @cached_property
    def mart_metrics(self) -> Mapping[str, str]:
        """The names that the marts have for metrics."""
        return {row.metric: row.mart_metric for row in self.rows.values() if row.mart_metric}

    @cached_property
    def units(self) -> Mapping[str, Mapping[str, tuple[Cell, ...]]]:
        """The cells of each metric by their unit."""
        by_unit: dict[str, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
        for cell, row in self.rows.items():
            by_unit[row.metric][row.unit].append(cell)
        return {metric: {unit: tuple(cells) for unit, cells in units.items()} for metric, units in by_unit.items()}

    @cached_property
    def by_series(self) -> Mapping[Cell, list[tuple[float, float, float]]]:
        """Condition, value and standard error of the values that differ in the numeric condition only, in order."""
        series: dict[Cell, list[tuple[float, float, float]]] = defaultdict(list)
        for cell, row in self.rows.items():
            if cell.x is not None:
                series[replace(cell, x=None)].append((cell.x, row.value, row.se))
        return {cell: sorted(points) for cell, points in series.items()}

    def unit(self, cell: Cell) -> str:
        """The unit of a cell: of several of its metric, the one at its level of the name that tells them apart."""
        units = self.units.get(cell.metric, {})
        if len(units) > 1:
            for key in (*dict(cell.factors), SYSTEM):
                levels = {unit: {other.level(key) for other in cells} for unit, cells in units.items()}
                matching = [unit for unit, names in levels.items() if cell.level(key) in names]
                if len(matching) == 1 and sum(map(len, levels.values())) == len(set().union(*levels.values())):
                    return matching[0]
        return next(iter(units), "")

    def may_have(self, metric: str, key: str, level: str) -> bool:
        """Whether a metric can be asked for at a level: one that shares a metric with those it was seen at."""
        if key in (*ALTERNATIVES, POINT, self.covariate):
            return True
        of_key = [metrics for (name, _), metrics in self._metrics.items() if name == key]
        there = self._metrics.get((key, level), frozenset())
        return any(metrics & there for metrics in of_key if any(other == metric for other, _ in metrics))

    @cached_property
    def _metrics(self) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
        """The metrics, with their units, that were seen at each named level."""
        by_label: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for cell in self.values:
            for label in cell.factors:
                by_label[label].add((cell.metric, self.unit(cell)))
        return {label: frozenset(metrics) for label, metrics in by_label.items()}

    def together(self, cell: Cell) -> bool:
        """Whether any two parts of a measurement that a cell names were seen together, of any metric and system."""
        return self._pairs.issuperset(combinations(_parts(cell), 2))

    @cached_property
    def _pairs(self) -> frozenset[tuple[tuple[str, str], tuple[str, str]]]:
        return frozenset(pair for cell in self.values for pair in combinations(_parts(cell), 2))

    @cached_property
    def holding(self) -> Mapping[tuple[str, str], tuple[Cell, ...]]:
        """The cells at each named level, and of each system."""
        by_label: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        for cell in self.values:
            for label in ((SYSTEM, cell.system), *cell.factors):
                by_label[label].append(cell)
        return {label: tuple(cells) for label, cells in by_label.items()}

    @cached_property
    def changes(self) -> Mapping[tuple[str, tuple[str, str]], tuple[tuple[str, str], ...]]:
        """Pairs of named levels by the words in which they differ."""
        by_change: dict[tuple[str, tuple[str, str]], list[tuple[str, str]]] = defaultdict(list)
        for name, levels in self.levels.items():
            for pair in permutations(levels, 2):
                by_change[name, level_change(*pair)].append(pair)
        return {change: tuple(pairs) for change, pairs in by_change.items()}

    def kind(self, cell: Cell) -> str:
        """What sort of quantity a cell is."""
        return kind_of(cell.metric, self.unit(cell))

    def condition(self, cell: Cell) -> dict[str, str]:
        """The condition of a cell as it is written, with what only says the system."""
        written = {**self.fixed.get(cell.system, {}), **dict(cell.factors)}
        if self.covariate is not None and cell.x is not None:
            written[self.covariate] = f"{cell.x:.12g}"
        return written

    def cell(self, system: str, metric: str, condition: Mapping[str, str], subject: str = "") -> Cell | None:
        """The cell of a written condition; None when the condition contradicts what the system is."""
        fixed = self.fixed.get(system, {})
        if any(fixed.get(key, level) != level for key, level in condition.items()):
            return None
        labels = {key: level for key, level in condition.items() if key not in fixed and key != self.covariate}
        x = number(condition.get(self.covariate, "")) if self.covariate is not None else None
        return Cell(self.block, system, metric, subject, tuple(sorted(labels.items())), x)

    def series(self, cell: Cell) -> list[tuple[float, float, float]]:
        """Condition, value and standard error of all values that differ from the cell in the numeric condition only."""
        return self.by_series.get(replace(cell, x=None), [])


@lru_cache(maxsize=4096)
def level_change(one: str, other: str) -> tuple[str, str]:
    """The words in which two levels differ: `IMS V9 OTMA` and `IMS V10 OTMA` in V9 and V10."""
    words, others = one.split(), other.split()
    return " ".join(w for w in words if w not in others), " ".join(w for w in others if w not in words)


def written(condition: Mapping[str, str]) -> str:
    """A condition as text, the same for the same levels."""
    return "; ".join(f"{key}={level}" for key, level in sorted(condition.items()))


def _parts(cell: Cell) -> Factors:
    return tuple(label for label in cell.factors if label[0] not in (*ALTERNATIVES, POINT))


def block_of(row: Observation) -> tuple[str, str]:
    """The study and table of a row."""
    return row.study or row.system, row.table


def tables(rows: Iterable[Observation], same: Mapping[tuple[str, str], Table]) -> dict[tuple[str, str], Table]:
    """Rows by study and table; `same` has tables that are known already."""
    by_block: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for row in rows:
        by_block[block_of(row)].append(row)
    return {block: same.get(block) or _table(block, members) for block, members in by_block.items()}


def _table(block: tuple[str, str], rows: list[Observation]) -> Table:
    by_system: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        for key, level in row.condition.items():
            by_system[key][row.system].add(level)
    levels = {key: tuple(sorted(set().union(*systems.values()))) for key, systems in by_system.items()}
    covariate = _covariate(levels)
    fixed_keys = [
        key
        for key, systems in by_system.items()
        if key not in (covariate, POINT, *RELEASES) and all(len(its_levels) == 1 for its_levels in systems.values())
        and all(key in row.condition for row in rows)
    ]  # fmt: skip
    fixed: dict[str, dict[str, str]] = defaultdict(dict)
    cells: dict[Cell, Observation] = {}
    for row in rows:
        labels = {key: level for key, level in row.condition.items() if key != covariate and key not in fixed_keys}
        fixed[row.system] |= {key: row.condition[key] for key in fixed_keys}
        x = number(row.condition.get(covariate, "")) if covariate is not None else None
        cells[Cell(block, row.system, row.metric, row.subject, tuple(sorted(labels.items())), x)] = row
    return Table(block, covariate, {system: each for system, each in fixed.items() if each}, cells, levels)


def _covariate(levels: Mapping[str, tuple[str, ...]]) -> str | None:
    numeric = [
        (len(texts), key)
        for key, texts in levels.items()
        if key != POINT and len(texts) > 1 and all(number(level) is not None for level in texts)
    ]
    return max(numeric)[1] if numeric else None


class Tables:
    """All tables of a model, with the look-ups that predictions need."""

    def __init__(self, rows: Iterable[Observation], same: Mapping[tuple[str, str], Table] | None = None) -> None:
        self.rows = tuple(rows)
        self.blocks = tables(self.rows, same or {})
        self._rates: dict[str, list[tuple[str, dict[str, str], float]]] = defaultdict(list)
        for row in self.rows:
            if row.metric in WHOLE_RATES and row.value > 0:
                self._rates[row.system].append((row.table, dict(row.condition), row.value))

    def without(self, gone: Callable[[Observation], bool]) -> "Tables":
        """The tables without some rows."""
        touched = {block_of(row) for row in self.rows if gone(row)}
        same = {block: table for block, table in self.blocks.items() if block not in touched}
        return Tables((row for row in self.rows if not gone(row)), same)

    def of_study(self, study: str) -> "Tables":
        """The tables of one study."""
        same = {block: table for block, table in self.blocks.items() if block[0] == study}
        return Tables((row for row in self.rows if block_of(row)[0] == study), same)

    def value(self, cell: Cell) -> tuple[float, float] | None:
        """Value and standard error of a measured cell."""
        table = self.blocks.get(cell.block)
        return None if table is None else table.values.get(cell)

    def shows(self, study: str, key: str, one: str, other: str) -> bool:
        """Whether any two cells of a study differ by this change of levels, of this or another option: a release is a
        version here and a variant there, and one option is switched on as another is.
        """
        change = level_change(one, other)
        return any(
            replace(cell.at_level(name, there), x=cell.x) in table.values
            for block, table in self.blocks.items()
            if block[0] == study
            for name in (ALTERNATIVES if key in ALTERNATIVES else (key,))
            for level, there in table.changes.get((name, change), ())
            for cell in table.holding.get((name, level), ())
        )

    def work_rate(self, cell: Cell) -> float | None:
        """The transaction rate a metric of work is proportional to, measured at the same condition; None without."""
        table = self.blocks[cell.block]
        if cell.metric in WHOLE_RATES or not is_work(cell.metric, table.unit(cell)):
            return None
        return self.rate(cell)

    def rate(self, cell: Cell) -> float | None:
        """The transaction rate measured at the condition of a cell; None without."""
        condition_of_cell, rates = self.blocks[cell.block].condition(cell), self._rates.get(cell.system, ())
        if len(rates) == 1:
            return rates[0][2]
        best: tuple[int, float] | None = None
        for of_table, condition, value in rates:
            shared = [key for key in condition if key in condition_of_cell]
            if all(condition[key] == condition_of_cell[key] for key in shared):
                score = len(shared) * 2 + (of_table == cell.block[1]) - 3 * (len(condition) - len(shared))
                if best is None or score > best[0]:
                    best = (score, value)
        return None if best is None or best[0] < 0 else best[1]

    def think_s(self, cell: Cell, facts: Mapping[str, Mapping[str, str]]) -> float:
        """Seconds that users think between requests, where that is known and shorter than every measured cycle."""
        think_s = number(facts.get(cell.system, {}).get(THINK_TIME, ""))
        points = self.blocks[cell.block].series(cell)
        return think_s if think_s is not None and all(think_s < x / y for x, y, _ in points) else 0.0


def is_closed(table: Table, cell: Cell) -> bool:
    """Whether a metric is the throughput of a population of users that think between requests."""
    return table.covariate in POPULATIONS and cell.metric == THROUGHPUT


def is_total(cell: Cell) -> bool:
    """Whether a cell is named a total, which is no relative of the parts it is made of."""
    return any(TOTAL in name.lower() for name in (cell.metric, *dict(cell.factors).values()))


def spans(points: Sequence[tuple[float, float, float]], x: float | None) -> bool:
    """Whether a level of the covariate lies within the measured ones."""
    return x is not None and points[0][0] <= x <= points[-1][0]


def differ(one: Cell, other: Cell) -> list[str]:
    """The factors in which two cells differ; `system` is one of them."""
    if one.subject != other.subject:
        return ["", ""]
    mine, theirs = dict(one.factors), dict(other.factors)
    if mine.keys() != theirs.keys():
        return ["", ""]
    apart = [key for key, level in mine.items() if theirs[key] != level]
    return apart + [SYSTEM] * (one.system != other.system)
