"""Runs of the pipelines and the model registry kept in PostgreSQL."""

import os
import subprocess
import sys

import pytest
import sqlalchemy
import yaml

from model.registry import RegistryDamagedError, export_champion, load_champion, register, require_reachable
from pipelines import diagnosis
from pipelines.home import Home
from tests.model.registry.bundles import fitted
from tests.pipelines.conftest import ROOT
from tests.postgres import serving

RUN = """
import dagster as dg

@dg.asset(pool="duckdb_writer")
def loaded():
    return 1

with dg.DagsterInstance.get() as instance:
    assert dg.materialize([loaded], instance=instance).success
    assert instance.event_log_storage.get_latest_materialization_events([loaded.key])
    print(type(instance.run_storage).__name__, instance.get_runs_count())
"""


@pytest.fixture(scope="module")
def server():
    with serving("dagster", "mlflow") as address:
        yield address


def rows(address, table):
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    with engine.connect() as con:
        return con.execute(sqlalchemy.text(f"SELECT count(*) FROM {table}")).scalar()


def test_dagster_keeps_its_runs_in_postgresql_with_the_storage_of_deploy(server, tmp_path):
    instance = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    instance |= yaml.safe_load((ROOT / "deploy" / "dagster-storage.yaml").read_text())
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(instance))
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(tmp_path),
        "ETALON_DAGSTER": str(tmp_path),
        "ETALON_DAGSTER_POSTGRES_URL": f"{server}/dagster",
    }
    done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["PostgresRunStorage 1"], done.stderr
    assert rows(f"{server}/dagster", "runs") == 1
    assert not list(tmp_path.rglob("*.db"))


def test_a_champion_is_registered_and_exported_from_postgresql(server, tmp_path):
    model, validation = fitted()
    address = f"{server}/mlflow"
    version = register(model, validation, {"ledger_sha256": "abc"}, tmp_path, address)
    assert version.champion
    assert register(model, validation, {"ledger_sha256": "abc"}, tmp_path, address) == version
    assert load_champion(tmp_path, address)["model_version"] == version.model_version
    assert export_champion(tmp_path, tmp_path / "champion.json", address).is_file()
    assert rows(address, "model_versions") == 1
    assert not list(tmp_path.rglob("*.db"))


def test_a_registry_out_of_reach_is_told_without_its_password(monkeypatch, tmp_path):
    address = "postgresql+psycopg2://etalon:secret@127.0.0.1:9/mlflow"
    with pytest.raises(RegistryDamagedError, match=r"etalon:\*\*\*@127.0.0.1:9/mlflow: .*refused.*; start the server"):
        require_reachable(address)
    monkeypatch.setenv("ETALON_MLFLOW_SERVER", address)
    found = [finding for finding in diagnosis.examine(Home(tmp_path), ROOT) if finding.what == "mlflow_server"]
    assert [finding.status for finding in found] == ["bad"]
    assert "secret" not in found[0].line
