"""The vocabulary of layout files: field formats and units, with the types they become.

A format says how bytes are read, a unit what the number counts. Both are words in a layout file; this module says what
each word means for Arrow and DuckDB. How a format is read and written stands in `ingest.formats.smf`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Format:
    """One format word: lengths it may have, column types it becomes, and the unit of its numbers if it has one."""

    name: str
    lengths: frozenset[int] | None
    arrow: Callable[[int], pa.DataType]
    duckdb: Callable[[int], str]
    meaning: str
    unit: str = ""

    def accepts(self, length: int) -> bool:
        """True if a field of this format may have this length; a length of 0 means the rest of its entry."""
        return self.lengths is None or length in self.lengths


_UNSIGNED = {
    1: (pa.uint8(), "UTINYINT"),
    2: (pa.uint16(), "USMALLINT"),
    4: (pa.uint32(), "UINTEGER"),
    8: (pa.uint64(), "UBIGINT"),
}
_SIGNED = {
    1: (pa.int8(), "TINYINT"),
    2: (pa.int16(), "SMALLINT"),
    4: (pa.int32(), "INTEGER"),
    8: (pa.int64(), "BIGINT"),
}


def _width(length: int) -> int:
    """Width in bytes of the smallest machine integer that holds `length` bytes."""
    return next(width for width in (1, 2, 4, 8) if length <= width)


def _constant(
    name: str, lengths: set[int] | None, arrow: pa.DataType, duckdb: str, meaning: str, unit: str = ""
) -> Format:
    allowed = None if lengths is None else frozenset(lengths)
    return Format(name, allowed, lambda _length: arrow, lambda _length: duckdb, meaning, unit)


def _integer(name: str, lengths: set[int], table: dict[int, tuple[pa.DataType, str]], meaning: str) -> Format:
    types = {length: table[_width(length)] for length in lengths}
    return Format(name, frozenset(lengths), lambda n: types[n][0], lambda n: types[n][1], meaning)


FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        _integer("uint", set(range(1, 9)), _UNSIGNED, "Unsigned integer, big-endian."),
        _integer("int", {1, 2, 4, 8}, _SIGNED, "Two's complement integer, big-endian."),
        _integer("flags", {1, 2, 3, 4, 8}, _UNSIGNED, "Bits, kept as an unsigned integer; bit 0 is the highest."),
        _constant("ebcdic", None, pa.string(), "VARCHAR", "EBCDIC text, code page 037, trailing blanks removed."),
        _constant("ebcdic1047", None, pa.string(), "VARCHAR", "EBCDIC text, code page 1047, trailing blanks removed."),
        Format("bytes", None, lambda n: pa.binary(n or -1), lambda n: "BLOB", "Bytes as recorded."),
        _constant("hfp", {4, 8}, pa.float64(), "DOUBLE", "IBM hexadecimal floating point, to the nearest double."),
        _integer("packed", set(range(1, 9)), _UNSIGNED, "Packed decimal digits and a sign; NULL when they are not."),
        _constant("packed_date", {4}, pa.date32(), "DATE", "Packed date 0cyydddF; NULL when it is not a date."),
        _constant("packed_time", {4}, pa.uint32(), "UINTEGER", "Packed time of day 0hhmmssF as the number hhmmss."),
        _constant("packed_interval", {4}, pa.uint32(), "UINTEGER", "Packed length mmsstttF as the number mmssttt."),
        _constant("hundredths", {4}, pa.uint32(), "UINTEGER", "Hundredths of a second since local midnight."),
        _constant("tod", {8}, pa.timestamp("us"), "TIMESTAMP", "Store clock, raw value also kept; NULL when zero."),
        _constant("tod_upper", {4}, pa.timestamp("us"), "TIMESTAMP", "First half of a store clock, 1.05 s to a step."),
        _constant("stcke", {16}, pa.timestamp("us"), "TIMESTAMP", "Extended store clock, raw bytes also kept."),
        _constant(
            "tod_duration",
            {8},
            pa.uint64(),
            "UBIGINT",
            "Length of time in store clock units, 4,096 to the us.",
            "1/4096 us",
        ),
        _constant("ip16", {16}, pa.binary(16), "BLOB", "IP address of 16 bytes; text in staging."),
        _constant(
            "tod_signed",
            {8},
            pa.int64(),
            "BIGINT",
            "Signed time offset in store clock units, 4,096 to the us.",
            "1/4096 us",
        ),
    )
}

RAW_TYPES: dict[str, tuple[pa.DataType, str]] = {
    "tod": (pa.uint64(), "UBIGINT"),
    "tod_upper": (pa.uint32(), "UINTEGER"),
    "stcke": (pa.binary(16), "BLOB"),
}
"""Formats whose raw value is kept in a second column `<name>_raw`, with that column's Arrow and DuckDB types."""


SINCE_1900 = "4096 us since 1900"
"""Unit of the first six bytes of an extended store clock."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit word: the factor to the staging unit, and the ending a staging name must have."""

    name: str
    factor: float
    suffix: str
    staging: str


UNITS: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        Unit("us", 1, "_us", "µs"),
        Unit("1/100 s", 10_000, "_us", "µs"),
        Unit("1024 us", 1_024, "_us", "µs"),
        Unit("128 us", 128, "_us", "µs"),
        Unit("0.5 us", 0.5, "_us", "µs"),
        Unit("1/2^44 us", 2**-44, "_us", "µs"),
        Unit("ms", 1, "_ms", "ms"),
        Unit("s", 1, "_s", "s"),
        Unit("1/10 s", 1 / 10, "_s", "s"),
        Unit(SINCE_1900, 1, "_utc", "UTC"),
        Unit("us^2", 1, "_us2", "µs²"),
        Unit("(1024 us)^2", 1_048_576, "_us2", "µs²"),
        Unit("/10", 1 / 10, "", "ratio"),
        Unit("/100", 1 / 100, "", "ratio"),
        Unit("/256", 1 / 256, "", "ratio"),
        Unit("/1024", 1 / 1_024, "", "ratio"),
        Unit("/10000", 1 / 10_000, "", "ratio"),
        Unit("KB", 1, "_kb", "KiB"),
        Unit("4 KB", 4, "_kb", "KiB"),
        Unit("MB", 1, "_mb", "MiB"),
        Unit("bytes", 1, "_bytes", "bytes"),
        Unit("%", 1, "", "%"),
        Unit("SU", 1, "", "service units"),
        Unit("MSU/h", 1, "_msu", "million service units per hour"),
        Unit("1/16 us per SU", 1, "", "1/16 µs per service unit"),
    )
}
"""Units the staging layer knows; a unit that is not here is shown and not scaled."""
