"""Who is told of a night, and when."""

import datetime as dt
import json

from pipelines.nights import notify
from pipelines.nights.notify import Event
from pipelines.settings import Mail, Notify
from tests.pipelines.nights.receivers import MailServer, Webhook, serving

NOON = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)


EVENTS = [
    Event("warning", "PRDB: nothing of 2026-11-20", "nights/x.html"),
    Event("failure", "disk full", "nights/x.html"),
]


def test_events_of_a_night_are_one_message_to_webhook_and_mail_with_links(tmp_path):
    with serving(Webhook) as hook, serving(MailServer) as mail:
        rules = Notify(
            webhook=f"http://127.0.0.1:{hook}/x",
            mail=Mail(host="127.0.0.1", port=mail, sender="etalon@host", to=["ops@host"]),
            link="http://etalon.host/",
        )
        assert notify.send(EVENTS, rules, tmp_path / "outbox.json", NOON) == []
    (message,) = Webhook.received
    assert message["text"].startswith("Etalon: disk full (and 1 more)")
    assert {event["link"] for event in message["events"]} == {"http://etalon.host/nights/x.html"}
    (letter,) = MailServer.received
    assert "Subject: Etalon: disk full (and 1 more)" in letter
    assert "http://etalon.host/nights/x.html" in letter
    assert json.loads((tmp_path / "outbox.json").read_text()) == []


def test_in_quiet_hours_only_failures_wake_anyone_and_the_rest_comes_later(tmp_path):
    night = NOON.replace(hour=3)
    with serving(Webhook) as hook:
        rules = Notify(webhook=f"http://127.0.0.1:{hook}/x", quiet=(dt.time(22), dt.time(6)))
        outbox = tmp_path / "outbox.json"
        assert notify.send(EVENTS[:1], rules, outbox, night) == []
        assert Webhook.received == []
        notify.send([], rules, outbox, NOON)
        assert "PRDB" in Webhook.received[0]["text"]
        notify.send(EVENTS, rules, outbox, night)
        assert len(Webhook.received) == 2


def test_what_could_not_be_sent_waits(tmp_path):
    rules = Notify(webhook="http://127.0.0.1:9/x")
    (wrong,) = notify.send(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert wrong.startswith("the webhook could not be sent")
    assert len(json.loads((tmp_path / "outbox.json").read_text())) == 2


def test_an_address_that_answers_no_http_is_told_and_fails_no_night(tmp_path):
    with serving(MailServer) as port:
        rules = Notify(webhook=f"http://127.0.0.1:{port}/x")
        (wrong,) = notify.send(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert wrong.startswith("the webhook could not be sent: BadStatusLine")
    assert len(json.loads((tmp_path / "outbox.json").read_text())) == 2
