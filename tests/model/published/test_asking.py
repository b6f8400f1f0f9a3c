"""Figures of the studies in an answer: adjusted, with their evidence, and beside those of a network."""

import pytest

from model.calibration.systems import read_adjustments
from model.capacity.answer import Answer, Bottleneck, Output
from model.capacity.samples import to_plain
from model.published.model import fit
from model.published.observations import Observation
from model.published.question import by_condition
from model.published.rates import with_studies
from model.published.system import Studied


def studied(rows):
    conditions = {**fit(rows, {}), "adjustments": {name: to_plain(one) for name, one in read_adjustments().items()}}
    return Studied({"conditions": conditions, "systems": {}, "model_version": "1"}, "one")


@pytest.fixture(scope="module")
def system():
    rows = [
        Observation("one", "cpu_busy_pct", {"release": r}, busy, "pct", "runs")
        for r, busy in (("V1", 50.0), ("V2", 51.0))
    ]
    rows += [Observation("one", "csa_kb", {"release": r}, 700.0, "KB", "runs") for r in ("V1", "V2")]
    return studied(rows)


def test_an_adjustment_changes_what_it_is_about_and_says_so(system):
    plain = {o.metric: o for o in by_condition(system, {"release": "V1"}).outputs}
    answer = by_condition(system, {"release": "V1", "adjust.encryption": "on"})
    changed = {o.metric: o for o in answer.outputs}
    assert plain["cpu_busy_pct"].condition == "release=V1"
    assert 1.03 < changed["cpu_busy_pct"].value / plain["cpu_busy_pct"].value < 1.17
    assert changed["csa_kb"] == plain["csa_kb"]
    assert any("encrypt" in note for note in answer.notes)
    answer = by_condition(system, {"release": "V1", "adjust.flashcopy": "on"})
    assert "adjust.flashcopy: says nothing of the figures that are known here, so nothing changes" in answer.notes
    assert answer.outputs == tuple(plain.values())


def test_engines_are_never_busier_than_full():
    rows = [
        Observation("one", "cpu_busy_pct", {"release": r}, busy, "pct", "runs")
        for r, busy in (("V1", 98.0), ("V2", 98.5))
    ]
    answer = by_condition(studied(rows), {"release": "V1", "adjust.encryption": "on"})
    assert [(output.value, output.hi) for output in answer.outputs] == [(100.0, 100.0)]
    assert any("too few" in note for note in answer.notes)


def test_every_figure_says_what_it_rests_on(system):
    answer = by_condition(system, {"release": "V2"})
    assert [entry["basis"] for entry in answer.evidence["figures"]] == ["measured", "measured"]
    assert not answer.extrapolated


def by_network(*outputs):
    return Answer("one", {}, "1", outputs, Bottleneck("CP", None, None, None, 1.0), False, (), {})


def test_figures_beside_those_of_a_network_leave_out_the_rates_of_measured_points():
    rows = [Observation("one", "etr_tps", {"point": str(n)}, 100.0 * n, "tran/s", "report", "study") for n in (1, 2, 3)]
    rows.append(Observation("one", "csa_kb", {}, 12.0, "KB", "report", "study"))
    answer = with_studies(studied(rows), {}, by_network())
    assert [one.metric for one in answer.outputs] == ["csa_kb"]
    assert answer.notes == ()
    assert [(one["metric"], one["measured"]) for one in answer.evidence["figures"]] == [("csa_kb", 12.0)]
    again = with_studies(studied(rows), {}, by_network(*answer.outputs))
    assert (again.outputs, again.evidence["figures"]) == (answer.outputs, [])


def test_work_beside_a_network_goes_with_all_its_transactions_not_with_those_of_a_class():
    rows = [
        Observation("one", "etr_tps", {}, 100.0, "tran/s", "report", "study"),
        Observation("one", "tasks", {}, 50.0, "1/s", "report", "study"),
    ]
    rates = {"": 120.0, "class=HIGH": 80.0, "class=LOW": 40.0}
    network = by_network(*(Output("etr_tps", of, rate, rate, rate, "tran/s") for of, rate in rates.items()))
    answer = with_studies(studied(rows), {"growth_pct": 20}, network)
    [evidence] = answer.evidence["figures"]
    assert "measured" not in evidence
    assert (answer.outputs[-1].metric, answer.outputs[-1].value) == ("tasks", pytest.approx(60.0))
