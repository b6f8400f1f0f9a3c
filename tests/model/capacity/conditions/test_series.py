"""Laws of a series, with the series that are like it."""

import numpy as np
import pytest

from model.capacity.conditions import tables
from model.capacity.conditions.fitting import evaluator, fit
from model.capacity.conditions.laws import NODES, node_weights
from model.capacity.conditions.rows import Row
from model.capacity.conditions.series import SeriesLaws, rises
from model.capacity.conditions.tables import Cell, Tables


def series(system, levels, scatter):
    """Storage of a base and a rest for each session, with scatter known in advance."""
    off = np.random.default_rng(len(system)).normal(0.0, scatter, len(levels))
    return [
        Row(system, "storage_kb", {"sessions": str(x)}, (100.0 + 5.0 * x) * np.exp(e), "KB", "storage", "study")
        for x, e in zip(levels, off, strict=True)
    ]


def reach(others):
    """How unsure the answer between three levels is beside systems measured at other levels."""
    rows = [*series("short", (1, 8, 64), 0.0), *others]
    table = Tables(rows).blocks["study", "storage"]
    cell = Cell(table.block, "short", "storage_kb", "", (), 20.0)
    return SeriesLaws({}).at(table, cell, table.series(cell)).reach()


def test_series_like_it_show_how_rough_a_short_one_is():
    levels = (3, 5, 11, 23, 47, 95)
    smooth, rough = (
        reach([row for name in ("longer", "longest") for row in series(name, levels, scatter)])
        for scatter in (0.0005, 0.1)
    )
    assert smooth < 0.7 * reach([]) < reach([]) < rough


def test_two_levels_show_no_roughness():
    assert reach(series("longer", (3, 47), 0.3)) == pytest.approx(reach([]))


@pytest.mark.parametrize(
    ("condition", "customers"), [("sessions", True), ("batch_regions", True), ("buffer_kb", False)]
)
def test_storage_is_not_expected_to_fall_with_more_customers_whatever_these_are(condition, customers):
    rows = [Row("one", "storage_kb", {condition: f"{x}"}, 9.0, "KB", "storage", "study") for x in (1, 2, 4)]
    table = Tables(rows).blocks["study", "storage"]
    assert rises(table, next(iter(table.values))) == customers


def test_nodes_count_as_much_as_one_series_before_any_is_seen():
    alike = node_weights([])
    assert alike == pytest.approx(1.0 / len(NODES))
    sure = np.where(np.arange(len(NODES)) == 3, 0.0, -500.0)
    assert node_weights([sure])[3] == pytest.approx(0.5, abs=0.02)
    assert node_weights([np.zeros(len(NODES))]) == pytest.approx(alike)


def test_one_level_grows_as_the_metric_does_in_other_systems():
    def storage(system, exponent, levels):
        condition = {"application": system}
        return [
            Row(system, "max_kb", {**condition, "users": str(x)}, 700.0 * x**exponent, "KB", "storage", "study")
            for x in levels
        ]

    def said(*exponents):
        others = [row for i, e in enumerate(exponents) for row in storage(f"other{i}", e, (1, 8, 64))]
        table = Tables([*storage("asked", 0.3, (10,)), *others]).blocks["study", "storage"]
        cell = next(cell for cell in table.values if cell.system == "asked")
        asked = Cell(cell.block, "asked", "max_kb", "", cell.labels, 40.0)
        return SeriesLaws({}).at(table, asked, table.series(asked))

    alike, apart = said(0.28, 0.3, 0.32), said(0.2, 0.3, 0.4)
    assert alike.median() == pytest.approx(apart.median()) == pytest.approx(700.0 * 40.0**0.3)
    assert alike.reach() < 0.15 < apart.reach() < said(0.3).reach()


def test_answers_between_levels_are_kept_for_the_last_that_were_asked(monkeypatch):
    monkeypatch.setattr(tables, "KEPT", 16)
    rows = [*series("one", (1, 8, 64), 0.01), *series("other", (1, 8, 64), 0.01)]
    asked = evaluator(fit(rows, {}))
    [block] = asked.tables.blocks
    cells = [Cell(block, "one", "storage_kb", "", (), 1.0 + x) for x in range(40)]
    first, again = ([asked.value(cell).value for cell in cells] for _ in range(2))
    assert again == first
    kept = [asked._cache, asked.beliefs._cache, asked.beliefs.laws._siblings_alone]
    assert [len(each) for each in kept] == [16, 16, 16]
