"""The dbt project as compiled SQL: compiled once, run without dbt, with the data tests that dbt would run."""

import json
import os
import shutil
from dataclasses import replace

import duckdb
import pytest

from pipelines.building import driver, models, project
from pipelines.exits import EtalonError
from pipelines.home import DBT_PROJECT, Home

METRIC = '[one]\ngrain = "workload"\nlabel = "One"\nunit = "count"\nnumerator = "{ended}"\ndenominator = "{ended}"\n'


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A dbt project of three models that dbt has compiled, as `make setup` leaves the real one."""
    copy = tmp_path_factory.mktemp("project") / "dbt"
    (copy / "models").mkdir(parents=True)
    shutil.copy(DBT_PROJECT / "profiles.yml", copy)
    (copy / "dbt_project.yml").write_text(
        "name: etalon\nversion: '1.0.0'\nprofile: etalon\nmodels: {etalon: {+schema: marts, +materialized: table}}\n"
    )
    shutil.copytree(DBT_PROJECT / "macros", copy / "macros", ignore=shutil.ignore_patterns("[!gm]*"))
    (copy / "models" / "a_last.sql").write_text(
        "select n, {{ env_var('ETALON_METRICS') | length }} as m from {{ ref('z_first') }}"
    )
    (copy / "models" / "z_first.sql").write_text("select unnest([1, 2, 2]) as n")
    (copy / "models" / "other.sql").write_text("{{ config(materialized='view') }} select 1 as n")
    (copy / "models" / "models.yml").write_text(
        "models:\n"
        "  - name: a_last\n    config: {contract: {enforced: true}}\n"
        "    columns: [{name: m, data_type: bigint}, {name: n, data_type: integer, constraints: [{type: not_null}]}]\n"
        "  - {name: z_first, columns: [{name: n, data_tests: [unique]}]}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(project, "DBT_PROJECT", copy)
        project.compile_into(copy / "target", {"ETALON_METRICS": "{}"}, None)
        yield copy


def compiled_anew(home):
    """Whether dbt has to compile the project for a state folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(project, "DBT", "import sys; sys.exit('dbt was started')")
        try:
            project.manifest(home)
        except EtalonError as error:
            assert "dbt was started" in str(error)
            return True
    return False


def test_a_state_folder_uses_what_the_installation_has_compiled(small, tmp_path):
    home = Home(tmp_path / "state")
    assert not compiled_anew(home)
    assert project.manifest(home) == small / "target" / "manifest.json"


def test_the_project_is_compiled_again_where_a_file_of_it_is_another_however_old(small, tmp_path):
    home, model = Home(tmp_path / "state"), small / "models" / "z_first.sql"
    assert not compiled_anew(home)
    before = model.read_text()
    try:
        model.write_text("select 3 as n")
        os.utime(model, (0, 0))
        assert compiled_anew(home)
    finally:
        model.write_text(before)
    assert not compiled_anew(home)


def test_metrics_of_an_installation_and_a_damaged_manifest_have_it_compiled_once(small, tmp_path):
    home = Home(tmp_path / "state")
    home.root.mkdir()
    home.metrics.write_text(METRIC)
    assert compiled_anew(home)
    own = project.read(home).model("a_last").sql
    assert own != project.read(Home(tmp_path / "other")).model("a_last").sql
    assert not compiled_anew(home)
    (home.dbt / "target" / "manifest.json").write_bytes(b"\xff")
    assert compiled_anew(home)
    assert project.read(home).model("a_last").sql == own


def test_models_are_built_in_order_with_contracts_and_data_tests(small, tmp_path):
    defined = project.read(Home(tmp_path / "state"))
    with duckdb.connect(str(tmp_path / "etalon.duckdb")) as con:
        con.execute("create schema marts; create view marts.a_last as select 1 as n; create table marts.other (n int)")
        done = []
        with pytest.raises(models.BuildFailed, match=r"unique_z_first_n fails for 1 row, such as \{.*2"):
            done.extend(models.build(con, defined))
        described = con.execute("select column_name, column_type, \"null\" from (describe marts.a_last)").fetchall()
        assert described == [("m", "BIGINT", "YES"), ("n", "INTEGER", "NO")]
        assert con.execute("select n from marts.a_last").fetchall() == [(1,), (2,), (2,)]
        assert con.execute("select n from marts.other").fetchall() == [(1,)]
        list(models.build(con, replace(defined, tests=()), idle=["a_last"]))
        assert con.execute("select count(*) from marts.a_last").fetchall() == [(0,)]
        last = defined.model("a_last")
        for sql, said in (("select null::int as n, 1 as m", "NOT NULL"), ("select 1 as n", '"m" not found')):
            with pytest.raises(models.BuildFailed, match=f"marts.a_last: .*{said}"):
                list(models.build(con, replace(defined, models=(replace(last, sql=sql),))))


def test_a_selection_has_what_its_models_read_and_the_tests_of_these(small, tmp_path):
    defined = project.read(Home(tmp_path / "state"))
    assert [model.name for model in defined.upstream(["a_last"]).models] == ["z_first", "a_last"]
    assert [test.name for test in defined.upstream(["a_last"]).tests] == ["unique_z_first_n"]
    assert defined.upstream(["other"]).tests == ()
    with pytest.raises(EtalonError, match=r"unknown model 'a_lst'. Models are a_last"):
        driver.select(Home(tmp_path / "state"), ["a_lst"])


def test_every_model_and_data_test_of_dbt_is_in_the_project(tmp_path):
    home = Home(tmp_path)
    defined = project.read(home)
    nodes = json.loads(project.manifest(home).read_text())["nodes"].values()
    kinds = [node["resource_type"] for node in nodes]
    assert (len(defined.models), len(defined.tests)) == (kinds.count("model"), kinds.count("test"))
    seen = set()
    for model in defined.models:
        assert seen.issuperset(model.reads)
        seen.add(model.key)
    # What a data test may ask of dbt beyond its query.
    tests = [node["config"] for node in nodes if node["resource_type"] == "test"]
    assert {(test["severity"], test["error_if"], test["fail_calc"], test["limit"]) for test in tests} == {
        ("ERROR", "!= 0", "count(*)", None)
    }
