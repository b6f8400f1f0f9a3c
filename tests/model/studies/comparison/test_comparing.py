"""Differences, verdicts and equal busy; and what a reader is given of them."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.studies.comparison import (
    Band,
    ComparisonError,
    Figure,
    Measure,
    Metric,
    Run,
    choose,
    compare,
    parse,
    ratio_of_sums,
)
from model.studies.comparison.pictures import Bars, Lines, figures, pictures
from model.studies.comparison.report import as_csv, as_dict, document, heads, shown
from model.studies.comparison.runs import Part, aggregate, from_rows, run
from model.studies.comparison.verdicts import About
from model.studies.document import markdown
from pipelines.comparing import write
from tests.model.studies.comparison.made import CATALOGUE, MEASURES, START, intervals


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


def holding(name: str, storage: dict[str, float]) -> Run:
    values = {Metric(None, "cpu_busy_pct"): 40.0 if name == "A" else 80.0}
    values |= {Metric(None, "storage_kb", subject): kb for subject, kb in storage.items()}
    return Run(name, name, (), "all", {metric: Figure(value, None, 1) for metric, value in values.items()})


def test_totals_of_other_parts_are_shown_but_not_judged() -> None:
    a = holding(
        "A", {"JOB private below": 10, "JOB private above": 90, "JOB total": 100, "total below": 10, "total": 100}
    )
    b = holding("B", {"JOB private below": 11, "JOB total": 11, "total below": 11, "total": 11})
    found = {row.metric.subject: row.sides[1] for row in compare([a, b], CATALOGUE).rows}
    assert found["JOB total"].figure.value == 11
    assert (found["JOB total"].delta, found["JOB total"].verdict, found["total"].verdict) == (None, None, None)
    assert found["total below"].delta_pct == pytest.approx(10)
    assert found["JOB private below"].delta_pct == pytest.approx(10)


def test_a_difference_from_less_than_nothing_has_the_sign_of_the_change() -> None:
    [row] = [
        r for r in compare([holding("A", {"csa": -10}), holding("B", {"csa": -5})], CATALOGUE).rows if r.metric.subject
    ]
    assert (row.sides[1].delta, row.sides[1].delta_pct) == (5, 50)


def test_storage_is_not_put_to_equal_busy() -> None:
    catalogue = {**CATALOGUE, "storage_kb": About("Storage", "KB", "lower", True, None)}
    found = compare([holding("A", {"csa": 100}), holding("B", {"csa": 100})], catalogue)
    assert found.equal_busy_pct == 40
    assert list(found.equal_busy) == []


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


def test_what_one_run_has_alone_is_told_with_its_label_and_unit() -> None:
    first, second = made("A", [40, 40], 1000), made("B", [40, 40], 1000)
    own = {**second.figures, Metric(None, "storage_kb", "CSA"): Figure(512.0, None, 1)}
    about = CATALOGUE | {"storage_kb": About("Storage", "KB", None, False, "area")}
    found = compare([first, replace(second, figures=own)], about)
    assert "| B | Storage | KB | CSA | 512.000 |" in markdown(document(found))


def test_a_report_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    found = compare([made("A", [80, 80], 1000), made("B <i>", [80, 80], 1100), made("C", [40, 41], 900)], CATALOGUE)
    page = write(found, tmp_path).html.read_text(encoding="utf-8")
    assert "B &lt;i&gt;" in page
    assert "<i>" not in page
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in re.sub(r'xmlns(:xlink)?="[^"]*"|url\(#', "", page)
    assert page.count("<svg") == len(figures(found)) == 2


def test_pictures_are_well_formed_and_their_bars_stack_up_to_the_whole() -> None:
    found = compare([made("A & B", [80, 80], 1000), made("B", [80, 80], 2000)], CATALOGUE)
    for picture in figures(found).values():
        ElementTree.fromstring(picture)
    texts = [text.text for text in ElementTree.fromstring(figures(found)["itr"]).findall(".//{*}text")]
    assert {"A & B", "B"} < set(texts)
    drawn = pictures(found)["itr"]
    assert isinstance(drawn, Bars)
    (first, _), (second, _) = drawn.layers[""]
    assert first is not None and second == pytest.approx(2 * first)
    assert {f"{first:,.4g}", f"{second:,.4g}"} < set(texts)


def test_tables_have_a_cell_for_every_heading_and_hide_what_is_zero_everywhere() -> None:
    found = compare([made("A", [80, 80], 0), made("B", [80, 80], 0)], CATALOGUE)
    assert [row.metric.name for row in shown(found.rows)] == ["cpu_busy_pct"]
    table = [line for line in markdown(document(found)).splitlines() if line.startswith("| CPU busy")]
    assert len(table[0].strip("|").split("|")) == len(heads(found)) + 1 == 8
    assert "figures are left out of the tables" in markdown(document(found))


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


def test_local_time_of_reports_is_called_local() -> None:
    row = {"system_id": "S", "point": "1", "condition": "", "is_run": True, "position": 1, "seconds": 60}
    row |= {"workload": None, "subject": None, "metric": "cpu_busy_pct", "scale": 100, "aggregation": "ratio"}
    row |= {"numerator": 1, "denominator": 2}
    local = from_rows([row | {"interval_start_utc": None, "interval_start_local": START}])
    known_utc = from_rows([row | {"interval_start_utc": START, "interval_start_local": START + timedelta(hours=2)}])
    found = compare([run("A", *local, "point 1"), run("B", *known_utc, "point 1")], CATALOGUE)
    assert [each["clock"] for each in as_dict(found)["runs"]] == ["local", "UTC"]
    assert "| A | point 1 | 1 | 60 | 2026-03-01 10:00:00 | 2026-03-01 10:01:00 | local |" in markdown(document(found))
    [window] = choose(parse("S@2026-03-01T10:00/2026-03-01T10:05"), *local, band_points=1.0)
    assert "UTC" not in window.chosen
    with pytest.raises(ComparisonError, match="local time"):
        choose(parse("S@2026-03-01T10:00+01:00/2026-03-01T10:05+01:00"), *local, band_points=1.0)


def known(name: str, figures: dict[tuple[str, str | None], float], system: str | None = None) -> Run:
    """A run of one interval with these figures, by metric and subject."""
    given = {Metric(None, metric, subject): Figure(value, None, 1) for (metric, subject), value in figures.items()}
    return Run(name, system or name, intervals([80], point="1", system=system or name), "point 1", given)


def bars_of(picture: Bars | Lines) -> list[str]:
    """The layers of the bars of a picture, by run."""
    assert isinstance(picture, Bars)
    return sorted(
        f"{run} {name}: {value:.4g}"
        for name, layer in picture.layers.items()
        for run, (value, _) in zip(picture.runs, layer, strict=True)
        if value
    )


def test_components_are_stacked_for_the_run_that_has_them_though_the_other_has_none() -> None:
    parts = {("ims_cpu_us_per_tran", None): 30.0, ("dependent_regions_cpu_us_per_tran", None): 60.0}
    found = compare(
        [known("A", {("cpu_us_per_tran", None): 100.0} | parts), known("B", {("cpu_us_per_tran", None): 90.0})],
        CATALOGUE,
    )
    assert bars_of(pictures(found)["cpu-per-transaction"]) == [
        "A dependent regions: 60",
        "A ims: 30",
        "A rest of the system: 10",
        "B whole system, components not known: 90",
    ]
    assert "| A | CPU per transaction: ims | us/tran |" in markdown(document(found))
    assert "2 figures are known of one run only" in markdown(document(found))


def test_components_of_one_of_several_workloads_are_its_own_and_its_share_of_uncaptured() -> None:
    def mixed(name: str) -> Run:
        values = {("ims", "service_cpu_us_per_tran"): 90.0, ("ims", "uncaptured_us_per_tran"): 12.0}
        values |= {("ims", "ims_cpu_us_per_tran"): 90.0, ("cics", "service_cpu_us_per_tran"): 7.0}
        given = {Metric(workload, metric): Figure(value, None, 1) for (workload, metric), value in values.items()}
        return Run(name, name, intervals([80], point="1", system=name), "point 1", given)

    assert bars_of(pictures(compare([mixed("A"), mixed("B")], CATALOGUE))["cpu-per-transaction"]) == [
        "A ims: 90",
        "A share of uncaptured: 12",
        "B ims: 90",
        "B share of uncaptured: 12",
    ]


def test_response_is_drawn_for_what_was_recorded_and_a_line_joins_a_load_series_only() -> None:
    def series(*pairs: tuple[float, float]) -> list[Run]:
        return [
            known(
                f"S@{place}",
                {("etr_tps", None): rate, ("total_ims_response_ms", "ims"): ms, ("wlm_response_ms", "class X"): 0.0},
                "S",
            )
            for place, (rate, ms) in enumerate(pairs)
        ]

    rising = figures(compare(series((10, 1), (20, 2), (30, 4)), CATALOGUE))["response"]
    mixed = figures(compare(series((10, 1), (30, 2), (20, 4)), CATALOGUE))["response"]
    # Lines of the drawing: ticks and grid are alike in both, and one more joins the runs.
    assert rising.count('id="line2d_') == mixed.count('id="line2d_')
    assert rising.count("stroke-linecap: square") == mixed.count("stroke-linecap: square") + 1
    assert "response" not in figures(compare(series((10, 0), (20, 0)), CATALOGUE))


def test_times_and_storage_are_drawn_without_totals_and_overlapping_figures() -> None:
    given = {("msc_send_s", None): 29.277, ("storage_kb", "TCPIP lsqa above"): 1024.0}
    given |= {
        ("storage_kb", "TCPIP lsqa below"): 512.0,
        ("storage_kb", "total"): 9999.0,
        ("storage_kb", "csm_fixed"): 7.0,
    }
    found = compare([known("A", given), known("B", given)], CATALOGUE)
    drawn = pictures(found)
    assert set(drawn) == {"msc-send-s", "storage"}
    assert bars_of(drawn["storage"]) == ["A TCPIP lsqa: 1.5", "B TCPIP lsqa: 1.5"]


def test_workloads_and_policies_that_repeat_a_class_are_shown_once() -> None:
    given = {("wlm_ended_per_s", f"{kind} X"): 5.0 for kind in ("policy", "service_class", "workload")}
    given |= {("wlm_ended_per_s", "policy Y"): 6.0}
    found = compare([known("A", given), known("B", given)], CATALOGUE)
    assert [row.metric.subject for row in shown(found.rows)] == ["policy Y", "service_class X"]


def test_a_series_is_titled_and_headed_by_what_tells_its_runs_apart() -> None:
    runs = [known(f"S@{point}", {("itr_tps", None): 1.0}, "S") for point in ("4K", "8K", "32K")]
    found = compare(runs, CATALOGUE)
    assert heads(found) == ["metric", "unit", "4K", "8K", "delta %", "verdict", "32K", "delta %", "verdict"]
    assert markdown(document(found)).startswith("# S: 4K, 8K, 32K\n")
