"""What printed digits say, and what follows when they are taken together."""

from decimal import ROUND_DOWN, Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model.lab.identities import ContradictionError, Product, Sum, identities, resolve, suspect
from model.lab.samples import split
from model.published.printed import printed_interval, prints_as, rounded_interval, transpositions

GROUPS = Sum("total_cics_cpu_pct", ("tor_cpu_pct", "aor_cpu_pct", "for_cpu_pct"))


@given(st.floats(0.01, 1e6), st.integers(0, 4))
def test_a_value_lies_in_the_interval_of_its_rounded_print(value, digits):
    text = f"{value:.{digits}f}"
    low, high = rounded_interval(text)
    assert low - 1e-9 <= value <= high + 1e-9
    assert prints_as(value, text) in ("rounded", "truncated")


@given(st.floats(0.01, 1e6), st.integers(0, 4))
def test_a_truncated_print_is_recognised(value, digits):
    text = str(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_DOWN))
    assert prints_as(value, text) in ("rounded", "truncated")
    low, high = printed_interval(text)
    assert low <= value <= high + 1e-9


def test_a_value_that_prints_otherwise_is_told_apart():
    assert prints_as(7504.836, "7504.83") == "truncated"
    assert prints_as(7504.824, "7504.83") is None
    assert prints_as(7504.841, "7504.83") is None
    assert prints_as(-0.0999, "-0.10") == "rounded"


def test_neighbouring_digits_are_exchanged_across_the_point_too():
    assert transpositions("210.45") == ["120.45", "201.45", "214.05", "210.54"]


@given(etr=st.floats(100, 2e5), busy=st.floats(0.05, 0.99), engines=st.integers(1, 64))
def test_what_follows_from_two_measured_values_agrees_with_all_four_printed(etr, busy, engines):
    printed = {
        "etr_tps": f"{etr:.2f}",
        "cpu_busy_pct": f"{100 * busy:.2f}",
        "itr_tps": f"{etr / busy:.2f}",
        "cpu_us_per_tran": f"{engines * busy * 1e6 / etr:.2f}",
    }
    resolution = resolve(printed, identities(engines))
    assert not resolution.misprints
    values = resolution.values
    for metric, text in printed.items():
        assert abs(values[metric] - float(text)) <= 0.00501 * max(1, abs(values[metric]) * 1e-9)
    assert values["itr_tps"] * values["cpu_busy_pct"] / 100 == pytest.approx(values["etr_tps"], rel=1e-9)


@given(parts=st.lists(st.floats(1, 2000), min_size=3, max_size=3))
def test_parts_and_total_printed_apart_are_brought_together(parts):
    printed = {metric: f"{value:.2f}" for metric, value in zip(GROUPS.parts, parts, strict=True)}
    printed[GROUPS.total] = f"{sum(parts):.2f}"
    resolution = resolve(printed, [GROUPS])
    assert not resolution.misprints
    values = resolution.values
    assert sum(values[part] for part in GROUPS.parts) == pytest.approx(values[GROUPS.total], abs=1e-9)
    assert all(prints_as(round(values[metric], 9), text) == "rounded" for metric, text in printed.items())


def test_figures_cut_instead_of_rounded_are_read_as_such():
    printed = {"tor_cpu_pct": "1.99", "aor_cpu_pct": "2.99", "for_cpu_pct": "3.99", "total_cics_cpu_pct": "8.99"}
    resolution = resolve(printed, [GROUPS])
    assert not resolution.misprints
    assert all(prints_as(round(resolution.values[metric], 9), text) for metric, text in printed.items())


def test_a_sum_that_does_not_add_up_is_excepted_with_its_arithmetic():
    printed = {
        "tor_cpu_pct": "210.45",
        "aor_cpu_pct": "1232.60",
        "for_cpu_pct": "65.34",
        "total_cics_cpu_pct": "1499.40",
    }
    lower = {"tor_cpu_pct": "63.80", "aor_cpu_pct": "508.98", "for_cpu_pct": "25.82", "total_cics_cpu_pct": "598.59"}
    resolution = resolve(printed, [GROUPS], [lower])
    (misprint,) = resolution.misprints
    assert misprint.metric == "tor_cpu_pct"
    assert "210.45 + 1232.60 + 65.34 = 1508.39" in misprint.arithmetic
    assert "1499.40" in misprint.arithmetic and "201.45" in misprint.arithmetic
    assert resolution.values["total_cics_cpu_pct"] == pytest.approx(1499.40)
    assert resolution.values["tor_cpu_pct"] == pytest.approx(201.46)


def test_without_exchanged_digits_the_smallest_change_is_taken():
    printed = {"tor_cpu_pct": "11.00", "aor_cpu_pct": "500.00", "for_cpu_pct": "20.00", "total_cics_cpu_pct": "571.00"}
    assert suspect(printed, GROUPS).metric == "aor_cpu_pct"


def test_a_product_that_contradicts_itself_is_refused():
    with pytest.raises(ContradictionError, match="itr_tps"):
        resolve({"etr_tps": "100.00", "cpu_busy_pct": "50.00", "itr_tps": "300.00"}, identities(4))


def test_a_missing_part_follows_from_the_total():
    printed = {"tor_cpu_pct": "10.00", "for_cpu_pct": "5.00", "total_cics_cpu_pct": "115.00"}
    assert resolve(printed, [GROUPS]).values["aor_cpu_pct"] == pytest.approx(100)


def test_an_identity_with_two_unknowns_says_nothing():
    values = resolve({"etr_tps": "100.00"}, [Product({"etr_tps": 1, "itr_tps": -1, "cpu_busy_pct": -1}, 100)]).values
    assert values == {"etr_tps": pytest.approx(100)}


@given(st.integers(0, 10**12), st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_parts_add_up_to_the_total_and_keep_their_proportions(total, weights):
    assume(sum(weights) > 1e-3)
    parts = split(total, weights)
    assert sum(parts) == total
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - total * weight / sum(weights)) <= 1 + 1e-9 * total


def test_a_total_of_more_digits_than_a_float_is_divided_as_well():
    total = 3 * 10**30 + 1
    parts = split(total, [1.0, 2.0])
    assert sum(parts) == total
    assert parts[1] == pytest.approx(2 * parts[0])


def test_weights_that_divide_nothing_are_refused():
    for weights in ([], [0.0, 0.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match="cannot divide"):
            split(10, weights)
