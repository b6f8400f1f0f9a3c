"""IMS logs made up for tests."""

import random

import pyarrow as pa

FIRST_CLOCK = (3_976_214_400_000_000 + 123_456) << 12
"""A store clock of 2026-01-01 00:00:00.123456 UTC."""


def records(codes: list[tuple[int, int]], *, first_seq: int = 1000, step_us: int = 1000) -> pa.Table:
    """Prefixes and suffixes of records with these codes and subcodes, one after another in time."""
    count = len(codes)
    return pa.table(
        {
            "record_seq": pa.array(range(count), pa.uint32()),
            "log_code": [f"{code:02X}" for code, _ in codes],
            "subcode": [f"{subcode:02X}" for _, subcode in codes],
            "written_utc_raw": pa.array([FIRST_CLOCK + i * (step_us << 12) for i in range(count)], pa.uint64()),
            "log_seq": pa.array(range(first_seq, first_seq + count), pa.uint64()),
        }
    )


def random_codes(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Codes of records of any kind."""
    return [rng.choice([(0x01, 0x81), (0x35, 0), (0x31, 0), (0x07, 0), (0x50, 2), (0xB7, 9)]) for _ in range(count)]
