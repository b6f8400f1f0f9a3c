"""Messages about nights: grouped into one, kept back in quiet hours, sent to a webhook and by e-mail."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from pipelines.settings import Mail, Notify
from state.catalogue import OUTBOX

SEVERITIES = ("failure", "warning", "news")
_TIMEOUT_S = 20
_LONGEST_SUBJECT = 200


@dataclass(frozen=True)
class Event:
    """Something to report: how bad, in one line, with a page about it (a path in the state folder)."""

    severity: str
    text: str
    page: str = ""


def send(events: Sequence[Event], rules: Notify, outbox: Path, now: dt.datetime) -> list[str]:
    """Send events, and those kept back before, as one message to every address set; what went wrong, in words.

    In quiet hours only a message with a failure goes out. What could not be sent to an address waits in `outbox`.
    """
    from http.client import HTTPException

    waiting, wrong = put_down(events, rules, outbox), []
    for name, due in waiting.items():
        quiet = rules.quiet is not None and within(now.time(), rules.quiet)
        if not due or (quiet and due[0].severity != "failure"):
            continue
        try:
            _DELIVER[name](due, rules)
        except (OSError, ValueError, HTTPException) as error:
            wrong.append(f"the {name} could not be sent: {type(error).__name__}: {error}")
        else:
            waiting[name] = []
            _keep(outbox, waiting)
    return wrong


def put_down(events: Sequence[Event], rules: Notify, outbox: Path) -> dict[str, list[Event]]:
    """Keep events until they are sent, whatever becomes of the process; all that wait, by address, the worst first."""
    addresses = {"webhook": rules.webhook, "e-mail": rules.mail}
    kept = {name: _kept(outbox, name) for name, address in addresses.items() if address is not None}
    waiting = {
        name: sorted(_latest([*before, *events]), key=lambda event: SEVERITIES.index(event.severity))
        for name, before in kept.items()
    }
    if waiting != kept:
        _keep(outbox, waiting)
    return waiting


def _latest(events: Sequence[Event]) -> list[Event]:
    """What several nights have to tell is sent once, with the page of the latest."""
    return list({(event.severity, event.text): event for event in events}.values())


def within(now: dt.time, hours: tuple[dt.time, dt.time]) -> bool:
    """Whether a time lies in hours that may go over midnight."""
    first, last = hours
    return first <= now < last if first <= last else now >= first or now < last


def subject(events: Sequence[Event]) -> str:
    """One line for all: the first, which may be of several lines, and how many more."""
    more = len(events) - 1
    first = shorten(events[0].text, _LONGEST_SUBJECT, placeholder=" …")
    return f"Etalon: {first}" + (f" (and {more} more)" if more else "")


def body(events: Sequence[Event], rules: Notify) -> str:
    """All of them, each with its link."""
    return "\n\n".join(
        f"{event.severity}: {event.text}" + (f"\n{link}" if (link := _link(event, rules)) else "") for event in events
    )


def _link(event: Event, rules: Notify) -> str:
    return f"{rules.link.rstrip('/')}/{event.page}" if rules.link and event.page else ""


def _post(events: Sequence[Event], rules: Notify) -> None:
    import urllib.request

    assert rules.webhook is not None
    payload: Mapping[str, Any] = {
        "text": f"{subject(events)}\n\n{body(events, rules)}",
        "events": [asdict(event) | {"link": _link(event, rules)} for event in events],
    }
    request = urllib.request.Request(
        rules.webhook, json.dumps(payload).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
        pass


def _mail(events: Sequence[Event], rules: Notify) -> None:
    import smtplib
    import ssl
    from email.message import EmailMessage

    assert rules.mail is not None
    where: Mail = rules.mail
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject(events), where.sender, ", ".join(where.to)
    message.set_content(body(events, rules))
    with smtplib.SMTP(where.host, where.port, timeout=_TIMEOUT_S) as server:
        if where.starttls:
            server.starttls(context=ssl.create_default_context())
        if where.user is not None and where.password is not None:
            server.login(where.user, where.password.get_secret_value())
        server.send_message(message)


_DELIVER = {"webhook": _post, "e-mail": _mail}


def _kept(outbox: Path, address: str) -> list[Event]:
    """What waits for an address."""
    return [Event(**entry) for entry in OUTBOX.read_or(outbox, {}).get(address, ())]


def _keep(outbox: Path, waiting: Mapping[str, Sequence[Event]]) -> None:
    OUTBOX.write(outbox, {name: [asdict(event) for event in due] for name, due in waiting.items()})
