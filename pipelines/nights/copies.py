"""Backups of the state, and warehouses of earlier versions."""

import hashlib
import os
import re
import shutil
import sqlite3
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from pipelines import steps
from pipelines.exits import EtalonError, Exit, code_of
from pipelines.home import Home
from pipelines.nights.run import only_one
from pipelines.settings import FILE, without_password
from state.catalogue import BACKUP
from state.files import make_folder, sync

_WAREHOUSE, _PARTS, _REGISTRY = "warehouse/etalon.duckdb", "warehouse/etalon.parts", "mlflow/mlflow.db"
#: What cannot be made again, as paths in the state folder.
_KEPT = (
    _WAREHOUSE,
    _PARTS,
    "published/etalon.duckdb",
    "published/definitions.json",
    "models",
    _REGISTRY,
    "mlflow",
    "nights",
    "layouts",
    "metrics.toml",
    "machines.csv",
    "prices.csv",
    "alerts.toml",
    "saved.json",
    "tokens.json",
    FILE,
)
#: Folder in which a backup has everything but parts: the next backup has another.
_STATE = re.compile(r"state-[0-9a-f]{32}/")


class _Store:
    """A folder of this machine, or an address that fsspec knows, with a backup or nothing.

    The manifest lists the files that are the backup: parts by their paths in the state folder, all others by their
    paths in a folder `state-…`, which no other backup uses. A backup of an earlier version has no such folder.
    """

    def __init__(self, address: str) -> None:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        self.address = without_password(address)
        self._files, root = url_to_fs(address)
        self._root = root.rstrip("/") or root
        self._files.invalidate_cache()
        self.is_local = isinstance(self._files, LocalFileSystem)
        self.has_manifest = self._files.exists(self.path(BACKUP.name))

    def path(self, name: str) -> str:
        """Where a file is, as the file system calls it."""
        return f"{self._root}/{name}"

    def is_empty(self) -> bool:
        """Whether nothing is there."""
        return not self._files.exists(self._root) or not self._files.ls(self._root, detail=False)

    def manifest(self) -> Mapping[str, Any]:
        """The manifest. EtalonError where it names a file that no backup has; StateDamaged where it cannot be read."""
        place = Path(self.path(BACKUP.name))
        try:
            text = self._files.cat_file(self.path(BACKUP.name)).decode()
        except UnicodeDecodeError:
            raise BACKUP.damaged(place, "is not UTF-8") from None
        manifest: Mapping[str, Any] = BACKUP.loads(text, place)
        for name in manifest["files"]:
            path = PurePosixPath(_in_home(name))
            if ".." in path.parts or not any(path.is_relative_to(kept) for kept in _KEPT):
                raise EtalonError(f"{place}: {name!r} is not a file of a backup; use another backup", Exit.NO_INPUT)
        return manifest

    def write_manifest(self, manifest: Mapping[str, Any], scratch: Path) -> None:
        """Put the manifest in the place of the earlier one, in one step."""
        BACKUP.write(scratch / BACKUP.name, manifest)
        coming = f".{BACKUP.name}.part"
        self.put(scratch / BACKUP.name, coming)
        self._files.mv(self.path(coming), self.path(BACKUP.name))

    def part_sizes(self) -> dict[str, int]:
        """The parts that are there, whole or not, with their sizes in bytes."""
        files = self._files.find(self.path(_PARTS), detail=True)
        return {path.removeprefix(f"{self._root}/"): about["size"] for path, about in files.items()}

    def put(self, source: Path, name: str) -> None:
        """Copy a file there. EtalonError where the copy has another size."""
        target = self.path(name)
        self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
        if self.is_local:
            shutil.copy2(source, target)
            sync(target)
        else:
            self._files.put_file(str(source), target)
        if (size := self._files.info(target)["size"]) != source.stat().st_size:
            raise EtalonError(f"{self.address}: {name} has {size} bytes instead of {source.stat().st_size}; run again")

    def put_part(self, source: Path, name: str) -> str:
        """Put a part there, by a hard link where both are on one file system; its digest."""
        digest = _digest(source)
        if self.is_local:
            target = Path(self.path(name))
            target.unlink(missing_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
                return digest
            except OSError:  # Of another file system, or of one without links.
                pass
        self.put(source, name)
        if self.is_local and _digest(Path(self.path(name))) != digest:
            raise EtalonError(f"{self.address}: {name} is not what was written there; check the disk, and run again")
        return digest

    def get(self, name: str, target: Path) -> None:
        """Copy a file from there. FileNotFoundError."""
        if self.is_local:
            shutil.copy2(self.path(name), target)
        else:
            self._files.get_file(self.path(name), str(target))
            target.chmod(0o600)

    def remove_others(self, names: Collection[str], before: Collection[str]) -> None:
        """Remove what the earlier backup, or one that was cut short, has put there, and this one does not need."""
        paths = [path.removeprefix(f"{self._root}/") for path in self._files.find(self._root)]
        needless = [name for name in paths if _STATE.match(name) or name.startswith(f"{_PARTS}/") or name in before]
        for name in (name for name in needless if name not in names):
            self._files.rm_file(self.path(name))
            if self.is_local:
                with suppress(OSError):  # It holds other files.
                    os.removedirs(Path(self.path(name)).parent)


def backup(home: Home, address: str) -> str:
    """Copy what cannot be made again to a folder or an address that fsspec knows; the address, without its password.

    An earlier backup there is brought up to date: parts, which never change, are copied once, and hard links of the
    state folder's where both are on one file system. Merged parts are new files, and are copied again. The manifest has
    a digest of every file and is replaced last. A backup that is cut short leaves the earlier one as it was.

    The warehouse is copied while nobody writes it. Raises WarehouseLocked while another process does, and EtalonError
    while a night is under way, where the folder holds something else, cannot be reached, or there is nothing to copy.
    """
    steps.require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    from ingest.warehouse import named_parts, open_writer, version

    with _reaching(address) as store:
        if not store.has_manifest and not store.is_empty():
            remedy = "name a new or empty folder, or one with a backup"
            raise EtalonError(f"{store.address} is not empty and holds no backup; {remedy}", Exit.NO_INPUT)
        if store.is_local:
            Path(store.path("")).mkdir(parents=True, exist_ok=True, mode=0o700)
        before: Mapping[str, str] = store.manifest()["files"] if store.has_manifest else {}
        with only_one(home), open_writer(home.warehouse) as con, TemporaryDirectory() as scratch:
            con.execute("CHECKPOINT")
            sizes, state = store.part_sizes(), f"state-{uuid.uuid4().hex}"
            digests: dict[str, str] = {}
            for name in sorted(f"{_PARTS}/{path}" for path in named_parts(con) | named_parts(con, home.snapshot)):
                source = home.root / name
                is_there = name in before and sizes.get(name) == source.stat().st_size
                digests[name] = before[name] if is_there else store.put_part(source, name)
            for name, source in _small_files(home, Path(scratch)):
                store.put(source, f"{state}/{name}")
                digests[f"{state}/{name}"] = _digest(source)
            store.write_manifest({"schema": version.SCHEMA, "files": digests}, Path(scratch))
        store.remove_others(digests, before)
    return store.address


def restore(home: Home, address: str) -> Path:
    """Make the state of an empty state folder from a backup; the state folder.

    Every file is compared with its digest before the first is put in its place, the warehouse last. What was cut short
    is restored again. EtalonError where the backup is not whole, naming the file, or the state folder has a warehouse.
    """
    with _reaching(address) as store:
        if not store.has_manifest:
            raise EtalonError(
                f"{store.address} is not a backup, because it has no {BACKUP.name}; name one made by `etalon backup`",
                Exit.NO_INPUT,
            )
        if home.warehouse.exists():
            raise EtalonError(
                f"{home.warehouse} already exists; name an empty state folder with --home, or move this one away",
                Exit.NO_INPUT,
            )
        from ingest.warehouse import move_parts, version

        manifest = store.manifest()
        if manifest["schema"] > version.SCHEMA:
            raise EtalonError(f"{store.address} was made by a later version of Etalon; use that version", Exit.NO_INPUT)
        home.require_writable()
        copies: dict[Path, Path] = {}
        try:
            names = sorted(manifest["files"], key=lambda name: (_in_home(name) == _WAREHOUSE, name))
            for name in names:
                target = home.root / _in_home(name)
                copy = copies[target] = target.with_name(f".{target.name}.part")
                make_folder(target.parent)
                _fetch(store, name, copy, manifest["files"][name])
        except BaseException:
            for copy in copies.values():
                copy.unlink(missing_ok=True)
            raise
        for target, copy in copies.items():
            copy.replace(target)
    migrate(home)
    move_parts(home.snapshot, home.warehouse)
    return home.root


def migrate(home: Home) -> str:
    """Bring the warehouse to this version; what was done, in words.

    The first released state has no version in it. Its tables are widened, and its marts built anew by the next build.
    EtalonError where the warehouse was made by a later version or is none.
    """
    steps.require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    from ingest.warehouse import open_writer, version

    with open_writer(home.warehouse) as con:
        schema = version.read(con)
        if schema > version.SCHEMA:
            raise EtalonError(
                f"{home.warehouse}: was made by a later version of Etalon (schema {schema}; this version supports "
                f"{version.SCHEMA}); use that version, or restore an earlier backup",
                Exit.NOT_READY,
            )
    steps.prepare(home)
    with open_writer(home.warehouse) as con:
        version.write(con)
    if schema == version.SCHEMA:
        return f"up to date: schema {version.SCHEMA}"
    return (
        f"upgraded from schema {schema} to {version.SCHEMA}. Run `etalon build` to rebuild the marts, and `etalon "
        "ingest --reload outdated` to read data that earlier layouts skipped"
    )


@contextmanager
def _reaching(address: str) -> Iterator[_Store]:
    """The store at an address; EtalonError for what goes wrong there, where it is no folder of this machine."""
    is_local = False
    try:
        store = _Store(address)
        is_local = store.is_local
        yield store
    except Exception as error:  # Every kind of file system has different errors.
        if is_local or code_of(error) is not None or isinstance(error, duckdb.Error):
            raise
        raise EtalonError(without_password(f"{address}: {type(error).__name__}: {error}"), Exit.NO_INPUT) from error


def _in_home(name: str) -> str:
    """The path in the state folder of a file of a backup."""
    return _STATE.sub("", name, count=1)


def _small_files(home: Home, scratch: Path) -> Iterator[tuple[str, Path]]:
    """The files of a backup that are no parts, by their paths in the state folder, each with what to copy.

    Files that a concurrent fit is writing are left out: files that have not their names yet, and the registry, which is
    copied as committed, before them.
    """
    listed: dict[str, Path] = {}
    for kept in (kept for kept in _KEPT if kept != _PARTS):
        source = home.root / kept
        if kept == _REGISTRY and source.exists():
            with closing(sqlite3.connect(source)) as con, closing(sqlite3.connect(scratch / "mlflow.db")) as copy:
                con.backup(copy)
            yield kept, scratch / "mlflow.db"
        elif source.is_dir():
            for path in sorted(path for path in source.rglob("*") if path.is_file()):
                within = path.relative_to(source)
                hidden = any(name.startswith(".") for name in within.parts)
                if not hidden and not path.name.endswith(".db") and ".db-" not in path.name:
                    listed[path.relative_to(home.root).as_posix()] = path
        elif source.exists():
            listed[kept] = source
    yield from listed.items()


def _fetch(store: _Store, name: str, target: Path, digest: str) -> None:
    """Copy a file of a backup. EtalonError where it is missing or has another digest."""
    try:
        store.get(name, target)
        is_whole = _digest(target) == digest
    except FileNotFoundError:
        is_whole = False
    if not is_whole:
        path = without_password(store.path(name))
        raise EtalonError(f"{path} is missing or was changed after the backup; use another backup", Exit.NO_INPUT)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
