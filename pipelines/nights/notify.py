"""Messages about nights: grouped into one, kept back in quiet hours, sent to a webhook and by e-mail."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.settings import Mail, Notify

SEVERITIES = ("failure", "warning", "news")
_TIMEOUT_S = 20


@dataclass(frozen=True)
class Event:
    """Something to report: how bad, in one line, with a page about it (a path in the state folder)."""

    severity: str
    text: str
    page: str = ""


def send(events: Sequence[Event], rules: Notify, outbox: Path, now: dt.datetime) -> list[str]:
    """Send events, and those kept back before, as one message to every address set; what went wrong, in words.

    In quiet hours only a message with a failure goes out. What could not be sent waits in `outbox` for the next time.
    """
    due = put_down(events, rules, outbox)
    if not due:
        return []
    if rules.quiet is not None and within(now.time(), rules.quiet) and due[0].severity != "failure":
        return []
    from http.client import HTTPException

    wrong = []
    for name, deliver in (("webhook", _post), ("e-mail", _mail)):
        try:
            deliver(due, rules)
        except (OSError, ValueError, HTTPException) as error:
            wrong.append(f"the {name} could not be sent: {type(error).__name__}: {error}")
    if not wrong:
        _keep(outbox, [])
    return wrong


def put_down(events: Sequence[Event], rules: Notify, outbox: Path) -> list[Event]:
    """Keep events until they are sent, whatever becomes of the process; all that wait, the worst first.

    None where no address is set.
    """
    if rules.webhook is None and rules.mail is None:
        return []
    waiting = [Event(**entry) for entry in _kept(outbox)]
    fresh = [event for event in events if event not in waiting]
    due = sorted([*waiting, *fresh], key=lambda event: SEVERITIES.index(event.severity))
    if fresh:
        _keep(outbox, due)
    return due


def within(now: dt.time, hours: tuple[dt.time, dt.time]) -> bool:
    """Whether a time lies in hours that may go over midnight."""
    first, last = hours
    return first <= now < last if first <= last else now >= first or now < last


def subject(events: Sequence[Event]) -> str:
    """One line for all: the first, and how many more."""
    more = len(events) - 1
    return f"Etalon: {events[0].text}" + (f" (and {more} more)" if more else "")


def body(events: Sequence[Event], rules: Notify) -> str:
    """All of them, each with its link."""
    return "\n\n".join(
        f"{event.severity}: {event.text}" + (f"\n{link}" if (link := _link(event, rules)) else "") for event in events
    )


def _link(event: Event, rules: Notify) -> str:
    return f"{rules.link.rstrip('/')}/{event.page}" if rules.link and event.page else ""


def _post(events: Sequence[Event], rules: Notify) -> None:
    import urllib.request

    if rules.webhook is None:
        return
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
    from email.message import EmailMessage

    if rules.mail is None:
        return
    where: Mail = rules.mail
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject(events), where.sender, ", ".join(where.to)
    message.set_content(body(events, rules))
    with smtplib.SMTP(where.host, where.port, timeout=_TIMEOUT_S) as server:
        if where.starttls:
            server.starttls()
        if where.user is not None and where.password is not None:
            server.login(where.user, where.password.get_secret_value())
        server.send_message(message)


def _kept(outbox: Path) -> list[dict[str, str]]:
    try:
        return list(json.loads(outbox.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return []


def _keep(outbox: Path, events: Sequence[Event]) -> None:
    from pipelines.nights.files import write

    write(outbox, json.dumps([asdict(event) for event in events], indent=1))
