"""Channel measurements of SMF 73: no value stands under the name of another measurement group."""

import pyarrow as pa

from ingest import registry
from ingest.formats.smf import decode_batches, encode_dump

REGISTRY = registry.load()
AREA = bytes(range(36))


def decoded() -> dict[str, pa.Table]:
    """Two channels, of group 5 and of group 2; each names the other's number of an extended section."""
    one = pa.array([1], pa.uint32())
    two = pa.array([1, 1], pa.uint32())
    tables = {
        "smf73_header": pa.table({"record_seq": one, "smf73sid": ["SYSA"]}),
        "smf73_channel": pa.table(
            {
                "record_seq": two,
                "section_seq": pa.array([0, 1], pa.uint32()),
                "smf73cmg": pa.array([5, 2], pa.uint8()),
                "smf73eix": pa.array([2, 1], pa.uint16()),
                "smf73g5mbc": pa.array([100.0, None], pa.float64()),
                "smf73mbc": pa.array([None, 7.0], pa.float64()),
            }
        ),
        "smf73_extended": pa.table(
            {
                "record_seq": two,
                "section_seq": pa.array([0, 1], pa.uint32()),
                "smf73eoc": pa.array([9.0, None], pa.float64()),
                "smf73ets": pa.array([3.0, None], pa.float64()),
                "smf73_ecd_data": pa.array([None, AREA], pa.binary(36)),
            }
        ),
    }
    [batch] = decode_batches(encode_dump(tables, REGISTRY), REGISTRY)
    return batch.tables


def test_channels_of_groups_4_and_5_have_names_of_their_own() -> None:
    rows = decoded()["smf73_channel"].to_pylist()
    assert [(row["smf73g5mbc"], row["smf73mbc"], row["smf73g4mbc"]) for row in rows] == [
        (100, None, None),
        (None, 7, None),
    ]


def test_an_extended_section_is_broken_down_only_for_a_channel_of_group_2() -> None:
    rows = decoded()["smf73_extended"].to_pylist()
    assert [(row["smf73eoc"], row["smf73ets"], row["smf73_ecd_data"]) for row in rows] == [
        (9, 3, None),
        (None, None, AREA),
    ]
