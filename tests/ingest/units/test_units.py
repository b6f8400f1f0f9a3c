"""A dump decoded in units gives the rows and the accounts of the whole, wherever it is cut."""

import pickle
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import registry, units
from ingest.files.accounts import Accounts
from ingest.formats.identify import Identity, Kind
from ingest.framing import Place
from ingest.units.plan import cut
from tests.ingest.framing import record
from tests.ingest.units.dumps import dump

REGISTRY = registry.load()
EVERYTHING = 1 << 40
"""More bytes than any table has: all rows come back."""


def places(data: bytes, framing: str) -> list[Place]:
    """Where records begin, behind the first."""
    found, at, left = [], 0, 0
    while at < len(data):
        start, opens = at, framing == "bdw" and not left
        if opens:
            left, at = int.from_bytes(data[at : at + 2]) - 4, at + 4
        if data[at + 2] <= 1:
            found.append(Place(start, framing, 0 if opens else left))
        size = int.from_bytes(data[at : at + 2])
        at, left = at + size, left - size if framing == "bdw" else 0
    return found[1:]


def file_of(path: Path, data: bytes) -> units.File:
    path.write_bytes(data)
    return units.File(str(path), 7, Identity(Kind.SMF), len(data))


def decoded(found: Sequence[units.Piece], folder: Path) -> tuple[dict[str, pa.Table], dict[str, object], dict]:
    """Rows of all tables in order, the accounts and the incomplete records of pieces of one file."""
    planned = [units.Unit((one,), REGISTRY) for one in found]
    settled = units.settle(planned, [units.scan(unit) for unit in planned])
    rows: dict[str, list[pa.Table]] = {}
    accounts, incomplete = Accounts(), {}
    for unit in pickle.loads(pickle.dumps(settled)):
        result = units.decode(unit, folder, EVERYTHING)
        accounts.join(result.accounts[7])
        incomplete |= result.incomplete.get(7, {})
        for (_, table), held in result.rows.items():
            rows.setdefault(table, []).extend(held)
    joined = {name: pa.concat_tables(held, promote_options="default") for name, held in rows.items()}
    return {name: _ordered(table) for name, table in joined.items()}, vars(accounts), incomplete


def _ordered(table: pa.Table) -> pa.Table:
    keys = ("record_seq", "byte_offset", "section_seq", "parent_seq", "entry_seq", "ordinal")
    order = [(name, "ascending") for name in keys if name in table.column_names]
    names = sorted(table.column_names)
    return table.select(names).take(pc.sort_indices(table, order)).combine_chunks()


@pytest.fixture(scope="module", params=["rdw", "bdw"])
def whole(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    data = dump(request.param)
    file = file_of(folder / "whole.smf", data)
    return file, data, request.param, decoded([units.Piece(file)], folder)


def test_the_dump_has_what_can_go_wrong(whole) -> None:
    _, _, _, (rows, accounts, incomplete) = whole
    assert accounts["reason_codes"].keys() >= {"cics_dictionary_missing", "split_record_incomplete"}
    assert rows["smf110_1_performance"].num_rows == 4
    assert incomplete
    assert rows["record_identity"].num_rows == accounts["decoded"]


def test_a_dump_cut_at_every_record_at_once_gives_the_rows_of_the_whole(whole, tmp_path) -> None:
    file, data, framing, expected = whole
    assert decoded(cut(file, places(data, framing)), tmp_path) == expected


def test_a_dump_cut_at_any_record_gives_the_rows_of_the_whole(whole, tmp_path) -> None:
    file, data, framing, expected = whole
    for place in places(data, framing):
        assert decoded(cut(file, [place]), tmp_path) == expected, place


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_damaged_dump_gives_the_rows_of_the_whole_wherever_it_is_cut(whole, tmp_path_factory, data) -> None:
    _, sound, framing, _ = whole
    folder = tmp_path_factory.mktemp("damaged")
    at = data.draw(st.integers(0, len(sound) - 20))
    damage = data.draw(st.sampled_from([b"\xff\xff\xff\xff", b"\0\0\0\0", b"", b"\x00\x50"]))
    gone = data.draw(st.sampled_from([len(damage), 0, 7]))
    file = file_of(folder / "damaged.smf", sound[:at] + damage + sound[at + gone :])
    change = len(damage) - gone
    moved = [
        place if place.offset <= at else place._replace(offset=place.offset + change)
        for place in places(sound, framing)
    ]
    chosen = data.draw(st.lists(st.sampled_from(moved), min_size=1, max_size=6, unique=True).map(sorted))
    expected = decoded([units.Piece(file)], folder)
    assert decoded(cut(file, chosen), folder) == expected


def test_a_place_that_no_record_begins_at_cuts_nothing(whole, tmp_path) -> None:
    file, data, framing, expected = whole
    wrong = [Place(place.offset + 2, framing, place.left) for place in places(data, framing)[::5]]
    assert decoded(cut(file, wrong), tmp_path) == expected


def test_large_tables_become_files_with_the_same_rows(whole, tmp_path) -> None:
    file, _, _, (rows, _, _) = whole
    [unit] = units.plan([file], 1 << 30, REGISTRY)
    [unit] = units.settle([unit], [units.scan(unit)])
    result = units.decode(unit, tmp_path)
    assert not result.rows
    assert {part.table for part in result.parts} == set(rows)
    written = rows["record_identity"]["written_raw"].to_pylist()
    for part in result.parts:
        read = pq.read_table(part.path)
        assert (part.file_id, part.rows, part.bytes) == (7, read.num_rows, Path(part.path).stat().st_size)
        assert not any(pa.types.is_unsigned_integer(field.type) for field in read.schema)
        assert _ordered(read.cast(_unsigned(read.schema, rows[part.table].schema), safe=False)) == rows[part.table]
        assert (part.written_from, part.written_to) == (min(written), max(written))


def _unsigned(schema: pa.Schema, like: pa.Schema) -> pa.Schema:
    return pa.schema([like.field(field.name) for field in schema])


def test_a_plan_cuts_large_dumps_and_bundles_small_files(tmp_path) -> None:
    made = [record(400, place % 251) for place in range(4000)]
    large = file_of(tmp_path / "large.smf", b"".join(made))
    small = [file_of(tmp_path / f"{name}.smf", b"".join(made[:100])) for name in "abc"]
    planned = units.plan([small[0], large, *small[1:]], 400_000, REGISTRY)
    assert [len(unit.pieces) for unit in planned] == [1, 1, 1, 1, 1, 2]
    ends = [unit.pieces[0].end for unit in planned if unit.pieces[0].file == large]
    assert ends == [Place(offset, "rdw", 0) for offset in (400_000, 800_000, 1_200_000)] + [None]
    settled = units.settle(planned, [units.scan(unit) for unit in planned])
    first = [unit.pieces[0].first_seq for unit in settled if unit.pieces[0].file == large]
    assert first == [0, 1000, 2000, 3000]
