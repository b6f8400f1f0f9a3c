"""Differences, verdicts and equal busy; and what a reader is given of them."""

from __future__ import annotations

import csv
import io
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.comparison import Band, ComparisonError, Measure, compare, ratio_of_sums
from model.comparison.charts import figures
from model.comparison.report import as_csv, as_dict, heads, html, markdown, shown
from model.comparison.runs import Part, aggregate, from_rows, run
from tests.model.comparison.made import CATALOGUE, MEASURES, START, intervals


def made(name: str, busy: list[float], rate: float):
    return run(name, intervals(busy, rate=rate, point="1", system=name), MEASURES, "point 1")


def verdicts(comparison) -> dict[str, str]:
    return {row.metric.name: row.sides[1].verdict for row in comparison.rows}


def test_more_at_the_same_busy_is_better_and_busy_itself_is_never_better() -> None:
    found = compare([made("A", [80, 80.2], 1000), made("B", [80, 80.2], 1060)], CATALOGUE)
    assert verdicts(found) == {
        "itr_tps": "better",
        "etr_tps": "better",
        "cpu_busy_pct": "equivalent",
        "ims_cpu_us_per_tran": "equivalent",
    }
    row = found.row("itr_tps")
    assert row is not None
    assert row.sides[1].delta_pct == pytest.approx(6)


def test_a_rate_under_another_load_is_different_and_is_judged_at_equal_busy() -> None:
    found = compare([made("A", [40, 40], 1000), made("B", [80, 80], 1000)], CATALOGUE)
    assert verdicts(found)["etr_tps"] == "different"
    [rate] = found.equal_busy
    assert found.equal_busy_pct == pytest.approx(40)
    assert rate.sides[1].figure.value == pytest.approx(500)
    assert rate.sides[1].verdict == "equivalent"
    [rate] = compare(found.runs, CATALOGUE, equal_busy_pct=100).equal_busy
    assert [side.figure.value for side in rate.sides] == pytest.approx([1250, 1250])


@pytest.mark.parametrize(("pct", "said"), [(1, "better"), (3, "equivalent")])
def test_the_band_decides_what_is_equal(pct: float, said: str) -> None:
    found = compare([made("A", [80, 80], 1000), made("B", [80, 80], 1020)], CATALOGUE, Band(pct))
    assert verdicts(found)["itr_tps"] == said


def test_confidence_is_that_of_welch_on_the_variation_between_intervals() -> None:
    from scipy import stats

    first, second = [78, 81, 79, 82, 80], [80.5, 83, 81, 82, 80]
    found = compare([made("A", first, 1000), made("B", second, 1000)], CATALOGUE, Band(confidence=0.95))
    row = found.row("cpu_busy_pct")
    assert row is not None
    expected = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    side = row.sides[1]
    assert side.delta - side.half_width == pytest.approx(expected.low)
    assert side.delta + side.half_width == pytest.approx(expected.high)
    assert side.verdict == ("equivalent" if expected.low <= 0 <= expected.high else "different")


def test_one_interval_alone_leaves_confidence_undecided() -> None:
    found = compare([made("A", [80], 1000), made("B", [80, 81], 1100)], CATALOGUE, Band(confidence=0.9))
    assert set(verdicts(found).values()) == {"undecided"}


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0.1, 1e3)), min_size=2, max_size=12))
def test_a_ratio_of_sums_lies_between_its_parts(pairs: list[tuple[float, float]]) -> None:
    found = ratio_of_sums([Part(*pair) for pair in pairs], 1.0)
    assert found is not None
    ratios = [numerator / denominator for numerator, denominator in pairs]
    assert min(ratios) * (1 - 1e-12) <= found.value <= max(ratios) * (1 + 1e-12)
    assert found.se is not None
    assert found.se >= 0


def test_metrics_are_put_together_as_the_marts_say() -> None:
    parts = [Part(1, 2), Part(6, 2), Part(5, 0)]
    values = {how: aggregate(parts, Measure(2.0, how)) for how in ("ratio", "sum", "min", "max", "point")}
    assert {how: figure and figure.value for how, figure in values.items()} == {
        "ratio": 6.0,
        "sum": 7.0,
        "min": 1.0,
        "max": 6.0,
        "point": 1.0,
    }
    assert aggregate([Part(1, 0)], Measure(1.0, "sum")) is None
    assert aggregate([Part(1, 0)], Measure(1.0)) is None


def test_runs_with_nothing_in_common_and_impossible_questions_are_refused() -> None:
    a = made("A", [80, 80], 1000)
    for wrong in (
        lambda: compare([a], CATALOGUE),
        lambda: compare([a, a], CATALOGUE, equal_busy_pct=0),
        lambda: Band(confidence=1.5),
        lambda: Band(-1),
        lambda: compare([a, run("B", intervals([1.0])[:1], MEASURES, "")], CATALOGUE, Band(None)),
    ):
        with pytest.raises(ComparisonError):
            wrong()


def test_a_report_is_one_page_that_needs_nothing_else() -> None:
    found = compare([made("A", [80, 80], 1000), made("B <i>", [80, 80], 1100), made("C", [40, 41], 900)], CATALOGUE)
    page = html(found)
    assert "B &lt;i&gt;" in page
    assert "<i>" not in page
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert page.count("<svg") == len(figures(found)) == 2


def test_pictures_are_well_formed_and_their_bars_stack_up_to_the_whole() -> None:
    found = compare([made("A & B", [80, 80], 1000), made("B", [80, 80], 2000)], CATALOGUE)
    for picture in figures(found).values():
        ElementTree.fromstring(picture)
    bars = ElementTree.fromstring(figures(found)["itr"]).findall(".//{*}rect")[1:]
    heights = [float(bar.get("height", "nan")) for bar in bars]
    assert heights[1] / heights[0] == pytest.approx(2, rel=1e-2)


def test_tables_have_a_cell_for_every_heading_and_hide_what_is_zero_everywhere() -> None:
    found = compare([made("A", [80, 80], 0), made("B", [80, 80], 0)], CATALOGUE)
    assert [row.metric.name for row in shown(found.rows)] == ["cpu_busy_pct"]
    table = [line for line in markdown(found).splitlines() if line.startswith("| CPU busy")]
    assert len(table[0].strip("|").split("|")) == len(heads(found)) == 7
    assert "figures are left out of the tables" in markdown(found)


def test_csv_and_json_keep_full_precision() -> None:
    found = compare([made("A", [80, 80.3], 1000 / 3), made("B", [80, 80.1], 1000)], CATALOGUE)
    lines = list(csv.DictReader(io.StringIO(as_csv(found))))
    rates = [line for line in lines if line["metric"] == "etr_tps" and line["basis"] == "measured"]
    [metric] = [each for each in as_dict(found)["metrics"] if each["metric"] == "etr_tps"]
    for line, value in zip(rates, metric["values"], strict=True):
        assert float(line["value"]) == value["value"]
        assert math.isfinite(value["standard_error"])
    assert metric["better"] == "higher"


def test_one_metric_may_be_a_mean_for_parts_and_a_sum_for_totals() -> None:
    row = {"system_id": "S", "point": "1", "condition": "", "is_run": True, "seconds": None, "workload": None}
    row |= {"interval_start_utc": START, "interval_start_local": None, "metric": "storage_kb", "scale": 1.0}
    rows = [
        row
        | {
            "position": place,
            "subject": "private",
            "aggregation": "ratio",
            "numerator": 30.0 * place,
            "denominator": 10,
        }
        for place in (1, 2)
    ]
    rows.append(row | {"position": 1, "subject": "total", "aggregation": "sum", "numerator": 9.0, "denominator": 1})
    found = run("S", *from_rows(rows), "point 1").figures
    assert {metric.subject: figure.value for metric, figure in found.items()} == {"private": 4.5, "total": 9.0}
