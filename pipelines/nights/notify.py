"""Messages about nights: grouped into one, kept back in quiet hours, sent by Apprise to the configured addresses."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from pipelines.settings import Notify
from state.catalogue import OUTBOX

SEVERITIES = ("failure", "warning", "news")
_TYPES = {"failure": "failure", "warning": "warning", "news": "info"}
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
    if not rules.to:
        return []
    waiting, wrong = put_down(events, rules, outbox), []
    for name, service in _services(rules).items():
        due = waiting[name]
        quiet = rules.quiet is not None and within(now.time(), rules.quiet)
        if not due or (quiet and due[0].severity != "failure"):
            continue
        if problem := _deliver(service, due, rules):
            wrong.append(f"{name}: message not sent: {problem}")
        else:
            waiting[name] = []
            _keep(outbox, waiting)
    return wrong


def unusable(rules: Notify) -> list[str]:
    """The addresses that stand for no service that messages can be sent to, each with what to do."""
    return [f"{name}: {_NO_SERVICE}" for name, service in _services(rules).items() if service is None]


def put_down(events: Sequence[Event], rules: Notify, outbox: Path) -> dict[str, list[Event]]:
    """Keep events until they are sent, whatever becomes of the process; all that wait, by address, the worst first."""
    if not rules.to:
        return {}
    kept = {name: _kept(outbox, name) for name in _services(rules)}
    waiting = {
        name: sorted(_latest([*before, *events]), key=lambda event: SEVERITIES.index(event.severity))
        for name, before in kept.items()
    }
    if waiting != kept:
        _keep(outbox, waiting)
    return waiting


def _latest(events: Sequence[Event]) -> list[Event]:
    """Events without repetition: one that several nights report is sent once, with the page of the latest."""
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


_NO_SERVICE = "is not an address that Apprise supports; https://appriseit.com/services/ lists them"


def _services(rules: Notify) -> dict[str, Any]:
    """The services of the addresses, by address without secrets; None for one that stands for no service."""
    from apprise import Apprise

    services: dict[str, Any] = {}
    for number, address in enumerate(rules.to, start=1):
        service = Apprise.instantiate(address.get_secret_value(), suppress_exceptions=True)
        name = service.url(privacy=True) if service else f"notify.to, address {number}"
        services[name if name not in services else f"{name} ({number})"] = service
    return services


def _deliver(service: Any, events: Sequence[Event], rules: Notify) -> str:
    """Send one message; what went wrong, empty where nothing did."""
    if service is None:
        return _NO_SERVICE
    with _problems() as problems:
        sent = service.notify(
            title=subject(events), body=body(events, rules), notify_type=_TYPES[events[0].severity], body_format="text"
        )
    return "" if sent else "; ".join(problems) or "the service refused it"


@contextmanager
def _problems() -> Iterator[list[str]]:
    """Lines that Apprise logs about a message that could not be sent."""
    import logging

    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(" ".join(record.getMessage().split()))

    handler, log = Lines(logging.WARNING), logging.getLogger("apprise")
    log.addHandler(handler)
    try:
        yield lines
    finally:
        log.removeHandler(handler)


def _kept(outbox: Path, address: str) -> list[Event]:
    """Events that wait to be sent to an address."""
    return [Event(**entry) for entry in OUTBOX.read_or(outbox, {}).get(address, ())]


def _keep(outbox: Path, waiting: Mapping[str, Sequence[Event]]) -> None:
    OUTBOX.write(outbox, {name: [asdict(event) for event in due] for name, due in waiting.items()})
