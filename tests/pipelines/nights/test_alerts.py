"""Alerts of nights: opened, acknowledged with a note, sent no more, closed when their cause is gone."""

import pytest

import state.alerts
from pipelines.nights import coverage, run
from pipelines.nights.coverage import Lack
from tests.pipelines.nights.conftest import DAY

NOW = "2026-11-21T08:00:00Z"


def acknowledge(home, words, note):
    return [alert.text for alert in state.alerts.change(home.root, words, "acknowledged", NOW, note)]


def test_a_note_shows_with_its_finding_from_then_on(made_up, monkeypatch):
    home, _ = made_up
    lost = [Lack("PRDA", "70.1", "PRDA: no SMF 70.1 of 2026-11-20"), Lack("PRDB", "system", "PRDB: nothing")]
    monkeypatch.setattr(coverage, "lacks", lambda *_: lost)
    first = run.run(home, DAY)
    assert first.verdict.endswith("2 things missing")
    with pytest.raises(state.alerts.AlertError, match="PRDB: nothing"):
        acknowledge(home, "PRDC", "known")
    assert acknowledge(home, "prda", "RMF is off until Monday") == ["PRDA: no SMF 70.1 of 2026-11-20"]
    night = run.run(home, DAY)
    assert night.verdict.endswith("1 thing missing; 1 acknowledged")
    assert [event.text for event in night.events] == ["PRDB: nothing"]
    page = max(home.nights.glob("20*.html"))
    assert "RMF is off until Monday" in page.read_text()
    state.alerts.change(home.root, "PRDA", "open", NOW)
    assert state.alerts.notes(home.root) == {}


def test_a_note_goes_with_its_finding_and_one_that_comes_again_is_told(made_up, monkeypatch):
    home, _ = made_up
    lost = [Lack("PRDA", "70.1", "PRDA: no SMF 70.1 of 2026-11-20")]
    monkeypatch.setattr(coverage, "lacks", lambda *_: lost)
    run.run(home, DAY)
    acknowledge(home, "prda", "RMF is off")
    monkeypatch.setattr(coverage, "lacks", lambda *_: [])
    run.run(home, DAY)
    assert state.alerts.notes(home.root), "a night that had nothing to build has not looked at everything"
    with (home.landing / "a.runs.csv").open("a") as stream:
        stream.write("cics,SYSA,q,rate=2,2020-01-01T00:05:00Z,2020-01-01T00:10:00Z\n")
    assert run.run(home, DAY).published
    assert not state.alerts.notes(home.root)
    monkeypatch.setattr(coverage, "lacks", lambda *_: lost)
    assert [event.text for event in run.run(home, DAY).events] == [lost[0].text]


def test_what_was_missing_is_looked_for_again_until_it_is_acknowledged(made_up, monkeypatch):
    home, _ = made_up
    lost = [Lack("PRDA", "70.1", "PRDA: no SMF 70.1 of 2026-11-20", ("2026-11-20",))]
    asked = []

    def lacks(snapshot, day, rules, before=()):
        asked.append([lack.text for lack in before])
        return lost

    monkeypatch.setattr(coverage, "lacks", lacks)
    run.run(home, DAY)
    run.run(home, DAY)
    acknowledge(home, "prda", "RMF is off")
    run.run(home, DAY)
    assert asked == [[], [lost[0].text], []]
