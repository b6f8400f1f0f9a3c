"""Real MQ records decode completely, and agree with a reader that shares nothing with the codec."""

from collections import Counter
from collections.abc import Iterable, Iterator

import duckdb
import pyarrow as pa
import pytest

from ingest import registry, warehouse
from ingest.batch import Batch
from ingest.formats.smf import decode_batches
from tests.ingest import mq_by_hand
from tests.shared import shared

REGISTRY = registry.load()
KINDS = {
    "115.1": 48,
    "115.2": 48,
    "115.5": 21,
    "115.6": 20,
    "115.7": 27,
    "115.201": 48,
    "115.215": 48,
    "115.231": 21,
    "115.240": 5,
    "116.0": 54,
    "116.1": 367,
}


@pytest.fixture(scope="module")
def dump() -> bytes:
    """The bytes of a real dump."""
    return shared("real/mq/SMF_MQ1000.dat").read_bytes()


@pytest.fixture(scope="module")
def batches(dump: bytes) -> list[Batch]:
    """The dump decoded."""
    return list(decode_batches(dump, REGISTRY))


@pytest.fixture(scope="module")
def tables(batches: list[Batch]) -> dict[str, pa.Table]:
    """Its rows by table."""
    names = dict.fromkeys(name for batch in batches for name in batch.tables)
    return {name: pa.concat_tables([b.tables[name] for b in batches if name in b.tables]) for name in names}


def agree(rows: Iterable[mq_by_hand.Row], tables: dict[str, pa.Table]) -> Counter[str]:
    """How many rows of each table there are, all of which have been found alike, with the entries inside them."""
    decoded = {
        name: {(row["record_seq"], row["section_seq"]): row for row in table.to_pylist()}
        for name, table in tables.items()
    }
    inside: dict[tuple[str, int, int, str], dict[int, object]] = {}
    for layout in REGISTRY.layouts:
        for section in layout.repeated:
            for entry in decoded.get(section.table, {}).values():
                place = layout.section(section.parent).table, entry["record_seq"], entry["parent_seq"]
                for item in section.fields:
                    inside.setdefault((*place, item.column), {})[entry["entry_seq"]] = entry[item.column]
    compared: Counter[str] = Counter()
    for row in rows:
        ours = decoded[row.table][row.record_seq, row.section_seq]
        for name, value in row.fields.items():
            if name in ours:
                assert ours[name] == value, (row.table, row.record_seq, row.section_seq, name)
            else:
                held = inside.get((row.table, row.record_seq, row.section_seq, name), {})
                listed = value if isinstance(value, list) else []
                zero = "\0" * 12 if name == "qeststr" else 0
                assert [held.pop(place, zero) for place in range(len(listed))] == listed, (row.table, name)
                assert not held
                compared[name] += len(listed)
        compared[row.table] += 1
    return compared


def test_every_record_is_decoded_and_every_byte_accounted_for(dump: bytes, batches: list[Batch]) -> None:
    assert not any(batch.quarantined for batch in batches)
    unknown = {name for batch in batches for name in batch.skipped}
    expected = {str(kind) for kind in (2, 3) if REGISTRY.layout_for(kind, 0) is None}
    assert unknown == expected
    assert sum(batch.records for batch in batches) == 709
    assert sum(batch.decoded for batch in batches) == 709 - len(unknown)
    assert sum(batch.bytes_in for batch in batches) == len(dump)
    assert not any(batch.notes for batch in batches)


def test_records_of_each_kind_are_found(tables: dict[str, pa.Table]) -> None:
    for kind, number in KINDS.items():
        assert tables[f"smf{kind.replace('.', '_')}_header"].num_rows == number, kind


def test_sections_agree_with_an_independent_reading(dump: bytes, tables: dict[str, pa.Table]) -> None:
    compared = agree(mq_by_hand.rows(dump), tables)
    kinds = {f"smf{kind.replace('.', '_')}_" for kind in KINDS}
    apart = {f"{kind}header" for kind in kinds} | {"smf115_1_internal_4", "smf115_1_internal_5"}
    apart |= {section.table for layout in REGISTRY.layouts for section in layout.repeated}
    wanted = {
        name: table.num_rows for name, table in tables.items() if name.startswith(tuple(kinds)) and name not in apart
    }
    assert {name: number for name, number in compared.items() if name.startswith("smf")} == wanted
    assert compared["wtaslwet"] == 32 * KINDS["116.1"] and compared["qestcsec"] == 64 * KINDS["115.2"]


def test_queue_sections_refer_to_the_thread_of_their_record(tables: dict[str, pa.Table]) -> None:
    threads = {
        row["record_seq"]: b"".join(
            row[name].to_bytes(size, "big") for name, size in (("wtasstrt_raw", 8), ("wtasmthr", 4), ("wtaswtas", 4))
        )
        for row in tables["smf116_1_thread_accounting"].to_pylist()
    }
    queues = tables["smf116_1_queue"].to_pylist()
    assert queues
    assert all(row["correl"] == threads[row["record_seq"]] for row in queues)


@pytest.mark.parametrize("name", ["TEST115.dat", "TEST116.dat"])
def test_older_records_agree_too(name: str) -> None:
    dump = shared(f"real/mq/{name}").read_bytes()
    [batch] = decode_batches(dump, REGISTRY)
    assert not batch.quarantined
    assert agree(mq_by_hand.rows(dump), batch.tables).total() > 5


@pytest.fixture(scope="module")
def staging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Staging views over the real dumps."""
    path = tmp_path_factory.mktemp("mq") / "etalon.duckdb"
    dumps = [shared("real/mq") / name for name in ("SMF_MQ1000.dat", "TEST116.dat")]
    reports = warehouse.load(dumps, path, REGISTRY)
    assert not [report.message for report in reports if report.exit_code]
    tables = {section.table for _, section in REGISTRY.tables() if section.table.startswith("smf11")}
    warehouse.make_views(path, REGISTRY, tables)
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def test_the_longest_wait_for_a_latch_lies_within_the_waits_of_its_class(staging: duckdb.DuckDBPyConnection) -> None:
    longest = staging.execute("select max(longest_latch_wait_us) from staging.stg_smf116_1_thread_accounting")
    assert longest.fetchone() == (pytest.approx(1556.9, abs=0.05),)


def test_a_minimum_of_nothing_is_no_value(staging: duckdb.DuckDBPyConnection) -> None:
    """The queue manager starts minima at X'0FFFFFFF', and the stealable buffers at X'7FFFFFFF'."""
    lowest = "select max(get_min_bytes), max(put_min_bytes), count(put_min_bytes) from staging.stg_smf116_1_queue"
    assert staging.execute(lowest).fetchone() == (None, 713, 2)
    recorded = "select count(*) from raw.smf116_1_queue where getminms = 268435455 and validget = 0"
    assert staging.execute(recorded).fetchone() == (17,)
    pools = "select max(lowest_stealable_buffers) < 100000 from staging.stg_smf115_215_buffer_pool"
    assert staging.execute(pools).fetchone() == (True,)
