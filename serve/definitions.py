"""What the published marts are defined by, beside the champion, so that answers can say where it differs."""

from __future__ import annotations

from pathlib import Path

from serve.encoding import as_json
from serve.files import Identity, identity_of
from serve.log import Log
from state.catalogue import DEFINITIONS
from state.files import StateDamaged

log = Log()


class Definitions:
    """Keeps the digests of the published marts' definitions, a small file, until they are published anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[Identity | None, bytes] = (None, b"{}")

    def published(self) -> bytes:
        """The definitions of the marts published now, as a part to put beside those of a bundle in JSON."""
        identity = identity_of(self._path)
        if identity != self._known[0]:
            self._known = (identity, self._read())
        return self._known[1]

    def _read(self) -> bytes:
        try:
            digests = DEFINITIONS.read(self._path)
        except (OSError, StateDamaged) as problem:
            log.error("definitions_unreadable", problem=str(problem))
            digests = None
        return b"{}" if digests is None else as_json({"published_definitions": digests})
