"""`etalon decode`: a dump to files or JSON lines, batch by batch, without a database."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ingest.containers.limits import Limits
from pipelines.exits import EtalonError, Exit
from pipelines.table_files import TableFiles, cores


def decode_file(
    file: Path,
    form: str,
    folder: Path | None,
    registry: Any,
    *,
    tables: Collection[str] = (),
    dictionaries: Sequence[Path] = (),
    limits: Callable[[], Limits] = Limits,
) -> list[Any]:
    """Decode `file` and write every table as `form` into `folder`, to standard output without one.

    file: a dump, a container of dumps, or `-` for standard input; registry: the layouts, an `ingest.registry.Registry`;
    tables: those to write, all without; dictionaries: files with the dictionaries of CICS regions that
    the dump does not contain; limits: says how much of a container is unpacked. To standard output go JSON lines of any
    number of tables, the other forms of one alone.
    Returns one `ingest.warehouse.FileReport` per dump, judged as `ingest` judges it; its rows are those of all tables.
    Raises EtalonError for a folder, for a dictionary that cannot be read, and for a table the dump does not hold.
    """
    from ingest.allocation import keep_freed_memory
    from ingest.containers.opening import STANDARD_INPUT, form_of, standard_input, unpack
    from ingest.files import outcome
    from ingest.files.inputs import expand
    from ingest.files.names import shown
    from ingest.formats.identify import HEAD_BYTES

    keep_freed_memory()
    if str(file) != STANDARD_INPUT and file.is_dir():
        raise EtalonError(f"{file}: is a folder; name one dump", Exit.NO_INPUT)
    (source, *more) = expand([str(file)])
    if more:
        raise EtalonError(f"{file}: names {1 + len(more)} files; name one dump", Exit.NO_INPUT)
    if not isinstance(source, str):
        return [source]
    handlers = _handlers(dictionaries, registry) if dictionaries else {}
    with ExitStack() as stack:
        name, path = shown(source), Path(source)
        if source == STANDARD_INPUT:
            name, path = "standard input", stack.enter_context(standard_input(_scratch(stack)))
        files = TableFiles(stack, form, folder, tables)
        try:
            with path.open("rb") as stream:
                packed = form_of(stream.read(HEAD_BYTES))
        except OSError as error:
            return [outcome.unreadable(name, error)]
        if packed is None:
            reports = [_decode(path, name, registry, handlers, files)]
        else:
            reports = []
            for member in unpack(path, name, packed, _scratch(stack), limits()):
                files.member = member.name.removeprefix(f"{name}!") if member.name != name else None
                report = _decode(member.path, member.name, registry, handlers, files)
                if member.damage:
                    outcome.damaged(report, member.damage)
                reports.append(report)
        files.finish()
    _require(tables, name, reports)
    return reports or [outcome.holds_nothing(name, str(packed))]


def _require(tables: Collection[str], name: str, reports: Sequence[Any]) -> None:
    """Raise EtalonError unless there were rows of each of these tables, or nothing could be decoded at all."""
    from difflib import get_close_matches

    filled = sum((Counter(report.rows) for report in reports), Counter[str]())
    if filled and (absent := sorted(set(tables) - set(filled))):
        near = [table for lacking in absent for table in get_close_matches(lacking, filled, n=3)]
        meant = f"; did you mean {' or '.join(near)}?" if near else "."
        raise EtalonError(
            f"{name}: has no rows of {', '.join(absent)}{meant} Tables with rows: {', '.join(sorted(filled))}",
            Exit.QUESTION,
        )


def _handlers(dictionaries: Sequence[Path], registry: Any) -> dict[str, Any]:
    """Handlers for CICS monitoring records with the dictionaries in these files, which may be dumps."""
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
            for _ in read(file, identity, registry, handlers):
                pass
        else:
            try:
                read_dictionary_file(file.read_text(encoding="utf-8"), memory, name=str(file))
            except ValueError as error:
                raise EtalonError(f"{error}; correct the dictionary file and try again", Exit.NO_INPUT) from None
    if not memory.items():
        names = ", ".join(map(str, dictionaries))
        raise EtalonError(f"{names}: they have no dictionary; name a dump with class 1 records", Exit.NO_INPUT)
    return dict(handlers)


def _scratch(stack: ExitStack) -> Path:
    return Path(stack.enter_context(TemporaryDirectory(prefix="etalon-")))


def _decode(path: Path, name: str, registry: Any, handlers: Mapping[str, Any], files: TableFiles) -> Any:
    """Decode one dump; its report."""
    from ingest.containers.opening import inner_name
    from ingest.files.accounts import Accounts
    from ingest.files.ahead import made_ahead
    from ingest.files.outcome import FileReport, empty, unreadable
    from ingest.formats.identify import HEAD_BYTES, identify
    from ingest.formats.readers import read

    try:
        size = path.stat().st_size
        if not size:
            return empty(name)
        with path.open("rb") as stream:
            identity = identify(inner_name(name), stream.read(HEAD_BYTES))
    except OSError as error:
        return unreadable(name, error)
    accounts = Accounts()
    with closing(made_ahead(read(path, identity, registry, handlers, cores()))) as batches:
        while True:
            try:
                batch = next(batches, None)
            except OSError as error:
                return unreadable(name, error)
            if batch is None:
                break
            accounts.add(batch)
            for table, rows in batch.tables.items():
                files.add(table, rows)
    report = FileReport(name, bytes=size, kind=str(identity.kind))
    accounts.judge(report)
    return report
