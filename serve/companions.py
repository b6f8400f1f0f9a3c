"""Files beside the champion that bear on its answers: what the published marts are defined by, the ratings of machines,
and the calendar of the settings."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from model.calendar import Calendar
from model.prices import read_prices
from serve.files import Identity, identity_of
from serve.log import Log
from state.catalogue import DEFINITIONS
from state.files import StateDamaged
from state.settings import read_toml

log = Log()

Entries = dict[str, Any]


class Companion:
    """Keeps what a small file says, as entries to put beside those of a bundle, until the file changes.

    A file that cannot be read has no entries; the log says why.
    """

    def __init__(self, path: Path, read: Callable[[Path], Entries]) -> None:
        self.path, self._read = path, read
        self._identity: Identity | None = None
        self._entries: Entries = {}

    def entries(self) -> Entries:
        """The entries of the file as it is now; none without a file."""
        identity = identity_of(self.path)
        if identity != self._identity:
            self._identity, self._entries = identity, {}
            try:
                self._entries = {} if identity is None else self._read(self.path)
            except (OSError, ValueError, StateDamaged, csv.Error) as problem:
                log.error("file_unreadable", path=str(self.path), problem=str(problem))
        return self._entries


def definitions(path: Path) -> Entries:
    """The digests of what the published marts are defined by. Raises OSError, StateDamaged."""
    return {"published_definitions": DEFINITIONS.read(path)}


def machine_ratings(path: Path) -> Entries:
    """The ratings of the installation's table. Raises OSError, csv.Error, and ValueError for a row that is none."""
    from model.hardware.imported import read_ratings

    return {"machine_ratings": read_ratings(path.read_text(encoding="utf-8-sig"), path.name)}


def prices(path: Path) -> Entries:
    """What the installation pays, as `Prices`. Raises OSError, csv.Error and PriceError."""
    return {"prices": read_prices(path.read_text(encoding="utf-8-sig"), path.name)}


def calendar(path: Path) -> Entries:
    """The shifts and holidays of the settings. Raises OSError, and ValueError for what describes none."""
    return {"calendar": Calendar.of(read_toml(path).get("calendar")).to_dict()}
