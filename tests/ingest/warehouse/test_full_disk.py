"""Disks that are full and copies taken while a load is under way: nothing lost, nothing twice."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from ingest.warehouse import load, prepare, publish
from tests.full_disk import files_no_larger_than
from tests.ingest.warehouse.content import content_hash
from tests.ingest.warehouse.samples import report_xml, write


@pytest.fixture
def inputs(tmp_path: Path, dump: bytes) -> Path:
    return write(tmp_path / "in", a__smf=dump, b__xml=report_xml(*range(200)), c__xml=report_xml(1, 2)[:-60])


@pytest.fixture
def whole(tmp_path: Path, inputs: Path, layouts) -> str:
    """What the tables hold after an undisturbed load."""
    undisturbed = tmp_path / "whole.duckdb"
    load([inputs], undisturbed, layouts)
    return content_hash(undisturbed)


@pytest.mark.parametrize(
    ("size", "status", "expected"),
    [(4096, "failed", "nothing of it was loaded: .* File too large"), (1_000_000, "loaded", "")],
    ids=["no room for its log", "no room for its tables"],
)
def test_a_load_onto_a_full_disk_is_made_whole_by_the_next(database, inputs, layouts, whole, size, status, expected):
    prepare(database, layouts)
    with files_no_larger_than(size):
        reports = load([inputs], database, layouts)
    assert {report.status for report in reports} == {status}
    assert all(re.search(expected, report.message or "") for report in reports)
    load([inputs], database, layouts)
    assert content_hash(database) == whole


def test_a_full_disk_leaves_the_snapshot_that_there_was(tmp_path, database, inputs, layouts):
    snapshot = tmp_path / "published" / "etalon.duckdb"
    load([inputs], database, layouts)
    publish(database, snapshot)
    before = content_hash(snapshot)
    with files_no_larger_than(100_000), pytest.raises(OSError, match="too large"):
        publish(database, snapshot)
    assert content_hash(snapshot) == before
    assert [path.name for path in snapshot.parent.iterdir()] == [snapshot.name]


def test_a_copy_taken_at_any_moment_of_a_load_opens_and_goes_on(
    tmp_path, database, inputs, layouts, whole, monkeypatch
):
    monkeypatch.setattr(sys.modules["ingest.warehouse.load"], "_SHARED_BYTES", 1)
    copies: list[Path] = []

    def copy(path: str, step: str, records: int) -> None:
        if step == "commit":
            copies.append(tmp_path / f"copy{len(copies)}.duckdb")
            for end in ("", ".wal"):
                if (source := database.with_name(database.name + end)).exists():
                    shutil.copy(source, f"{copies[-1]}{end}")

    load([inputs], database, layouts, progress=copy)
    assert len(copies) == 3
    for one in copies:
        load([inputs], one, layouts)
        assert content_hash(one) == whole
