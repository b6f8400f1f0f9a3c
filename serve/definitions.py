"""What the published marts are defined by, beside the champion, so that answers can say where it differs."""

from __future__ import annotations

import asyncio

from serve.encoding import as_json
from serve.files import Identity, identity_of
from serve.snapshot import Snapshot, SnapshotUnavailable


class Definitions:
    """Keeps the digests of a snapshot's definitions until another one is published."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: tuple[Identity | None, bytes] = (None, b"{}")

    async def published(self) -> bytes:
        """The definitions of the marts published now, as a part to put beside those of a bundle in JSON."""
        identity = identity_of(self._snapshot.path)
        if identity != self._known[0]:
            self._known = (identity, await asyncio.to_thread(self._read) if identity else b"{}")
        return self._known[1]

    def _read(self) -> bytes:
        try:
            rows = self._snapshot.rows("SELECT system_id, definition_digest FROM meta.definition")
        except SnapshotUnavailable:
            rows = []
        return as_json({"published_definitions": {row["system_id"]: row["definition_digest"] for row in rows}})
