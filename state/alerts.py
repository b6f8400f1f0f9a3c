"""Alerts: what nights found that somebody has to look at, each with its state, in one file of the state folder."""

import fcntl
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from state.catalogue import ALERTS
from state.files import make_folder

OPEN, ACKNOWLEDGED, CLOSED = "open", "acknowledged", "closed"
STATES = (OPEN, ACKNOWLEDGED, CLOSED)
_FILE = Path("nights", "alerts.json")
_MOST_CLOSED = 500
"""Closed alerts are kept up to this number, the latest."""


class AlertError(ValueError):
    """A change of an alert that is not possible; the message says what is allowed."""

    #: That of the command line for a question that cannot be answered.
    exit_code = 6


@dataclass(frozen=True)
class Alert:
    """Something that nights found, under one cause.

    Attributes
    ----------
    name : str
        Its cause, the same on every night, such as ``busy of CPC 12345``.
    rule : str
        The rule that raised it; ``night`` for what the night itself found.
    severity : str
        ``failure``, ``warning`` or ``news``.
    text : str
        What was found, in one line.
    details : tuple of str
        What belongs to the same cause, a line each.
    page : str
        A page about it, as a path in the state folder.
    state : str
        ``open``, ``acknowledged`` or ``closed``.
    opened, seen, changed : str
        When it was opened, last found, and last changed its state (UTC).
    note, by : str
        What is known of it, and who said so.
    """

    name: str
    rule: str
    severity: str
    text: str
    details: tuple[str, ...] = ()
    page: str = ""
    state: str = OPEN
    opened: str = ""
    seen: str = ""
    changed: str = ""
    note: str = ""
    by: str = ""

    @property
    def id(self) -> str:
        """A short name for commands and addresses, the same for the same cause."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:8]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the identifier."""
        return {"id": self.id, **asdict(self), "details": list(self.details)}


def read(root: Path) -> list[Alert]:
    """The alerts of a state folder, the latest first; none of a damaged file, which is set aside."""
    return ALERTS.read_or(root / _FILE, [], _parsed)


def peek(root: Path) -> list[Alert]:
    """The alerts of a state folder, whose file is only read. Raises StateDamaged, OSError."""
    return ALERTS.read(root / _FILE, _parsed) or []


def record(
    root: Path, alerts: Sequence[Alert], now: str, is_over: Callable[[Alert], bool], *, keep: int = _MOST_CLOSED
) -> list[Alert]:
    """Record the alerts of a night, and return all alerts.

    An alert that is found again keeps its state and note; one that was closed is opened anew. One that is not found is
    closed if it is over.

    Parameters
    ----------
    alerts
        the alerts of the night, one per cause.
    now
        the time of the night, UTC.
    is_over
        whether the night looked for the cause of an alert, so that it is over if it was not found.
    """
    with _changing(root) as before:
        earlier = {alert.name: alert for alert in before}
        after = {alert.name: _again(earlier.get(alert.name), alert, now) for alert in alerts}
        for alert in before:
            if alert.name not in after:
                over = alert.state != CLOSED and is_over(alert)
                after[alert.name] = replace(alert, state=CLOSED, changed=now) if over else alert
        ordered = sorted(after.values(), key=lambda alert: alert.seen, reverse=True)
        closed = [alert for alert in ordered if alert.state == CLOSED][keep:]
        before[:] = [alert for alert in ordered if alert not in closed]
        return list(before)


def change(root: Path, words: str, state: str, now: str, note: str = "", by: str = "") -> list[Alert]:
    """Change the state of the alerts with an identifier, or whose cause or text contains these words; those changed.

    Raises AlertError where there is none, or the state is not known.
    """
    if state not in STATES:
        raise AlertError(f"state: unknown state {state!r}; allowed: {', '.join(STATES)}")
    with _changing(root) as alerts:
        changed = []
        for number, alert in enumerate(alerts):
            text = f"{alert.name} {alert.text}".casefold()
            if alert.id == words or (alert.state != CLOSED and words and words.casefold() in text):
                alerts[number] = replace(alert, state=state, note=note, by=by, changed=now)
                changed.append(alerts[number])
        if not changed:
            open_alerts = "; ".join(f"{alert.id} {alert.text}" for alert in alerts if alert.state != CLOSED) or "none"
            raise AlertError(f"no alert has the identifier {words!r} or contains these words; there are: {open_alerts}")
        return changed


def notes(root: Path) -> dict[str, str]:
    """Notes of acknowledged alerts, by cause."""
    return {alert.name: alert.note for alert in read(root) if alert.state == ACKNOWLEDGED}


def _again(before: Alert | None, alert: Alert, now: str) -> Alert:
    if before is None or before.state == CLOSED:
        return replace(alert, state=OPEN, opened=now, seen=now, changed=now)
    kept = {key: getattr(before, key) for key in ("state", "opened", "changed", "note", "by")}
    return replace(alert, seen=now, **kept)


def _parsed(content: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Alert]:
    made = []
    for entry in content["alerts"]:
        fields = {key: value for key, value in entry.items() if key != "id"}
        alert = Alert(**{**fields, "details": tuple(entry["details"])})
        if alert.state not in STATES:
            raise ValueError(f"state {alert.state!r}")
        made.append(alert)
    return made


@contextmanager
def _changing(root: Path) -> Iterator[list[Alert]]:
    """The alerts, written again at the end if they differ; one process at a time."""
    path = root / _FILE
    make_folder(path.parent)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        alerts = read(root)
        before = list(alerts)
        yield alerts
        if alerts != before:
            ALERTS.write(path, {"alerts": [alert.to_dict() for alert in alerts]})
