"""Decode speed: dumps of SMF 30 and SMF 72.3, every field to Arrow, on one core, beside a copy of the same bytes.

`python -m benchmarks.decode [FILE …]` measures two made-up dumps, or the files named. Times are processor time, the
best of several runs; the copy is of the same bytes in the same process, so that the ratio can be compared between
machines.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from ingest import registry
from ingest.codec import decode_batches, encode_dump
from ingest.registry import Field, Layout, Registry

RUNS = 15
RECORDS = 15_000
SECTIONS = {
    "smf30": {
        "subsystem": 1, "identification": 1, "io": 1, "completion": 1, "cpu": 1, "accounting": 2, "storage": 1,
        "performance": 1, "operator": 1, "excp": 8, "usage": 2, "counter": 1,
    },
    "smf72_3": {"product": 1, "control": 1, "period": 2, "response_distribution": 2, "resource_state": 2},
}  # fmt: skip
NAMES = ["", "BATCH", "CICSPROD", "DB2ADIST", "IMS1", "SYSA"]


def main(paths: list[str]) -> int:
    """Measure and print a table."""
    known = registry.load()
    print(f"first use of every kernel, compiled into an empty cache: {_compile_seconds():.1f} s")
    print(f"{'dump':24} {'MB':>7} {'bytes/record':>13} {'MB/s':>7} {'copy MB/s':>10} {'ratio':>6}")
    if paths:
        for path in paths:
            _report(Path(path).name, Path(path).read_bytes(), known)
    else:
        for name in SECTIONS:
            _report(name, made_up_dump(known, name, RECORDS), known)
    return 0


def made_up_dump(known: Registry, name: str, records: int) -> bytes:
    """A dump of one record type with the sections such records usually have."""
    layout = next(layout for layout in known.layouts if layout.name == name)
    rng = np.random.default_rng(1)
    sequence = np.arange(records, dtype=np.uint32)
    tables = {layout.header.table: _header(layout, rng, sequence)}
    for section, count in SECTIONS[name].items():
        part = layout.section(section)
        columns = {"record_seq": np.repeat(sequence, count), "section_seq": np.tile(np.arange(count), records)}
        columns |= {item.column: _values(item, rng, records * count) for item in part.fields}
        if part.has("reassembly_count"):
            columns.pop(part.by_name("reassembly_count").column)
        tables[part.table] = pa.table(columns)
    return encode_dump(tables, known)


def _header(layout: Layout, rng: np.random.Generator, sequence: np.ndarray) -> pa.Table:
    """Header rows: identification only, since the encoder computes the rest."""
    columns: dict[str, object] = {"record_seq": sequence}
    for item in layout.header.fields:
        if item.name in ("written_clock_us", "written_date", "smf_sid"):
            columns[item.column] = _values(item, rng, len(sequence))
    columns[layout.header.by_name("subtype").column] = np.full(
        len(sequence), layout.subtypes[len(layout.subtypes) // 2]
    )
    return pa.table(columns)


def _values(item: Field, rng: np.random.Generator, rows: int) -> pa.Array:
    form = item.form.name
    if form.startswith("ebcdic"):
        words = [name[: item.length or 8] for name in NAMES]
        return pa.DictionaryArray.from_arrays(rng.integers(0, len(words), rows), words).cast(pa.string())
    if form == "bytes":
        return pa.array([bytes(item.length)] * rows, item.arrow)
    if form == "hfp":
        return pa.array(np.round(rng.random(rows) * 1e9))
    if form == "packed_date":
        return pa.array(np.full(rows, np.datetime64("2026-11-21")))
    if form in ("tod", "stcke"):
        return pa.array(np.datetime64("2026-11-21T00:00:00", "us") + rng.integers(0, 86_400_000_000, rows))
    numbers = pa.array(rng.integers(0, 100, rows * item.count))
    if item.count > 1:
        return pa.FixedSizeListArray.from_arrays(numbers, item.count).cast(item.arrow)
    return numbers.cast(item.arrow)


def _report(name: str, dump: bytes, known: Registry) -> None:
    records = 0

    def decode() -> None:
        nonlocal records
        records = sum(batch.accounting.records for batch in decode_batches(dump, known))

    data = np.frombuffer(dump, np.uint8)
    decode()
    speed, copy = (len(dump) / 1e6 / _best(work) for work in (decode, data.copy))
    print(
        f"{name:24} {len(dump) / 1e6:7.1f} {len(dump) // records:13} {speed:7.0f} {copy:10.0f} {speed / copy:6.3f}",
        flush=True,
    )


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _compile_seconds() -> float:
    """Seconds that decoding takes longer with an empty cache of compiled code than with a filled one."""
    program = (
        "import time; from ingest import registry; from ingest.codec import decode_batches;"
        "from benchmarks.decode import SECTIONS, made_up_dump; known = registry.load(); start = time.perf_counter();"
        "[list(decode_batches(made_up_dump(known, name, 2), known)) for name in SECTIONS];"
        "print(time.perf_counter() - start)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        first, second = (
            float(subprocess.check_output([sys.executable, "-c", program], env=environment)) for _ in range(2)
        )
    return first - second


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
