"""Dumps arrive compressed, archived, packed by AMATERSE, or through a pipe: the data inside count, not the wrapping."""

import bz2
import gzip
import io
import struct
import sys
import zipfile

import pyarrow as pa
import pytest

from ingest.containers.limits import Limits
from ingest.containers.opening import form_of
from ingest.containers.terse import is_terse
from ingest.warehouse import ExitCode, load
from tests.ingest.iebcopy_writer import unload
from tests.ingest.terse_writer import terse
from tests.ingest.transmit_writer import transmit
from tests.ingest.warehouse.content import content_hash
from tests.ingest.warehouse.samples import RUNS, report_xml


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def records_of(dump: bytes) -> list[bytes]:
    records, at = [], 0
    while at < len(dump):
        length = struct.unpack_from(">H", dump, at)[0]
        records.append(dump[at + 4 : at + length])
        at += length
    return records


@pytest.fixture(scope="module")
def plain(tmp_path_factory, dump, layouts, new_warehouse):
    """The raw tables of the dump as it is."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "plain.smf").write_bytes(dump)
    load([folder / "plain.smf"], new_warehouse(folder / "e.duckdb"), layouts)
    return content_hash(folder / "e.duckdb", ("raw",))


@pytest.mark.parametrize(
    ("name", "wrap", "form"),
    [
        ("d.smf.gz", gzip.compress, "gzip"),
        ("d.smf.zst", lambda data: pa.compress(data, "zstd", asbytes=True), "zstd"),
        ("d.smf.bz2", bz2.compress, "bzip2"),
        ("d.trs", lambda data: terse(records_of(data), spack=False, variable=True), "terse"),
        ("d2.trs", lambda data: terse(records_of(data), spack=True, variable=True), "terse"),
        ("d.xmi", lambda data: transmit(records_of(data), variable=True, message=[b"night"]), "transmit"),
        ("d.trs.gz", lambda data: gzip.compress(terse(records_of(data), spack=False, variable=True)), "terse"),
    ],
)
def test_a_packed_dump_loads_as_the_dump_itself(tmp_path, ingest, database, plain, dump, name, wrap, form):
    packed = tmp_path / name
    packed.write_bytes(wrap(dump))
    (report,) = ingest(packed)
    assert (report.path, report.status, report.records, report.container) == (str(packed), "loaded", 6, form)
    assert report.bytes == len(dump)
    assert content_hash(database, ("raw",)) == plain
    assert [path.name for path in database.parent.iterdir() if path.name.startswith(".unpack")] == []


def test_a_dump_that_was_loaded_plain_is_known_when_it_comes_packed(tmp_path, ingest, dump):
    (tmp_path / "plain.smf").write_bytes(dump)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(dump))
    first, second = ingest(tmp_path / "plain.smf", tmp_path / "packed.gz")
    assert (first.status, second.status) == ("loaded", "unchanged")
    assert first.sha256 == second.sha256


def test_each_file_of_an_archive_has_a_report_of_its_own(tmp_path, ingest, dump):
    archive = tmp_path / "night.zip"
    runs = RUNS + "shop,SYSA,1,,2026-01-01T00:00Z,2026-01-01T01:00Z\n"
    packed = {"a.smf": dump, "b.runs.csv": runs.encode(), "sub/c.xml": report_xml(1.0).encode(), "d.bin": b"\0" * 90}
    archive.write_bytes(zipped(**packed))
    reports = ingest(archive)
    assert [(r.path.removeprefix(f"{archive}!"), r.kind, r.status) for r in reports] == [
        ("a.smf", "smf", "loaded"),
        ("b.runs.csv", "runs", "loaded"),
        ("sub/c.xml", "rmf_xml", "loaded"),
        ("d.bin", "unrecognised", "quarantined"),
    ]


def test_standard_input_is_loaded_like_a_file(ingest, dump, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(dump))))
    (report,) = ingest("-")
    assert (report.path, report.status, report.records) == ("standard input", "loaded", 6)


def test_standard_input_stays_loaded_when_the_next_file_fails(tmp_path, ingest, dump, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dump)))
    (tmp_path / "next.xml").write_text(report_xml(1))

    def fail(path, step, _records):
        if path.endswith("next.xml") and step == "commit":
            raise RuntimeError("a defect")

    assert [report.status for report in ingest("-", tmp_path / "next.xml", progress=fail)] == ["loaded", "failed"]


def test_a_cut_container_delivers_what_came_before_the_cut_and_says_so(tmp_path, ingest, dump):
    stored = gzip.compress(dump, compresslevel=0)
    (tmp_path / "cut.gz").write_bytes(stored[:-400])
    (report,) = ingest(tmp_path / "cut.gz")
    assert report.exit_code == ExitCode.QUARANTINED
    assert 0 < report.decoded < 6
    assert "cut or damaged" in report.message
    assert "transfer the file again" in report.message
    assert "may be incomplete" in report.message


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\0" + bytes(range(256)), b"PK\x03\x04" + bytes(range(256))])
def test_a_container_of_which_nothing_can_be_unpacked_is_reported(tmp_path, ingest, data):
    (tmp_path / "x").write_bytes(data)
    (report,) = ingest(tmp_path / "x")
    assert report.exit_code == ExitCode.UNRECOGNISED
    assert report.decoded == 0
    assert "cut or damaged" in report.message


@pytest.mark.parametrize("spack", [False, True])
def test_a_cut_amaterse_file_delivers_what_came_before_and_stops_no_other(tmp_path, ingest, dump, spack):
    packed = terse(records_of(dump), spack=spack, variable=True).rstrip(b"\0")
    (tmp_path / "cut.trs").write_bytes(packed[: len(packed) * 3 // 4])
    (tmp_path / "next.smf").write_bytes(dump)
    cut, following = ingest(tmp_path / "cut.trs", tmp_path / "next.smf")
    assert cut.exit_code == ExitCode.QUARANTINED
    assert 0 < cut.decoded < 6
    assert "cut or damaged" in cut.message
    assert following.decoded == 6


@pytest.mark.parametrize(
    "packed",
    [lambda r: terse(r, spack=False, variable=True), lambda r: transmit(r, variable=True, utility="IEBCOPY")],
    ids=["terse", "transmit"],
)
def test_of_a_library_the_members_that_are_dumps_are_loaded_and_the_others_named(tmp_path, ingest, dump, packed):
    line = "//PAYROLL  JOB (ACCT),'NIGHT RUN',CLASS=A".encode("cp037")
    text = 2 * (struct.pack(">HH", len(line) + 4, 0) + line)
    library = {name: [struct.pack(">HH", len(data) + 4, 0) + data] for name, data in (("DUMP1", dump), ("JCL", text))}
    (tmp_path / "library").write_bytes(packed(unload(library)))
    reports = ingest(tmp_path / "library")
    assert [(each.path.rpartition("!")[2], each.status, each.decoded) for each in reports] == [
        ("JCL", "quarantined", 0),
        ("DUMP1", "loaded", 6),
    ]
    assert "library!JCL: JCL: " in reports[0].message
    assert {each.container for each in reports} == {"iebcopy"}


@pytest.mark.parametrize(
    ("name", "packed"),
    [("d.trs", lambda r: terse(r, spack=True, variable=True)), ("d.xmi", lambda r: transmit(r, variable=True))],
)
def test_a_packed_dump_whose_header_is_damaged_says_so(tmp_path, ingest, dump, name, packed):
    data = bytearray(packed(records_of(dump)))
    data[:8] = b"\xff" * 8
    (tmp_path / name).write_bytes(data)
    (report,) = ingest(tmp_path / name)
    assert report.exit_code == ExitCode.UNRECOGNISED
    assert "transferred as text or is damaged" in report.message


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(free_bytes=1 << 20), "expands beyond"),
        (Limits(most_bytes=1 << 20), "raise free_bytes, ratio or most_bytes of [archives] in etalon.toml"),
        (Limits(seconds=0), "takes longer than 0 s: if it is genuine, unpack it and ingest what is inside, or raise"),
    ],
)
def test_a_bomb_stops_at_its_limit(tmp_path, ingest, limits, said):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(256 << 20)))
    (report,) = ingest(tmp_path / "bomb.gz", limits=lambda: limits)
    assert report.exit_code == ExitCode.UNRECOGNISED
    assert said in report.message


def test_an_archive_of_too_many_members_is_left_whole(tmp_path, ingest, dump):
    (tmp_path / "many.zip").write_bytes(zipped(**{f"{n}.smf": dump for n in range(4)}))
    (report,) = ingest(tmp_path / "many.zip", limits=lambda: Limits(members=3))
    assert (report.decoded, report.exit_code) == (0, ExitCode.UNRECOGNISED)
    assert "has 4 files, more than 3: unpack it and ingest what is inside, or raise members" in report.message
    reports = ingest(tmp_path / "many.zip", limits=lambda: Limits(members=4))
    assert [report.status for report in reports] == ["loaded", "unchanged", "unchanged", "unchanged"]


def test_members_of_archives_inside_an_archive_count_together(tmp_path, ingest, dump):
    inner = zipped(**{f"{n}.smf": dump + dump[: 10 * n] for n in range(3)})
    (tmp_path / "outer.zip").write_bytes(zipped(**{"a.zip": inner, "b.zip": inner + bytes(1)}))
    reports = ingest(tmp_path / "outer.zip", limits=lambda: Limits(members=7))
    assert [report.path.rpartition("outer.zip!")[2] for report in reports] == [
        "a.zip!0.smf", "a.zip!1.smf", "a.zip!2.smf", "b.zip",
    ]  # fmt: skip
    assert "has 8 files, more than 7" in reports[-1].message


def test_members_that_lead_out_of_an_archive_lead_nowhere(tmp_path, ingest, dump):
    out, aside = tmp_path / "deep" / "er" / "out.zip", tmp_path / "aside.smf"
    out.parent.mkdir(parents=True)
    link = zipfile.ZipInfo("link.smf")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../aside.smf", dump)
        archive.writestr(str(tmp_path / "absolute.smf"), dump[: len(dump) // 2])
        archive.writestr(link, str(tmp_path / "secret.smf"))
    (tmp_path / "secret.smf").write_bytes(dump)
    before = sorted(tmp_path.rglob("*.smf"))
    reports = {report.path.rpartition("!")[2]: report for report in ingest(out)}
    assert sorted(tmp_path.rglob("*.smf")) == before and not aside.exists()
    assert reports["../../aside.smf"].decoded > 0
    assert reports["link.smf"].decoded == 0, "a link is its text, and no file that it names is read"


def test_a_bomb_of_bombs_stops_at_the_limit_of_the_whole(tmp_path, ingest):
    bomb = gzip.compress(bytes(700_000))
    (tmp_path / "bombs.zip").write_bytes(zipped(**{f"{n}.gz": bomb for n in range(20)}))
    reports = ingest(tmp_path / "bombs.zip", limits=lambda: Limits(free_bytes=1 << 20, ratio=1))
    assert len(reports) == 20
    assert sum(report.bytes for report in reports) <= 1 << 20
    assert all("expands beyond" in report.message for report in reports[1:])


def impossible(kind: str) -> bytes:
    """An archive whose directory asks for what no archive reader can do."""
    data = bytearray(zipped(**{"name.smf": bytes(100)}))
    central = data.index(b"PK\x01\x02")
    if kind == "version":
        data[central + 6] = 0xFF
    elif kind == "name":
        data[central + 9] |= 0x08
        data[central + 46] = 0xFF
    elif kind == "method":
        data[central + 10] = data[8] = 14
    else:
        data[central + 42 : central + 46] = b"\xff\xff\xff\x7f"
    return bytes(data)


@pytest.mark.parametrize("kind", ["version", "name", "method", "offset"])
def test_an_archive_that_says_what_cannot_be_is_reported_damaged(tmp_path, ingest, kind):
    (tmp_path / "odd.zip").write_bytes(impossible(kind))
    (report,) = ingest(tmp_path / "odd.zip")
    assert (report.decoded, report.exit_code) == (0, ExitCode.UNRECOGNISED)
    assert "cut or damaged" in report.message


def test_containers_inside_containers_end_somewhere(tmp_path, ingest, dump):
    data = dump
    for _ in range(5):
        data = gzip.compress(data)
    (tmp_path / "deep.gz").write_bytes(data)
    (report,) = ingest(tmp_path / "deep.gz")
    assert report.decoded == 0
    assert "deep" in report.message


def test_an_archive_with_a_password_says_what_to_do(tmp_path, ingest, dump):
    data = bytearray(zipped(**{"a.smf": dump}))
    data[6] |= 1
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    (report,) = ingest(tmp_path / "locked.zip")
    assert report.decoded == 0
    assert "encrypted" in report.message


def test_an_empty_archive_is_reported(tmp_path, ingest):
    (tmp_path / "none.zip").write_bytes(zipped())
    (report,) = ingest(tmp_path / "none.zip")
    assert report.exit_code == ExitCode.NO_INPUT
    assert "the archive has no files" in report.message


def test_a_dump_that_begins_like_an_amaterse_header_is_still_a_dump():
    first = struct.pack(">HHBBII", 512, 0, 0x5E, 30, 0x00112233, 0x0126123F) + bytes(498)
    assert is_terse(first)
    assert form_of(first + struct.pack(">HH", 100, 0) + bytes(96)) is None


def test_small_members_share_transactions(tmp_path, ingest):
    archive, commits = tmp_path / "many.zip", []
    archive.write_bytes(zipped(**{f"{n:02}.xml": report_xml(n).encode() for n in range(30)}))
    reports = ingest(archive, progress=lambda path, step, _records: commits.append(path) if step == "commit" else None)
    assert [(report.status, report.container) for report in reports] == [("loaded", "zip")] * 30
    assert commits == [f"{archive}!29.xml"]
    assert not list(tmp_path.glob(".unpack-*"))


@pytest.mark.parametrize("fatal", ["b.xml", "c.xml"])
def test_a_member_that_cannot_be_loaded_keeps_none_out_that_share_its_transaction(tmp_path, ingest, rows, fatal):
    (tmp_path / "in.zip").write_bytes(zipped(**{f"{n}.xml": report_xml(ord(n)).encode() for n in "abc"}))

    def fail(path, step, _records):
        if path.endswith(fatal) and step == ("batch" if fatal == "b.xml" else "commit"):
            raise RuntimeError("a defect")

    reports = ingest(tmp_path / "in.zip", progress=fail)
    assert [r.status for r in reports] == ["failed" if r.path.endswith(fatal) else "loaded" for r in reports]
    assert {r.container for r in reports} == {"zip"}
    assert rows("SELECT count(*) FROM raw.rmf_cpu_processor") == [(2,)]
    assert sorted(r.status for r in ingest(tmp_path / "in.zip")) == ["loaded", "unchanged", "unchanged"]
