"""What of a dump reaches a mart: every byte has a place, and the page says it of every record type."""

import gzip
import json

import pytest
from typer.testing import CliRunner

from ingest import registry
from ingest.formats.smf import encode_dump
from pipelines import coverage
from pipelines.cli import app
from tests.ingest.tables import random_tables
from tests.shared import shared

REGISTRY = registry.load()


def dump_of(*names: str) -> bytes:
    layouts = {layout.name: layout for layout in REGISTRY.layouts}
    return b"".join(encode_dump(random_tables(layouts[name], 1, 5), REGISTRY) for name in names)


def test_every_byte_of_a_dump_has_a_place(tmp_path):
    unknown = (20).to_bytes(2) + bytes([0, 0, 0x1E, 250]) + bytes(8) + "SYSA".encode("cp037") + bytes(2)
    data = dump_of("smf74_1", "smf64") + unknown
    (tmp_path / "d.smf").write_bytes(data)
    kinds = coverage.measure(tmp_path / "d.smf", REGISTRY)
    assert sum(coverage.shares(kinds).values()) == len(data)
    by_record = {kind.record: kind for kind in kinds}
    assert by_record["74.1"].reaches == "marts"
    assert "fct_device" in by_record["74.1"].marts
    assert (by_record["74.1"].records, by_record["64"].records) == (5, 5)
    assert by_record["250"].reaches == "skipped"
    assert by_record["250"].bytes == 20


def test_a_packed_dump_is_measured_by_what_is_inside(tmp_path):
    data = dump_of("smf64")
    (tmp_path / "d.smf").write_bytes(data)
    (tmp_path / "d.smf.gz").write_bytes(gzip.compress(data))
    plain, packed = (coverage.measure(tmp_path / name, REGISTRY) for name in ("d.smf", "d.smf.gz"))
    assert plain == packed


def test_what_cannot_be_decoded_is_counted_as_quarantined(tmp_path):
    (tmp_path / "x").write_bytes(bytes(range(1, 256)) * 4)
    (kind,) = coverage.measure(tmp_path / "x", REGISTRY)
    assert (kind.reaches, kind.bytes) == ("quarantined", 1020)


@pytest.mark.parametrize(("report", "reaches"), [("wlmgl.xml", "marts"), ("chan.xml", "raw")])
def test_a_report_reaches_marts_only_by_tables_that_marts_are_made_from(report, reaches):
    path = shared(f"real/rmf/{report}")
    (kind,) = coverage.measure(path, REGISTRY)
    assert (kind.reaches, kind.bytes) == (reaches, path.stat().st_size)


def test_the_command_prints_shares_that_add_up(tmp_path):
    (tmp_path / "d.smf").write_bytes(dump_of("smf30", "smf64"))
    done = CliRunner().invoke(app, ["doctor", "--coverage", str(tmp_path / "d.smf"), "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert sum(found["bytes"].values()) == (tmp_path / "d.smf").stat().st_size
    assert {row["record"] for row in found["records"]} >= {"30.1/2/3/4/5/6", "64"}
    shown = CliRunner().invoke(app, ["doctor", "--coverage", str(tmp_path / "d.smf")])
    assert "% marts" in shown.stdout


def test_a_dump_that_is_not_there_is_an_error_with_its_name(tmp_path):
    done = CliRunner().invoke(app, ["doctor", "--coverage", str(tmp_path / "none")])
    assert done.exit_code != 0


def test_marts_are_told_whatever_way_their_models_name_what_they_read():
    marts = coverage.marts_of()
    assert marts["smf116_2_queue"] == {"fct_mq_queue"}
    assert "fct_point_metric" in marts["smf71_paging"]
    assert marts["smf74_1_device"] >= {"fct_device"}
    assert "fct_coupling_facility" not in marts["smf74_1_device"]


def test_the_page_has_a_line_for_every_layout():
    page = coverage.page(REGISTRY)
    named = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")]
    assert named[1:-1] == [name for name, _ in coverage.described(REGISTRY)]


@pytest.mark.parametrize("name", ["mq/SMF_MQ1000.dat", "mq/TEST115.dat", "mq/TEST116.dat", "rmf/cpu_263_intervals.xml"])
def test_real_files_are_decoded_to_the_last_byte(name):
    path = shared(f"real/{name}")
    shares = coverage.shares(coverage.measure(path, REGISTRY))
    assert sum(shares.values()) == path.stat().st_size
    assert shares["skipped"] == shares["quarantined"] == 0
