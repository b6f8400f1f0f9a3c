"""What must hold of every input, whatever its bytes: no other error, every byte accounted for, finite rows, bounds."""

import atexit
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ingest import registry
from ingest.batch import Quarantined
from ingest.files.accounts import Accounts
from ingest.formats.identify import HEAD_BYTES, Identity, identify
from ingest.formats.readers import read
from ingest.formats.smf.decode import UNDECODABLE
from ingest.registry import Registry

CPU_S = 20.0
"""Most processor time for one input; the longest inputs have 64 KiB, and a kernel may be compiled meanwhile."""

MEMORY_BYTES = 768 << 20
"""Most memory one input may add to the peak of the process."""

ROWS_PER_BYTE = 8
"""Most rows for a byte of input: a section has at least one, and a byte may lie in several sections."""


@cache
def layouts() -> Registry:
    """The built-in layouts."""
    return registry.load()


@cache
def scratch() -> Path:
    """A folder for the files of this process, in memory where the machine has such a place; gone when it ends."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="etalon-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@contextmanager
def bounded() -> Iterator[None]:
    """The work inside takes bounded processor time and memory."""
    before, started = _peak(), time.process_time()
    yield
    spent, grown = time.process_time() - started, _peak() - before
    assert spent < CPU_S, f"{spent:.1f} s of processor time"
    assert grown < MEMORY_BYTES, f"{grown:,} bytes of memory"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def read_whole(name: str, data: bytes, identity: Identity | None = None) -> Accounts:
    """Read a file of these bytes as `etalon ingest` does and prove its accounts; `identity` takes the place of a look.

    name: what the file is called, which tells the kind of small files.
    """
    path = scratch() / name
    path.write_bytes(data)
    accounts = Accounts()
    for batch in read(path, identity or identify(name, data[:HEAD_BYTES]), layouts()):
        accounts.add(batch)
        for table in batch.tables.values():
            check_table(table)
        for piece in batch.quarantined:
            check_piece(piece, data)
    accounts.prove(len(data))
    assert sum(accounts.rows.values()) <= ROWS_PER_BYTE * len(data) + 64, accounts.rows
    return accounts


def check_table(table: pa.Table) -> None:
    """Arrow finds its buffers sound, and no number is infinite or undefined."""
    table.validate(full=True)
    for column in table.columns:
        if pa.types.is_floating(column.type):
            assert pc.all(pc.is_finite(column), skip_nulls=True).as_py() in (True, None)


def check_piece(piece: Quarantined, data: bytes) -> None:
    """A quarantined piece stands inside the input, has a reason and detail, and holds the input's own bytes."""
    assert 0 <= piece.offset <= piece.offset + piece.length <= len(data), piece
    assert piece.reason and piece.detail
    assert piece.reason != UNDECODABLE, piece.detail
    assert len(piece.raw) <= piece.length
