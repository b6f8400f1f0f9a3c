"""Figures left out one by one, of systems whose truth is known."""

import pytest

from model.published.leave_one_out import Figure, behind, left_out, scales
from model.published.model import fit, predictor
from model.published.observations import Observation
from model.published.prediction import scale
from model.published.tables import Cell, Tables


def rows(scatter):
    return [
        Observation(f"s{i}", "cpu_busy_pct", {"release": release}, value, "pct", "runs", "study")
        for i, off in enumerate(scatter)
        for release, value in (("V1", 80.0), ("V2", 80.0 * (1.0 + off)))
    ]


def figures(found):
    return [figure for experiment in left_out(Tables(found), {}) for figure in experiment.figures()]


def test_a_figure_left_out_is_told_by_the_other_release():
    found = figures(rows((0.0, 0.001, -0.001)))
    assert len(found) == 12  # each alone, and with its release
    assert all(figure.value == pytest.approx(figure.measured, rel=0.003) for figure in found)
    assert all(figure.naive == pytest.approx(80.0, rel=0.002) for figure in found)


def test_a_total_tells_nothing_about_its_part():
    parts = {"private": (50.0, 70.0, 230.0, 440.0), "common": (5.0, 5.0, 5.0, 5.0)}
    parts["Total"] = tuple(map(sum, zip(*parts.values(), strict=True)))
    rows = [
        Observation("one", "storage_kb", {"sessions": str(count), "component": part}, value, "KB", "storage", "study")
        for part, values in parts.items()
        for count, value in zip((8, 16, 64, 128), values, strict=True)
    ]
    part = Cell(("study", "storage"), "one", "storage_kb", "", (("component", "private"),), 32.0)
    alone = [row for row in rows if row.condition["component"] != "Total"]
    answered = [predictor(fit(found, {})).value(part) for found in (rows, alone)]
    assert answered[0].value == answered[1].value


def test_a_metric_in_two_units_has_an_interval_for_each():
    rows = [
        Observation("one", "AVG", {"release": release, "section": unit}, 80.0, unit, "report", "study")
        for unit in ("s", "frames")
        for release in ("V1", "V2")
    ]
    found = figures(rows)
    assert len(found) == 4
    assert len({figure.errs_like for figure in found}) == 2


def test_intervals_are_as_wide_as_figures_left_out_scatter():
    def widths(scatter):
        model = fit(rows(scatter), {})
        value = predictor(model).value(Cell(("study", "runs"), "s0", "cpu_busy_pct", "", (("release", "V3"),), None))
        return value.high / value.low

    assert widths((0.0, 0.001, -0.001)) < 1.1 < widths((0.11, -0.12, 0.13, -0.1))


def figure(place, off):
    cell = Cell(("study", "storage"), "one", "storage_kb", "", (), 8.0)
    return Figure(cell, "all", ("all", "series", place), 100.0 * off, 90.0, 100.0, 111.0, 100.0)


def test_levels_beyond_the_measured_ones_have_wider_intervals_than_those_within():
    offs = {"within": (1.01, 0.98, 1.02), "beyond": (1.1, 0.88, 1.15)}
    found = scales([figure(place, off) for place, of_place in offs.items() for off in of_place])
    assert found["within"] < found["series"] < found["beyond"]


def test_figures_that_are_asked_for_do_not_scale_their_own_intervals():
    off = figure("within", 2.0)
    assert scales([off]) and scales([off], [off.cell]) == {}


def test_a_family_whose_naive_answer_was_nearer_is_named():
    assert behind([figure("within", 1.0), figure("within", 1.0)]) == []
    nearer = [Figure(f.cell, f.family, (), f.measured, 140.0, 150.0, 160.0, 101.0) for f in [figure("within", 1.0)]]
    assert behind(nearer) == ["all"]


def test_a_metric_of_which_nothing_could_be_left_out_is_not_narrowed_by_its_family():
    family, metric = "s t: storage", "s t: storage, csa_kb"
    assert scale({family: 0.3}, (family, metric)) == 1.0
    assert scale({family: 3.0}, (family, metric)) == 3.0
    assert scale({family: 0.3, metric: 0.4}, (family, metric)) == 0.4
