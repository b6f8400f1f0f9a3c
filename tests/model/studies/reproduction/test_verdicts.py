"""Verdicts on figures, from marts made by hand: what the marts say decides, not what was printed."""

import json
from html import unescape

import pytest

from model.published import catalogue
from model.studies.document import markdown
from model.studies.reproduction import report
from model.studies.reproduction.verdicts import EQUAL, EXCEPTED, FAILING, STATEMENT, Marts, compare, with_references
from pipelines import pages

FAST_PATH = "ims10-base-fp"


def row(system, point, metric, value, subject=""):
    return {"system_id": system, "point": point, "subject": subject, "metric": metric, "value": value}


def fast_path(itr=9659.2, old_busy=80.7):
    """The marts of one system: two releases, each with rate, busy time, ITR and CSA."""
    points = {"IMS V9": (7795.01, old_busy, itr, 804.0), "IMS V10": (7774.2, 81.41, 9549.6, 804.0)}
    rows = []
    for point, (etr, busy, itr_tps, csa) in points.items():
        rows += [
            row(FAST_PATH, point, "etr_tps", etr),
            row(FAST_PATH, point, "cpu_busy_pct", busy),
            row(FAST_PATH, point, "itr_tps", itr_tps),
            row(FAST_PATH, point, "storage_kb", csa, "csa"),
        ]
    return Marts(rows)


def test_a_value_that_prints_as_published_is_equal_and_the_difference_is_kept():
    results = {(r.figure.metric, r.figure.condition): r for r in compare(FAST_PATH, fast_path())}
    assert {result.verdict for result in results.values()} == {EQUAL}
    rate = results["etr_tps", "variant=IMS V9"]
    assert (rate.computed, rate.reading) == (7795.01, "rounded")
    assert rate.difference == pytest.approx(0.01)
    assert results["ITR degradation within", ""].reading == "under"
    assert results["ITR degradation V9 to V10", ""].note == "(1 - 9550 / 9659) x 100"


def test_a_value_of_the_marts_that_prints_otherwise_fails_whatever_is_published():
    failing = [r.figure.metric for r in compare(FAST_PATH, fast_path(old_busy=80.9)) if r.verdict == FAILING]
    assert failing == ["cpu_busy_pct"]


def test_what_follows_from_a_wrong_value_fails_with_it():
    failing = {r.figure.metric for r in compare(FAST_PATH, fast_path(itr=9759.0)) if r.verdict == FAILING}
    assert failing == {"itr_tps", "ITR degradation V9 to V10", "ITR degradation within"}


def test_nothing_comes_out_of_empty_marts():
    results = compare(FAST_PATH, Marts([]))
    assert {result.verdict for result in results} == {FAILING}
    assert all(result.computed is None and result.note for result in results)


def test_an_exception_is_proved_from_printed_digits_and_not_taken_on_trust():
    (tor,) = [r for r in compare("cics53-18cp", Marts([])) if r.verdict == EXCEPTED]
    assert (tor.figure.metric, tor.figure.value) == ("tor_cpu_pct", "210.45")
    assert "1499.40 - 1232.60 - 65.34" in tor.note


def test_words_and_systems_known_by_ratios_are_no_values():
    assert {r.verdict for r in compare("cs113-awm-ipv6", Marts([]))} == {STATEMENT}
    assert {r.verdict for r in compare("ims14-zcee-gp", Marts([]))} == {STATEMENT}


def test_systems_that_figures_follow_from_are_needed_too():
    assert with_references(["ims14-ff-haldb-z14"]) == ["ims14-ff-haldb-z14", "ims14-ff-haldb-z13"]


def test_the_reports_hold_every_figure_and_the_counts_add_up():
    results = {name: compare(name, fast_path()) for name in (FAST_PATH, "cics53-18cp")}
    plain = report.as_dict(results)
    summary = plain["summary"]
    assert summary["values"] == summary["equal"] + summary["excepted"] + summary["failing"]
    assert [entry["system"] for entry in plain["systems"]] == list(results)
    figures = sum(len(catalogue.system(name).figures) for name in results)
    assert sum(len(entry["results"]) for entry in plain["systems"]) == figures
    assert len(report.as_csv(results).splitlines()) == figures + 1
    written = markdown(report.document(results))
    assert sum(line.startswith("| ") for line in written.splitlines()) >= figures
    assert "## Excepted, with the arithmetic" in written
    page = pages.document(*vars(report.document(results)).values())
    assert page.count("<tr>") >= figures
    assert "http" not in page.replace("http_tps", "").replace("HTTP", "")
    for system, _, line in (item.partition(": ") for item in written.splitlines() if item[:2] == "- "):
        assert f'<li><a href="#{system[2:]}">' in page
        assert line.partition(" computed")[0] in unescape(page)
    assert json.loads(json.dumps(plain)) == plain
