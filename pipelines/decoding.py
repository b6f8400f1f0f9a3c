"""`etalon decode`: a dump to files or JSON lines, batch by batch, without a database."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pipelines.exits import EtalonError, Exit

Write = Callable[[Any], None]


def decode_file(file: Path, form: str, folder: Path | None) -> dict[str, int]:
    """Decode `file` and write every table as `form` into `folder` (JSON lines on standard output without one).

    Returns the rows written by table. Raises EtalonError when nothing of the file can be decoded.
    """
    from ingest import registry, sources
    from ingest.warehouse.readers import read

    if file.is_dir():
        raise EtalonError(f"{file}: is a folder; name one dump", Exit.NO_INPUT)
    with file.open("rb") as stream:
        identity = sources.identify(file.name, stream.read(sources.HEAD_BYTES))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    writers: dict[str, Write] = {}
    with ExitStack() as stack:
        for batch in read(file, identity, registry.load()):
            problems.update(piece.reason for piece in batch.quarantined)
            for group in batch.tables:
                for name, rows in group.items():
                    if name not in writers:
                        writers[name] = _writer(stack, name, form, folder, rows.schema)
                    writers[name](rows)
                    counts[name] += rows.num_rows
    if problems:
        told = ", ".join(f"{count} × {reason}" for reason, count in sorted(problems.items()))
        if not counts:
            raise EtalonError(f"{file}: nothing could be decoded ({told})", Exit.UNRECOGNISED)
        print(f"etalon: {file}: some records could not be decoded ({told})", file=sys.stderr)
    return dict(counts)


def _writer(stack: ExitStack, name: str, form: str, folder: Path | None, schema: Any) -> Write:
    if folder is None:
        return lambda rows: _json_lines(sys.stdout, name, rows)
    path = folder / f"{name}.{form}"
    if form == "json":
        sink = stack.enter_context(path.open("w", encoding="utf-8"))
        return lambda rows: _json_lines(sink, None, rows)
    writer: Any
    if form == "arrow":
        import pyarrow as pa

        writer = stack.enter_context(pa.ipc.new_file(str(path), schema))
    elif form == "parquet":
        import pyarrow.parquet

        writer = stack.enter_context(pyarrow.parquet.ParquetWriter(str(path), schema))
    else:
        import pyarrow.csv

        writer = stack.enter_context(pyarrow.csv.CSVWriter(str(path), schema))
    return lambda rows: writer.write_table(rows)


def _json_lines(sink: Any, name: str | None, rows: Any) -> None:
    label = {} if name is None else {"table": name}
    for row in rows.to_pylist():
        sink.write(json.dumps(label | row, default=_text) + "\n")


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
