"""Questions that people saved under a name, and what they were answered on every night, in one file."""

import fcntl
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from state.catalogue import SAVED
from state.files import make_folder

NAME = re.compile(r"[A-Za-z0-9#$@][A-Za-z0-9#$@ ._-]{0,63}")
KINDS = ("predict", "size", "max-rate", "headroom", "compare")
"""Kinds of questions that can be saved."""
MOST = 200
"""Questions that are kept."""
_MOST_ANSWERS = 400
_FILE = Path("saved.json")


class SavedError(ValueError):
    """A saved question that there is not, or a name that cannot be used; the message says what is allowed."""

    #: That of the command line for a question that cannot be answered.
    exit_code = 6


@dataclass(frozen=True)
class SavedAnswer:
    """The answer to a saved question on a night: figures by name, or why it was refused."""

    at: str
    model_version: str
    figures: Mapping[str, float | str | None]
    refused: str = ""


@dataclass(frozen=True)
class SavedQuestion:
    """A question with a name: kind (``predict``), body as the service takes it, and answers, the latest last."""

    name: str
    kind: str
    question: Mapping[str, Any]
    saved: str
    by: str = ""
    answers: tuple[SavedAnswer, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "answers": [asdict(answer) for answer in self.answers]}


def read(root: Path) -> dict[str, SavedQuestion]:
    """The saved questions of a state folder by name; none of a damaged file, which is set aside."""
    return SAVED.read_or(root / _FILE, {}, _parsed)


def peek(root: Path) -> dict[str, SavedQuestion]:
    """The saved questions of a state folder, whose file is only read. Raises StateDamaged, OSError."""
    return SAVED.read(root / _FILE, _parsed) or {}


def question(saved: Mapping[str, SavedQuestion], name: str) -> SavedQuestion:
    """The question of that name. Raises SavedError naming those there are."""
    if name not in saved:
        raise SavedError(f"no saved question {name!r}; there are: {', '.join(saved) or 'none'}")
    return saved[name]


def save(root: Path, one: SavedQuestion) -> SavedQuestion:
    """Save a question in the place of one of its name; the answers stay if the question is the same.

    Raises SavedError for a name that cannot be used, and for more questions than are kept.
    """
    if not NAME.fullmatch(one.name):
        raise SavedError(f"name: {one.name!r}: takes letters, digits, #, $, @, and inside it spaces, ., _ and - (64)")
    with _changing(root) as saved:
        before = saved.get(one.name)
        if before is None and len(saved) >= MOST:
            raise SavedError(f"{MOST} questions are saved already; remove one with `etalon saved remove NAME`")
        if before and (before.kind, dict(before.question)) == (one.kind, dict(one.question)):
            one = replace(one, answers=before.answers)
        saved[one.name] = one
    return one


def remove(root: Path, name: str) -> None:
    """Forget a question. Raises SavedError where there is none of that name."""
    with _changing(root) as saved:
        question(saved, name)
        del saved[name]


def record(root: Path, answers: Mapping[str, SavedAnswer]) -> None:
    """Add the answers of a night by name; those of questions that were removed meanwhile are dropped."""
    with _changing(root) as saved:
        for name in saved.keys() & answers.keys():
            saved[name] = replace(saved[name], answers=(*saved[name].answers, answers[name])[-_MOST_ANSWERS:])


def _parsed(content: Mapping[str, Any]) -> dict[str, SavedQuestion]:
    questions = [
        SavedQuestion(**{**entry, "answers": tuple(SavedAnswer(**answer) for answer in entry["answers"])})
        for entry in content["questions"]
    ]
    return {one.name: one for one in questions}


@contextmanager
def _changing(root: Path) -> Iterator[dict[str, SavedQuestion]]:
    """The saved questions, written again at the end if they differ; one process at a time."""
    path = root / _FILE
    make_folder(path.parent)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        saved = read(root)
        before = dict(saved)
        yield saved
        if saved != before:
            SAVED.write(path, {"questions": [one.to_dict() for one in saved.values()]})
