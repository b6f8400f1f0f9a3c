"""Condition laws as figures of an answer."""

import pytest

from model.calibration.adjustments import read_adjustments
from model.capacity.answer import Output
from model.published.figures import figures
from model.published.model import fit
from model.published.observations import Observation
from model.published.rates import beside_network


@pytest.fixture(scope="module")
def model():
    rows = [
        Observation("one", "cpu_busy_pct", {"release": r}, busy, "pct", "runs")
        for r, busy in (("V1", 50.0), ("V2", 51.0))
    ]
    rows += [Observation("one", "csa_kb", {"release": r}, 700.0, "KB", "runs") for r in ("V1", "V2")]
    return fit(rows, {})


def test_an_adjustment_changes_what_it_is_about_and_says_so(model):
    known = read_adjustments()
    plain = {o.metric: o for o in figures(model, known, "one", {"release": "V1"}).outputs}
    asked = figures(model, known, "one", {"release": "V1", "adjust.encryption": "on"})
    changed = {o.metric: o for o in asked.outputs}
    assert plain["cpu_busy_pct"].condition == "release=V1"
    assert 1.03 < changed["cpu_busy_pct"].value / plain["cpu_busy_pct"].value < 1.17
    assert changed["csa_kb"] == plain["csa_kb"]
    assert any("encrypt" in note for note in asked.notes)
    asked = figures(model, known, "one", {"release": "V1", "adjust.flashcopy": "on"})
    assert "adjust.flashcopy: says nothing of the figures that are known here, so nothing changes" in asked.notes
    assert asked.outputs == tuple(plain.values())


def test_engines_are_never_busier_than_full():
    rows = [
        Observation("one", "cpu_busy_pct", {"release": r}, busy, "pct", "runs")
        for r, busy in (("V1", 98.0), ("V2", 98.5))
    ]
    known = read_adjustments()
    found = figures(fit(rows, {}), known, "one", {"release": "V1", "adjust.encryption": "on"})
    assert [(output.value, output.hi) for output in found.outputs] == [(100.0, 100.0)]
    assert any("too few" in note for note in found.notes)


def test_every_figure_says_what_it_rests_on(model):
    found = figures(model, {}, "one", {"release": "V2"})
    assert [entry["basis"] for entry in found.evidence] == ["measured", "measured"]
    assert not found.extrapolated


def test_figures_beside_those_of_a_network_leave_out_the_rates_of_measured_points():
    rows = [Observation("one", "etr_tps", {"point": str(n)}, 100.0 * n, "tran/s", "report", "study") for n in (1, 2, 3)]
    rows.append(Observation("one", "csa_kb", {}, 12.0, "KB", "report", "study"))
    bundle = {"conditions": fit(rows, {}), "systems": {}, "model_version": "1"}
    more, notes, behind = beside_network(bundle, "one", {}, ())
    assert [one.metric for one in more] == ["csa_kb"]
    assert notes == ()
    assert [(one["metric"], one["measured"]) for one in behind] == [("csa_kb", 12.0)]
    assert beside_network(bundle, "one", {}, more) == ((), (), [])


def test_work_beside_a_network_goes_with_all_its_transactions_not_with_those_of_a_class():
    rows = [
        Observation("one", "etr_tps", {}, 100.0, "tran/s", "report", "study"),
        Observation("one", "tasks", {}, 50.0, "1/s", "report", "study"),
    ]
    bundle = {"conditions": fit(rows, {}), "systems": {}, "model_version": "1"}
    rates = {"": 120.0, "class=HIGH": 80.0, "class=LOW": 40.0}
    answered = [Output("etr_tps", of, rate, rate, rate, "tran/s") for of, rate in rates.items()]
    [tasks], _, [behind] = beside_network(bundle, "one", {"growth_pct": 20}, answered)
    assert "measured" not in behind
    assert (tasks.metric, tasks.value) == ("tasks", pytest.approx(60.0))
