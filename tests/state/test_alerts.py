"""Alerts in their file: what a night found keeps its state, what is gone is closed, and people change the rest."""

import threading

import pytest

from state import alerts
from state.alerts import Alert, AlertError

FIRST, LATER, LAST = "2026-11-20T01:00:00Z", "2026-11-21T01:00:00Z", "2026-11-22T01:00:00Z"


def found(name, **more):
    return Alert(name, "cpu-busy", "warning", f"{name}: CPU busy above 95 %", **more)


def always(_):
    return True


def states(root):
    return {alert.name: alert.state for alert in alerts.read(root)}


def test_an_alert_is_opened_acknowledged_closed_and_opened_anew(tmp_path):
    alerts.record(tmp_path, [found("PRDA"), found("PRDB")], FIRST, always)
    [changed] = alerts.change(tmp_path, "prda", "acknowledged", LATER, "known", "ops")
    assert (changed.state, changed.note, changed.by, changed.opened) == ("acknowledged", "known", "ops", FIRST)
    alerts.record(tmp_path, [found("PRDA", details=("PRDA ALPHA",))], LATER, always)
    assert states(tmp_path) == {"PRDA": "acknowledged", "PRDB": "closed"}
    [kept] = [alert for alert in alerts.read(tmp_path) if alert.name == "PRDA"]
    assert (kept.note, kept.details, kept.seen, kept.opened) == ("known", ("PRDA ALPHA",), LATER, FIRST)
    assert alerts.notes(tmp_path) == {"PRDA": "known"}
    alerts.record(tmp_path, [found("PRDB")], LAST, always)
    assert states(tmp_path) == {"PRDA": "closed", "PRDB": "open"}
    assert next(alert for alert in alerts.read(tmp_path) if alert.name == "PRDB").opened == LAST


def test_what_a_night_did_not_look_for_stays_open(tmp_path):
    alerts.record(tmp_path, [found("PRDA")], FIRST, always)
    alerts.record(tmp_path, [], LATER, lambda alert: alert.rule != "cpu-busy")
    assert states(tmp_path) == {"PRDA": "open"}


def test_only_the_latest_closed_alerts_are_kept(tmp_path):
    alerts.record(tmp_path, [found(f"LPAR{number}") for number in range(5)], FIRST, always)
    alerts.record(tmp_path, [found("LPAR0")], LATER, always, keep=2)
    assert sorted(states(tmp_path).values()) == ["closed", "closed", "open"]


def test_an_alert_is_named_by_its_identifier_or_words(tmp_path):
    [one, _] = alerts.record(tmp_path, [found("PRDA"), found("PRDB")], FIRST, always)
    assert [alert.name for alert in alerts.change(tmp_path, one.id, "closed", LATER)] == [one.name]
    assert alerts.change(tmp_path, one.id, "open", LATER)[0].state == "open"
    with pytest.raises(AlertError, match="PRDB: CPU busy"):
        alerts.change(tmp_path, "PRDC", "acknowledged", LATER)
    with pytest.raises(AlertError, match="no alert"):
        alerts.change(tmp_path, "", "acknowledged", LATER)
    with pytest.raises(AlertError, match="allowed: open, acknowledged, closed"):
        alerts.change(tmp_path, one.id, "gone", LATER)


def test_changes_of_several_at_the_same_time_are_all_kept(tmp_path):
    names = [f"LPAR{number:02}" for number in range(12)]
    alerts.record(tmp_path, [found(name) for name in names], FIRST, always)
    threads = [
        threading.Thread(target=alerts.change, args=(tmp_path, name, "acknowledged", LATER, name)) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alerts.notes(tmp_path) == {name: name for name in names}
