"""Figures left out one by one, of systems whose truth is known."""

import math

import pytest

from model.capacity.conditions.beliefs import of_ratio, of_series, scale
from model.capacity.conditions.fitting import evaluator, fit
from model.capacity.conditions.left_out import LeftOut, left_out, widening
from model.capacity.conditions.rows import Row
from model.capacity.conditions.tables import Cell, Tables


def rows(scatter):
    return [
        Row(f"s{i}", "cpu_busy_pct", {"release": release}, value, "pct", "runs", "study")
        for i, off in enumerate(scatter)
        for release, value in (("V1", 80.0), ("V2", 80.0 * (1.0 + off)))
    ]


def test_a_figure_left_out_is_told_by_the_other_release():
    found = left_out(Tables(rows((0.0, 0.001, -0.001))), {})
    assert len(found) == 12  # each alone, and with its release
    assert all(figure.value == pytest.approx(figure.measured, rel=0.003) for figure in found)
    assert all(figure.naive == pytest.approx(80.0, rel=0.002) for figure in found)


def test_a_total_tells_nothing_about_its_part():
    parts = {"private": (50.0, 70.0, 230.0, 440.0), "common": (5.0, 5.0, 5.0, 5.0)}
    parts["Total"] = tuple(map(sum, zip(*parts.values(), strict=True)))
    rows = [
        Row("one", "storage_kb", {"sessions": str(count), "component": part}, value, "KB", "storage", "study")
        for part, values in parts.items()
        for count, value in zip((8, 16, 64, 128), values, strict=True)
    ]
    part = Cell(("study", "storage"), "one", "storage_kb", "", (("component", "private"),), 32.0)
    alone = [row for row in rows if row.condition["component"] != "Total"]
    answered = [evaluator(fit(found, {})).value(part) for found in (rows, alone)]
    assert answered[0].value == answered[1].value


def test_a_metric_in_two_units_has_an_interval_for_each():
    rows = [
        Row("one", "AVG", {"release": release, "section": unit}, 80.0, unit, "report", "study")
        for unit in ("s", "frames")
        for release in ("V1", "V2")
    ]
    figures = left_out(Tables(rows), {})
    assert len(figures) == 4
    assert len({figure.relatives for figure in figures}) == 2


def test_intervals_are_as_wide_as_figures_left_out_scatter():
    close, apart = (widening(left_out(Tables(rows(s)), {})) for s in ((0.0, 0.001), (0.11, -0.12, 0.13, -0.1)))
    assert max(factor for factor, _ in close.values()) < min(factor for factor, _ in apart.values())
    assert fit(rows((0.0, 0.001)), {})["widening"] == close


def test_levels_beyond_the_measured_ones_have_wider_intervals_than_those_within():
    cell = Cell(("study", "storage"), "one", "storage_kb", "", (), 8.0)
    figures = [
        LeftOut(cell, "all", ("all", "series", place), 100.0 * off, 90.0, 100.0, 111.0, 100.0)
        for place, offs in (("within", (1.01, 0.98, 1.02)), ("beyond", (1.1, 0.88, 1.15)))
        for off in offs
    ]
    scales = widening(figures)
    assert scales["within"][0] < scales["series"][0] < scales["beyond"][0]


def test_a_metric_of_which_nothing_could_be_left_out_is_not_narrowed_by_its_family():
    family, metric = "s t: storage", "s t: storage, csa_kb"
    assert scale({family: (0.3, 0.1)}, (family, metric))[0] == 1.0
    assert scale({family: (3.0, 0.1)}, (family, metric))[0] == 3.0
    assert scale({family: (0.3, 0.1), metric: (0.4, 0.2)}, (family, metric)) == (0.4, 0.2)


def test_a_series_that_is_rough_is_not_widened_twice():
    """Without the peak a level is too sure; with it the series is as unsure by itself as those that missed."""
    values = {2.0: 600.0, 6.0: 1900.0, 8.0: 1000.0}
    rows = [Row("one", "queue_ms", {"links": f"{x:g}"}, y, "ms", "runs", "study") for x, y in values.items()]
    model = fit(rows, {})
    cell = Cell(("study", "runs"), "one", "queue_ms", "", (), 4.0)
    found, plain = (evaluator({**model, "widening": scales}).value(cell) for scales in (model["widening"], {}))
    factor, reach = scale(model["widening"], of_series(evaluator(model).tables.blocks[cell.block], cell))
    assert factor > 1.3
    assert plain.low >= found.low > plain.value * (plain.low / plain.value) ** factor
    assert math.log(found.high / found.low) / 2.0 <= max(reach, math.log(plain.high / plain.low) / 2.0) + 1e-3


def test_a_ratio_is_not_widened_beyond_what_held_the_figures_left_out():
    """Without the system that an option changes most, the option is too sure; with it ratios are unsure themselves."""
    rows = [
        Row(system, "elapsed_s", {"access": access}, value, "s", "runs", "study")
        for system, saving in (("one", 0.8), ("two", 0.79), ("three", 0.81), ("four", 0.35))
        for access, value in (("serial", 100.0), ("parallel", 100.0 * saving))
    ]
    model = fit([*rows, Row("asked", "elapsed_s", {"access": "serial"}, 100.0, "s", "runs", "study")], {})
    cell = Cell(("study", "runs"), "asked", "elapsed_s", "", (("access", "parallel"),), None)
    found, plain = (evaluator({**model, "widening": scales}).value(cell) for scales in (model["widening"], {}))
    factor, reach = scale(model["widening"], of_ratio(evaluator(model).tables.blocks[cell.block], cell))
    half, before = (math.log(one.high / one.low) / 2.0 for one in (found, plain))
    assert factor > 1.2
    assert half < 0.95 * factor * before
    assert half <= max(reach, before) + 1e-3
