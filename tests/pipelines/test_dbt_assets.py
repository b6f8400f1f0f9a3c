"""The dbt project as assets see it: its manifest is that of the files there are."""

import os
import shutil

import pytest

from pipelines import dbt_assets
from pipelines.home import DBT_PROJECT, Home


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the dbt project that was parsed, and what has parsed it since."""
    copy, parsed = tmp_path / "dbt", []
    shutil.copytree(DBT_PROJECT, copy, ignore=shutil.ignore_patterns("target", "logs"))
    (copy / "target").mkdir()
    (copy / "target" / "manifest.json").write_text("as set up")
    monkeypatch.setattr(dbt_assets, "DBT_PROJECT", copy)

    class Parser:
        def prepare(self, project):
            parsed.append(project)
            project.manifest_path.write_text("parsed")

    monkeypatch.setattr(dbt_assets.DbtProject, "preparer", Parser(), raising=False)
    return copy, parsed


def test_a_state_folder_begins_with_the_manifest_of_the_installation(project, tmp_path):
    _, parsed = project
    for _ in range(2):
        made = dbt_assets.dbt_project(Home(tmp_path / "state"))
        assert (made.manifest_path.read_text(), parsed) == ("as set up", [])


def test_another_version_has_its_own_manifest_however_old_its_files_are(project, tmp_path):
    copy, parsed = project
    home = Home(tmp_path / "state")
    dbt_assets.dbt_project(home)
    (copy / "models" / "marts" / "fct_new.sql").write_text("SELECT 1 AS one")
    os.utime(copy / "models" / "marts" / "fct_new.sql", (0, 0))
    (copy / "target" / "manifest.json").write_text("as set up anew")
    assert dbt_assets.dbt_project(home).manifest_path.read_text() == "as set up anew"
    (copy / "target" / "manifest.json").unlink()
    (copy / "models" / "marts" / "fct_new.sql").write_text("SELECT 2 AS two")
    assert dbt_assets.dbt_project(home).manifest_path.read_text() == "parsed"
    assert len(parsed) == 1


def test_a_damaged_manifest_is_made_anew(project, tmp_path):
    home = Home(tmp_path / "state")
    dbt_assets.dbt_project(home).manifest_path.write_bytes(b"\xff")
    assert dbt_assets.dbt_project(home).manifest_path.read_text() == "as set up"
    (home.dbt / "manifest-of").write_bytes(b"\xff")
    assert dbt_assets.dbt_project(home).manifest_path.read_text() == "as set up"
