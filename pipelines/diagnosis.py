"""`etalon doctor`: looks at everything Etalon needs, says what is wrong and what to do."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.exits import EtalonError
from pipelines.home import ROOT, Home
from pipelines.text import counted
from state.catalogue import CATALOGUE, CHAMPION
from state.files import StateDamaged

MARKS = {"good": "✓", "note": "·", "bad": "✗"}
LEAST_FREE_BYTES = 2 * 1024**3
OLD_SNAPSHOT_S = 2 * 86_400
PORTS = {"serve": 8321, "dagster": 3000}


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `good`, `note` (worth knowing) or `bad` (must be mended), with what to do."""

    what: str
    status: str
    seen: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """The finding for a reader."""
        return f"{MARKS[self.status]} {self.what:<16} {self.seen}" + (f" → {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def examine(home: Home, folder: Path) -> list[Finding]:
    """All findings, in the order in which they should be mended."""
    looks: dict[str, Callable[[], Iterator[Finding]]] = {
        "python": _python,
        "packages": _packages,
        "lock file": lambda: _lock(folder),
        "home": lambda: _home(home),
        "settings": lambda: _settings(home),
        "warehouse": lambda: _warehouse(home),
        "snapshot": lambda: _snapshot(home),
        "champion": lambda: _champion(home),
        "state": lambda: _state(home),
        "own files": lambda: _custom_files(home),
        "kernels": _kernels,
        "ports": _ports,
    }
    return [finding for subject, look in looks.items() for finding in _guarded(subject, home, look)]


def _guarded(subject: str, home: Home, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of a check; a check that fails is a finding too, and the others go on."""
    try:
        yield from look()
    except OSError as error:
        yield Finding(
            subject, "bad", f"{error.filename}: {error.strerror}", f"correct its permissions, or those of {home.root}"
        )
    except Exception as error:
        message = f"could not be examined: {type(error).__name__}: {' '.join(str(error).split())}"
        yield Finding(subject, "bad", message, "report it, with the output of `etalon doctor --json`")


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    right = (3, 11) <= sys.version_info[:2] < (3, 14)
    yield Finding("python", "good" if right else "bad", version, "" if right else "use Python 3.11, 3.12 or 3.13")


def _packages() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    wrong = []
    needed = [Requirement(text) for text in requires("etalon-z") or []]
    for requirement in needed:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            wrong.append(f"{requirement.name} {installed} is not {requirement.specifier}")
    if wrong:
        yield Finding("packages", "bad", "; ".join(wrong), "run `make setup`")
    else:
        yield Finding("packages", "good", f"etalon-z {version('etalon-z')}, {counted(len(needed), 'requirement')} met")


def _lock(folder: Path) -> Iterator[Finding]:
    lock, stamp = ROOT / "uv.lock", ROOT / ".venv" / ".synced"
    if not lock.exists():
        yield Finding("lock file", "note", f"not running from a checkout ({folder})")
    elif not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        yield Finding("lock file", "note", "newer than the environment", "run `make setup`")
    else:
        yield Finding("lock file", "good", "the environment was made from it")


def _home(home: Home) -> Iterator[Finding]:
    try:
        home.require_writable()
    except EtalonError as error:
        message, _, remedy = str(error).partition("; ")
        yield Finding("home", "bad", message, remedy)
        return
    yield Finding("home", "good", str(home.root))
    free = shutil.disk_usage(home.root).free
    enough = free >= LEAST_FREE_BYTES
    remedy = "" if enough else f"free some space: Etalon needs {LEAST_FREE_BYTES / 1024**3:.0f} GiB to work in"
    yield Finding("disk", "good" if enough else "bad", f"{free / 1024**3:.1f} GiB free", remedy)


def _settings(home: Home) -> Iterator[Finding]:
    from pipelines import settings

    try:
        rules = settings.read(home)
    except EtalonError as error:
        yield Finding("settings", "bad", str(error), "correct it; docs/operations.md has an example")
        return
    folder, archive = rules.landing.folder or home.landing, rules.landing.archive
    if isinstance(folder, str):
        from pipelines.nights.remote import Remote

        try:
            Remote(home, rules.landing).listed()
        except EtalonError as error:
            yield Finding("landing folder", "bad", str(error), "correct the address, its credentials or the network")
    elif folder.exists() and not os.access(folder, os.R_OK | os.X_OK):
        yield Finding("landing folder", "bad", f"{folder} cannot be read", "mend its rights")
    if isinstance(archive, Path) and not os.access(archive if archive.exists() else archive.parent, os.W_OK):
        yield Finding(
            "archive", "bad", f"{archive} cannot be written", "correct its permissions, or name another folder"
        )
    if rules.notify.to:
        from pipelines.nights import notify

        for problem in notify.unusable(rules.notify):
            yield Finding("notify", "bad", problem, "correct notify.to in etalon.toml")
    if rules.registry_server is not None:
        from model import registry

        try:
            registry.require_reachable(rules.registry_server)
        except registry.RegistryDamagedError as error:
            message, _, remedy = str(error).rpartition("; ")
            yield Finding("mlflow_server", "bad", message, remedy)
    source = "defaults (no file)" if not (home.root / settings.FILE).exists() else settings.FILE
    yield Finding("settings", "good", settings.without_password(f"{source}; files land in {folder}"))


def _warehouse(home: Home) -> Iterator[Finding]:
    if not home.warehouse.exists():
        yield Finding("warehouse", "note", "none yet", "`etalon ingest PATH`")
        return
    import duckdb

    try:
        with duckdb.connect(str(home.warehouse), read_only=True) as con:
            row = con.execute("SELECT count(*) FROM meta.ledger").fetchone()
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException) and "lock" in str(error).lower():
            yield Finding(
                "warehouse", "note", f"in use by another process ({str(error).splitlines()[0]})", "wait for it"
            )
            return
        fault, _, remedy = (home.fault(error) or "").rpartition("; ")
        message = fault or f"{home.warehouse}: {str(error).splitlines()[0]}"
        yield Finding(
            "warehouse", "bad", message, remedy or "restore a backup, or move it away and load the files again"
        )
        return
    size = home.warehouse.stat().st_size / 1024**2
    yield Finding("warehouse", "good", f"{counted(row[0] if row else 0, 'file')} loaded, {size:.0f} MiB, not locked")


def _snapshot(home: Home) -> Iterator[Finding]:
    if not home.snapshot.exists():
        yield Finding("snapshot", "note", "nothing published yet", "`etalon build`")
        return
    from ingest.snapshot import SnapshotDamaged, connected

    try:
        connected(home.snapshot).close()
    except SnapshotDamaged as error:
        message, _, remedy = str(error).rpartition("; ")
        yield Finding("snapshot", "bad", message, remedy)
        return
    age = time.time() - home.snapshot.stat().st_mtime
    old = age > OLD_SNAPSHOT_S
    message = f"published {age / 3600:.1f} hours ago"
    remedy = "check the nightly schedule; `etalon build` publishes now" if old else ""
    yield Finding("snapshot", "note" if old else "good", message, remedy)


def _champion(home: Home) -> Iterator[Finding]:
    if not home.champion.exists():
        yield Finding("champion", "note", "none yet", "`etalon fit`")
        return
    from pipelines import steps

    try:
        bundle = steps.read_bundle(home) or {}
    except StateDamaged as error:
        yield _damaged("champion", error)
        return
    yield Finding("champion", "good", f"{bundle['model_version']}, {counted(len(bundle['systems']), 'system')}")


def _state(home: Home) -> Iterator[Finding]:
    """Small files of the state that cannot be read."""
    damaged = False
    for kind in CATALOGUE:
        for path in sorted(home.root.glob(kind.name)) if kind is not CHAMPION else ():
            try:
                kind.read(path)
            except StateDamaged as error:
                damaged = True
                yield _damaged("state", error)
    if not damaged:
        yield Finding("state", "good", "all small files are readable")


def _custom_files(home: Home) -> Iterator[Finding]:
    """Layouts, metrics and ratings of the installation that cannot be used."""
    from pipelines import layouts, metrics, steps
    from pipelines.nights import rules

    looks: dict[str, Callable[[Home], object]] = {
        "layouts": layouts.registry,
        "metrics": metrics.of_installation,
        "machines": steps.imported_ratings,
        "prices": steps.prices,
        "alerts": lambda home: rules.read(home, steps.calendar(home)),
    }
    for subject, look in looks.items():
        try:
            look(home)
        except (EtalonError, ValueError) as error:
            yield Finding(subject, "bad", str(error), "correct the file, or move it away")


def _damaged(subject: str, error: StateDamaged) -> Finding:
    message, _, remedy = str(error).rpartition("; ")
    return Finding(subject, "bad", message, remedy)


def _kernels() -> Iterator[Finding]:
    from state.kernels import folders

    for folder in folders():
        if compiled := sum(path.suffix in (".nbc", ".o") for path in folder.rglob("*")):
            yield Finding("kernels", "good", f"{counted(compiled, 'compiled kernel')} in {folder}")
            return
    yield Finding("kernels", "note", "none; a command compiles and stores the loops that it uses", "`make setup`")


def _ports() -> Iterator[Finding]:
    import socket

    for name, port in PORTS.items():
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.settimeout(0.5)
            taken = probe.connect_ex(("127.0.0.1", port)) == 0
        message = f"{port} is {'taken' if taken else 'free'}"
        yield Finding(
            f"port of {name}", "note" if taken else "good", message, "it may already be running" if taken else ""
        )
