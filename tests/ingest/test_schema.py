"""Everything derived from the layouts agrees with them, and the staging views say what they promise."""

import datetime as dt
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from ingest import registry, schema
from ingest.field_types import UNITS
from ingest.formats.smf import decode_batches, encode_dump
from ingest.layout import Layout
from ingest.registry import RegistryError
from ingest.schema import staging
from ingest.schema.__main__ import main
from tests.ingest.tables import random_tables
from tests.shared import ROOT

REGISTRY = registry.load()
TABLES = {section.table: (layout, section) for layout, section in REGISTRY.tables()}


def test_generated_files_are_what_the_layouts_say() -> None:
    assert schema.drift(REGISTRY, ROOT) == [], "run `python -m ingest.schema --write`"
    assert main(["--check"]) == 0


def test_every_raw_table_has_a_staging_view_and_those_that_are_there_stay() -> None:
    con = duckdb.connect()
    there = ("stg_smf30_cpu", "stg_smf72_3_period")
    for statement in (*schema.create_statements(REGISTRY), *schema.staging_statements(REGISTRY, TABLES, there)):
        con.execute(statement)
    views = {row[0] for row in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
    assert views == {f"stg_{table}" for table in TABLES}.difference(there)


def test_drift_is_reported_and_written_away(tmp_path: Path) -> None:
    written = schema.write(REGISTRY, tmp_path)
    assert len(written) == len(schema.generated_files(REGISTRY))
    changed, surplus = tmp_path / written[0], tmp_path / "docs/field-reference/stale.md"
    changed.write_text("changed")
    surplus.write_text("no longer made")
    assert set(schema.drift(REGISTRY, tmp_path)) == {written[0], surplus.relative_to(tmp_path)}
    schema.write(REGISTRY, tmp_path)
    assert schema.drift(REGISTRY, tmp_path) == []


@pytest.fixture(scope="module")
def warehouse() -> duckdb.DuckDBPyConnection:
    """Raw tables with random rows of every layout, and the staging views over them."""
    con = duckdb.connect()
    for statement in schema.create_statements(REGISTRY):
        con.execute(statement)
    for layout in REGISTRY.layouts:
        for batch in decode_batches(encode_dump(random_tables(layout, 4, 6), REGISTRY), REGISTRY):
            for name, rows in batch.tables.items():
                con.register("incoming", rows)
                con.execute(f"INSERT INTO raw.{name} BY NAME SELECT 1 AS file_id, * FROM incoming")
                con.unregister("incoming")
    con.execute("CREATE SCHEMA staging")
    for layout, section in TABLES.values():
        con.execute(f"CREATE VIEW staging.{staging.view_name(section)} AS {staging.view_sql(layout, section)}")
    return con


@pytest.mark.parametrize("layout", REGISTRY.layouts, ids=lambda layout: layout.name)
def test_raw_columns_take_the_decoded_columns(layout: Layout, warehouse: duckdb.DuckDBPyConnection) -> None:
    for section in (*layout.sections, *layout.handled):
        described = warehouse.execute(f"DESCRIBE raw.{section.table}").fetchall()
        expected = [(name, kind.removesuffix(" NOT NULL")) for name, kind in schema.column_definitions(section)]
        assert [(row[0], row[1]) for row in described] == expected, section.table
        assert [row[0] for row in described[1:]] == section.arrow_schema().names, section.table


@pytest.mark.parametrize("layout", REGISTRY.layouts, ids=lambda layout: layout.name)
def test_staging_views_have_the_columns_and_types_they_describe(
    layout: Layout, warehouse: duckdb.DuckDBPyConnection
) -> None:
    context = ["file_id", "record_seq", "section_seq", "smf_sid", "written_local"]
    if layout.product == "rmf":
        context += ["interval_start_local", "store_clock_ahead_s", "interval_start_utc"]
        context += ["interval_s", "sysplex_name", "system_name"]
    if layout.product == "cics":
        context += ["applid", "release_code"]
    for section in (*layout.sections, *layout.handled):
        name = staging.view_name(section)
        described = [(row[0], row[1]) for row in warehouse.execute(f"DESCRIBE staging.{name}").fetchall()]
        columns = staging.columns(layout, section)
        assert described == [(one.name, one.type) for one in columns], name
        assert all(one.description for one in columns), name
        assert [one.name for one in columns[: len(context)]] == context, name
        [(rows,)] = warehouse.execute(f"SELECT count(*) FROM raw.{section.table}").fetchall()
        assert len(warehouse.execute(f"SELECT * FROM staging.{name}").fetchall()) == rows, name


def test_staging_rescales_units_and_names_the_interval(tmp_path: Path) -> None:
    con = duckdb.connect()
    for statement in schema.create_statements(REGISTRY):
        con.execute(statement)
    utc = dt.datetime(2026, 11, 21, 23, 30)
    tables = {
        "smf72_3_header": {"smf72sid": "SYSA", "smf72tme": 4_500_012, "smf72dte": dt.date(2026, 11, 22)},
        "smf72_3_product": {
            "smf72ist": 3000,
            "smf72dat": dt.date(2026, 11, 22),
            "smf72int": 1_459_500,
            "smf72lgo": 3600 * 4096 * 10**6,
            "smf72xnm": "PLEX1",
            "smf72snm": "SYSA",
        },
        "smf72_3_control": {"r723mscf": 0x80, "r723nffs": 512, "r723mcpu": 10_000, "r723mcnm": "RCICS"},
        "smf72_3_period": {"r723ctat": 2.0, "r723cict": 3.0, "r723ctetx": 5.0, "r723cets": 1.0},
    }
    rows = {
        name: pa.Table.from_pylist([{"record_seq": 0, **values}]).cast(
            pa.schema([REGISTRY.table(name)[1].arrow_schema().field(key) for key in ["record_seq", *values]])
        )
        for name, values in tables.items()
    }
    for batch in decode_batches(encode_dump(rows, REGISTRY), REGISTRY):
        for name, decoded in batch.tables.items():
            con.register("incoming", decoded)
            con.execute(f"INSERT INTO raw.{name} BY NAME SELECT 1 AS file_id, * FROM incoming")
    [control] = con.sql(staging.view_sql(*TABLES["smf72_3_control"])).to_arrow_table().to_pylist()
    assert control["interval_start_utc"] == utc
    assert control["interval_start_local"] == dt.datetime(2026, 11, 22, 0, 30)
    assert control["interval_s"] == pytest.approx(14 * 60 + 59.5)
    assert control["written_local"] == dt.datetime(2026, 11, 22, 12, 30, 0, 120_000)
    assert (control["smf_sid"], control["sysplex_name"], control["system_name"]) == ("SYSA", "PLEX1", "SYSA")
    assert (control["is_report_class"], control["class_name"]) == (True, "RCICS")
    assert (control["ziip_normalisation_factor"], control["cpu_coefficient"]) == (2.0, 1.0)
    [period] = con.sql(staging.view_sql(*TABLES["smf72_3_period"])).to_arrow_table().to_pylist()
    assert (period["active_us"], period["dasd_connect_us"]) == (2048.0, 384.0)
    assert (period["elapsed_precise_us"], period["elapsed_squared_us2"]) == (5.0, 1024.0**2)


def test_every_meaning_is_a_sentence_and_every_time_says_its_unit() -> None:
    for layout, section in REGISTRY.tables():
        for item in section.fields:
            assert item.meaning.endswith("."), (layout.name, item.ibm)
            suffix = UNITS[item.unit].suffix if item.unit in UNITS else ""
            assert item.name.endswith(suffix)
            if item.form.name in ("tod_duration", "tod_signed"):
                assert item.name.endswith("_us")
        for bit in section.bits:
            assert bit.meaning.endswith("."), (layout.name, bit.ibm)


def test_baseline_expectations_cover_every_table_and_hold_on_sound_rows() -> None:
    found = schema.baseline_expectations(REGISTRY)
    assert {item.table for item in found} == set(TABLES)
    for item in found:
        columns = {name for name, _ in schema.column_definitions(TABLES[item.table][1])}
        assert set(item.columns) <= columns
        assert item.kind in ("not_null", "unique", "between")
        assert item.kind != "between" or item.low is not None or item.high is not None


LAYOUT = """
[record]
type = 210
subtypes = [4]
name = "smf210_4"
title = "SMF 210 subtype 4: door openings"

[[section]]
name = "header"
title = "header"
fields = [
  ["record_length", "SMF210LEN", 0, 2, "uint", "", "Length of the record.", "", "manual"],
  ["system_flags", "SMF210FLG", 4, 1, "flags", "", "System indicators.", "", "manual"],
  ["record_type", "SMF210RTY", 5, 1, "uint", "", "Record type.", "", "manual"],
  ["written_clock_us", "SMF210TME", 6, 4, "hundredths", "1/100 s", "Time of day.", "", "manual"],
  ["written_date", "SMF210DTE", 10, 4, "packed_date", "", "Date.", "", "manual"],
  ["smf_sid", "SMF210SID", 14, 4, "ebcdic", "", "System.", "", "manual"],
  ["subtype", "SMF210STY", 22, 2, "uint", "", "Subtype.", "", "manual"],
]
length = 36

[[section]]
name = "door"
title = "door section"
triplet = 24
triplet_widths = [4, 4, 4]
fields = [
  ["door_name", "DOOR#NAME", 0, 12, "ebcdic1047", "", "Name of the door.", "", "manual"],
  ["open_us", "DOOROPEN", 12, 8, "tod_duration", "", "Time the door was open.", "", "manual"],
  ["opened_utc", "DOORLAST", 20, 16, "stcke", "", "Last opening.", "", "manual"],
  ["openings", "DOORCNT", 36, 3, "uint", "", "Openings.", "", "memory"],
]
"""


def test_a_record_type_is_added_at_run_time_by_one_file(tmp_path: Path) -> None:
    (tmp_path / "smf_210_4.toml").write_text(LAYOUT)
    known = registry.load(extra_dirs=[tmp_path])
    moment = dt.datetime(2026, 11, 21, 10, 0, 0, 5)
    tables = {
        "smf210_4_header": pa.table({"record_seq": pa.array([7], pa.uint32()), "smf210sid": ["SYSA"]}),
        "smf210_4_door": pa.table(
            {
                "record_seq": pa.array([7, 7], pa.uint32()),
                "door_nname": ["FRONT[1]", "BACK^"],
                "dooropen": pa.array([4096, 8192], pa.uint64()),
                "doorlast": pa.array([moment, None], pa.timestamp("us")),
                "doorcnt": pa.array([2**24 - 1, 1], pa.uint32()),
            }
        ),
    }
    dump = encode_dump(tables, known)
    [batch] = decode_batches(dump, known)
    door = batch.tables["smf210_4_door"]
    assert door["door_nname"].to_pylist() == ["FRONT[1]", "BACK^"]
    assert door["doorlast"].to_pylist() == [moment, None]
    assert door["doorcnt"].to_pylist() == [2**24 - 1, 1]
    assert encode_dump(batch.tables, known) == dump
    [unknown] = decode_batches(dump, REGISTRY)
    assert unknown.skipped == {"210.4": (1, len(dump))}
    made = schema.generated_files(known)
    columns = staging.columns(*known.table("smf210_4_door"))
    assert "from memory" in " ".join(column.description for column in columns)
    assert "| **memory** |" in made[Path("docs/field-reference/smf210_4.md")]


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ('"uint", "", "Openings."', '"unit", "", "Openings."', "unknown format 'unit'"),
        ('36, 3, "uint"', '30, 3, "uint"', "overlaps DOORLAST"),
        ('"openings"', '"open_us"', "open_us is used more than once"),
        ('"Openings."', '""', "meaning is empty"),
        ('"memory"', '"rumour"', "expected one of macro"),
        ('"1/100 s", "Time', '"ms", "Time', "ends with '_ms'"),
        ("triplet = 24", "triplet = 30", "its triplet ends at 42, after the header"),
        ("type = 210", "type = 72\nsubtypes = [3]", "not a TOML file"),
        ("type = 210\nsubtypes = [4]", "type = 72\nsubtypes = [3]", "already described by"),
        ('title = "door section"', "", "lacks the entry 'title'"),
        ('["smf_sid", "SMF210SID", 14, 4, "ebcdic", "", "System.", "", "manual"],', "", "friendly names smf_sid"),
    ],
)
def test_a_layout_file_that_cannot_be_used_is_named_with_what_is_wrong(
    tmp_path: Path, change: str, to: str, words: str
) -> None:
    assert change in LAYOUT
    path = tmp_path / "smf_210_4.toml"
    path.write_text(LAYOUT.replace(change, to))
    with pytest.raises(RegistryError) as refusal:
        registry.load([tmp_path])
    assert str(path) in str(refusal.value)
    assert words in str(refusal.value)
