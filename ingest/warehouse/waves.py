"""Large dumps on their way into the warehouse: a runner decodes the units of several files at once.

Workers write parts and return the rest of the rows. Nothing of a file counts before the loader, which takes one file
after another, has committed it.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest import units
from ingest.containers.opening import STANDARD_INPUT, form_of, inner_name
from ingest.files.accounts import Accounts
from ingest.files.inputs import Content, Fingerprint, StillChanging
from ingest.files.names import shown
from ingest.formats.cics.dictionary import DictionaryMemory
from ingest.formats.identify import HEAD_BYTES, Identity, Kind, identify
from ingest.registry import Registry
from ingest.running import Runner
from ingest.units import Decoded, File, Part, Unit
from ingest.warehouse import ledger

_IN_UNITS = frozenset({Kind.SMF})
_MOST_UNITS = 64
"""Largest number of units in one wave, unless one file has more."""
_PART_BYTES = 4 << 20
"""Rows of a unit that take so many bytes in memory become a part, fewer go into the table: a file costs every query."""


@dataclass(frozen=True)
class Share:
    """A unit's share of one file: parts, the other rows by table, the account, and incomplete records."""

    parts: list[Part]
    rows: dict[str, list[pa.Table]]
    accounts: Accounts
    incomplete: dict[int, int]


class Waves:
    """Decodes the dumps of a load, several of which are a wave; each is taken when it is its turn.

    least_bytes: dumps of so many bytes or more are decoded here. runner_for: gives the runner for a number of units.
    memory: returns the present CICS dictionaries, which are added to. kind: what all files are read as.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        registry: Registry,
        kind: Kind | None,
        folder: Path,
        runner_for: Callable[[int], Runner],
        least_bytes: int,
        memory: Callable[[], DictionaryMemory | None],
    ) -> None:
        self._con = con
        self._registry = registry
        self._kind = kind
        self._folder = folder
        self._runner_for = runner_for
        self._least_bytes = least_bytes
        self._memory = memory
        self._step = runner_for(0).unit_bytes
        self.discard()

    def has(self, identity: Identity, size: int) -> bool:
        """Whether a file of this kind and size is decoded here."""
        return identity.kind in _IN_UNITS and size >= self._least_bytes

    def key(self, path: str, fingerprint: Fingerprint) -> int | None:
        """The key of a file of the wave; None where it is none, or has changed."""
        file, planned = self._files.get(path, (None, None))
        return file.file_id if file and planned == fingerprint else None

    def take(self, file: File, fingerprint: Fingerprint, following: Sequence[str]) -> Iterator[Share]:
        """The shares of a file in their order; in a new wave with files that come after it, unless it is of this one.

        Raises what decoding raises, for whichever file of a shared unit.
        """
        if self.key(file.path, fingerprint) != file.file_id:
            self.discard()
            self._start(file, fingerprint, following)
        del self._files[file.path]
        while self._left[file.file_id]:
            self._receive(*next(self._results))
            yield from self._shares.pop(file.file_id, [])
        yield from self._shares.pop(file.file_id, [])

    def discard(self) -> None:
        """End the wave and remove the parts that came in and were not taken. What tasks still write no table names."""
        for share in (share for shares in getattr(self, "_shares", {}).values() for share in shares):
            for part in share.parts:
                Path(part.path).unlink(missing_ok=True)
        self.is_shared = False
        self._files: dict[str, tuple[File, Fingerprint]] = {}
        self._results: Iterator[tuple[Unit, Decoded]] = iter(())
        self._left: dict[int, int] = {}
        self._shares: dict[int, list[Share]] = {}

    def _start(self, file: File, fingerprint: Fingerprint, following: Sequence[str]) -> None:
        """Plan, scan and settle files, and have their units decoded."""
        dumps, left = {file.file_id: (file, fingerprint)}, _MOST_UNITS * self._step - file.size
        for path in following:
            if left > 0 and (other := self._new_dump(path)) is not None:
                dumps.setdefault(other[0].file_id, other)
                left -= other[0].size
        self.is_shared = len(dumps) > 1
        planned = units.plan([file for file, _ in dumps.values()], self._step, self._registry)
        runner = self._runner_for(len(planned))
        settled = units.settle(planned, list(runner.run(units.scan, planned)), self._memory())
        decode = partial(units.decode, folder=self._folder, least_bytes=_PART_BYTES)
        self._results = zip(settled, runner.run(decode, settled), strict=True)
        self._left = Counter(file_id for unit in settled for file_id in _file_ids(unit))
        self._files = {file.path: (file, fingerprint) for file, fingerprint in dumps.values()}

    def _new_dump(self, path: str) -> tuple[File, Fingerprint] | None:
        """A file as its turn will find it; None for what is not decoded here, is loaded, or is being written."""
        try:
            fingerprint = Fingerprint.of(path)
            if path == STANDARD_INPUT or fingerprint.size < self._least_bytes:
                return None
            with Path(path).open("rb") as stream:
                head = stream.read(HEAD_BYTES)
            identity = Identity(self._kind) if self._kind else identify(inner_name(path), head)
            earlier = ledger.of_path(self._con, shown(os.path.realpath(path)))
            if (
                form_of(head)
                or not self.has(identity, fingerprint.size)
                or any(e.bytes == fingerprint.size for e in earlier)
            ):
                return None
            with Content(path, fingerprint.size) as content:
                key = content.key
        except (OSError, StillChanging):
            return None
        return None if ledger.has(self._con, key) else (File(path, key, identity, fingerprint.size), fingerprint)

    def _receive(self, unit: Unit, decoded: Decoded) -> None:
        for file_id in _file_ids(unit):
            self._left[file_id] -= 1
            share = Share(
                [part for part in decoded.parts if part.file_id == file_id],
                {table: rows for (owner, table), rows in decoded.rows.items() if owner == file_id},
                decoded.accounts[file_id],
                decoded.incomplete.get(file_id, {}),
            )
            self._shares.setdefault(file_id, []).append(share)


def _file_ids(unit: Unit) -> list[int]:
    return list(dict.fromkeys(piece.file.file_id for piece in unit.pieces))
