"""Commands over systems that are known by studies: listed, asked, and validated by leaving levels out."""

import json

import duckdb
import pytest

from model.capacity import bundle as bundles
from model.published import catalogue
from model.published.catalogue import target
from model.published.model import fit
from model.published.reading import read_catalogue
from pipelines.exits import Exit

SYSTEM = "cs113-ftp-out-1500ms"


@pytest.fixture
def home(tmp_path):
    """A state folder with a champion of the studies alone, and the printed figures as a published snapshot."""
    state = tmp_path / "state"
    (state / "published").mkdir(parents=True)
    system = catalogue.system(SYSTEM)
    found = [
        (target(system, figure), figure.number) for figure in system.figures if "component" not in figure.conditions
    ]
    rows = [
        (SYSTEM, wanted.point, wanted.subject, wanted.metric, number / wanted.factor)
        for wanted, number in found
        if wanted is not None
    ]
    with duckdb.connect(str(state / "published" / "etalon.duckdb")) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.fct_point_metric (system_id text, point text, subject text, metric text, value double, "
            "value_se double, unit text, condition text, workload text, is_run boolean)"
        )
        con.executemany("INSERT INTO marts.fct_point_metric VALUES (?, ?, ?, ?, ?, 0, '', '', '', true)", rows)
    study = read_catalogue([SYSTEM])
    made = bundles.build(
        {},
        model_version="test/1",
        data={},
        validation={"passed": True},
        conditions=fit(study.rows, study.facts, study.identities),
    )
    bundles.write(made, state / "models" / "champion.json")
    return state


def test_levels_left_out_are_printed_by_family(home, etalon):
    done = etalon("validate", "--studies", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {case["system"] for case in found["cases"]} == {SYSTEM}
    assert all(family["cases"] for family in found["families"])
    assert "no worse than the naive answer, in the median or at 95 %, in" in etalon("validate", "--studies").stdout


def test_a_system_known_by_condition_is_listed_and_answers(home, etalon):
    listed = {row["system"]: row["predict"] for row in json.loads(etalon("systems", "--json").stdout)["systems"]}
    assert [name for name, predictable in listed.items() if predictable] == [SYSTEM]
    done = etalon("predict", SYSTEM, "--json", "--at", "users=48")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"]
    said = etalon("predict", SYSTEM, "--at", "users=48", "--details")
    assert said.returncode == 0, said.stderr
    assert "published figures of the tables" in said.stdout
    assert "measured levels of users" in said.stdout
    assert "at most" in etalon("predict", SYSTEM, "--at", "users=1e300").stderr
    refused = etalon("predict", SYSTEM, "--at", "users=48,colour=red")
    assert refused.returncode == Exit.QUESTION
    assert "users" in refused.stderr
