"""Totals of parts and shares of a whole, found in the values.

A cell or metric named a total, of which all measured conditions say that it is the sum of the same others, is their
sum; of a part that was not measured where the others make up the total there is nothing. So is a metric that another
table has by the levels of a key (transactions passed, by transaction), where all that was measured adds up. Two
shares in per cent that make up 100 wherever both were measured are what the other leaves.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from model.published.tables import TOTAL, Cell, Table, Tables

WHOLE_PCT = 100.0
MOST_PARTS = 14
TOLERANCE = 5e-5
LEAST_AGREEING = 0.5
LEAST_SUMS = 2
"""So many totals that the parts of another table make up show that they are theirs."""


@dataclass(frozen=True)
class Sum:
    """Cells of a table that are the sum of other cells: `total` and `parts` are levels of `key`, or metrics."""

    key: str | None
    total: str
    parts: tuple[str, ...]

    def operands(self, cell: Cell) -> list[Cell] | None:
        """The parts of a cell; None when it is not such a total."""
        if self.key is None:
            return [replace(cell, metric=part) for part in self.parts] if cell.metric == self.total else None
        if cell.level(self.key) != self.total:
            return None
        return [cell.at_level(self.key, part) for part in self.parts]

    def rest(self, table: Table, cell: Cell) -> float | None:
        """What rounding leaves at most for a part that was not measured, of totals that the measured ones make up; None
        for other cells.
        """
        if (cell.metric if self.key is None else cell.level(self.key)) not in self.parts:
            return None
        total = replace(cell, metric=self.total) if self.key is None else cell.at_level(self.key, self.total)
        measured = [part for part in self.operands(total) or () if part in table.values or table.series(part)]
        levels = [total] if cell.x is None else [replace(total, x=x) for x, _, _ in table.series(total)]
        levels = [level for level in levels if level in table.values]
        if cell in measured or not levels or not all(_adds_up(table, level, measured) for level in levels):
            return None
        return TOLERANCE * max(abs(table.values[level][0]) for level in levels)


@dataclass(frozen=True)
class SumElsewhere:
    """A metric that is the sum of another table's metric over the levels of a key, which tells them apart there."""

    total: str
    block: tuple[str, str]
    part: str
    key: str
    levels: tuple[str, ...]

    def operands(self, cell: Cell) -> list[Cell] | None:
        """As of `Sum`."""
        if cell.metric != self.total:
            return None
        part = replace(cell, block=self.block, metric=self.part)
        return [part.at_level(self.key, level) for level in self.levels]

    def rest(self, table: Table, cell: Cell) -> float | None:
        """As of `Sum`: nothing is left for a part of another table."""
        return None


def sums_elsewhere(tables: Tables, table: Table) -> list[SumElsewhere]:
    """The metrics of a table that the marts call as parts of another table of the study, which make them up."""
    totals = []
    for other in tables.blocks.values():
        names = set(table.mart_metrics.values()) & set(other.mart_metrics.values())
        if not names or other.block == table.block or other.block[0] != table.block[0]:
            continue
        for key in other.levels:
            metrics, shown = {}, []
            for cell, (whole, _) in table.values.items():
                parts = _parts_elsewhere(table, cell, other, key) if cell.level(key) is None else []
                if len(parts) > 1:
                    metrics[cell.metric] = parts[0].metric
                    shown.append((whole, sum(other.values[part][0] for part in parts)))
            many = sum(whole > 0 for whole, _ in shown) >= LEAST_SUMS
            if many and all(abs(made - whole) <= TOLERANCE * whole for whole, made in shown):
                levels = other.levels[key]
                totals += [SumElsewhere(total, other.block, part, key, levels) for total, part in metrics.items()]
    return totals


def _parts_elsewhere(table: Table, cell: Cell, other: Table, key: str) -> list[Cell]:
    """The cells of another table that are of the same metric of the marts as a cell, but for a key of their own."""
    name, unit = table.mart_metrics.get(cell.metric), table.unit(cell)
    parts = [
        replace(cell, block=other.block, metric=metric).at_level(key, level)
        for metric, mart_metric in other.mart_metrics.items()
        if mart_metric == name and unit in other.units[metric]
        for level in other.levels[key]
    ]
    return [part for part in parts if part in other.values]


def _adds_up(table: Table, total: Cell, parts: list[Cell]) -> bool:
    """Whether parts make up a measured total."""
    values = [table.values.get(replace(part, x=total.x), (math.nan,))[0] for part in parts]
    whole = table.values[total][0]
    return abs(sum(values) - whole) <= TOLERANCE * abs(whole)


def sums(table: Table) -> list[Sum]:
    """The totals of a table with their parts."""
    totals = []
    for key, names in _named(table):
        for total in [name for name in names if TOTAL in name.lower()]:
            parts = [name for name in names if TOTAL not in name.lower()][:MOST_PARTS]
            columns = list(_columns(table, key, total, parts))
            chosen = _subset(columns, len(parts))
            if chosen is not None:
                totals.append(Sum(key, total, tuple(parts[i] for i in chosen)))
    return totals


def _named(table: Table) -> Iterator[tuple[str | None, list[str]]]:
    by_unit: dict[str, list[str]] = {}
    for metric, units in table.units.items():
        for unit in units:
            by_unit.setdefault(unit, []).append(metric)
    for metrics in by_unit.values():
        yield None, sorted(metrics)
    for key, levels in table.levels.items():
        if key != table.covariate:
            yield key, list(levels)


def _columns(table: Table, key: str | None, total: str, parts: list[str]) -> Iterator[tuple[float, list[float]]]:
    """The total and its possible parts at every condition that has all of them."""
    for cell, (value, _) in table.values.items():
        if (cell.metric if key is None else cell.level(key)) != total:
            continue
        others = [replace(cell, metric=part) if key is None else cell.at_level(key, part) for part in parts]
        values = [table.values.get(other) for other in others]
        yield value, [0.0 if value is None else value[0] for value in values]


def _subset(columns: list[tuple[float, list[float]]], count: int) -> tuple[int, ...] | None:
    """The parts that make up the total at most conditions, the fewest where several do; None when none do."""
    if len(columns) < 2:
        return None
    total, values = np.array([column[0] for column in columns]), np.array([column[1] for column in columns])
    chosen = (np.arange(1, 2**count)[:, None] >> np.arange(count)) & 1
    chosen = chosen[chosen.sum(axis=1) >= 2]
    if not len(chosen):
        return None
    agreeing = (np.abs(chosen @ values.T - total) <= TOLERANCE * np.abs(total)).sum(axis=1)
    best = np.lexsort((chosen.sum(axis=1), -agreeing))[0]
    if agreeing[best] < max(2, LEAST_AGREEING * len(columns)):
        return None
    return tuple(np.flatnonzero(chosen[best]).tolist())


def shares(table: Table) -> list[tuple[str, str]]:
    """Two metrics that make up 100 % wherever both were measured, the larger first."""
    pairs_of_shares = []
    metrics = sorted(metric for metric, units in table.units.items() if "pct" in units)
    for one, other in combinations(metrics, 2):
        pairs = [
            (value, table.values[replace(cell, metric=other)][0])
            for cell, (value, _) in table.values.items()
            if cell.metric == one and replace(cell, metric=other) in table.values
        ]
        if len(pairs) > 1 and all(abs(sum(pair) - WHOLE_PCT) <= TOLERANCE * WHOLE_PCT for pair in pairs):
            pairs_of_shares.append((one, other) if sum(a - b for a, b in pairs) > 0 else (other, one))
    return pairs_of_shares
