"""Copies of the state to come back to, and warehouses of earlier versions."""

import hashlib
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath

from pipelines import steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights.run import only_one
from pipelines.settings import FILE
from state.catalogue import BACKUP
from state.files import make_folder

#: What cannot be made again, as paths in the state folder.
_KEPT = (
    "warehouse/etalon.duckdb",
    "warehouse/etalon.parts",
    "published/etalon.duckdb",
    "published/definitions.json",
    "models",
    "mlflow/mlflow.db",
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
#: What a fit beside the copy is writing: files that have not their names yet, and the registry, copied before them.
_OF_A_FIT = shutil.ignore_patterns(".*", "*.db", "*.db-*")


def backup(home: Home, folder: Path) -> Path:
    """Copy what cannot be made again into a folder, with a digest of every file; the folder.

    The warehouse is copied while nobody writes it. Raises WarehouseLocked while another process does, and EtalonError
    while a night is under way, where the folder holds something already, or there is nothing to copy.
    """
    steps.require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    if folder.exists() and any(folder.iterdir()):
        raise EtalonError(f"{folder} is not empty; name another folder for the backup", Exit.NO_INPUT)
    from ingest.warehouse import open_writer, version

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with only_one(home), open_writer(home.warehouse) as con:
        con.execute("CHECKPOINT")
        for name in _KEPT:
            source, target = home.root / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=_OF_A_FIT, dirs_exist_ok=True)
            elif source.suffix == ".db" and source.exists():
                _copy_registry(source, target)
            elif source.exists():
                shutil.copy2(source, target)
    digests = {str(path.relative_to(folder)): _digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    BACKUP.write(folder / BACKUP.name, {"schema": version.SCHEMA, "files": digests})
    return folder


def restore(home: Home, folder: Path) -> Path:
    """Make the state of an empty state folder from a copy; the state folder.

    The warehouse comes last and in one step: what was cut short is restored again. EtalonError where the copy is not
    whole, naming the file, or the state folder has a warehouse already.
    """
    manifest = folder / BACKUP.name
    if not manifest.is_file():
        raise EtalonError(
            f"{folder} is not a backup, because it has no {BACKUP.name}; name a folder made by `etalon backup`",
            Exit.NO_INPUT,
        )
    if home.warehouse.exists():
        raise EtalonError(
            f"{home.warehouse} already exists; name an empty state folder with --home, or move this one away",
            Exit.NO_INPUT,
        )
    from ingest.warehouse import version

    schema, digests = _listed(manifest)
    if schema > version.SCHEMA:
        raise EtalonError(f"{folder} was made by a later version of Etalon; use that version", Exit.NO_INPUT)
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file() or _digest(path) != digest:
            raise EtalonError(f"{path} is missing or was changed after the backup; use another backup", Exit.NO_INPUT)
    home.require_writable()
    for name in sorted(digests, key=lambda name: (name == _KEPT[0], name)):
        target = home.root / name
        make_folder(target.parent)
        copied = target.with_name(f".{target.name}.part")
        shutil.copy2(folder / name, copied)
        copied.replace(target)
    migrate(home)
    from ingest.warehouse import move_parts

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
        found = version.read(con)
        if found > version.SCHEMA:
            raise EtalonError(
                f"{home.warehouse}: was made by a later version of Etalon (schema {found}; this version supports "
                f"{version.SCHEMA}); use that version, or restore an earlier backup",
                Exit.NOT_READY,
            )
    steps.prepare(home)
    with open_writer(home.warehouse) as con:
        version.write(con)
    if found == version.SCHEMA:
        return f"up to date: schema {version.SCHEMA}"
    return (
        f"upgraded from schema {found} to {version.SCHEMA}. Run `etalon build` to rebuild the marts, and `etalon "
        "ingest --reload outdated` to read data that earlier layouts skipped"
    )


def _copy_registry(source: Path, target: Path) -> None:
    """Copy what was committed to the registry's database, whoever is writing it."""
    with closing(sqlite3.connect(source)) as con, closing(sqlite3.connect(target)) as copy:
        con.backup(copy)


def _listed(manifest: Path) -> tuple[int, Mapping[str, str]]:
    """The schema that a copy is of, and the digests of its files, each in a place where `backup` puts one."""
    found = BACKUP.read(manifest)
    schema, digests = found["schema"], found["files"]
    for name in digests:
        path = PurePosixPath(name)
        if ".." in path.parts or not any(path.is_relative_to(kept) for kept in _KEPT):
            raise EtalonError(f"{manifest}: {name!r} is not a file of a backup; use another backup", Exit.NO_INPUT)
    return schema, digests


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
