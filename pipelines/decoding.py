"""`etalon decode`: a dump to files or JSON lines, batch by batch, without a database."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipelines import forms
from pipelines.exits import EtalonError, Exit

Write = Callable[[Any], None]


def decode_file(file: Path, form: str, folder: Path | None, known: Any) -> list[Any]:
    """Decode `file` and write every table as `form` into `folder` (JSON lines on standard output without one).

    file: a dump, a container of dumps, or `-` for standard input; known: the layouts, an `ingest.registry.Registry`.
    Returns one `ingest.warehouse.FileReport` per dump, judged as `ingest` judges it. Raises EtalonError for a folder.
    """
    from ingest.containers.opening import STANDARD_INPUT, form_of, standard_input, unpack
    from ingest.sources import HEAD_BYTES
    from ingest.warehouse import outcome
    from ingest.warehouse.inputs import expand

    if file.is_dir():
        raise EtalonError(f"{file}: is a folder; name one dump", Exit.NO_INPUT)
    (found, *more) = expand([str(file)])
    if more:
        raise EtalonError(f"{file}: names {1 + len(more)} files; name one dump", Exit.NO_INPUT)
    if not isinstance(found, str):
        return [found]
    with ExitStack() as stack:
        name, path = found, Path(found)
        if found == STANDARD_INPUT:
            name, path = "standard input", stack.enter_context(standard_input(_scratch(stack)))
        writers = _Writers(stack, form, folder)
        try:
            with path.open("rb") as stream:
                packed = form_of(stream.read(HEAD_BYTES))
        except OSError as error:
            return [outcome.unreadable(name, error)]
        if packed is None:
            return [_decode(path, name, known, writers)]
        reports = []
        for member in unpack(path, name, packed, _scratch(stack)):
            report = _decode(member.path, member.name, known, writers)
            if member.damage:
                outcome.damaged(report, member.damage)
            reports.append(report)
        return reports or [outcome.holds_nothing(name, packed)]


def _scratch(stack: ExitStack) -> Path:
    return Path(stack.enter_context(TemporaryDirectory(prefix="etalon-")))


def _decode(path: Path, name: str, known: Any, writers: "_Writers") -> Any:
    """Decode one dump; its report."""
    from ingest.containers.opening import inner_name
    from ingest.sources import HEAD_BYTES, identify
    from ingest.warehouse.accounts import Accounts
    from ingest.warehouse.outcome import FileReport, empty, unreadable
    from ingest.warehouse.readers import read

    try:
        size = path.stat().st_size
        if not size:
            return empty(name)
        with path.open("rb") as stream:
            identity = identify(inner_name(name), stream.read(HEAD_BYTES))
    except OSError as error:
        return unreadable(name, error)
    accounts, batches = Accounts(), read(path, identity, known)
    while True:
        try:
            batch = next(batches, None)
        except OSError as error:
            return unreadable(name, error)
        if batch is None:
            break
        accounts.add(batch)
        for group in batch.tables:
            for table, rows in group.items():
                writers.write(table, rows)
    report = FileReport(name, bytes=size, kind=str(identity.kind))
    accounts.judge(report)
    return report


class _Writers:
    """One open file per table, made when its first rows come; standard output without a folder."""

    def __init__(self, stack: ExitStack, form: str, folder: Path | None) -> None:
        self._stack, self._form, self._folder = stack, form, folder
        self._open: dict[str, Write] = {}

    def write(self, table: str, rows: Any) -> None:
        """Put rows behind those of the table that came before."""
        if table not in self._open:
            self._open[table] = self._opened(table, rows.schema)
        self._open[table](rows)

    def _opened(self, table: str, schema: Any) -> Write:
        if self._folder is None:
            return lambda rows: _json_lines(sys.stdout, {"table": table}, rows)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{table}.{self._form}"
        writer: Any
        if self._form == "json":
            sink = self._stack.enter_context(path.open("w", encoding="utf-8"))
            return lambda rows: _json_lines(sink, {}, rows)
        if self._form == "arrow":
            import pyarrow as pa

            writer = self._stack.enter_context(pa.ipc.new_file(str(path), schema))
        elif self._form == "parquet":
            import pyarrow.parquet

            writer = self._stack.enter_context(pyarrow.parquet.ParquetWriter(str(path), schema))
        else:
            import pyarrow.csv

            writer = self._stack.enter_context(
                pyarrow.csv.CSVWriter(str(path), forms.flat(schema.empty_table()).schema)
            )
            return lambda rows: writer.write_table(forms.flat(rows))
        return lambda rows: writer.write_table(rows)


def _json_lines(sink: Any, label: dict[str, str], rows: Any) -> None:
    for row in forms.records(rows):
        sink.write(forms.dumps(label | row) + "\n")
