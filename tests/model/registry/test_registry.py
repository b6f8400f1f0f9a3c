"""The registry: versions with their evidence, a champion only through the gate, a bundle that answers alike."""

import json
import os
import shutil

import mlflow
import pandas as pd
import pytest

from model.calibration.systems import calibrate
from model.capacity import bundle as bundles
from model.capacity.ask import predict
from model.registry import (
    MODEL_NAME,
    NoChampionError,
    NoVersionError,
    RegistryDamagedError,
    export_champion,
    export_versions,
    load_champion,
    make_champion,
    register,
)
from model.registry.store import EXPERIMENT, tracking
from model.validation import validate
from tests.full_disk import files_no_larger_than
from tests.model.points import made_points
from tests.model.registry.bundles import RATES, fitted


def missing():
    """A model that misses its points, and what its validation says."""
    points = made_points("shop", RATES, fixed=0.2, demand_us=1000.0)
    for column in [name for name in points.columns if name.endswith("_cpu_pct") or name == "cpu_busy_pct"]:
        points[column] *= [1.0, 1.4, 0.8, 1.3]
    return calibrate(points, {}), validate(points)


def uri_of(folder):
    return f"sqlite:///{folder}/mlflow.db"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    folder = tmp_path_factory.mktemp("registry") / "mlflow"
    model, validation = fitted()
    return folder, model, register(model, validation, {"ledger_sha256": "abc", "git_commit": "123"}, folder)


def test_a_model_that_passes_becomes_champion_and_can_be_exported(registry, tmp_path):
    folder, model, version = registry
    assert version.champion
    path = export_champion(folder, tmp_path / "champion.json")
    bundle = bundles.read(path)
    assert bundle["model_version"] == f"{MODEL_NAME}/{version.version}"
    assert bundle["data"] == {"ledger_sha256": "abc", "git_commit": "123"}
    own = bundles.build(model.systems, data={}, validation={})
    at = {"etr_tps": 3000.0}
    assert predict(bundle, "shop", at).outputs == predict(own, "shop", at).outputs
    assert export_champion(folder, tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_version_carries_metrics_plots_table_and_data_identity(registry):
    folder, _, version = registry
    client = mlflow.MlflowClient(uri_of(folder))
    run = client.get_run(version.run_id)
    assert run.data.metrics["all/total_work_cpu_pct/mean_abs_error_pct"] < 1
    assert client.get_model_version(MODEL_NAME, version.version).tags["ledger_sha256"] == "abc"
    assert {item.path for item in client.list_artifacts(version.run_id)} >= {"bundle.json", "error_table.csv", "plots"}
    assert "plots/held_out.svg" in {item.path for item in client.list_artifacts(version.run_id, "plots")}


def test_the_registered_model_answers_without_pickle(registry):
    folder, _, _ = registry
    mlflow.set_tracking_uri(uri_of(folder))
    mlflow.set_registry_uri(uri_of(folder))
    loaded = mlflow.pyfunc.load_model(f"models:/{MODEL_NAME}@champion")
    assert loaded.metadata.signature.inputs.input_names() == ["system_id", "etr_tps"]
    answered = loaded.predict(pd.DataFrame({"system_id": ["shop"], "etr_tps": [3000.0]}))
    expected = predict(load_champion(folder), "shop", {"etr_tps": 3000.0}).outputs
    assert answered["value"].tolist() == [output.value for output in expected]
    assert not [path for path in folder.rglob("*") if path.suffix in {".pkl", ".pickle", ".cloudpickle"}]
    assert os.environ["MLFLOW_ALLOW_PICKLE_DESERIALIZATION"] == "false"


def test_the_same_model_from_the_same_data_is_the_same_version(registry):
    folder, model, version = registry
    _, validation = fitted()
    again = register(model, validation, {"ledger_sha256": "abc", "git_commit": "123"}, folder)
    assert again == version


def test_a_model_that_misses_is_kept_but_does_not_become_champion(registry):
    folder, _, version = registry
    failed = register(*missing(), {"ledger_sha256": "def"}, folder)
    assert not failed.champion
    assert failed.version != version.version
    assert load_champion(folder)["model_version"] == version.model_version


def test_models_that_miss_answer_the_latest_first_until_one_passes_and_say_so(tmp_path):
    model, validation = missing()
    for data in ("def", "ghi"):
        failed = register(model, validation, {"ledger_sha256": data}, tmp_path)
        assert failed.champion
        champion = load_champion(tmp_path)
        assert champion["model_version"] == failed.model_version
        assert champion["systems"]["shop"].gate["passed"] is False
    assert register(*fitted(), {"ledger_sha256": "abc"}, tmp_path).champion


def test_a_former_version_is_put_in_service_again_and_none_that_cannot_be_read(tmp_path, monkeypatch):
    first, second = (register(*fitted(seed), {"ledger_sha256": str(seed)}, tmp_path) for seed in (1, 2))
    for version in (first, second):
        make_champion(tmp_path, version.version)
        assert load_champion(tmp_path)["model_version"] == version.model_version
    with pytest.raises(NoVersionError, match=r"version 7 .*\(versions: 1, 2\)"):
        make_champion(tmp_path, "7")
    with monkeypatch.context() as patched, pytest.raises(NoVersionError, match="etalon-bundle/1"):
        patched.setattr(mlflow.artifacts, "load_text", lambda _: '{"schema": "etalon-bundle/1"}')
        make_champion(tmp_path, first.model_version)
    assert load_champion(tmp_path)["model_version"] == second.model_version


def test_versions_are_listed_with_their_errors_the_latest_first(registry, tmp_path):
    folder, _, version = registry
    path = export_versions(folder, tmp_path / "versions.json")
    versions = json.loads(path.read_text())["versions"]
    first = versions[-1]
    assert first["model_version"] == version.model_version and first["promoted"]
    assert first["systems"] == [{"system": "shop", "period": None, "points": 4, "passed": True, "kept": None}]
    assert {row["held_out"] for row in first["errors"]} == {"a measured point"}
    marked = [{**one, "errors": "as they stood"} for one in versions]
    path.write_text(json.dumps({"versions": marked}))
    assert json.loads(export_versions(folder, path).read_text())["versions"] == marked
    of_another = [{**one, "registered_at": "2020-01-01T00:00:00+00:00"} for one in marked]
    path.write_text(json.dumps({"versions": of_another}))
    assert json.loads(export_versions(folder, path).read_text())["versions"] == versions


def test_a_version_whose_artifacts_are_gone_is_listed_without_systems(registry, tmp_path, monkeypatch):
    def gone(_):
        raise OSError("gone")

    monkeypatch.setattr(mlflow.artifacts, "load_text", gone)
    folder, _, version = registry
    versions = json.loads(export_versions(folder, tmp_path / "versions.json").read_text())["versions"]
    assert versions[-1]["model_version"] == version.model_version
    assert versions[-1]["systems"] == versions[-1]["errors"] == []


def test_a_registry_in_another_folder_reads_and_writes_its_own_artifacts(registry, tmp_path):
    folder, _, version = registry
    other = shutil.copytree(folder, tmp_path / "restored here" / "mlflow")
    for path in other.rglob("bundle.json"):
        path.write_text(path.read_text().replace('"git_commit": "123"', '"git_commit": "456"'))
    assert load_champion(other)["data"]["git_commit"] == "456"
    assert load_champion(folder)["data"]["git_commit"] == "123"
    with tracking(other, None) as moved:
        assert moved.get_experiment_by_name(EXPERIMENT).artifact_location == (other / "artifacts").as_uri()
    with tracking(other, None) as moved:
        loaded = moved.MlflowClient().get_model_version_download_uri(MODEL_NAME, version.version)
    assert loaded.startswith((other / "artifacts").as_uri())


def test_a_registry_without_champion_says_so(tmp_path):
    with pytest.raises(NoChampionError, match="fit a model first"):
        load_champion(tmp_path / "nothing")


def test_a_full_disk_leaves_the_champion_that_there_was(tmp_path):
    path = bundles.write({"systems": {}}, tmp_path / "champion.json")
    before = path.read_bytes()
    with files_no_larger_than(4096), pytest.raises(OSError, match="too large"):
        bundles.write({"systems": {"x" * 8192: {}}}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_registry_is_told_with_its_remedy(tmp_path):
    (tmp_path / "mlflow.db").write_bytes(b"damaged" * 1000)
    with pytest.raises(RegistryDamagedError, match=r"move .* away: the next fit begins a new registry"):
        load_champion(tmp_path)
