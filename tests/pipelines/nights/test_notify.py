"""Who is told of a night, and when."""

import datetime as dt
import json
from dataclasses import replace

from pipelines.nights import notify
from pipelines.nights.notify import Event
from pipelines.settings import Mail, Notify
from tests.pipelines.nights.receivers import MailServer, Webhook, serving

NOON = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)


EVENTS = [
    Event("warning", "PRDB: nothing of 2026-11-20", "nights/x.html"),
    Event("failure", "disk full", "nights/x.html"),
]


def waiting(folder):
    return {name: len(events) for name, events in json.loads((folder / "outbox.json").read_text()).items()}


def test_events_of_a_night_are_one_message_to_webhook_and_mail_with_links(tmp_path):
    with serving(Webhook) as hook, serving(MailServer) as mail:
        rules = Notify(
            webhook=f"http://127.0.0.1:{hook}/x",
            mail=Mail(host="127.0.0.1", port=mail, sender="etalon@host", to=["ops@host"]),
            link="http://etalon.host/",
        )
        failed = Event("failure", "dbt could not build the marts:\nno such\r\n  column" + 500 * " x", "nights/x.html")
        assert notify.send([EVENTS[0], failed], rules, tmp_path / "outbox.json", NOON) == []
    (message,) = Webhook.received
    assert message["text"].startswith("Etalon: dbt could not build the marts: no such column x x")
    assert {event["link"] for event in message["events"]} == {"http://etalon.host/nights/x.html"}
    (letter,) = MailServer.received
    assert "Subject: Etalon: dbt could not build the marts: no such column x" in letter and "more)" in letter
    assert "http://etalon.host/nights/x.html" in letter
    assert waiting(tmp_path) == {"webhook": 0, "e-mail": 0}


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
    again = [replace(event, page=f"later-{event.page}") for event in EVENTS]
    notify.send(again, rules, tmp_path / "outbox.json", NOON)
    assert waiting(tmp_path) == {"webhook": 2}
    assert "later-" in (tmp_path / "outbox.json").read_text()


def test_what_reached_one_address_is_sent_again_only_to_the_other(tmp_path):
    outbox = tmp_path / "outbox.json"
    with serving(Webhook) as hook, serving(MailServer) as port:
        mail = Mail(host="127.0.0.1", port=port, sender="etalon@host", to=["ops@host"])
        broken = mail.model_copy(update={"port": 9})
        rules = Notify(webhook=f"http://127.0.0.1:{hook}/x", mail=mail)
        (wrong,) = notify.send(EVENTS, rules.model_copy(update={"mail": broken}), outbox, NOON)
        assert wrong.startswith("the e-mail could not be sent")
        assert waiting(tmp_path) == {"webhook": 0, "e-mail": 2}
        assert notify.send([], rules, outbox, NOON) == []
    assert (len(Webhook.received), len(MailServer.received)) == (1, 1)
    assert waiting(tmp_path) == {"webhook": 0, "e-mail": 0}


def test_an_address_that_answers_no_http_is_told_and_fails_no_night(tmp_path):
    with serving(MailServer) as port:
        rules = Notify(webhook=f"http://127.0.0.1:{port}/x")
        (wrong,) = notify.send(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert wrong.startswith("the webhook could not be sent: BadStatusLine")
    assert waiting(tmp_path) == {"webhook": 2}
