"""Records that RMF split because of their size come out as one."""

import numpy as np
import pyarrow as pa
import pytest

from ingest.formats.smf import decode_batches, encode_dump
from ingest.framing import HEAD_BYTES
from tests.ingest.split_records import NAMES, REGISTRY, piece


def whole(rows: int = 1) -> bytes:
    """Records that were not split."""
    sequence = np.arange(rows, dtype=np.uint32)
    header = pa.table({"record_seq": sequence, "smf70sid": ["SYSA"] * rows})
    control = pa.table({"record_seq": sequence, "smf70mdl": ["WHOLE"] * rows})
    return encode_dump({"smf70_1_header": header, "smf70_1_control": control}, REGISTRY)


def rows(dump: bytes, table: str, column: str, **options) -> list[tuple[int, int, str]]:
    """record_seq, section_seq and one column of a table's rows, in their order."""
    found = []
    for batch in decode_batches(dump, REGISTRY, **options):
        assert not batch.quarantined
        if table in batch.tables:
            part = batch.tables[table].select(["record_seq", "section_seq", column]).to_pydict()
            found += zip(*part.values(), strict=True)
    return sorted(found)


@pytest.mark.parametrize("base", ["area", "product"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_pieces_are_put_together_by_what_their_areas_say(order: tuple[int, ...], base: str) -> None:
    dump = whole() + b"".join(piece(number, blocks=True, base=base) for number in order) + whole()
    assert rows(dump, "smf70_1_partition", "smf70lpm") == [(1, place, name) for place, name in enumerate(NAMES)]
    assert [seq for seq, _, model in rows(dump, "smf70_1_control", "smf70mdl") if model != "WHOLE"] == [1]
    assert [seq for seq, _, _ in rows(dump, "smf70_1_header", "smf70sid")] == [0, 1, 2, 3, 4]
    assert [seq for seq, _, _ in rows(dump, "smf70_1_product", "smf70ran")] == [1, 2, 3]


def test_pieces_without_positions_are_put_together_as_they_come() -> None:
    dump = b"".join(piece(number, blocks=False) for number in range(3))
    assert rows(dump, "smf70_1_partition", "smf70lpm") == [(0, place, name) for place, name in enumerate(NAMES)]


def test_pieces_far_apart_in_the_dump_are_put_together() -> None:
    filler = whole(800)
    dump = piece(0, blocks=True) + filler + piece(1, blocks=True) + filler + piece(2, blocks=True)
    assert len(filler) > HEAD_BYTES
    found = rows(dump, "smf70_1_partition", "smf70lpm", batch_bytes=1 << 16)
    assert found == [(0, place, name) for place, name in enumerate(NAMES)]


def test_split_records_of_one_moment_do_not_mix() -> None:
    dump = b"".join(piece(number, blocks=True) for number in (0, 1, 2, 0, 1, 2))
    expected = [(seq, place, name) for seq in (0, 3) for place, name in enumerate(NAMES)]
    assert rows(dump, "smf70_1_partition", "smf70lpm") == expected


def test_a_missing_piece_is_noted() -> None:
    dump = piece(0, blocks=True) + piece(2, blocks=True)
    notes = [dict(batch.notes) for batch in decode_batches(dump, REGISTRY)]
    assert notes[-1] == {"split_record_incomplete": 1}
    names = [name for _, _, name in rows(dump, "smf70_1_partition", "smf70lpm")]
    assert names == ["P0", "P1", "P5"]
