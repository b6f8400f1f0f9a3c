"""Single figures left out, of systems whose truth is known."""

import pytest

from model.capacity.conditions.fitting import fit
from model.capacity.conditions.rows import Row
from model.capacity.conditions.single import single_figures, widening
from model.capacity.conditions.tables import Tables


def rows(scatter):
    return [
        Row(f"s{i}", "cpu_busy_pct", {"release": release}, value, "pct", "runs", "study")
        for i, off in enumerate(scatter)
        for release, value in (("V1", 80.0), ("V2", 80.0 * (1.0 + off)))
    ]


def test_a_figure_left_out_is_told_by_the_other_release():
    found = single_figures(Tables(rows((0.0, 0.001, -0.001))), {})
    assert len(found) == 6
    assert all(figure.found.value == pytest.approx(figure.measured, rel=0.003) for figure in found)
    assert all(figure.naive == pytest.approx(80.0, rel=0.002) for figure in found)


def test_intervals_are_as_wide_as_figures_left_out_scatter():
    close, apart = (widening(single_figures(Tables(rows(s)), {})) for s in ((0.0, 0.001), (0.11, -0.12, 0.13, -0.1)))
    assert max(close.values()) < min(apart.values())
    assert fit(rows((0.0, 0.001)), {})["widening"] == close
