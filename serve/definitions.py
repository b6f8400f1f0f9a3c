"""What the published marts are defined by, beside the champion, so that answers can say where it differs."""

from __future__ import annotations

from typing import Any

from serve.files import Identity, identity_of
from serve.snapshot import Snapshot, SnapshotUnavailable


class Definitions:
    """Keeps the digests of a snapshot's definitions until another one is published."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: tuple[Identity | None, dict[str, str]] = (None, {})

    def beside(self, bundle: dict[str, Any]) -> dict[str, Any]:
        """The bundle with the definitions of the marts published now; as it is where there are none."""
        identity = identity_of(self._snapshot.path)
        if identity is None:
            return bundle
        if identity != self._known[0]:
            try:
                rows = self._snapshot.rows("SELECT system_id, definition_digest FROM meta.definition")
            except SnapshotUnavailable:
                rows = []
            self._known = (identity, {row["system_id"]: row["definition_digest"] for row in rows})
        return {**bundle, "published_definitions": self._known[1]}
