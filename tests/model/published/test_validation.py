"""Leaving levels out: the errors are those of predictions that never saw the value."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model.published.observations import Observation, Study
from model.published.reading import read_catalogue
from model.published.validation import StudyValidation, judged, summary, validate


def linear(system, base, slope, scatter, seed):
    generator = np.random.default_rng(seed)
    return [
        Observation(
            system,
            "storage_kb",
            {"sessions": str(x)},
            (base + slope * x) * generator.normal(1, scatter),
            "KB",
            "s",
            "x",
        )
        for x in (1, 2, 4, 8, 16, 32)
    ]


@pytest.fixture(scope="module")
def found():
    rows = [row for i in range(3) for row in linear(f"s{i}", 100 + 30 * i, 5 + 3 * i, 0.01, i)]
    return validate(Study(tuple(rows), (), {}))


def test_laws_beat_the_mean_of_neighbours_where_there_is_a_law(found):
    beyond, within = found.families.itertuples()
    assert (beyond.name, within.name) == ("storage, levels beyond", "storage, levels within")
    assert (beyond.cases, within.cases) == (6, 12)
    for family in (beyond, within):
        assert family.better_than_naive
        assert family.median_pct < 2.0 < family.naive_median_pct


def test_intervals_hold_about_what_they_promise(found):
    assert 100.0 * found.cases.covered.mean() >= 75.0


def test_a_system_of_one_point_is_said_to_be_unjudged():
    rows = (*linear("long", 100, 5, 0.01, 0), linear("short", 50, 5, 0.01, 1)[0])
    study = Study(rows, (), {})
    assert validate(study).unjudged == ("short",)


def test_the_report_is_plain_and_readable(found):
    assert found.to_dict()["families"][0]["better_than_naive"]
    assert "no worse than the naive answer, in the median or at 95 %, in 2 of 2 families" in found.to_text()


def test_a_prediction_that_rounds_to_what_is_printed_is_told_apart(found):
    """Storage is predicted within 50 KB, and not to the last bit of a float."""
    assert not found.cases.as_printed.any()
    rows = [replace(row, rounding=50.0) for i in range(2) for row in linear(f"s{i}", 100, 5, 0.01, i)]
    assert validate(Study(tuple(rows), (), {})).cases.as_printed.all()


def test_what_is_printed_with_a_digit_less_is_rounded_ten_times_as_much():
    study = read_catalogue(["ims10-msc-ctc"])
    roundings = {row.value: row.rounding for row in study.rows}
    assert roundings[29.277] == pytest.approx(0.0005)
    assert {row.rounding for row in study.rows if row.value == int(row.value)} <= {0.5}


def test_what_is_printed_as_zero_is_held_within_its_digits_and_has_no_error_in_per_cent():
    columns = ("measured", "predicted", "lo", "hi", "naive", "rounding", "family", "system")
    values = [(0.0, 0.1, 0.04, 0.2), (0.0, 0.1, 0.06, 0.2), (10.0, 11.0, 9.0, 12.0)]
    rows = [dict(zip(columns, (*value, 0.1, 0.05, "time", "s"), strict=True)) for value in values]
    cases = judged(pd.DataFrame(rows))
    assert cases.covered.tolist() == [True, False, True]
    (both,) = summary(cases).itertuples()
    assert (both.cases, both.zeros) == (3, 2)
    assert (both.median_pct, both.half_width_pct) == pytest.approx((10.0, 15.0))
    assert both.coverage_pct == pytest.approx(200.0 / 3.0)
    alone = StudyValidation(cases[:1], summary(cases[:1]), ())
    plain = json.loads(json.dumps(alone.to_dict(), allow_nan=False))
    assert plain["cases"][0]["error_pct"] is None and plain["families"][0]["median_pct"] is None
    assert "measured as zero have no error" in alone.to_text()
