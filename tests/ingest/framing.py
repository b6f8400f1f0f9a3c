"""Records and segments of spanned records, byte by byte."""

HEAD = bytes.fromhex("5E640036EE800126325FE2E8E2C1")
"""Flags, type 100, time, date 2026-11-21, system SYSA."""


def record(size: int, fill: int = 0) -> bytes:
    """An SMF record of `size` bytes, descriptor included."""
    return size.to_bytes(2, "big") + bytes(2) + HEAD + bytes([fill]) * (size - 4 - len(HEAD))


def segments(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        found.append(data[at : at + int.from_bytes(data[at : at + 2])])
        at += len(found[-1])
    return found
