"""`etalon decode`: a dump to files or JSON lines, batch by batch, without a database."""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipelines import forms
from pipelines.exits import EtalonError, Exit

Write = Callable[[Any], None]


def decode_file(
    file: Path,
    form: str,
    folder: Path | None,
    known: Any,
    *,
    tables: Collection[str] = (),
    dictionaries: Sequence[Path] = (),
) -> list[Any]:
    """Decode `file` and write every table as `form` into `folder`, to standard output without one.

    file: a dump, a container of dumps, or `-` for standard input; known: the layouts, an `ingest.registry.Registry`;
    tables: those to write, all without; dictionaries: what describes the records of CICS regions whose own dictionary
    the dump does not hold. To standard output go JSON lines of any number of tables, the other forms of one alone.
    Returns one `ingest.warehouse.FileReport` per dump, judged as `ingest` judges it; its rows are those of all tables.
    Raises EtalonError for a folder, for a dictionary that cannot be read, and for a table the dump does not hold.
    """
    from ingest.allocation import keep_freed_memory
    from ingest.containers.opening import STANDARD_INPUT, form_of, standard_input, unpack
    from ingest.formats.identify import HEAD_BYTES
    from ingest.warehouse import outcome
    from ingest.warehouse.inputs import expand

    keep_freed_memory()
    if str(file) != STANDARD_INPUT and file.is_dir():
        raise EtalonError(f"{file}: is a folder; name one dump", Exit.NO_INPUT)
    (found, *more) = expand([str(file)])
    if more:
        raise EtalonError(f"{file}: names {1 + len(more)} files; name one dump", Exit.NO_INPUT)
    if not isinstance(found, str):
        return [found]
    handlers = _handlers(dictionaries, known) if dictionaries else {}
    with ExitStack() as stack:
        name, path = found, Path(found)
        if found == STANDARD_INPUT:
            name, path = "standard input", stack.enter_context(standard_input(_scratch(stack)))
        writers = _Writers(stack, form, folder, tables)
        try:
            with path.open("rb") as stream:
                packed = form_of(stream.read(HEAD_BYTES))
        except OSError as error:
            return [outcome.unreadable(name, error)]
        if packed is None:
            reports = [_decode(path, name, known, handlers, writers)]
        else:
            reports = []
            for member in unpack(path, name, packed, _scratch(stack)):
                writers.member = member.name.removeprefix(f"{name}!") if member.name != name else None
                report = _decode(member.path, member.name, known, handlers, writers)
                if member.damage:
                    outcome.damaged(report, member.damage)
                reports.append(report)
    _require(tables, name, reports)
    return reports or [outcome.holds_nothing(name, str(packed))]


def _require(tables: Collection[str], name: str, reports: Sequence[Any]) -> None:
    """Raise EtalonError unless there were rows of each of these tables, or nothing could be decoded at all."""
    from difflib import get_close_matches

    held = sum((Counter(report.rows) for report in reports), Counter[str]())
    if held and (absent := sorted(set(tables) - set(held))):
        near = [table for lacking in absent for table in get_close_matches(lacking, held, n=3)]
        meant = f"; did you mean {' or '.join(near)}?" if near else "."
        raise EtalonError(
            f"{name}: has no rows of {', '.join(absent)}{meant} It has rows of {', '.join(sorted(held))}", Exit.QUESTION
        )


def _handlers(dictionaries: Sequence[Path], known: Any) -> dict[str, Any]:
    """What reads CICS monitoring records by the dictionaries in these files, which may be dumps that hold some."""
    from ingest.formats.cics.dictionary import DictionaryMemory, read_dictionary_file
    from ingest.formats.cics.performance import MonitoringDecoder
    from ingest.formats.identify import HEAD_BYTES, Kind, identify
    from ingest.formats.readers import read
    from ingest.warehouse.dictionaries import HANDLER

    memory = DictionaryMemory()
    handlers = {HANDLER: MonitoringDecoder(memory)}
    for file in dictionaries:
        with file.open("rb") as stream:
            identity = identify(file.name, stream.read(HEAD_BYTES))
        if identity.kind is Kind.SMF:
            for _ in read(file, identity, known, handlers):
                pass
        else:
            try:
                read_dictionary_file(file.read_text(encoding="utf-8"), memory, name=str(file))
            except ValueError as error:
                raise EtalonError(f"{error}; correct the dictionary file and try again", Exit.NO_INPUT) from None
    if not memory.items():
        names = ", ".join(map(str, dictionaries))
        raise EtalonError(f"{names}: no dictionary in it; name a dump that holds class 1 records", Exit.NO_INPUT)
    return dict(handlers)


def _scratch(stack: ExitStack) -> Path:
    return Path(stack.enter_context(TemporaryDirectory(prefix="etalon-")))


def _decode(path: Path, name: str, known: Any, handlers: Mapping[str, Any], writers: "_Writers") -> Any:
    """Decode one dump; its report."""
    from ingest.containers.opening import inner_name
    from ingest.formats.identify import HEAD_BYTES, identify
    from ingest.formats.readers import read
    from ingest.warehouse.accounts import Accounts
    from ingest.warehouse.ahead import made_ahead
    from ingest.warehouse.outcome import FileReport, empty, unreadable

    try:
        size = path.stat().st_size
        if not size:
            return empty(name)
        with path.open("rb") as stream:
            identity = identify(inner_name(name), stream.read(HEAD_BYTES))
    except OSError as error:
        return unreadable(name, error)
    accounts = Accounts()
    with closing(made_ahead(read(path, identity, known, handlers))) as batches:
        while True:
            try:
                batch = next(batches, None)
            except OSError as error:
                return unreadable(name, error)
            if batch is None:
                break
            accounts.add(batch)
            for table, rows in batch.tables.items():
                writers.write(table, rows)
    report = FileReport(name, bytes=size, kind=str(identity.kind))
    accounts.judge(report)
    return report


class _Writers:
    """One open file per table, made when its first rows come; standard output without a folder.

    member: the file of an archive that the rows come from, a column before the others; None outside archives.
    """

    def __init__(self, stack: ExitStack, form: str, folder: Path | None, tables: Collection[str]) -> None:
        self.member: str | None = None
        self._stack, self._form, self._folder, self._tables = stack, form, folder, frozenset(tables)
        self._open: dict[str, Write] = {}

    def write(self, table: str, rows: Any) -> None:
        """Put rows behind those of the table that came before."""
        if self._tables and table not in self._tables:
            return
        if self.member is not None:
            import pyarrow as pa

            rows = rows.add_column(0, "member", pa.repeat(self.member, rows.num_rows))
        if table not in self._open:
            self._open[table] = self._opened(table, rows.schema)
        self._open[table](rows)

    def _opened(self, table: str, schema: Any) -> Write:
        sink: Any
        if self._form == "json":
            if self._folder is None:
                return lambda rows: _json_lines(sys.stdout, {"table": table}, rows)
            sink = self._stack.enter_context(self._file(table).open("w", encoding="utf-8"))
            return lambda rows: _json_lines(sink, {}, rows)
        sink = sys.stdout.buffer if self._folder is None else str(self._file(table))
        writer: Any
        if self._form == "arrow":
            import pyarrow as pa

            opened = pa.ipc.new_stream if self._folder is None else pa.ipc.new_file
            writer = self._stack.enter_context(opened(sink, schema))
        elif self._form == "parquet":
            import pyarrow.parquet
            from pyarrow import types

            # Figures seldom repeat enough for a dictionary, and bounds of every column take a fifth of the time.
            texts = [field.name for field in schema if types.is_string(field.type)]
            bounded = [field.name for field in schema if types.is_temporal(field.type)]
            writer = self._stack.enter_context(
                pyarrow.parquet.ParquetWriter(sink, schema, use_dictionary=texts, write_statistics=texts + bounded)
            )
        else:
            import pyarrow.csv

            writer = self._stack.enter_context(pyarrow.csv.CSVWriter(sink, forms.flat(schema.empty_table()).schema))
            return lambda rows: writer.write_table(forms.flat(rows))
        return lambda rows: writer.write_table(rows)

    def _file(self, table: str) -> Path:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / f"{table}.{self._form}"


def _json_lines(sink: Any, label: dict[str, str], rows: Any) -> None:
    for row in forms.records(rows):
        sink.write(forms.dumps(label | row) + "\n")
