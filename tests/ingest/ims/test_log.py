"""IMS logs are known by their content, every record is dated and numbered, and typed where a layout says how."""

import datetime as dt
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest import registry
from ingest.formats.identify import Kind, identify
from ingest.formats.ims.decode import decode_log
from ingest.formats.ims.encode import encode_log
from ingest.framing import FramingError
from ingest.registry import RegistryError
from tests.ingest.ims.logs import FIRST_CLOCK, random_codes, records
from tests.ingest.tables import random_rows
from tests.shared import ROOT, shared

REGISTRY = registry.load()


def decoded(data: bytes, layouts=REGISTRY) -> tuple[dict[str, pa.Table], list]:
    """Tables of a whole log with the batches they came in; every byte must be accounted for."""
    found: dict[str, list[pa.Table]] = {}
    batches = list(decode_log(data, layouts))
    assert sum(batch.bytes_in for batch in batches) == len(data)
    for batch in batches:
        for name, table in batch.tables.items():
            found.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}, batches


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 200), st.sampled_from(["rdw", "bdw"]))
@example(639, 20, "rdw")  # one of its bodies holds what looks like the date of an SMF record
def test_what_is_written_is_read_again(seed, count, framing):
    rng = random.Random(seed)
    codes = [rng.choice([(0x99, 0x28), *random_codes(rng, 1)]) for _ in range(count)]
    rows = records(codes, first_seq=rng.randrange(1 << 40))
    bodies = {n: rng.randbytes(rng.randrange(300)) for n, code in enumerate(codes) if code != (0x99, 0x28)}
    ours = [n for n, code in enumerate(codes) if code == (0x99, 0x28)]
    typed = pa.table(
        {
            "record_seq": pa.array(ours, pa.uint32()),
            "pst": pa.array([rng.randrange(1 << 16) for _ in ours], pa.uint16()),
            "recovtkn": pa.array([rng.randbytes(16) for _ in ours], pa.binary(16)),
            "stck_raw": pa.array([FIRST_CLOCK + rng.randrange(1 << 40) for _ in ours], pa.uint64()),
        }
    )
    data = encode_log({"ims_log_record": rows, "ims_log_9928_record": typed}, REGISTRY, bodies=bodies, framing=framing)
    assert identify("anything", data[: 1 << 16]).kind == Kind.IMS_LOG
    tables, batches = decoded(data)
    for name in rows.column_names:
        assert tables["ims_log_record"][name].to_pylist() == rows[name].to_pylist()
    if ours:
        for name in typed.column_names:
            assert tables["ims_log_9928_record"][name].to_pylist() == typed[name].to_pylist()
    events = tables["ims_log_event"].num_rows if "ims_log_event" in tables else 0
    assert sum(batch.decoded for batch in batches) == len(ours) + events
    assert encode_log(tables, REGISTRY, bodies=bodies, framing=framing) == data


@pytest.mark.parametrize("layout", REGISTRY.logged("ims").values(), ids=lambda layout: layout.name)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 5))
def test_every_layout_of_a_log_record_is_written_and_read_alike(layout, seed, count):
    section = layout.header
    rows = random_rows(
        section, seed, {"record_seq": list(range(count)), "section_seq": [0] * count}, list(range(count))
    )
    subcode = layout.subtypes[seed % len(layout.subtypes)] if layout.subtypes else seed % 256
    heads = {0: None, 2: 0, 4: layout.type, 5: subcode}
    for item in section.fields:
        if item.offset in heads and item.offset:
            place, values = rows.column_names.index(item.column), [heads[item.offset]] * count
            rows = rows.set_column(place, rows.field(place), pa.array(values, item.arrow))
    data = encode_log({"ims_log_record": records([(layout.type, subcode)] * count), section.table: rows}, REGISTRY)
    tables, batches = decoded(data)
    kept = [name for name in rows.column_names if name != section.fields[0].column]
    assert tables[section.table].select(kept).to_pylist() == rows.select(kept).to_pylist()
    assert sum(batch.decoded for batch in batches) == count
    assert encode_log(tables, REGISTRY) == data


def test_times_are_utc_and_the_sequence_is_watched():
    data = encode_log({"ims_log_record": records([(0x35, 0)] * 5)}, REGISTRY)
    size = len(data) // 5
    tables, batches = decoded(data[: 2 * size] + data[3 * size :])
    assert tables["ims_log_record"]["written_utc"][0].as_py() == dt.datetime(2026, 1, 1, 0, 0, 0, 123456)
    assert batches[0].notes["log_sequence_gap"] == 1


def test_events_are_rows_and_records_without_layout_or_event_counted_by_code():
    tables, batches = decoded(
        encode_log({"ims_log_record": records([(1, 0x81), (0x35, 0), (0x31, 0), (0x50, 0)])}, REGISTRY)
    )
    assert tables["ims_log_event"]["event"].to_pylist() == ["arrival", "enqueue", "get"]
    assert set(batches[0].skipped) == {"ims.50"}
    assert batches[0].decoded == 3


def test_a_record_without_a_store_clock_is_kept_without_one():
    rows = records([(0x35, 0)] * 9 + [(0x48, 0)])
    clocks = rows["written_utc_raw"].to_pylist()
    rows = rows.set_column(3, "written_utc_raw", pa.array([*clocks[:9], None], pa.uint64()))
    data = encode_log({"ims_log_record": rows}, REGISTRY, bodies={9: bytes(50)})
    assert identify("log", data).kind == Kind.IMS_LOG
    last = decoded(data)[0]["ims_log_record"].to_pylist()[9]
    assert (last["record_name"], last["written_utc"], last["log_seq"]) == ("OLDS padding", None, None)


def test_smf_dumps_and_other_files_are_not_taken_for_logs():
    for name in ("SMF_MQ1000", "TEST115", "TEST116"):
        data = shared(f"real/mq/{name}.dat").read_bytes()
        assert identify(name, data[: 1 << 16]).kind == Kind.SMF
    for other in (bytes(1000), b"", random.Random(1).randbytes(5000)):
        assert identify("x", other).kind != Kind.IMS_LOG


def worked_example() -> tuple[str, bytes]:
    """The layout file and the record of the page about layouts."""
    page = (ROOT / "docs" / "ims-log-layouts.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```", page, re.DOTALL)
    return next(text for kind, text in blocks if kind == "toml"), bytes.fromhex(blocks[-1][1])


def test_the_worked_example_decodes_as_its_page_says(tmp_path: Path):
    text, record = worked_example()
    (tmp_path / "ims_log_31.toml").write_text(text)
    layouts = registry.load([tmp_path])
    tables, _ = decoded(record, layouts)
    (row,) = tables["ims_log_31_record"].to_pylist()
    token = "C9D4E2F140404040" + "0000000000000001"
    assert (row["qlguflg"], row["qlgupst"], row["qlgudest"]) == (128, 7, "PART")
    assert row["qlguuow"].hex().upper() == token * 2
    (event,) = tables["ims_log_event"].to_pylist()
    assert (event["event"], event["transaction_code"], event["pst_number"]) == ("get", "PART", 7)
    assert event["unit_of_work"] == token * 2 and event["log_seq"] == 1001
    assert encode_log(tables, layouts) == record


def test_layouts_that_contradict_each_other_are_refused(tmp_path: Path):
    text, _ = worked_example()
    (tmp_path / "a.toml").write_text(text)
    (tmp_path / "b.toml").write_text(text.replace('name = "ims_log_31"', 'name = "other"'))
    with pytest.raises(RegistryError, match="X'31' is already described"):
        registry.load([tmp_path]).logged("ims")
    (tmp_path / "b.toml").write_text(text.replace("type = 0x31", "type = 0x131"))
    with pytest.raises(RegistryError, match="one byte"):
        registry.load([tmp_path])


def _log(count: int, framing: str, longest: int) -> tuple[bytes, list[bytes]]:
    """A log and the bytes of each of its records."""
    rng = random.Random(count * longest)
    bodies = {n: rng.randbytes(rng.randrange(longest)) for n in range(count)}
    tables = {"ims_log_record": records([(0x99, n % 200) for n in range(count)])}
    plain = encode_log(tables, REGISTRY, bodies=bodies)
    each, at = [], 0
    while at < len(plain):
        each.append(plain[at : at + int.from_bytes(plain[at : at + 2])])
        at += len(each[-1])
    return encode_log(tables, REGISTRY, bodies=bodies, framing=framing), each


def _numbers(piece: bytes) -> list[int | None]:
    assert identify("log", piece[: 1 << 16]).kind == Kind.IMS_LOG
    tables, _ = decoded(piece)
    return tables["ims_log_record"]["log_seq"].to_pylist()


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@pytest.mark.parametrize(("count", "longest"), [(400, 300), (24, 9_000)])
def test_a_log_is_read_from_its_first_whole_record_and_behind_damage(framing, count, longest):
    log, each = _log(count, framing, longest)
    rng = random.Random(1)
    for _ in range(20):
        first = rng.randrange(1, len(log) // 2)
        kept = [n for n, record in enumerate(each) if log.find(record) >= first]
        assert _numbers(log[first:]) == [1000 + n for n in kept]

        hit = rng.randrange(len(log) // 4, len(log) // 2)
        damaged = log[:hit] + rng.randbytes(16) + log[hit + 16 :]
        starts = [log.find(record) for record in each]
        whole = {1000 + n for n, at in enumerate(starts) if not hit - len(each[n]) - 4 < at < hit + 20}
        assert whole <= set(_numbers(damaged))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damaged_logs_never_fail_and_lose_no_byte(data):
    rng = random.Random(data.draw(st.integers(0, 1000)))
    codes = [rng.choice([(0x99, 0x28), (0x67, 0xFA), (0x67, 0xFF), (0xFA, 1), (0x01, 0)]) for _ in range(20)]
    bodies = {n: rng.randbytes(rng.randrange(80)) for n in range(20)}
    log = bytearray(encode_log({"ims_log_record": records(codes)}, REGISTRY, bodies=bodies))
    for _ in range(data.draw(st.integers(0, 6))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.sampled_from([0, 1, 4, 5, 0x7F, 0xFF]))
    piece = bytes(log[: data.draw(st.integers(1, len(log)))])
    identify("log", piece)
    try:
        decoded(piece)
    except FramingError as error:
        assert "input" in str(error)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_can_be_asked_about(data):
    assert identify("x", data).kind in Kind
