"""Values and draws of any cell: what follows from other cells is computed from them, the rest is believed."""

import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from model.capacity.conditions.beliefs import COUNTED, SELDOM, Beliefs, Inference
from model.capacity.conditions.definitions import following
from model.capacity.conditions.identities import WHOLE_PCT, Sum, SumElsewhere, repeated, shares, sums, sums_elsewhere
from model.capacity.conditions.mixtures import Array, Belief, sample_quantiles
from model.capacity.conditions.rows import Identity, Operand
from model.capacity.conditions.series import DOUBTFUL, is_closed
from model.capacity.conditions.tables import BEYOND, Cell, Kept, Table, Tables
from model.published.arithmetic import compute

FOLLOWS = "follows from other values"
DEEPEST = 8
DIGITS, PREDICTED_DIGITS = 10, 7
"""Significant digits of values: what was measured may have many, what laws say has none beyond these."""


@dataclass(frozen=True)
class Value:
    """A value with draws of what it may be; `inference` is None where it follows from other cells."""

    value: float
    low: float
    high: float
    draws: Array
    inference: Inference | None
    basis: str


class Evaluator:
    """Evaluates cells, each once but for those asked long ago."""

    def __init__(
        self,
        tables: Tables,
        facts: Mapping[str, Mapping[str, str]],
        identities: tuple[Identity, ...] = (),
        widening: Mapping[str, Sequence[float]] | None = None,
        seed: int = 0,
    ) -> None:
        self.tables = tables
        self.beliefs = Beliefs(tables, facts, widening)
        self._sums: dict[tuple[str, str], list[Sum | SumElsewhere]] = {}
        self._shares: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._identities: dict[tuple[str, str, str], list[Identity]] = defaultdict(list)
        for entry in identities:
            self._identities[entry.system, entry.table, entry.metric].append(entry)
        self.identities = identities
        self._seed = seed
        self._cache: Kept[Value | None] = Kept()
        self._depth = 0

    def value(self, cell: Cell) -> Value | None:
        """The value of a cell; None when nothing measured is related to it."""
        if cell not in self._cache:
            self._depth += 1
            try:
                found = self._following(cell) if self._depth <= DEEPEST else None
            finally:
                self._depth -= 1
            self._cache[cell] = found or self._believed(cell)
        return self._cache[cell]

    def identity(self, entry: Identity, condition: Mapping[str, str]) -> Value | None:
        """What an identity gives at a condition; None when an operand is not known."""
        parts: list[Value | float] = []
        for operand in entry.operands:
            if operand.constant is not None:
                parts.append(operand.constant * operand.factor)
                continue
            found = self._operand(entry, operand, condition)
            if found is None:
                return None
            parts.append(_times(found, operand.factor))
        return _combine(entry.rule, parts, entry.factor)

    def _operand(self, entry: Identity, operand: Operand, condition: Mapping[str, str]) -> Value | None:
        written = {key: level for key, level in {**condition, **operand.condition}.items() if level not in ("", "*")}
        system, table_name = operand.system or entry.system, operand.table or entry.table
        metric = operand.metric or entry.metric
        table = self.tables.blocks.get((entry.study, table_name))
        cell = None if table is None else table.cell(system, metric, written)
        found = None if cell is None else self.value(cell)
        if found is not None:
            return found
        for other in self._identities.get((system, table_name, metric), ()):
            if other.condition.keys() == written.keys() and other is not entry:
                return self.identity(other, written)
        return None

    @cached_property
    def _same(self) -> Mapping[Cell, tuple[Cell, float, bool]]:
        """Series that two tables have: by series, the other one, the factor to it, and whether that leads."""
        pairs = repeated(self.tables).items()
        followers = {again: (first, factor, True) for again, (first, factor) in pairs}
        return followers | {first: (again, 1.0 / factor, False) for again, (first, factor) in pairs}

    def _elsewhere(self, cell: Cell) -> Value | None:
        """The same quantity in another table: where it was measured there alone, or nowhere and the other leads."""
        same = self._same.get(replace(cell, x=None)) if cell.x is not None else None
        if same is None or self._is_known(cell):
            return None
        other, factor, leads = same
        there = replace(other, x=cell.x)
        found = self.value(there) if leads or self._is_known(there) else None
        return None if found is None else _times(found, factor)

    def _is_known(self, cell: Cell) -> bool:
        measured = self.tables.value(cell)
        return measured is not None and measured[1] < DOUBTFUL * measured[0]

    def _following(self, cell: Cell) -> Value | None:
        if (same := self._elsewhere(cell)) is not None:
            return same
        block = cell.block
        table = self.tables.blocks[block]
        for total in self._sums_of(table):
            parts = total.operands(cell)
            if parts is not None:
                known = self._all(parts)
                return None if known is None else _combine("sum", known, 1.0)
        if cell not in table.values:
            for entry in following(table, cell):
                known = self._all(entry.operands)
                if known is not None and (found := _made(entry.value, known)) is not None:
                    return found
        if block not in self._shares:
            self._shares[block] = shares(table)
        for larger, smaller in self._shares[block]:
            if cell.metric in (larger, smaller) and cell not in table.values:
                rest = _with_metric(cell, larger if cell.metric == smaller else smaller)
                share = self.value(rest) if cell.metric == larger or rest in table.values else None
                return None if share is None else _combine("difference", [WHOLE_PCT, share], 1.0)
        return None

    def _sums_of(self, table: Table) -> list[Sum | SumElsewhere]:
        if table.block not in self._sums:
            self._sums[table.block] = [*sums(table), *sums_elsewhere(self.tables, table)]
        return self._sums[table.block]

    def _all(self, cells: Sequence[Cell]) -> list[Value] | None:
        """The values of all cells; None where one is not known."""
        found = [value for value in map(self.value, cells) if value is not None]
        return found if len(found) == len(cells) else None

    def _believed(self, cell: Cell) -> Value | None:
        table = self.tables.blocks[cell.block]
        inference = self.beliefs.infer(cell)
        rests = [rest for total in self._sums_of(table) if (rest := total.rest(table, cell)) is not None]
        if rests:
            inference = Inference(Belief.perhaps(SELDOM, [min(rests)]), "the other parts make up the measured total", 0)
        if inference is None:
            return None
        belief = inference.belief
        unit = table.unit(cell)
        least, most = _bounds([table.values[other][0] for other in table.units[cell.metric][unit]], unit)
        ends = np.clip(belief.quantiles(0.05, 0.5, 0.95), least, most)
        digits = DIGITS if cell in table.values else PREDICTED_DIGITS
        low, value, high = (float(f"{end:.{digits}g}") for end in ends)
        if unit in COUNTED and _whole(table, cell.metric):
            low, value, high = (float(round(end)) for end in (low, value, high))
        seed = zlib.crc32(repr(replace(cell, x=None)).encode()) ^ self._seed
        found = Value(value, low, high, np.clip(belief.draws(seed), least, most), inference, inference.basis)
        return self._perhaps_full(table, cell, found, seed)

    def _perhaps_full(self, table: Table, cell: Cell, found: Value, seed: int) -> Value:
        """A throughput of far more users than were measured, which may have stopped growing somewhere on the way: in
        half of the draws it has."""
        if not is_closed(table, cell) or cell.x is None:
            return found
        furthest = BEYOND * max((level for level, _, _ in table.series(cell)), default=cell.x)
        known = self.value(replace(cell, x=furthest)) if cell.x > furthest else None
        if known is None:
            return found
        random = np.random.default_rng(seed)
        part = min(known.value / found.value, 1.0) ** random.uniform(size=len(found.draws))
        grown = random.uniform(size=len(found.draws)) < 0.5
        draws = found.draws * np.where(grown, 1.0, part)
        return replace(found, low=min(found.low, known.low), draws=draws)


def _whole(table: Table, metric: str) -> bool:
    return all(value == int(value) for cell, (value, _) in table.values.items() if cell.metric == metric)


def _bounds(values: list[float], unit: str) -> tuple[float, float]:
    """What a metric cannot leave: zero where nothing measured is below, 100 % where nothing measured is above."""
    least = 0.0 if min(values, default=0.0) >= 0 else -np.inf
    most = 100.0 if unit == "pct" and max(values, default=0.0) <= 100 else np.inf
    return least, most


def _with_metric(cell: Cell, metric: str) -> Cell:
    return Cell(cell.block, cell.system, metric, cell.subject, cell.labels, cell.x)


def _times(value: Value, factor: float) -> Value:
    ends = sorted((value.low * factor, value.high * factor))
    return Value(value.value * factor, ends[0], ends[1], value.draws * factor, value.inference, value.basis)


def _combine(rule: str, parts: Sequence[Value | float], factor: float) -> Value | None:
    """A rule over values, and over their draws one by one."""
    return _made(lambda values: compute(rule, values, factor), parts)


def _made(rule: Callable[[list[float]], float | None], parts: Sequence[Value | float]) -> Value | None:
    exact = rule([part.value if isinstance(part, Value) else part for part in parts])
    if exact is None:
        return None
    count = max((len(part.draws) for part in parts if isinstance(part, Value)), default=1)
    columns = [part.draws if isinstance(part, Value) else np.full(count, part) for part in parts]
    drawn = [rule([float(column[i]) for column in columns]) for i in range(count)]
    draws = np.array([exact if value is None else value for value in drawn])
    low, high = sample_quantiles(draws, 0.05, 0.95)
    return Value(exact, min(low, exact), max(high, exact), draws, None, FOLLOWS)
