"""Decode CICS monitoring records (SMF 110 subtype 1): performance data (class 3) by their dictionaries (class 1).

A record's fields are those its connectors name, in their order; the region's dictionary says what each connector is.
Exceptions (class 4) and transaction resources (class 5) have layouts of their own, see `ingest.formats.cics.resources`.
Source: CICS TS, monitoring data, performance class; compressed data sections as in `ingest.formats.cics.csrcesrv`.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arrays import of_numbers, of_values
from ingest.codec.codepages import decoding_table
from ingest.codec.handlers import Handled, Problem
from ingest.formats.cics import catalogue, csrcesrv, kernels, resources
from ingest.formats.cics.dictionary import (
    Dictionary,
    DictionaryMemory,
    Entry,
    Key,
    entry_table,
    parse_entries,
    start_of,
)
from ingest.framing import BLANK_BYTES

_RECORDS_AT_ONCE = 2048
_DICTIONARY, _PERFORMANCE, _EXCEPTION, _RESOURCE = _CLASSES = 1, 3, 4, 5


@dataclass(frozen=True)
class _Place:
    offset: int
    entry: Entry
    field: catalogue.Field | None


def _places(dictionary: Dictionary, connectors: list[int], record_length: int, is_guess: bool) -> list[_Place] | str:
    """Where the fields of a record stand; a text where connectors and dictionary do not fit.

    A dictionary of another start of the region must fit to the byte: it may have been made for other fields.
    """
    other = "; the dictionary known is of another start of the region: supply the one of this start" if is_guess else ""
    places: list[_Place] = []
    offset = 0
    for connector in connectors:
        entry = dictionary.entries.get(connector)
        if entry is None:
            return f"connector {connector} is not in the region's dictionary{other}"
        known = catalogue.find(entry.group, entry.id, entry.nickname)
        if known and not known.accepts(entry.type, entry.length):
            known = None
        places.append(_Place(offset, entry, known))
        offset += entry.length
    if offset > record_length or (is_guess and offset != record_length):
        return f"the connectors name {offset} bytes of fields, SMFMNDRL says {record_length}{other}"
    return places


_KIND = {
    ("A", 4): kernels.COUNT4,
    ("A", 8): kernels.COUNT8,
    ("S", 12): kernels.CLOCK12,
    ("S", 8): kernels.CLOCK8,
    ("T", 8): kernels.STORE_CLOCK,
}


def _rows_table(
    buffer: NDArray[np.uint8], row: NDArray[np.int64], keys: list[pa.Array], places: list[_Place]
) -> pa.Table:
    n = row.size
    known = [place for place in places if place.field is not None]
    numeric = [place for place in known if place.entry.type != "C"]
    text = [place for place in known if place.entry.type == "C"]
    slot4, slot8, kinds = [], [], []
    used4 = used8 = 0
    for place in numeric:
        kind = kernels.PACKED if place.entry.type == "P" else _KIND[place.entry.type, place.entry.length]
        kinds.append(kind)
        slot4.append(used4)
        slot8.append(used8)
        used4 += kind in (kernels.COUNT4, kernels.CLOCK12, kernels.CLOCK8)
        used8 += {kernels.COUNT4: 0, kernels.STORE_CLOCK: 2}.get(kind, 1)
    out4 = np.empty((used4, n), np.uint32)
    out8 = np.empty((used8, n), np.uint64)

    def numbers(values: list[int]) -> NDArray[np.int64]:
        return np.array(values, np.int64)

    kernels.gather_numbers(
        buffer,
        row,
        numbers([place.offset for place in numeric]),
        numbers(kinds),
        numbers(slot4),
        numbers(slot8),
        numbers([place.entry.length for place in numeric]),
        out4,
        out8,
    )
    widths = numbers([place.entry.length for place in text])
    starts = np.concatenate([[0], np.cumsum(widths * n)]).astype(np.int64)
    data = np.empty(int(starts[-1]), np.uint8)
    ends = np.zeros((len(text), n + 1), np.int32)
    seen = np.zeros(len(text), np.uint8)
    offsets = numbers([place.offset for place in text])
    kernels.gather_text(buffer, row, offsets, widths, decoding_table("ebcdic"), data, starts, ends, seen)

    columns: dict[str, pa.Array] = {}

    for place, kind, at4, at8 in zip(numeric, kinds, slot4, slot8, strict=True):
        assert place.field is not None
        name = place.field.column
        if kind == kernels.COUNT4:
            values = of_numbers(out4[at4], pa.uint32())
            columns[name] = values if place.field.length <= 4 else values.cast(pa.uint64())
        elif kind == kernels.COUNT8:
            columns[name] = of_numbers(out8[at8], pa.uint64())
        elif kind == kernels.STORE_CLOCK:
            raw = out8[at8 + 1]
            columns[name] = of_numbers(out8[at8], pa.timestamp("us"), raw != 0)
            columns[f"{name}_raw"] = of_numbers(raw, pa.uint64())
        elif kind == kernels.PACKED:
            values8 = out8[at8]
            columns[name] = of_numbers(values8.astype(np.uint32), valid=values8 <= 0xFFFFFFFF)
        else:
            columns[name] = of_numbers(out8[at8], pa.uint64())
            columns[f"{name}_n"] = of_numbers(out4[at4], pa.uint32())
    for i, place in enumerate(text):
        assert place.field is not None
        codes = data[starts[i] : starts[i] + int(ends[i, n])]
        if seen[i] < 0x80:
            buffers = [None, pa.py_buffer(ends[i]), pa.py_buffer(codes)]
            columns[place.field.column] = pa.Array.from_buffers(pa.string(), n, buffers)
        else:
            whole = codes.tobytes().decode("latin-1")
            cells = [whole[start:end] for start, end in zip(ends[i, :-1], ends[i, 1:], strict=True)]
            columns[place.field.column] = of_values(cells, pa.string())
    schema = catalogue.performance_schema()
    arrays = list(keys)
    for column in list(schema)[len(keys) + 1 :]:
        arrays.append(columns.get(column.name) if column.name in columns else pa.nulls(n, column.type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(schema)[1:]))


def _other_rows(
    buffer: NDArray[np.uint8], row: NDArray[np.int64], keys: list[pa.Array], places: list[_Place]
) -> pa.Table | None:
    others = [place for place in places if place.field is None]
    if not others or not row.size:
        return None
    parts = []
    for place in others:
        index = row[:, None] + place.offset + np.arange(place.entry.length)
        values = buffer[index].tobytes()
        width = place.entry.length
        entry = place.entry
        cells = [values[i * width : (i + 1) * width] for i in range(row.size)]
        named = [[text] * row.size for text in (entry.group, entry.type, entry.id, entry.nickname)]
        parts.append(
            pa.Table.from_arrays(
                [*keys, *(of_values(column, pa.string()) for column in named), of_values(cells, pa.binary())],
                schema=pa.schema(list(catalogue.other_field_schema())[1:]),
            )
        )
    return pa.concat_tables(parts)


@dataclass(frozen=True)
class _Records:
    """Records that are decoded at once, and what has come of them.

    `heads` is what `kernels.read_heads` knows of each; `base` is from where its data is counted, in the dump or in what
    was expanded of it; `first` is the ordinal of the first.
    """

    buffer: NDArray[np.uint8]
    offset: NDArray[np.int64]
    base: NDArray[np.int64]
    heads: NDArray[np.int64]
    record_seq: NDArray[np.uint32]
    first: int
    parts: dict[str, list[pa.Table]]
    problems: list[Problem]

    def add(self, name: str, table: pa.Table) -> None:
        """Rows of a table."""
        self.parts.setdefault(name, []).append(table)

    def report(self, i: int, reason: str, detail: str) -> None:
        """What is wrong with a record."""
        self.problems.append(Problem(self.first + i, reason, detail))


class MonitoringDecoder:
    """Decodes batches of 110.1 records in the order of the dump, remembering dictionaries from batch to batch."""

    def __init__(self, memory: DictionaryMemory | None = None) -> None:
        self.memory = memory or DictionaryMemory()

    def decode(
        self,
        buffer: NDArray[np.uint8],
        offset: NDArray[np.int64],
        length: NDArray[np.int64],
        record_seq: NDArray[np.uint32],
    ) -> Handled:
        """Decode n records of type 110.1 that lie whole in `buffer`.

        Classes 1, 3, 4 and 5 become tables; of other classes only header and product section do. A class 3 record
        without a dictionary is a problem `cics_dictionary_missing`. Tables carry every key but `file_id`.
        """
        parts: dict[str, list[pa.Table]] = {}
        problems: list[Problem] = []
        others = 0
        for first in range(0, offset.size, _RECORDS_AT_ONCE):
            some = slice(first, first + _RECORDS_AT_ONCE)
            others += self._decode_some(buffer, offset[some], length[some], record_seq[some], first, parts, problems)
        problems.sort(key=lambda problem: problem.index)
        return Handled({name: pa.concat_tables(tables) for name, tables in parts.items()}, problems, others)

    def _decode_some(
        self,
        buffer: NDArray[np.uint8],
        offset: NDArray[np.int64],
        length: NDArray[np.int64],
        record_seq: NDArray[np.uint32],
        first: int,
        parts: dict[str, list[pa.Table]],
        problems: list[Problem],
    ) -> int:
        """Number of records of other classes, which have no tables of their own.

        A data section that begins like a compressed one but does not expand, and is as long as its data records, is
        plain: an exception of a transaction whose name begins with X'80' is such a one.
        """
        heads = kernels.read_heads(buffer, offset, length)
        other = ~np.isin(heads[:, kernels.CLASS], _CLASSES) & (heads[:, kernels.PROBLEM] != kernels.PRODUCT_OUTSIDE)
        heads[other, kernels.CLASS] = 0
        for at in np.flatnonzero(heads[:, kernels.PROBLEM]).tolist():
            code = int(heads[at, kernels.PROBLEM])
            if heads[at, kernels.CLASS] or code == kernels.PRODUCT_OUTSIDE:
                problems.append(Problem(first + at, *kernels.PROBLEMS[code]))
        good = (heads[:, kernels.PROBLEM] == 0) & (heads[:, kernels.CLASS] != 0)
        plain = np.flatnonzero(good & (heads[:, kernels.COMPRESSED] == 0))
        packed = np.flatnonzero(good & (heads[:, kernels.COMPRESSED] == 1))
        expanded, base, failed = _expand(buffer, offset, heads, packed)
        by_chance = []
        for at, code in failed:
            if heads[at, kernels.EXPANDED_LENGTH] == heads[at, kernels.SECTION_LENGTH]:
                by_chance.append(at)
            else:
                problems.append(Problem(first + at, "cics_compressed_data", csrcesrv.REASONS[code]))
        packed = np.array([i for i in packed if base[i] != -1 << 62], np.int64)
        plain = np.concatenate([plain, np.array(by_chance, np.int64)])
        base[plain] = offset[plain]
        for chosen, data in ((plain, buffer), (packed, expanded)):
            kernels.hash_identities(
                buffer, offset[chosen], data, base[chosen], heads_view := np.ascontiguousarray(heads[chosen])
            )
            heads[chosen] = heads_view
        in_expanded = np.zeros(offset.size, bool)
        in_expanded[packed] = True
        records = _Records(buffer, offset, base, heads, record_seq, first, parts, problems)
        # Dictionaries count for the records behind them: stretches between class 1 records are decoded in turn.
        usable = np.sort(np.concatenate([plain, packed]))
        for source, members in ((buffer, usable[~in_expanded[usable]]), (expanded, usable[in_expanded[usable]])):
            _decode_fixed(records, source, members)
        usable = usable[heads[usable, kernels.CLASS] <= _PERFORMANCE]
        classes = heads[usable, kernels.CLASS]
        boundaries = np.flatnonzero(classes == _DICTIONARY)
        start = 0
        for boundary in [*boundaries.tolist(), usable.size]:
            stretch = usable[start:boundary]
            for group, source in ((stretch[~in_expanded[stretch]], buffer), (stretch[in_expanded[stretch]], expanded)):
                if group.size:
                    self._decode_rows(records, source, group)
            if boundary < usable.size:
                i = int(usable[boundary])
                source = expanded if in_expanded[i] else buffer
                self._remember(records, source, i)
            start = boundary + 1
        return int(other.sum())

    def _region(self, buffer: NDArray[np.uint8], offset: int, product: int) -> tuple[Key, str]:
        """Whose a record is, and of which start of the region."""

        def text(at: int, size: int) -> str:
            return buffer[at : at + size].tobytes().decode("cp037").rstrip(" \0")

        at = offset + product
        size = int.from_bytes(buffer[offset + 32 : offset + 34].tobytes())
        key = Key(text(offset + 14, 4), text(at + 10, 8), buffer[at : at + 2].tobytes().hex().upper())
        return key, start_of(buffer[at : at + size].tobytes())

    def _remember(self, records: _Records, source: NDArray[np.uint8], i: int) -> None:
        """Remember the dictionary that a class 1 record holds."""
        head = records.heads[i]
        at = int(records.base[i] + head[kernels.DATA_AT])
        size = int(head[kernels.DATA_LENGTH] * head[kernels.DATA_COUNT])
        try:
            entries = parse_entries(source[at : at + size].tobytes())
        except ValueError as problem:
            records.report(i, "cics_dictionary_damaged", str(problem))
            return
        key, start = self._region(records.buffer, int(records.offset[i]), int(head[kernels.PRODUCT_AT]))
        self.memory.remember(key, entries, start)
        table = entry_table([(key, entry) for entry in entries], int(records.record_seq[i]))
        records.add(catalogue.DICTIONARY_TABLE, table)

    def _decode_rows(self, records: _Records, source: NDArray[np.uint8], group: NDArray[np.int64]) -> None:
        """Performance records, by the dictionaries known of their regions."""
        identities, sizes = records.heads[group, kernels.IDENTITY], records.heads[group, kernels.DATA_LENGTH]
        for identity, size in dict.fromkeys(zip(identities.tolist(), sizes.tolist(), strict=True)):
            # Equal lengths keep reading within every member, even where hashes were made to collide.
            members = group[(identities == identity) & (sizes == size)]
            lead = int(members[0])
            head = records.heads[lead]
            key, start = self._region(records.buffer, int(records.offset[lead]), int(head[kernels.PRODUCT_AT]))
            dictionary = self.memory.find(key, start)
            if dictionary is None:
                detail = (
                    f"no dictionary known for region {key.applid} of system {key.smf_sid}, release {key.release}: "
                    "supply one, or ingest the dump that holds the region's class 1 records"
                )
                for i in members.tolist():
                    records.report(i, "cics_dictionary_missing", detail)
                continue
            is_guess = self.memory.is_guess(key, start)
            at = int(records.base[lead] + head[kernels.CONNECTORS_AT])
            count = int(head[kernels.CONNECTOR_COUNT])
            connectors = source[at : at + 2 * count].tobytes()
            numbers = np.frombuffer(connectors, ">u2").tolist()
            places = _places(dictionary, numbers, size, is_guess)
            if isinstance(places, str):
                reason = "cics_dictionary_missing" if is_guess else "cics_connectors"
                for i in members.tolist():
                    records.report(i, reason, places)
                continue
            counts = records.heads[members, kernels.DATA_COUNT]
            section = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            row = np.repeat(records.base[members] + records.heads[members, kernels.DATA_AT], counts) + section * int(
                head[kernels.DATA_LENGTH]
            )
            keys = [of_numbers(np.repeat(records.record_seq[members], counts)), of_numbers(section.astype(np.uint32))]
            table = _rows_table(source, row, keys, places)
            records.add(catalogue.PERFORMANCE_TABLE, table)
            other = _other_rows(source, row, keys, places)
            if other is not None:
                records.add(catalogue.OTHER_FIELD_TABLE, other)


def _decode_fixed(records: _Records, source: NDArray[np.uint8], members: NDArray[np.int64]) -> None:
    """Exceptions and transaction resources, whose layout no dictionary gives."""
    classes = records.heads[members, kernels.CLASS]
    chosen = members[classes == _EXCEPTION]
    short = records.heads[chosen, kernels.DATA_LENGTH] < resources.SHORTEST_EXCEPTION
    for i in chosen[short].tolist():
        text = f"SMFMNDRL: exception records have at least {resources.SHORTEST_EXCEPTION} bytes"
        records.report(i, "cics_exception_record", text)
    chosen = chosen[~short]
    counts, size = records.heads[chosen, kernels.DATA_COUNT], records.heads[chosen, kernels.DATA_LENGTH]
    if counts.any():
        of, section = np.repeat(chosen, counts), resources.ordinals(np.repeat(np.arange(chosen.size), counts))
        each = np.repeat(size, counts)
        at = records.base[of] + records.heads[of, kernels.DATA_AT] + section * each
        table = resources.exceptions(source, at, each, records.record_seq[of], section)
        records.add(resources.section("exception").table, table)
    chosen = members[classes == _RESOURCE]
    if chosen.size:
        at = records.base[chosen] + records.heads[chosen, kernels.DATA_AT]
        end = at + records.heads[chosen, kernels.DATA_LENGTH] * records.heads[chosen, kernels.DATA_COUNT]
        tables, damaged = resources.resources(source, at, end, records.record_seq[chosen])
        for name, table in tables.items():
            records.add(name, table)
        for i in chosen[damaged].tolist():
            text = "MNR_LENGTH/MNR_TRN: a resource record, or an entry it names, lies outside the data"
            records.report(i, "cics_resource_record", text)


def _expand(
    buffer: NDArray[np.uint8], offset: NDArray[np.int64], heads: NDArray[np.int64], packed: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], list[tuple[int, int]]]:
    """Expand data sections: the bytes, per record the base its relative positions count from, and failures."""
    base = np.full(offset.size, -1 << 62, np.int64)
    sizes = heads[packed, kernels.EXPANDED_LENGTH]
    targets = np.cumsum(sizes) - sizes
    expanded = np.empty(int(sizes.sum()) + BLANK_BYTES, np.uint8)
    expanded[-BLANK_BYTES:] = 0
    status = np.zeros(packed.size, np.uint8)
    csrcesrv.expand_many(
        buffer,
        offset[packed] + heads[packed, kernels.SECTION_AT],
        heads[packed, kernels.SECTION_LENGTH],
        expanded,
        targets,
        sizes,
        status,
    )
    good = status == csrcesrv.OK
    base[packed[good]] = targets[good] - heads[packed[good], kernels.SECTION_AT]
    return expanded, base, [(int(i), int(code)) for i, code in zip(packed[~good], status[~good], strict=True)]
