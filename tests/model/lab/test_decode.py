"""Rendered dumps through the codec: everything is decoded, and what was put in comes out."""

import pyarrow as pa
import pytest

from ingest import registry as layouts
from ingest.formats.smf import encode_dump
from ingest.formats.smf.decode import decode_batches
from model.lab.records.tables import to_tables
from model.lab.rendering import DEFAULT_SEED, construct_points, records_of, render, setting_of
from model.lab.writing import write_parts
from model.published import catalogue


@pytest.fixture(scope="module")
def registry():
    return layouts.load()


def decoded(dump, registry):
    parts = {}
    for batch in decode_batches(dump, registry):
        assert not batch.skipped and not batch.quarantined
        assert batch.decoded == batch.records
        for name, table in batch.tables.items():
            parts.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in parts.items()}


@pytest.mark.parametrize(
    "system_id", ["cics52-18cp", "ims14-ff-haldb-z13", "ims10-base-ff-smq", "ims10-connect-ds", "cics53-tor-example"]
)
def test_a_rendered_dump_decodes_completely_to_the_rows_it_was_made_of(tmp_path, registry, system_id):
    (dump,) = [path for path in render(system_id, tmp_path, registry=registry) if path.suffix == ".smf"]
    found = decoded(dump.read_bytes(), registry)
    system = catalogue.system(system_id)
    setting = setting_of(system)
    points = list(construct_points(system, setting, DEFAULT_SEED))
    written = to_tables(records_of(setting, points, write_parts(system, setting, DEFAULT_SEED)), registry)
    assert set(found) == set(written)
    for name, table in written.items():
        order = [("record_seq", "ascending"), ("section_seq", "ascending")]
        back = found[name].sort_by(order)
        for column in table.column_names:
            assert back[column].to_pylist() == table[column].to_pylist(), f"{name}.{column}"


def test_a_decoded_dump_is_encoded_to_the_same_bytes(tmp_path, registry):
    (dump,) = [path for path in render("ims14-ff-haldb-z14", tmp_path, registry=registry) if path.suffix == ".smf"]
    content = dump.read_bytes()
    assert encode_dump(decoded(content, registry), registry) == content
