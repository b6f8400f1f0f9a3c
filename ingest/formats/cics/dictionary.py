"""CICS monitoring dictionaries: what the fields of a region's records are and where, remembered per region and release.

Source: CICS TS, monitoring data, dictionary data section (DFHMCTDR), 26 bytes an entry.
"""

import csv
import datetime as dt
import io
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from ingest.arrays import of_values
from ingest.formats.cics import catalogue

ENTRY_BYTES = 26
_START_AT = 90
_ENTRY = struct.Struct(">8s1s3sHHH8s")


class Key(NamedTuple):
    """Whose dictionary: the system, the region's specific APPLID and the release as X'0VRM' in hexadecimal digits."""

    smf_sid: str
    applid: str
    release: str


class Entry(NamedTuple):
    """One field: owner group, type (A, C, P, S, T), number, bytes, connector, offset in a full record, nickname."""

    group: str
    type: str
    id: str
    length: int
    connector: int
    offset: int
    nickname: str


def _text(raw: bytes) -> str:
    return raw.decode("cp037").rstrip(" \0")


def parse_entries(data: bytes | memoryview) -> list[Entry]:
    """The entries of a class 1 data section; ValueError where it is not a multiple of entries."""
    if len(data) % ENTRY_BYTES:
        raise ValueError(f"a dictionary of {len(data)} bytes is not a multiple of {ENTRY_BYTES}-byte entries")
    return [
        Entry(_text(group), _text(kind), _text(number), length, connector, offset, _text(nickname))
        for group, kind, number, length, connector, offset, nickname in _ENTRY.iter_unpack(data)
    ]


def pack_entries(entries: Iterable[Entry]) -> bytes:
    """The inverse of `parse_entries`."""

    def ebcdic(text: str, width: int) -> bytes:
        return text.ljust(width).encode("cp037")[:width]

    return b"".join(
        _ENTRY.pack(
            ebcdic(e.group, 8),
            ebcdic(e.type, 1),
            ebcdic(e.id, 3),
            e.length,
            e.connector,
            e.offset,
            ebcdic(e.nickname, 8),
        )
        for e in entries
    )


@dataclass(frozen=True)
class Dictionary:
    """The entries of one region, by connector number."""

    entries: dict[int, Entry]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Dictionary":
        return cls({entry.connector: entry for entry in entries})


def start_of(product: bytes) -> str:
    """When a region was started, as the product section of its records says (SMFMNRSD and SMFMNRST); empty if unknown.

    The digits of the packed date, then those of the hundredths of a second in hexadecimal, as `start_digits` has them.
    """
    clock = product[_START_AT : _START_AT + 8].hex()
    return clock[:7] + clock[8:] if len(clock) == 16 and clock[:7].strip("0") else ""


def start_digits(day: dt.date | None, hundredths: int | None) -> str:
    """The digits that `start_of` returns for this date and time of day."""
    if day is None or hundredths is None:
        return ""
    return f"{(day.year - 1900) // 100:02d}{day.year % 100:02d}{day.timetuple().tm_yday:03d}{hundredths:08x}"


class DictionaryMemory:
    """Dictionaries met so far, by region and by each of its starts: connectors change when monitoring is changed.

    For a start whose dictionary was not met, the region's latest one is the best guess. A dictionary supplied from a
    file applies to one region. Under the key `("*", "*", release)` it applies to every region of a release that has no
    other.
    """

    def __init__(self) -> None:
        self._met: dict[Key, Dictionary] = {}
        self._started: dict[tuple[Key, str], Dictionary] = {}

    def remember(self, key: Key, entries: Iterable[Entry], start: str = "") -> None:
        """Take note of entries; a dictionary may come in several records, so earlier connectors stay."""
        fresh = {entry.connector: entry for entry in entries}
        previous = self._met.get(key)
        self._met[key] = Dictionary({**previous.entries, **fresh} if previous else fresh)
        if start:
            same = self._started.get((key, start))
            self._started[key, start] = Dictionary({**same.entries, **fresh} if same else fresh)

    def find(self, key: Key, start: str = "") -> Dictionary | None:
        """The dictionary of this start of a region, else the region's latest, else the one supplied for its release."""
        return self._started.get((key, start)) or self._met.get(key) or self._met.get(Key("*", "*", key.release))

    def is_guess(self, key: Key, start: str) -> bool:
        """True where `find` has no dictionary of this start, although the record names its start."""
        return bool(start) and (key, start) not in self._started

    def of_regions(self, regions: Collection[Key]) -> "DictionaryMemory":
        """A separate memory with the dictionaries of these regions and of all regions of a release."""
        part = DictionaryMemory()
        part._met = {key: dictionary for key, dictionary in self._met.items() if key in regions or key.applid == "*"}
        part._started = {
            (key, start): dictionary for (key, start), dictionary in self._started.items() if key in regions
        }
        return part

    def items(self) -> list[tuple[Key, Dictionary]]:
        """All dictionaries, for keeping them between runs."""
        return list(self._met.items())


_COLUMNS = ["smf_sid", "applid", "release", "group", "type", "id", "length", "connector", "offset", "nickname"]


def write_dictionary_file(items: Iterable[tuple[Key, Dictionary]]) -> str:
    """Dictionaries as CSV text, the form in which they can be supplied for a dump that holds none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for key, dictionary in items:
        for entry in dictionary.entries.values():
            writer.writerow([*key, *entry])
    return out.getvalue()


def parse_dictionary_file(text: str, *, name: str = "dictionary file") -> list[tuple[Key, Entry]]:
    """The entries of a CSV text, each with its region's key. ValueError names line and column."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        header, rows = reader.fieldnames, list(reader)
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}") from None
    if header != _COLUMNS:
        raise ValueError(f"{name}: the header line must be {','.join(_COLUMNS)}")
    entries: list[tuple[Key, Entry]] = []
    for line, row in enumerate(rows, start=2):

        def number(column: str, line: int = line, row: dict[str, str] = row) -> int:
            try:
                value = int(row[column])
            except (TypeError, ValueError):
                raise ValueError(f"{name}, line {line}: {column} is {row[column]!r}, expected a number") from None
            if not 0 <= value <= 0xFFFF:
                raise ValueError(f"{name}, line {line}: {column} is {value}, expected 0 to 65535")
            return value

        if None in row or None in row.values():
            raise ValueError(f"{name}, line {line}: {len(_COLUMNS)} values are expected, as the header names")
        key = Key(row["smf_sid"], row["applid"], row["release"])
        length, connector, offset = number("length"), number("connector"), number("offset")
        entries.append((key, Entry(row["group"], row["type"], row["id"], length, connector, offset, row["nickname"])))
    return entries


def read_dictionary_file(text: str, memory: DictionaryMemory, *, name: str = "dictionary file") -> int:
    """Remember the dictionaries of a CSV text; returns the number of entries. ValueError names line and column."""
    entries = parse_dictionary_file(text, name=name)
    for key in dict.fromkeys(key for key, _ in entries):
        memory.remember(key, [entry for owner, entry in entries if owner == key])
    return len(entries)


def entry_table(keyed: Iterable[tuple[Key, Entry]], record_seq: int) -> pa.Table:
    """Rows of the dictionary table, without `file_id`."""
    rows = [
        (record_seq, ordinal, *key, entry.group, entry.type, entry.id, *entry[3:])
        for ordinal, (key, entry) in enumerate(keyed)
    ]
    schema = catalogue.section("dictionary").schema
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.Table.from_arrays([of_values(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def dictionary_rows(text: str) -> pa.Table:
    """A dictionary file as rows of the dictionary table. ValueError names line and column."""
    return entry_table(parse_dictionary_file(text), 0)


def full_dictionary() -> list[Entry]:
    """A dictionary of every catalogue field that has a number, in catalogue order, as a region would write it."""
    entries: list[Entry] = []
    offset = 0
    for connector, field in enumerate((f for f in catalogue.fields() if f.id), start=1):
        entries.append(Entry(field.group, field.type, field.id, field.length, connector, offset, field.nickname))
        offset += field.length
    return entries
