"""Rendered files: what they hold, what the manifest says of them, and that they are the same every time."""

import csv
import hashlib
import json

import pytest

from ingest import registry as layouts
from ingest.formats.tables.collector import read_groups, read_runs
from model.lab import LabError
from model.lab.records.common import Record
from model.lab.records.tables import to_tables
from model.lab.rendering import render
from model.published import catalogue
from tests.model.lab.systems import with_activity

SYSTEMS = with_activity()


@pytest.fixture(scope="module")
def registry():
    return layouts.load()


@pytest.fixture(scope="module")
def rendered(tmp_path_factory, registry):
    folder = tmp_path_factory.mktemp("lab")
    return {system_id: render(system_id, folder, registry=registry) for system_id in SYSTEMS}


def load_manifest(paths):
    (path,) = [path for path in paths if path.name.endswith(".lab.json")]
    return json.loads(path.read_text(encoding="utf-8"))


def rows(paths, ending):
    (path,) = [path for path in paths if path.name.endswith(ending)]
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_the_manifest_accounts_for_every_published_figure(rendered, system_id):
    manifest = load_manifest(rendered[system_id])
    system = catalogue.system(system_id)
    values = [value for point in manifest["points"] for value in point["values"]]
    assert manifest["summary"]["values"] == len(values)
    assert manifest["summary"]["written"] == len(manifest["written"])
    assert len(values) + len(manifest["written"]) + len(manifest["not_rendered"]) == len(system.figures)
    assert all(value["status"] in ("equal", "excepted") for value in values)
    assert all(value["reading"] for value in values if value["status"] == "equal")
    assert all(value["note"] for value in values if value["status"] == "excepted")
    assert all(left["reason"] for left in manifest["not_rendered"])
    assert all(assumed["basis"] for point in manifest["points"] for assumed in point["assumed"])
    assert manifest["assumptions"]


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_the_manifest_names_the_files_beside_it(rendered, system_id):
    manifest = load_manifest(rendered[system_id])
    contents = {path.name: path.read_bytes() for path in rendered[system_id] if path.name in manifest["files"]}
    assert set(contents) >= {f"{system_id}{ending}" for ending in (".smf", ".runs.csv", ".groups.csv")}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()} == manifest["files"]


def test_the_contradictory_figure_is_excepted_and_its_total_kept(rendered):
    points = {point["point"]: point for point in load_manifest(rendered["cics53-18cp"])["points"]}
    values = {value["metric"]: value for value in points["5"]["values"]}
    assert values["tor_cpu_pct"]["status"] == "excepted"
    assert "1508.39" in values["tor_cpu_pct"]["note"]
    assert values["total_cics_cpu_pct"]["status"] == "equal"
    assert f"{values['total_cics_cpu_pct']['constructed']:.2f}" == "1499.40"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_intervals(tmp_path, rendered, registry):
    first = {path.name: path.read_bytes() for path in rendered["ims14-ff-haldb-z13"]}
    again = {path.name: path.read_bytes() for path in render("ims14-ff-haldb-z13", tmp_path / "a", registry=registry)}
    other = {
        path.name: path.read_bytes() for path in render("ims14-ff-haldb-z13", tmp_path / "b", seed=7, registry=registry)
    }
    assert again == first
    assert other["ims14-ff-haldb-z13.smf"] != first["ims14-ff-haldb-z13.smf"]
    assert other["ims14-ff-haldb-z13.groups.csv"] == first["ims14-ff-haldb-z13.groups.csv"]


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_runs_and_groups_are_in_the_form_the_loader_reads(rendered, system_id):
    by_ending = {path.name.removeprefix(system_id): path.read_bytes() for path in rendered[system_id]}
    manifest = load_manifest(rendered[system_id])
    runs = read_runs(by_ending[".runs.csv"])
    assert len(set(runs["point"].to_pylist())) == runs.num_rows == manifest["summary"]["points"]
    assert read_groups(by_ending[".groups.csv"]).num_rows == len(rows(rendered[system_id], ".groups.csv"))


def test_all_systems_can_be_loaded_together(rendered):
    runs = [row for system_id in SYSTEMS for row in rows(rendered[system_id], ".runs.csv")]
    sids = {(row["system_id"], row["smf_sid"]) for row in runs}
    assert len({sid for _, sid in sids}) == len(SYSTEMS) == len(sids)
    sysplexes = {load_manifest(rendered[system_id])["sysplex"] for system_id in SYSTEMS}
    assert len(sysplexes) == len(SYSTEMS)


def test_no_group_row_stands_for_a_group_of_unknown_cpu(rendered):
    z14 = rows(rendered["ims14-ff-haldb-z14"], ".groups.csv")
    assert {row["kind"] for row in z14} == {"transaction_class"}
    z13 = rows(rendered["ims14-ff-haldb-z13"], ".groups.csv")
    assert {row["address_space_group"] for row in z13} - {""} == {"ims", "ims_connect", "dependent_regions"}


def test_progress_is_told_point_by_point(tmp_path, registry):
    lines = []
    render("cics52-18cp", tmp_path, registry=registry, progress=lines.append)
    assert [line for line in lines if "point 4" in line]
    assert "records" in lines[-1]
    assert not list(tmp_path.glob("*.partial"))


def test_an_unknown_system_is_refused(tmp_path):
    with pytest.raises(catalogue.CatalogueError, match="no reference system"):
        render("vax", tmp_path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record("smf99", {"header": [{}]}), "no layout 'smf99'"),
        (Record("smf30", {"header": [{}], "engine": [{}]}), "no section engine"),
        (Record("smf30", {"header": [{"smf30xyz": 1}]}), "no column smf30xyz"),
    ],
)
def test_rows_that_fit_no_layout_are_refused(registry, record, message):
    with pytest.raises(LabError, match=message):
        to_tables([record], registry)
