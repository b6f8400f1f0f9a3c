"""The worked example of docs/how-to-add-a-record-type.md is what it says."""

import re
from pathlib import Path

import duckdb

from ingest import registry, schema
from ingest.formats.smf import decode_batches, encode_dump
from ingest.schema import staging
from ingest.schema.ddl import CREATE_OVERLAP
from tests.shared import ROOT

PAGE = ROOT / "docs" / "how-to-add-a-record-type.md"


def test_the_record_worked_by_hand_decodes_to_the_rows_shown(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [layout] = re.findall(r"```toml\n(.*?)```", text, re.S)
    [dump] = re.findall(r"```text\n(.*?)```", text, re.S)
    (tmp_path / "smf_210_4.toml").write_text(layout, encoding="utf-8")
    known = registry.load([tmp_path])
    record = bytes.fromhex("".join(re.match(r"((?:[0-9A-F]+ ?)+)", line)[1] for line in dump.splitlines()))  # type: ignore[index]
    [batch] = decode_batches(record, known)
    assert not batch.quarantined
    assert encode_dump(batch.tables, known) == record

    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw")
    con.execute("CREATE SCHEMA meta")
    con.execute(CREATE_OVERLAP)
    for name, rows in batch.tables.items():
        con.execute(schema.create_table(known.table(name)[1]))
        con.register("incoming", rows)
        con.execute(f"INSERT INTO raw.{name} BY NAME SELECT 1 AS file_id, * FROM incoming")
    described, door = known.table("smf210_4_door")
    view = staging.view_sql(described, door)
    cells = [line.strip("| ").split(" | ") for line in text[text.index("| door_name |") :].splitlines()[:4]]
    shown = [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]
    found = con.sql(f"SELECT {', '.join(cells[0])} FROM ({view}) ORDER BY section_seq").to_arrow_table().to_pylist()
    assert [{key: str(value).lower() for key, value in row.items()} for row in found] == [
        {key: value.lower() for key, value in row.items()} for row in shown
    ]
    [(sid, written)] = con.execute(f"SELECT DISTINCT smf_sid, written_local::VARCHAR FROM ({view})").fetchall()
    assert (sid, written) == ("SYSA", "2026-11-21 10:00:00")
