"""Tables of CICS records to the data sections their handlers read: the inverse of `performance` and `statistics`.

The codec writes header and product section of every record; what is written here follows them, and is pointed to from
there.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from ingest.codec.rows import EncodeError
from ingest.codec.tables import row_bytes
from ingest.formats.cics import catalogue, walking
from ingest.formats.cics.dictionary import ENTRY_BYTES, DictionaryMemory, Entry, Key, pack_entries, start_of
from ingest.formats.cics.encode import performance_matrix
from ingest.layout import Layout, Section

_DATA_AT, _PRODUCT_AT, _CLASS_AT, _CONNECTORS_AT = 36, 28, 22, 24
_DISPATCHER_COUNTS_AT = 10
_RESOURCE_RECORD = 79
_DICTIONARY, _PERFORMANCE, _EXCEPTION, _RESOURCE = 1, 3, 4, 5
_LONGEST = 65_535


def finish_statistics(
    layout: Layout, tables: Mapping[str, pa.Table], sequence: Sequence[int], records: Sequence[bytes]
) -> list[bytes]:
    """Records of type 110.2 with their data sections: statistics records in the order of `section_seq`.

    tables: by the section's name; records: header and product section of each record of `sequence`. Raises EncodeError
    where the tables do not fit.
    """
    kinds = {item.name: item for item in layout.handled}
    entries: dict[tuple[int, int], list[list[bytes]]] = defaultdict(lambda: [[], []])
    for which, name in enumerate(("dispatcher_mode", "dispatcher_pool")):
        for row, data in _rows(kinds[name], tables):
            entries[row["record_seq"], row["parent_seq"]][which].append(data.ljust(kinds[name].length, b"\0"))
    bodies: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for kind in layout.handled:
        if kind.parent:
            continue
        for row, data in _rows(kind, tables):
            body = bytearray(data)
            if kind.code is not None:
                body[2:4] = kind.code.to_bytes(2)
            if kind.name == "dispatcher":
                modes, pools = entries.pop((row["record_seq"], row["section_seq"]), [[], []])
                if modes or pools:
                    body = body.ljust(kind.length, b"\0")
                body[_DISPATCHER_COUNTS_AT : _DISPATCHER_COUNTS_AT + 4] = len(modes).to_bytes(2) + len(pools).to_bytes(
                    2
                )
                body += b"".join(modes + pools)
            body = body.ljust(8, b"\0")
            body[0:2] = _size(kind, len(body)).to_bytes(2)
            bodies[row["record_seq"]].append((row["section_seq"], bytes(body)))
    if entries:
        raise EncodeError(f"{kinds['dispatcher'].table}: record {next(iter(entries))[0]} has entries but no row")
    return [
        _with_data(layout, record, b"".join(data for _, data in sorted(bodies.get(number, []))))
        for number, record in zip(sequence, records, strict=True)
    ]


def finish_monitoring(
    layout: Layout, tables: Mapping[str, pa.Table], sequence: Sequence[int], records: Sequence[bytes]
) -> list[bytes]:
    """Records of type 110.1 with their data sections, uncompressed.

    The class in the product section says what a record holds: entries of its dictionary, performance rows of all fields
    of its region's dictionary, which must stand in an earlier record, exceptions or transaction resources.
    """
    kinds = {item.name: item for item in layout.handled}
    dictionaries = _by_record(tables.get("dictionary"))
    performance, other = tables.get("performance"), _other_fields(tables.get("other_field"))
    at = _positions(performance)
    exceptions, resources = _exceptions(kinds["exception"], tables), _resources(kinds, tables)
    memory = DictionaryMemory()
    finished = []
    for number, record in zip(sequence, records, strict=True):
        product = int.from_bytes(record[_PRODUCT_AT : _PRODUCT_AT + 4])
        kind = int.from_bytes(record[product + _CLASS_AT : product + _CLASS_AT + 2])
        key = Key(
            record[14:18].decode("cp037").rstrip(" \0"),
            record[product + 10 : product + 18].decode("cp037").rstrip(" \0"),
            record[product : product + 2].hex().upper(),
        )
        start = start_of(record[product:])
        connectors, data, size = b"", b"", 0
        if kind == _DICTIONARY:
            entries = [_entry(row) for row in dictionaries.get(number, [])]
            if entries:
                memory.remember(key, entries, start)
            data, size = pack_entries(entries), ENTRY_BYTES
        elif kind == _PERFORMANCE and number in at:
            dictionary = memory.find(key, start)
            if dictionary is None or performance is None:
                raise EncodeError(f"{layout.name}: record {number} has performance rows but no dictionary before it")
            fields = list(dictionary.entries.values())
            connectors = b"".join(entry.connector.to_bytes(2) for entry in fields)
            first, count = at[number]
            data = performance_matrix(fields, performance.slice(first, count), other.get(number)).tobytes()
            size = sum(entry.length for entry in fields)
        elif kind == _EXCEPTION:
            data, size = exceptions.get(number, (b"", 0))
        elif kind == _RESOURCE:
            data = resources.get(number, b"")
            size = len(data)
        finished.append(_monitored(layout, record, product, connectors, data, size))
    return finished


def _monitored(layout: Layout, record: bytes, product: int, connectors: bytes, data: bytes, size: int) -> bytes:
    """A record with its data section, and the product section's account of connectors and data records."""
    whole = bytearray(_with_data(layout, record, connectors + data))
    if not data:
        return bytes(whole)
    start = len(record)
    account = start.to_bytes(4) + (2).to_bytes(2) + (len(connectors) // 2).to_bytes(2)
    account += (start + len(connectors)).to_bytes(4) + size.to_bytes(2) + (len(data) // size).to_bytes(2)
    whole[product + _CONNECTORS_AT : product + _CONNECTORS_AT + len(account)] = account
    return bytes(whole)


def _with_data(layout: Layout, record: bytes, data: bytes) -> bytes:
    if not data:
        return record
    total = len(record) + len(data)
    if total > _LONGEST:
        raise EncodeError(f"{layout.name}: a record of {total} bytes; a descriptor can say {_LONGEST:,} at most")
    head = bytearray(record)
    head[0:2] = total.to_bytes(2)
    head[_DATA_AT : _DATA_AT + 8] = len(record).to_bytes(4) + len(data).to_bytes(2) + (1).to_bytes(2)
    return bytes(head) + data


def _exceptions(kind: Section, tables: Mapping[str, pa.Table]) -> dict[int, tuple[bytes, int]]:
    """record_seq → its exception records, all as long as the longest, and that length."""
    records = defaultdict(list)
    for row, data in _rows(kind, tables):
        records[row["record_seq"]].append(data)
    return {
        number: (b"".join(data.ljust(max(map(len, rows)), b"\0") for data in rows), max(map(len, rows)))
        for number, rows in records.items()
    }


def _resources(kinds: Mapping[str, Section], tables: Mapping[str, pa.Table]) -> dict[int, bytes]:
    """record_seq → its transaction resource records, each with its triplets and the entries they place."""
    entries: dict[tuple[int, int], dict[int, list[bytes]]] = defaultdict(lambda: defaultdict(list))
    for ordinal, name in ((1, "resource_identity"), (2, "resource_file"), (0, "resource_other")):
        for row, data in _rows(kinds[name], tables):
            which, body = (ordinal, data) if ordinal else (int.from_bytes(data[:2]), data[2:])
            entries[row["record_seq"], row["parent_seq"]][which].append(body)
    records: dict[int, bytes] = defaultdict(bytes)
    for row, data in _rows(kinds["resource"], tables):
        placed = entries.pop((row["record_seq"], row["section_seq"]), {})
        triplets = max([row.get("mnr_trn") or 0, *placed])
        head = bytearray(data[: walking.TRIPLETS_AT].ljust(walking.TRIPLETS_AT + 8 * triplets, b"\0"))
        head[2:4] = (row.get("mnr_id") or _RESOURCE_RECORD).to_bytes(2)
        head[20:22] = triplets.to_bytes(2)
        body = b""
        for ordinal in range(1, triplets + 1):
            parts = placed.get(ordinal, [])
            size = max([walking.SHORTEST_ENTRY, *map(len, parts)])
            place = walking.TRIPLETS_AT + 8 * (ordinal - 1)
            triplet = (len(head) + len(body), size, len(parts)) if parts else (0, 0, 0)
            head[place : place + 8] = triplet[0].to_bytes(4) + triplet[1].to_bytes(2) + triplet[2].to_bytes(2)
            body += b"".join(part.ljust(size, b"\0") for part in parts)
        head[0:2] = _size(kinds["resource"], len(head) + len(body)).to_bytes(2)
        records[row["record_seq"]] += bytes(head) + body
    if entries:
        raise EncodeError(f"{kinds['resource'].table}: record {next(iter(entries))[0]} has entries but no row")
    return records


def _rows(kind: Section, tables: Mapping[str, pa.Table]) -> Iterator[tuple[dict, bytes]]:
    """Every row of a table in the order of its keys, with the bytes it becomes."""
    table = tables.get(kind.name)
    if table is None or not table.num_rows:
        return
    ordered, written = row_bytes(kind, table)
    keys = [
        name
        for name in ("record_seq", "section_seq", "parent_seq", "mnr_trn", "mnr_id")
        if name in ordered.schema.names
    ]
    yield from zip(ordered.select(keys).to_pylist(), written, strict=True)


def _size(kind: Section, size: int) -> int:
    if size > _LONGEST:
        raise EncodeError(f"{kind.table}: a row of {size} bytes; its length field can say {_LONGEST:,} at most")
    return size


def _by_record(table: pa.Table | None) -> dict[int, list[dict]]:
    rows = defaultdict(list)
    for row in (
        [] if table is None else table.sort_by([("record_seq", "ascending"), ("section_seq", "ascending")]).to_pylist()
    ):
        rows[row["record_seq"]].append(row)
    return rows


def _entry(row: Mapping) -> Entry:
    names = ("cmodname", "cmodtype", "cmodidnt", "cmodleng", "cmodconn", "cmodofst", "cmodhead")
    return Entry(*(row[name] for name in names))


def _positions(table: pa.Table | None) -> dict[int, tuple[int, int]]:
    """record_seq → place of its first row and number of rows; the rows of a record are consecutive, in order."""
    positions: dict[int, tuple[int, int]] = {}
    for place, number in enumerate([] if table is None else table["record_seq"].to_pylist()):
        first, count = positions.get(number, (place, 0))
        if first + count != place:
            raise EncodeError(f"{catalogue.PERFORMANCE_TABLE}: the rows of record {number} are not consecutive")
        positions[number] = first, count + 1
    return positions


def _other_fields(table: pa.Table | None) -> dict[int, dict[tuple[int, str, str], bytes]]:
    """record_seq → (row, group, nickname) → bytes of a field without a column."""
    fields: dict[int, dict[tuple[int, str, str], bytes]] = defaultdict(dict)
    for row in [] if table is None else table.to_pylist():
        fields[row["record_seq"]][row["section_seq"], row["cmodname"], row["cmodhead"]] = row["value_bytes"]
    return fields
