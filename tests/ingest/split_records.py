"""Records that a writer split, for tests."""

import struct

import pyarrow as pa

from ingest import registry
from ingest.formats.smf import encode_dump

REGISTRY = registry.load()
LAYOUT = REGISTRY.table("smf70_1_header")[0]
NAMES = ["P0", "P1", "P2", "P3", "P4", "P5"]
PIECES = [(0, 2), (2, 5), (5, 6)]
"""First and last (exclusive) partition of each piece."""


def piece(number: int, *, blocks: bool, base: str = "area", time: int = 100, pieces: int = 3) -> bytes:
    """One piece of a split record: every piece repeats the control section and has some of the partitions."""
    low, high = PIECES[number]
    kinds = [section.name for section in LAYOUT.sections[1:] if section.name != "product"]
    area = struct.pack(">HHIHH", pieces, number + 1, 12 if base == "area" else 116, 4, len(kinds) if blocks else 0)
    for kind in kinds:
        total, first = {"control": (1, 1), "partition": (6, low + 1)}.get(kind, (0, 0))
        area += struct.pack(">HH", total, first)
    tables = {
        "smf70_1_header": pa.table(
            {
                "record_seq": pa.array([0], pa.uint32()),
                "smf70tme": pa.array([time], pa.uint32()),
                "smf70sid": ["SYSA"],
                "smf70prl": pa.array([104 + len(area)], pa.uint16()),
            }
        ),
        "smf70_1_product": pa.table(
            {
                "record_seq": pa.array([0], pa.uint32()),
                "smf70ran": pa.array([1], pa.uint16()),
                "smf70rao": pa.array([104], pa.uint32()),
                "smf70ral": pa.array([len(area)], pa.uint16()),
            }
        ),
        "smf70_1_control": pa.table({"record_seq": pa.array([0], pa.uint32()), "smf70mdl": [f"M{number}"]}),
        "smf70_1_partition": pa.table(
            {
                "record_seq": pa.array([0] * (high - low), pa.uint32()),
                "section_seq": pa.array(range(high - low), pa.uint32()),
                "smf70lpm": NAMES[low:high],
            }
        ),
    }
    dump = bytearray(encode_dump(tables, REGISTRY))
    at = int.from_bytes(dump[28:32], "big") + 104
    dump[at : at + len(area)] = area
    return bytes(dump)
