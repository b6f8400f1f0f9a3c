"""Decode CICS monitoring records (SMF 110 subtype 1): performance data (class 3) by their dictionaries (class 1).

A record's fields are those its connectors name, in their order; the region's dictionary says what each connector is.
Exceptions (class 4) and transaction resources (class 5) have layouts of their own, see `ingest.formats.cics.resources`.
Source: CICS TS, monitoring data, performance class; compressed data sections as in `ingest.formats.cics.csrcesrv`.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arrays import of_numbers
from ingest.codec.handlers import Handled, Problem
from ingest.formats.cics import catalogue, csrcesrv, kernels, resources
from ingest.formats.cics.dictionary import DictionaryMemory, Key, entry_table, parse_entries, start_of
from ingest.formats.cics.performance_rows import other_fields, performance_table, places_of
from ingest.framing import BLANK_BYTES

_RECORDS_AT_ONCE = 2048
_EXPANDED_AT_ONCE = 32 << 20
"""Bytes of compressed data sections, expanded, in memory at once; one record may have a few millions."""
DICTIONARY = 1
"""Class of the records that hold dictionaries."""
_PERFORMANCE, _EXCEPTION, _RESOURCE = 3, 4, 5
_CLASSES = DICTIONARY, _PERFORMANCE, _EXCEPTION, _RESOURCE


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
        """Note a problem of a record."""
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
        heads = kernels.read_heads(buffer, offset, length)
        for some in _runs(heads[:, kernels.EXPANDED_LENGTH]):
            others += self._decode_some(
                buffer, offset[some], heads[some], record_seq[some], some.start, parts, problems
            )
        problems.sort(key=lambda problem: problem.index)
        return Handled({name: pa.concat_tables(tables) for name, tables in parts.items()}, problems, others)

    def _decode_some(
        self,
        buffer: NDArray[np.uint8],
        offset: NDArray[np.int64],
        heads: NDArray[np.int64],
        record_seq: NDArray[np.uint32],
        first: int,
        parts: dict[str, list[pa.Table]],
        problems: list[Problem],
    ) -> int:
        """Number of records of other classes, which have no tables of their own.

        A data section that begins like a compressed one but does not expand, and is as long as its data records, is
        plain: an exception of a transaction whose name begins with X'80' is such a one.
        """
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
        boundaries = np.flatnonzero(classes == DICTIONARY)
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
        """Decode performance records by the dictionaries of their regions."""
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
                    f"no dictionary for region {key.applid} of system {key.smf_sid}, release {key.release}: supply "
                    "one, or load the dump with the region's class 1 records"
                )
                for i in members.tolist():
                    records.report(i, "cics_dictionary_missing", detail)
                continue
            is_guess = self.memory.is_guess(key, start)
            at = int(records.base[lead] + head[kernels.CONNECTORS_AT])
            count = int(head[kernels.CONNECTOR_COUNT])
            connectors = source[at : at + 2 * count].tobytes()
            numbers = np.frombuffer(connectors, ">u2").tolist()
            places = places_of(dictionary, numbers, size, is_guess)
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
            table = performance_table(source, row, keys, places)
            records.add(catalogue.PERFORMANCE_TABLE, table)
            other = other_fields(source, row, keys, places)
            if other is not None:
                records.add(catalogue.OTHER_FIELD_TABLE, other)


def _runs(expanded: NDArray[np.int64]) -> list[slice]:
    """Records that are decoded at once, by how many bytes are expanded for each."""
    ends, runs, low, done = np.cumsum(expanded), [], 0, 0
    while low < len(ends):
        fits = int(np.searchsorted(ends, done + _EXPANDED_AT_ONCE, "right"))
        high = min(max(fits, low + 1), low + _RECORDS_AT_ONCE)
        runs.append(slice(low, high))
        low, done = high, int(ends[high - 1])
    return runs


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
        records.add(catalogue.section("exception").table, table)
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
