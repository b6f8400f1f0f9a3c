"""Reading and writing small files: each is there whole or not at all, and a damaged one is named with a remedy."""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

#: Without a handler, Python writes its warnings to standard error.
log = logging.getLogger("etalon.state")


class StateDamaged(ValueError):
    """A file of the state cannot be read. The message names the file, what is wrong with it, and the remedy."""

    exit_code = 5


class Damage(Enum):
    """What a reader does about a damaged file that it cannot do without, or can."""

    REFUSED = "the reader stops: nothing but the file says what it says"
    REBUILT = "the reader goes on without it, and what writes the file makes it anew"
    SET_ASIDE = "the reader goes on without it; the damaged file is kept under another name for its owner"


@dataclass(frozen=True)
class StateFile:
    """A kind of small file in JSON.

    Attributes
    ----------
    name : str
        Path in the state folder; a pattern where there are several of the kind.
    shape : type
        Type of the content, such as `dict[str, str]`.
    remedy : str
        What to do about a damaged file.
    damage : Damage
        What readers do about one.
    fields : dict of str to type
        Types of the values that the content, or each item of a list, must have.
    lines : bool
        Whether each line is a document.
    rights : int
        Rights that the file has at most; those of its folder limit them further.
    """

    name: str
    shape: Any
    remedy: str
    damage: Damage = Damage.REBUILT
    fields: Mapping[str, Any] = field(default_factory=dict)
    lines: bool = False
    rights: int = 0o644

    def read(self, path: Path, parse: Callable[[Any], Any] = lambda content: content) -> Any:
        """The content, as `parse` makes it of plain values; None where there is no file.

        Raises StateDamaged, also where `parse` raises KeyError, TypeError or ValueError, and OSError where the file may
        not be read.
        """
        text = read_text(path, self.remedy)
        if text is None:
            return None
        try:
            return parse(self.loads(text, path))
        except StateDamaged:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(path, f"has unexpected content ({_first_line(error)})") from None

    def read_or(self, path: Path, default: Any, parse: Callable[[Any], Any] = lambda content: content) -> Any:
        """The content as `read` gives it; the default where there is no file.

        Of a damaged file the default, too, unless that is refused: the damage is logged, and the file set aside where
        it cannot be made anew.
        """
        try:
            content = self.read(path, parse)
        except StateDamaged as damaged:
            if self.damage is Damage.REFUSED:
                raise
            aside = ""
            if self.damage is Damage.SET_ASIDE:
                kept = path.with_name(f"{path.name}.damaged")
                path.replace(kept)
                aside = f" (kept as {kept.name})"
            log.warning("%s%s", damaged, aside)
            return default
        return default if content is None else content

    def loads(self, text: str, path: Path) -> Any:
        """The content of a text. Raises StateDamaged, naming the path."""
        try:
            if self.lines:
                content: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
            else:
                content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.damaged(path, f"is not JSON: {_first_line(error)}") from None
        if problem := mismatch(content, self.shape) or self._mismatch(content):
            raise self.damaged(path, problem)
        return content

    def write(self, path: Path, content: Any) -> None:
        """Put the content in the place of the file, in one step."""
        documents = content if self.lines else [content]
        indent = None if self.lines else 1
        write_text(
            path,
            "".join(json.dumps(one, indent=indent, default=str, allow_nan=False) + "\n" for one in documents),
            self.rights,
        )

    def damaged(self, path: Path, problem: str) -> StateDamaged:
        """The error about a file."""
        return StateDamaged(f"{path}: cannot be read: it {problem}; {self.remedy}")

    def _mismatch(self, content: Any) -> str:
        for item in (content if isinstance(content, list) else [content]) if self.fields else ():
            if missing := [name for name in self.fields if name not in item]:
                return f"lacks {', '.join(missing)}"
            if problem := next(filter(None, (mismatch(item[name], of, name) for name, of in self.fields.items())), ""):
                return problem
        return ""


def read_text(path: Path, remedy: str) -> str | None:
    """The text of a file; None where there is none. Raises StateDamaged for bytes that are no UTF-8, or a folder."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise StateDamaged(f"{path}: cannot be read: it is a folder; move it away, then {remedy}") from None
    except UnicodeDecodeError as error:
        raise StateDamaged(f"{path}: cannot be read: byte {error.start} is not UTF-8; {remedy}") from None


def write_text(path: Path, text: str, rights: int = 0o644) -> None:
    """Put a text in the place of a file, in one step; who may read the folder may read it, as far as `rights` go.

    Folders that are missing are made with the rights of the nearest one that is there.
    """
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        part.chmod(path.parent.stat().st_mode & rights)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def sync(path: str | Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk, also after the machine loses power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there, with the rights of the nearest one that is."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for made in reversed(missing):
        made.mkdir(exist_ok=True)
        made.chmod(folder.stat().st_mode & 0o777)


def mismatch(value: Any, shape: Any, at: str = "") -> str:
    """How a value differs from a type; empty where it does not."""
    where = f" at {at}" if at else ""
    union = isinstance(shape, UnionType)
    kind, inner = (shape, ()) if union else (get_origin(shape) or shape, get_args(shape))
    if kind is Any:
        return ""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        expected = getattr(kind, "__name__", str(kind))
        return f"has {type(value).__name__}{where}, expected {expected}"
    if isinstance(value, Mapping) and inner:
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list) and inner:
        items = enumerate(value)
    else:
        return ""
    return next((content for key, item in items if (content := mismatch(item, inner[-1], str(key)))), "")


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
