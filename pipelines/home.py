"""Where Etalon keeps its state: every path under ETALON_HOME, named once."""

import os
import re
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipelines.exits import EtalonError, no_room

ROOT = Path(__file__).resolve().parent.parent
_INSTALLED = Path(__file__).resolve().with_name("project")
PROJECT = _INSTALLED if _INSTALLED.is_dir() else ROOT
"""Where the dbt project and Dagster's instance are: the checkout, or a folder of the installed package."""
DBT_PROJECT = PROJECT / "dbt"


@dataclass(frozen=True)
class Home:
    """The state folder. Paths are absolute; nothing is created until a step needs it."""

    root: Path

    @classmethod
    def from_environment(cls) -> "Home":
        """The folder that ETALON_HOME names, `.etalon` in the current folder without it."""
        return cls(Path(os.environ.get("ETALON_HOME") or ".etalon").expanduser().absolute())

    @property
    def landing(self) -> Path:
        """Where files to be ingested arrive."""
        return self.root / "landing"

    @property
    def metrics(self) -> Path:
        """Metrics of the installation."""
        return self.root / "metrics.toml"

    @property
    def machines(self) -> Path:
        """Ratings of machines of the installation."""
        return self.root / "machines.csv"

    @property
    def prices(self) -> Path:
        """The installation's prices of an MSU and of an hour of CPU."""
        return self.root / "prices.csv"

    @property
    def layouts(self) -> Path:
        """Record layouts of the installation."""
        return self.root / "layouts"

    @property
    def lab(self) -> Path:
        """Dumps rendered by the lab."""
        return self.root / "lab"

    @property
    def warehouse(self) -> Path:
        """The writer's database."""
        return self.root / "warehouse" / "etalon.duckdb"

    @property
    def window(self) -> Path:
        """The database of the last build, where that was not the whole warehouse."""
        return self.root / "build" / "window.duckdb"

    @property
    def snapshot(self) -> Path:
        """The published read-only database."""
        return self.root / "published" / "etalon.duckdb"

    @property
    def lake(self) -> Path:
        """The Delta logs of the lake as they were written last."""
        return self.root / "lake"

    @property
    def definitions(self) -> Path:
        """Digests of what the published marts are defined by."""
        return self.snapshot.with_name("definitions.json")

    @property
    def quality(self) -> Path:
        """The data-quality site."""
        return self.root / "quality"

    @property
    def reports(self) -> Path:
        """Pages about single runs: what was loaded, how a model was validated."""
        return self.root / "reports"

    @property
    def nights(self) -> Path:
        """The results of all nights, and data that a night keeps for the next."""
        return self.root / "nights"

    @property
    def mlflow(self) -> Path:
        """Model registry: `mlflow.db` and artifacts."""
        return self.root / "mlflow"

    @property
    def champion(self) -> Path:
        """The bundle that the service answers from."""
        return self.root / "models" / "champion.json"

    @property
    def versions(self) -> Path:
        """The latest versions of the model, as the service shows them."""
        return self.root / "models" / "versions.json"

    @property
    def drift(self) -> Path:
        """How champions did on the days after they were fitted, a JSON line for each figure."""
        return self.root / "models" / "drift.jsonl"

    @property
    def dagster(self) -> Path:
        """Run storage of the pipelines."""
        return self.root / "dagster"

    @property
    def dbt(self) -> Path:
        """Targets and logs of dbt."""
        return self.root / "dbt"

    @property
    def cache(self) -> Path:
        """Compiled kernels that `make setup` did not keep, and the like; safe to delete."""
        return self.root / "cache"

    def environment(self) -> dict[str, str]:
        """Variables that keep every tool's state in here and its telemetry off."""
        programs = str(Path(sys.executable).parent)
        path = os.environ.get("PATH", "")
        return {
            "PATH": path if programs in path.split(os.pathsep) else os.pathsep.join([programs, path]),
            "ETALON_HOME": str(self.root),
            "ETALON_WAREHOUSE": str(self.warehouse),
            "ETALON_DAGSTER": str(self.dagster),
            "DAGSTER_HOME": str(PROJECT),
            "MPLCONFIGDIR": str(self.cache / "matplotlib"),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
            "DO_NOT_TRACK": "1",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "DBT_TARGET_PATH": str(self.dbt / "target"),
            "DBT_LOG_PATH": str(self.dbt / "logs"),
        }

    def activate(self) -> None:
        """Put `environment()` in force for this process and its children. Raises EtalonError where no folder can be."""
        os.environ.update(self.environment())
        try:
            self._make()
            self.cache.mkdir(exist_ok=True)
        except OSError as error:
            if not os.path.isdir(self.root):  # noqa: PTH112 (does not raise where nothing may be looked at)
                raise EtalonError(self.refusal(error)) from error

    def _make(self) -> None:
        """Make the state folder, for its owner alone, unless it is there."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that are made in the state folder."""
        return (
            *(file.parent for file in (self.warehouse, self.window, self.snapshot, self.champion)),
            *(self.landing, self.layouts, self.lab, self.quality, self.reports, self.nights, self.mlflow),
            *(self.dagster, self.dbt, self.cache),
        )

    def require_writable(self) -> None:
        """Raise EtalonError, naming path and remedy, unless files can be made in the state folder and its folders.

        What this process makes from then on has no more rights than the state folder, whichever library makes it.
        """
        try:
            self._make()
            before = os.umask(0o077)
            os.umask(before | (~self.root.stat().st_mode & 0o077))
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise EtalonError(self.refusal(OSError(error.errno, error.strerror))) from error
        for folder in self.folders:
            if folder.exists() and not folder.is_dir():
                raise EtalonError(f"{folder} must be a folder, but is a file; move it away and run the command again")

    def fault(self, error: BaseException) -> str | None:
        """The message for an error of the disk or of a database in the state folder; None for any other error."""
        return no_room(error, self.root) or self._damaged(error)

    def _damaged(self, error: BaseException) -> str | None:
        """Which database has a damaged block that an error speaks of, and what to do. The block says whose it is."""
        match = re.search(r"does not match stored checksum (\d+) in block at location (\d+)", str(error))
        if match is None:
            return None
        stored, place = map(int, match.groups())
        again = "restore a backup (`etalon restore`), or move it away and load the files again (`etalon ingest`)"
        for path, remedy in (
            (self.snapshot, "run `etalon publish` to replace it"),
            (self.window, "move it away; the next `etalon build` replaces it"),
            (self.warehouse, again),
        ):
            with suppress(OSError), path.open("rb") as file:
                file.seek(place)
                if int.from_bytes(file.read(8), "little") == stored:
                    return f"{path}: the database is damaged: the block at byte {place:,} was changed; {remedy}"
        return None

    def refusal(self, error: OSError) -> str:
        """The message when the state folder, or a path in it, cannot be used."""
        path = str(self.root) if error.filename is None else str(error.filename)
        where = "" if path == str(self.root) or not path.startswith(str(self.root)) else f", at {path}"
        problem = "is a file" if os.path.isfile(self.root) else f"cannot be written: {error.strerror}{where}"  # noqa: PTH113
        return (
            f"ETALON_HOME ({self.root}) {problem}; name a folder of yours with --home or ETALON_HOME, or correct its "
            "permissions"
        )
