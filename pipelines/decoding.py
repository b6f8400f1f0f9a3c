"""`etalon decode`: a dump to files or JSON lines, batch by batch, without a database."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipelines.exits import EtalonError, Exit

Write = Callable[[Any], None]


def decode_file(file: Path, form: str, folder: Path | None, known: Any) -> dict[str, int]:
    """Decode `file` and write every table as `form` into `folder` (JSON lines on standard output without one).

    file: a dump, a container of dumps, or `-` for standard input; known: the layouts, an `ingest.registry.Registry`.
    Returns the rows written by table. Raises EtalonError when nothing of the file can be decoded.
    """
    from ingest import sources
    from ingest.containers.opening import STANDARD_INPUT, form_of, standard_input, unpack
    from ingest.warehouse.readers import read

    if file.is_dir():
        raise EtalonError(f"{file}: is a folder; name one dump", Exit.NO_INPUT)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    name, called = file.name, str(file)
    counts: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    writers: dict[str, Write] = {}

    def decode(path: Path, name: str) -> None:
        with path.open("rb") as stream:
            identity = sources.identify(name, stream.read(sources.HEAD_BYTES))
        for batch in read(path, identity, known):
            problems.update(piece.reason for piece in batch.quarantined)
            for group in batch.tables:
                for table, rows in group.items():
                    if table not in writers:
                        writers[table] = _writer(stack, table, form, folder, rows.schema)
                    writers[table](rows)
                    counts[table] += rows.num_rows

    with ExitStack() as stack:
        if str(file) == STANDARD_INPUT:
            scratch = Path(stack.enter_context(TemporaryDirectory(prefix="etalon-")))
            file, name = stack.enter_context(standard_input(scratch)), "standard input"
            called = name
        with file.open("rb") as stream:
            packed = form_of(stream.read(sources.HEAD_BYTES))
        if not file.stat().st_size:
            raise EtalonError(f"{called}: is empty (0 bytes); check the transfer", Exit.NO_INPUT)
        if packed is None:
            decode(file, name)
        else:
            scratch = Path(stack.enter_context(TemporaryDirectory(prefix="etalon-")))
            for member in unpack(file, name, packed, scratch):
                decode(member.path, member.name.rsplit("!", 1)[-1])
                if member.damage:
                    problems["container_damaged"] += 1
    if problems:
        told = ", ".join(f"{count} × {reason}" for reason, count in sorted(problems.items()))
        if not counts:
            raise EtalonError(f"{called}: nothing could be decoded ({told})", Exit.UNRECOGNISED)
        print(f"etalon: {called}: some records could not be decoded ({told})", file=sys.stderr)
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

        writer = stack.enter_context(pyarrow.csv.CSVWriter(str(path), _flat(schema.empty_table()).schema))
        return lambda rows: writer.write_table(_flat(rows))
    return lambda rows: writer.write_table(rows)


def _flat(rows: Any) -> Any:
    """The table with what CSV cannot hold as text: bytes in hexadecimal digits, lists as JSON."""
    import pyarrow as pa

    for place, field in enumerate(rows.schema):
        kind = field.type
        if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            texts = [None if value is None else value.hex() for value in rows.column(place).to_pylist()]
        elif pa.types.is_nested(kind):
            texts = [
                None if value is None else json.dumps(value, default=_text) for value in rows.column(place).to_pylist()
            ]
        else:
            continue
        rows = rows.set_column(place, pa.field(field.name, pa.string()), pa.array(texts, pa.string()))
    return rows


def _json_lines(sink: Any, name: str | None, rows: Any) -> None:
    label = {} if name is None else {"table": name}
    for row in rows.to_pylist():
        sink.write(json.dumps(label | row, default=_text) + "\n")


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
