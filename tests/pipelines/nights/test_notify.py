"""Who is told of a night, and when."""

import datetime as dt
import json
from dataclasses import replace
from email import message_from_string
from email.policy import default

import pytest

from pipelines.nights import notify
from pipelines.nights.notify import Event
from pipelines.settings import Notify
from tests.pipelines.nights.receivers import MailServer, Webhook, serving

NOON = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)


EVENTS = [
    Event("warning", "PRDB: nothing of 2026-11-20", "nights/x.html"),
    Event("failure", "disk full", "nights/x.html"),
]


def hook_at(port):
    return f"json://127.0.0.1:{port}/x"


def mail_at(port):
    return f"mailto://127.0.0.1:{port}?from=etalon@host.example&to=ops@host.example&mode=insecure"


def waiting(folder):
    return [len(events) for events in json.loads((folder / "outbox.json").read_text()).values()]


def test_events_of_a_night_are_one_message_to_webhook_and_mail_with_links(tmp_path):
    with serving(Webhook) as hook, serving(MailServer) as mail:
        rules = Notify(to=[hook_at(hook), mail_at(mail)], link="http://etalon.host/")
        failed = Event("failure", "dbt could not build the marts:\nno such\r\n  column" + 500 * " x", "nights/x.html")
        assert notify.send([EVENTS[0], failed], rules, tmp_path / "outbox.json", NOON) == []
    (message,) = Webhook.received
    assert message["title"].startswith("Etalon: dbt could not build the marts: no such column x x")
    assert message["title"].endswith("(and 1 more)")
    assert message["type"] == "failure"
    assert message["message"].count("http://etalon.host/nights/x.html") == 2
    (letter,) = MailServer.received
    parsed = message_from_string(letter, policy=default)
    assert parsed["subject"].startswith("Etalon: dbt could not build the marts")
    assert "http://etalon.host/nights/x.html" in parsed.get_content()
    assert waiting(tmp_path) == [0, 0]


def test_in_quiet_hours_only_failures_wake_anyone_and_the_rest_comes_later(tmp_path):
    night = NOON.replace(hour=3)
    with serving(Webhook) as hook:
        rules = Notify(to=[hook_at(hook)], quiet=(dt.time(22), dt.time(6)))
        outbox = tmp_path / "outbox.json"
        assert notify.send(EVENTS[:1], rules, outbox, night) == []
        assert Webhook.received == []
        notify.send([], rules, outbox, NOON)
        assert "PRDB" in Webhook.received[0]["message"]
        notify.send(EVENTS, rules, outbox, night)
        assert len(Webhook.received) == 2


def test_what_could_not_be_sent_waits_and_the_address_is_shown_without_its_password(tmp_path):
    rules = Notify(to=["json://user:secret@127.0.0.1:9/x"])
    (wrong,) = notify.send(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert "message not sent" in wrong
    again = [replace(event, page=f"later-{event.page}") for event in EVENTS]
    notify.send(again, rules, tmp_path / "outbox.json", NOON)
    assert waiting(tmp_path) == [2]
    kept = (tmp_path / "outbox.json").read_text()
    assert "later-" in kept
    assert "secret" not in kept + wrong


def test_what_reached_one_address_is_sent_again_only_to_the_other(tmp_path):
    outbox = tmp_path / "outbox.json"
    with serving(MailServer) as port:
        closed = port
    with serving(Webhook) as hook:
        rules = Notify(to=[hook_at(hook), mail_at(closed)])
        (wrong,) = notify.send(EVENTS, rules, outbox, NOON)
        assert wrong.startswith("mailto://")
        assert waiting(tmp_path) == [0, 2]
        notify.send([], rules, outbox, NOON)
    assert len(Webhook.received) == 1
    assert waiting(tmp_path) == [0, 2]


def test_an_address_that_answers_no_http_is_told_and_fails_no_night(tmp_path):
    with serving(MailServer) as port:
        (wrong,) = notify.send(EVENTS, Notify(to=[hook_at(port)]), tmp_path / "outbox.json", NOON)
    assert "message not sent" in wrong
    assert waiting(tmp_path) == [2]


@pytest.mark.parametrize("address", ["nothing", "nosuchservice://x", "json://"])
def test_an_address_of_no_service_is_named_by_the_doctor_and_fails_no_night(tmp_path, address):
    rules = Notify(to=[address])
    (problem,) = notify.unusable(rules)
    assert "is not an address that Apprise supports" in problem
    (wrong,) = notify.send(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert "message not sent" in wrong
