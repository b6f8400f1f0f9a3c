"""Registering a calibrated model with its evidence in MLflow, and getting the champion out again.

Backend is SQLite in the folder of the artifacts, or a database server that is named. A version is this project's code
plus a JSON bundle; nothing is pickled. MLflow is imported inside the functions: it costs seconds that only those pay
who register or export.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from model.capacity import bundle as bundles
from model.isolation import Faults

if TYPE_CHECKING:
    from model.calibration.systems import Calibrated
    from model.validation.holdout import Validation

MODEL_NAME = "etalon-capacity"
EXPERIMENT = "etalon-calibration"
CHAMPION = "champion"
BUNDLE_FILE = "bundle.json"
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_UV_AUTO_DETECT": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}
#: Where MLflow's database has addresses of artifacts, which are absolute.
_ADDRESSES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
)
SERVED = Path(__file__).with_name("served.py")


class ModelVersion(NamedTuple):
    """A registered version: ``champion`` says whether it holds the alias.

    ``faults`` has the systems whose evidence could not be made: the version has their entries of the champion before.
    """

    name: str
    version: str
    run_id: str
    champion: bool
    faults: Mapping[str, str] = MappingProxyType({})

    @property
    def model_version(self) -> str:
        """The name that answers carry."""
        return f"{self.name}/{self.version}"


class NoChampionError(LookupError):
    """No version has passed the validation gate yet."""


class NoVersionError(LookupError):
    """No such version can be put in service."""


class NothingToRegisterError(RuntimeError):
    """No system is left to register; the message says why each failed."""


class RegistryDamagedError(RuntimeError):
    """The registry's database cannot be read, or its server not be reached."""


def register(
    fitted: Calibrated,
    validation: Validation,
    data_identity: Mapping[str, Any],
    tracking_dir: Path,
    server: str | None = None,
    standing: Mapping[str, Any] | None = None,
) -> ModelVersion:
    """Register a fitted model with metrics, plots, error table and the identity of its data.

    The alias ``champion`` moves to the version if the validation gate passed, or none that passed holds it: answers
    that say what they did not pass are better than none. Registering the same parameters from the same data again
    returns the version that stands.

    Parameters
    ----------
    fitted
        A fitted model.
    validation
        Its leave-one-rate-out validation.
    data_identity
        What it was fitted on, as short texts: ledger hash, dbt manifest, commit, ...; they become tags.
    tracking_dir
        Folder of the artifacts and, without a server, of the SQLite backend; made if absent.
    server
        Address of a database server that is the backend, such as ``postgresql+psycopg2://etalon@db.example/mlflow``.
    standing
        The champion's bundle, whose entries are kept of systems whose evidence cannot be made.

    Raises
    ------
    NothingToRegisterError
        The evidence of every system failed, and there is no champion.
    """
    from model.registry.evidence import write_evidence
    from model.validation.drift import keep

    bundle = _bundled(fitted, validation, data_identity)
    with tracking(tracking_dir, server) as mlflow, tempfile.TemporaryDirectory() as scratch:
        client = mlflow.MlflowClient()
        version, folder, faults = _registered(client, bundle), Path(scratch), Faults()
        if version is None:
            metrics, faults = write_evidence(fitted, validation, bundle, folder)
            if faults:
                systems = keep(fitted.systems, standing, faults)
                if not systems and not fitted.conditions:
                    raise NothingToRegisterError(f"no system is left to register: {'; '.join(faults.values())}")
                fitted, validation = replace(fitted.without(faults), systems=systems), validation.without(faults)
                bundle = _bundled(fitted, validation, data_identity)
            version = _registered(client, bundle) or _log(mlflow, fitted, validation, bundle, folder, metrics)
        champion = validation.passed or not _has_passed(mlflow, client)
        if champion:
            client.set_registered_model_alias(MODEL_NAME, CHAMPION, version.version)
        return ModelVersion(MODEL_NAME, str(version.version), str(version.run_id), champion, faults)


def _bundled(fitted: Calibrated, validation: Validation, data_identity: Mapping[str, Any]) -> dict[str, Any]:
    gates = {name: validation.verdict(name) for name in fitted.systems}
    return bundles.build(
        {name: one if one.kept is not None else replace(one, gate=gates[name]) for name, one in fitted.systems.items()},
        data={key: str(value) for key, value in data_identity.items()},
        validation={"passed": validation.passed, "errors": validation.errors()},
        refused=fitted.refused,
        conditions=fitted.conditions,
    )


def _digest(bundle: Mapping[str, Any]) -> str:
    return hashlib.sha256(bundles.dumps(bundle).encode()).hexdigest()


def _has_passed(mlflow: Any, client: Any) -> bool:
    """Whether there is a champion that passed its gate."""
    try:
        version = client.get_model_version_by_alias(MODEL_NAME, CHAMPION)
    except mlflow.exceptions.MlflowException:
        return False
    return bool(version.tags.get("gate") == "passed")


def load_champion(tracking_dir: Path, server: str | None = None) -> dict[str, Any]:
    """The champion's bundle, named ``etalon-capacity/<version>``.

    Raises
    ------
    NoChampionError
        No version was registered.
    RegistryDamagedError
        The registry's database cannot be read, or its server not be reached.
    """
    if server is None and not _database(tracking_dir).is_file():
        raise NoChampionError(f"{tracking_dir} holds no registry yet; fit a model first")
    with tracking(tracking_dir, server) as mlflow:
        client = mlflow.MlflowClient()
        try:
            version = client.get_model_version_by_alias(MODEL_NAME, CHAMPION)
        except mlflow.exceptions.MlflowException as error:
            raise NoChampionError("no version of the model is champion yet") from error
        return _bundle(mlflow, version)


def make_champion(tracking_dir: Path, version: str, server: str | None = None) -> None:
    """Move the alias to a version that stands, such as ``3``, whether or not it passed its gate.

    Raises
    ------
    NoVersionError
        There is no such version, or this Etalon cannot read its artifacts; the alias stays.
    RegistryDamagedError
        As :func:`load_champion`.
    """
    with tracking(tracking_dir, server) as mlflow:
        client = mlflow.MlflowClient()
        versions = {int(one.version): one for one in client.search_model_versions(f"name = '{MODEL_NAME}'")}
        try:
            chosen = versions[int(version.removeprefix(f"{MODEL_NAME}/"))]
            _bundle(mlflow, chosen)
        except (KeyError, ValueError, OSError, mlflow.exceptions.MlflowException) as error:
            why = f": {error}" if isinstance(error, bundles.BundleError) else ""
            numbers = ", ".join(map(str, sorted(versions))) or "none"
            raise NoVersionError(f"version {version} cannot be put in service{why} (versions: {numbers})") from error
        client.set_registered_model_alias(MODEL_NAME, CHAMPION, chosen.version)


def _bundle(mlflow: Any, version: Any) -> dict[str, Any]:
    text = mlflow.artifacts.load_text(f"runs:/{version.run_id}/{BUNDLE_FILE}")
    name = f"{MODEL_NAME}/{version.version}"
    return {**bundles.loads(text, name), "model_version": name}


def export_champion(tracking_dir: Path, path: Path, server: str | None = None) -> Path:
    """Write the champion's bundle to ``path`` for the service; errors as :func:`load_champion`."""
    return bundles.write(load_champion(tracking_dir, server), path)


def require_reachable(server: str) -> None:
    """Raise RegistryDamagedError, naming the server without its password, unless it takes a connection."""
    import sqlalchemy

    try:
        url = sqlalchemy.make_url(server)
    except sqlalchemy.exc.ArgumentError:
        example = "postgresql+psycopg2://etalon@db.example/mlflow"
        raise RegistryDamagedError(
            f"the address of the registry's server cannot be read; write it as {example}"
        ) from None
    try:
        sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool).connect().close()
    except (sqlalchemy.exc.SQLAlchemyError, ImportError) as error:
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        raise RegistryDamagedError(
            f"{url.render_as_string(hide_password=True)}: {said}; start the server, or mend its address"
        ) from None


def _database(tracking_dir: Path) -> Path:
    return tracking_dir.absolute() / "mlflow.db"


def _require_readable(database: Path) -> None:
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(database)) as con, suppress(sqlite3.OperationalError):
            con.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        raise RegistryDamagedError(
            f"{database}: {error}; restore a copy, or move {database.parent} away: the next fit begins a new registry"
        ) from None


def _move(database: Path, old: str, new: str) -> None:
    """Have a registry look for its artifacts in its own folder, which was another one before a restore or a move."""
    with closing(sqlite3.connect(database)) as con, con:
        for table, column in _ADDRESSES:
            inside = f"substr({column} || '/', 1, length(:old) + 1) = :old || '/'"
            moved = f"UPDATE {table} SET {column} = :new || substr({column}, length(:old) + 1) WHERE {inside}"
            con.execute(moved, {"old": old, "new": new})


@contextmanager
def tracking(tracking_dir: Path, server: str | None) -> Iterator[Any]:
    """MLflow pointed at the folder or the server, and silent but for errors."""
    os.environ.update(QUIET)
    logger = logging.getLogger("mlflow")
    with warnings.catch_warnings():
        # MLflow's own modules warn of their own type hints while they are imported.
        warnings.simplefilter("ignore", UserWarning)
        import mlflow
        import mlflow.pyfunc
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        tracking_dir.mkdir(parents=True, exist_ok=True)
        if server is None:
            _require_readable(_database(tracking_dir))
        else:
            require_reachable(server)
        uri = server or f"sqlite:///{_database(tracking_dir)}"
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(uri)
        here, experiment = (tracking_dir.absolute() / "artifacts").as_uri(), mlflow.get_experiment_by_name(EXPERIMENT)
        if experiment is None:
            mlflow.create_experiment(EXPERIMENT, artifact_location=here)
        elif server is None and experiment.artifact_location != here:
            _move(_database(tracking_dir), experiment.artifact_location, here)
        yield mlflow
    finally:
        logger.setLevel(level)


def _registered(client: Any, bundle: Mapping[str, Any]) -> Any:
    """The latest version with this bundle; None where there is none."""
    versions = client.search_model_versions(f"name = '{MODEL_NAME}' and tags.bundle_sha256 = '{_digest(bundle)}'")
    return max(versions, key=lambda version: int(version.version), default=None)


def _log(
    mlflow: Any,
    fitted: Calibrated,
    validation: Validation,
    bundle: Mapping[str, Any],
    folder: Path,
    metrics: Mapping[str, float],
) -> Any:
    """Register a version with its evidence in ``folder``."""
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    named = [("system_id", "string"), ("etr_tps", "double")]
    answered = [("metric", "string"), ("condition", "string"), ("value", "double"), ("lo", "double"), ("hi", "double")]
    signature = ModelSignature(
        inputs=Schema([ColSpec(kind, name) for name, kind in named]),
        outputs=Schema([ColSpec(kind, name) for name, kind in [*named, *answered, ("unit", "string")]]),
    )
    highest = {name: one.support_tps[1] for name, one in sorted(fitted.systems.items())}
    example = pd.DataFrame({"system_id": list(highest), "etr_tps": list(highest.values())})
    tags = {**bundle["data"], "bundle_sha256": _digest(bundle), "gate": "passed" if validation.passed else "failed"}
    experiment = mlflow.get_experiment_by_name(EXPERIMENT)
    bundles.write(bundle, folder / BUNDLE_FILE)
    with mlflow.start_run(experiment_id=experiment.experiment_id, tags=tags) as run:
        mlflow.log_artifacts(str(folder))
        mlflow.log_params({"systems": len(fitted.systems), "points": len(fitted.points)})
        mlflow.log_metrics(metrics)
        logged = mlflow.pyfunc.log_model(
            name=MODEL_NAME,
            python_model=str(SERVED),
            artifacts={"bundle": str(folder / BUNDLE_FILE)},
            signature=signature,
            input_example=example,
            pip_requirements=["etalon-z"],
        )
    client = mlflow.MlflowClient()
    try:
        client.create_registered_model(
            MODEL_NAME, description="Calibrated capacity model: usage and response laws by system."
        )
    except mlflow.exceptions.MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    return client.create_model_version(
        MODEL_NAME, logged.model_uri, run_id=run.info.run_id, tags=tags, model_id=logged.model_id
    )
