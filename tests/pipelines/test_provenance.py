"""Digests of what the marts are defined by change with groups and metrics, and with nothing else."""

from pathlib import Path

import duckdb
import pytest

from pipelines import provenance, steps
from pipelines.home import Home
from tests.cases.systems import SYSTEM
from tests.marts.raw_records import RawWarehouse


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.warehouse.parent.mkdir(parents=True)
    with RawWarehouse(home.warehouse) as raw:
        raw.group("PRDA", None, "report_class", "R%", "orders", "db2")
    return home


def kept(home: Home) -> dict[str, str]:
    with duckdb.connect(str(home.warehouse)) as connection:
        provenance.keep(connection, provenance.definitions(connection, home))
        return dict(connection.execute("select * from meta.definition").fetchall())


def test_the_same_definitions_have_the_same_digests(home: Home) -> None:
    first = kept(home)
    assert set(first) == {"", "PRDA"}
    with duckdb.connect(str(home.warehouse)) as connection:
        connection.execute("update raw.etalon_group set file_id = 2")
    assert kept(home) == first


def test_groups_change_the_digest_of_their_system_alone(home: Home) -> None:
    first = kept(home)
    with duckdb.connect(str(home.warehouse)) as connection:
        connection.execute("update raw.etalon_group set pattern = 'S%'")
    changed = kept(home)
    assert changed["PRDA"] != first["PRDA"]
    assert changed[""] == first[""]


def test_a_metric_of_the_users_own_changes_the_digest_of_all(home: Home) -> None:
    first = kept(home)
    home.metrics.write_text(
        '[io]\ngrain = "wlm_class"\nlabel = "I/O"\nunit = "us"\nnumerator = "{io_us}"\ndenominator = "{ended}"\n'
    )
    assert all(kept(home)[name] != digest for name, digest in first.items())


def test_what_an_earlier_version_published_or_a_fault_left_has_none(home: Home) -> None:
    assert provenance.published(home) == {}
    home.definitions.parent.mkdir(exist_ok=True)
    for content in ("", '{"": ', "null", "[1]"):
        home.definitions.write_text(content)
        assert provenance.published(home) == {}


def test_a_warehouse_without_marts_publishes_none(home: Home) -> None:
    steps.publish(home)
    assert provenance.published(home) == {}


def test_systems_remember_what_their_marts_were_defined_by(home: Home) -> None:
    digests = kept(home)
    with duckdb.connect(str(home.warehouse)) as connection:
        connection.execute("create schema marts")
        connection.execute("create table marts.dim_system as select unnest(['PRDA', 'PRDB']) as system_id")
    steps.publish(home)
    assert provenance.published(home) == {"PRDB": digests[""], **digests}
    marked = provenance.marked(home, {"PRDA/SYSA": SYSTEM, "PRDB": SYSTEM})
    assert {name: system.definition for name, system in marked.items()} == {
        "PRDA/SYSA": digests["PRDA"],
        "PRDB": digests[""],
    }
