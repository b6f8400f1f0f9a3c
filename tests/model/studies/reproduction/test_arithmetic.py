"""The rules by which figures follow from others, against hand-worked figures of printed tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.published.printed import RULES, Interval, admitted, as_text, compute, prints_as


def test_every_rule_a_system_file_may_name_is_known_and_no_other():
    assert set(RULES) == set(RULES)


@pytest.mark.parametrize(
    ("rule", "operands", "printed"),
    [
        ("saving_pct", [9.865, 29.277], "66.3"),
        ("change_pct", [8017.71, 7504.83], "6.83"),
        ("change_pct", [3871, 3834, 3281, 3387], "15.55"),
        ("difference", [8017.71, 7504.83], "512.88"),
        ("quotient", [765815, 505.96], "1513.59"),
        ("quotient_pct", [6400, 8315], "76.97"),
        ("mean", [80.0, 82.0], "81"),
        ("sum", [201.46, 1232.60, 65.34], "1499.40"),
        ("max", [0.62, 0.81], "0.81"),
        ("min", [0.62, 0.81], "0.62"),
        ("product", [3, 0.5, 4], "6"),
        ("same", [11320], "11320"),
    ],
)
def test_a_rule_gives_what_was_printed(rule, operands, printed):
    assert prints_as(compute(rule, operands), printed) == "rounded"


def test_a_division_by_nothing_gives_nothing():
    assert compute("quotient", [1.0, 0.0]) is None
    assert admitted("change_pct", [Interval(1, 2), Interval(0, 0)]) is None


def test_the_arithmetic_reads_as_it_is_done():
    assert as_text("difference", ["1499.40", "1232.60", "65.34"]) == "1499.40 - 1232.60 - 65.34"
    assert as_text("change_pct", ["3871", "3834", "3281", "3387"]) == "((3871 + 3834) / (3281 + 3387) - 1) x 100"
    assert as_text("same", ["648.53"], 0.01) == "(648.53) x 0.01"


@given(
    st.sampled_from(["same", "sum", "mean", "max", "min", "difference", "quotient", "saving_pct", "change_pct"]),
    st.lists(st.tuples(st.floats(1, 1e4), st.floats(0, 10), st.floats(0, 1)), min_size=2, max_size=4),
)
def test_whatever_the_operands_stand_for_lies_in_the_admitted_interval(rule, operands):
    intervals = [Interval(lo, lo + width) for lo, width, _ in operands]
    chosen = [lo + width * share for lo, width, share in operands]
    low, high = admitted(rule, intervals)
    value = compute(rule, chosen)
    assert low - 1e-9 * abs(low) - 1e-9 <= value <= high + 1e-9 * abs(high) + 1e-9
