"""Random tables within the domain of a layout, for the tests of the codec."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ingest.codec.values import TOD_UNIX_EPOCH_US
from ingest.layout import Field, Layout, Section

COMPUTED = ("record_length", "record_type", "segment_code")


def random_tables(layout: Layout, seed: int, records: int, most: int = 3, cut: float = 0.3) -> dict[str, pa.Table]:
    """Tables of a layout: per record and section up to `most` rows, some sections shorter than known."""
    rng = np.random.default_rng(seed)
    sequence = np.sort(rng.choice(10 * records + 10, records, replace=False)).astype(np.uint32)
    tables = {layout.header.table: _header(layout, rng, sequence)}
    for section in layout.placed:
        limit = 1 if section.cardinality == "one" else most
        counts = rng.integers(0, limit + 1, records)
        owners = np.repeat(np.arange(records), counts)
        if len(owners):
            ordinals = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
            share = 0 if any(other.parent == section.name for other in layout.sections) else cut
            ends = np.array([_cut(section, rng, share) for _ in range(records)])[owners]
            keys = {"record_seq": sequence[owners], "section_seq": ordinals.astype(np.uint32)}
            given = _given_elsewhere(layout, section, tables, keys)
            table = _table(section, rng, keys, ends, owners, given)
            table = _numbering(layout, section, rng, table)
            tables[section.table] = _without_handled(layout, section, table)
    for section in layout.nested:
        parent = tables.get(layout.section(section.parent).table)
        if parent is not None:
            tables |= _nested(section, rng, parent, most)
    for section in layout.repeated:
        parent = tables.get(layout.section(section.parent).table)
        if parent is not None:
            tables |= _entries(section, rng, parent)
    return tables


def _entries(section: Section, rng: np.random.Generator, parent: pa.Table) -> dict[str, pa.Table]:
    """Entries of a repeated section, none of zeros alone, in about a third of the places there are."""
    owners, entries = np.nonzero(rng.random((parent.num_rows, section.entries)) < 0.3)
    if not len(owners):
        return {}
    above = parent["section_seq"].to_numpy()[owners]
    keys = {
        "record_seq": parent["record_seq"].to_numpy()[owners],
        "section_seq": (above * section.entries + entries).astype(np.uint32),
        "parent_seq": above,
        "entry_seq": entries.astype(np.uint32),
    }
    table = _table(section, rng, keys, np.full(len(owners), section.length), owners)
    item = section.fields[0]
    if not item.form.name.startswith("ebcdic"):
        values = pa.array([value or 1 for value in table[item.column].to_pylist()], item.arrow)
        table = table.set_column(table.column_names.index(item.column), item.column, values)
    return {section.table: table}


def _nested(section: Section, rng: np.random.Generator, parent: pa.Table, most: int) -> dict[str, pa.Table]:
    """Rows of a nested section, up to `most` for each row of its parent."""
    owners = np.repeat(np.arange(parent.num_rows), rng.integers(0, most + 1, parent.num_rows))
    if not len(owners):
        return {}
    record = parent["record_seq"].to_numpy()[owners]
    ordinals = np.arange(len(owners)) - np.searchsorted(record, record)
    keys = {
        "record_seq": record,
        "section_seq": ordinals.astype(np.uint32),
        "parent_seq": parent["section_seq"].to_numpy()[owners],
    }
    groups = np.arange(len(owners)) if section.walk == "chained" else owners
    table = _table(section, rng, keys, np.full(len(owners), section.length), groups)
    if section.walk == "chained" and section.code is None:
        item = next(item for item in section.fields if item.offset == 2)
        kinds = pa.array(rng.integers(100, 256, len(owners)), item.arrow)
        table = table.set_column(table.column_names.index(item.column), item.column, kinds)
    return {section.table: table}


def random_rows(section: Section, seed: int, keys: Mapping[str, list[int]], groups: list[int]) -> pa.Table:
    """Whole rows of a section with these keys; those of one group are equally long beyond their known fields."""
    rng = np.random.default_rng(seed)
    arrays = {name: np.array(values, np.uint32) for name, values in keys.items()}
    return _table(section, rng, arrays, np.full(len(groups), section.length), np.array(groups, np.int64))


def computed_columns(layout: Layout, table: str = "") -> set[str]:
    """Columns of a table, the header unless named, that the encoder computes: lengths, types and triplets."""
    owner = next((section for section in layout.sections if section.table == table), layout.header)
    places: set[int] = set()
    for section in layout.sections[1:]:
        holder = section.parent or "header"
        if section.triplet is not None and holder == owner.name:
            places |= set(range(section.triplet.position, section.triplet.end))
        elif section.walk == "chained" and owner.name in (section.name, holder):
            places |= {0, 2} if owner is section and section.code is not None else {0}
    found = {item.column for item in owner.fields if item.offset in places}
    if owner is layout.header:
        found |= {owner.by_name(name).column for name in COMPUTED if owner.has(name)}
    return found


def _header(layout: Layout, rng: np.random.Generator, sequence: np.ndarray) -> pa.Table:
    ends = np.full(len(sequence), layout.header.length)
    keys = {"record_seq": sequence, "section_seq": np.zeros(len(sequence), np.uint32)}
    table = _table(layout.header, rng, keys, ends, ends).drop_columns(sorted(computed_columns(layout)))
    table = _without_handled(layout, layout.header, table)
    if layout.subtypes:
        column = layout.header.by_name("subtype").column
        subtypes = pa.array(rng.choice(np.array(layout.subtypes, np.uint16), len(sequence)))
        table = table.set_column(table.column_names.index(column), column, subtypes)
    if layout.when:
        item = layout.header.by_name(layout.when.selector)
        values = [value for value in range(max(layout.when.values) + 2) if layout.when.holds(value)]
        chosen = pa.array(rng.choice(values, len(sequence)), item.arrow)
        table = table.set_column(table.column_names.index(item.column), item.column, chosen)
    return table


def _without_handled(layout: Layout, section: Section, table: pa.Table) -> pa.Table:
    """A table without what says where sections are that code reads: the record has none."""
    names = [item.column for item in section.fields if item.name.startswith("data_section_")]
    return table.drop_columns(names) if layout.handler else table


def _cut(section: Section, rng: np.random.Generator, share: float) -> int:
    """Length of a section, ending after a field, or whole."""
    if section.walk != "fixed" or rng.random() > share:
        return section.length
    return int(rng.choice([item.end for item in section.fields]))


def _table(
    section: Section,
    rng: np.random.Generator,
    keys: Mapping[str, np.ndarray],
    ends: np.ndarray,
    groups: np.ndarray,
    elsewhere: Mapping[str, list[int]] | None = None,
) -> pa.Table:
    """Rows of a section, each as long as `ends` says; rows of one group are equally long beyond their known fields."""
    rows = len(ends)
    columns: dict[str, pa.Array] = {name: pa.array(values) for name, values in keys.items()}
    if section.walk == "length_prefixed":
        prefix, rest = section.fields
        words = [_word(rng, int(rng.integers(0, 256))) for _ in range(rows)]
        columns[prefix.column] = pa.array([len(word) for word in words], prefix.arrow)
        columns[rest.column] = pa.array(words, rest.arrow)
        return pa.table(columns, schema=section.arrow_schema())
    for item in section.fields:
        beyond = item.end > ends
        if item.when:
            given = (elsewhere or {}).get(item.when.selector)
            given = columns[section.by_name(item.when.selector).column].to_pylist() if given is None else given
            beyond = beyond | [((value or 0) in item.when.values) == item.when.negated for value in given]
        for name, column in _column(item, rng, rows, groups, _selects(section, item)).items():
            columns[name] = pa.array(
                [None if out else value for value, out in zip(column.to_pylist(), beyond, strict=True)], column.type
            )
    return pa.table(columns, schema=section.arrow_schema())


def _numbering(layout: Layout, section: Section, rng: np.random.Generator, table: pa.Table) -> pa.Table:
    """The table with numbers of rows that there may be, where those of another section are selected by them."""
    for other in layout.sections:
        if other.selected_by and other.selected_by[0] == section.name:
            item = section.by_name(other.selected_by[1])
            place = table.column_names.index(item.column)
            missing = np.array(table[item.column].is_null())
            numbers = pa.array(rng.permutation(table.num_rows) % 4, item.arrow, mask=missing)
            table = table.set_column(place, item.column, numbers)
    return table


def _given_elsewhere(
    layout: Layout, section: Section, tables: Mapping[str, pa.Table], keys: Mapping[str, np.ndarray]
) -> dict[str, list[int]]:
    """What the rows that select those of a section say in the fields that conditions name, 0 where there is none."""
    if not section.selected_by:
        return {}
    other, index = layout.section(section.selected_by[0]), section.selected_by[1]
    rows = tables[other.table].to_pylist() if other.table in tables else []
    found: dict[str, list[int]] = {}
    for name in section.selectors_elsewhere:
        known: dict[tuple[int, int], int] = {}
        for row in rows:
            number = (row["record_seq"], row[other.by_name(index).column] or 0)
            known.setdefault(number, row[other.by_name(name).column] or 0)
        pairs = zip(keys["record_seq"].tolist(), keys["section_seq"].tolist(), strict=True)
        found[name] = [known.get((record, place + 1), 0) for record, place in pairs]
    return found


def _selects(section: Section, item: Field) -> list[int]:
    """Values of a field on which others depend."""
    return sorted(
        {
            value
            for other in section.fields
            if other.when and other.when.selector == item.name
            for value in other.when.values
        }
    )


def _column(
    item: Field, rng: np.random.Generator, rows: int, groups: np.ndarray, selects: list[int]
) -> dict[str, pa.Array]:
    if selects:
        return {item.column: pa.array(rng.choice([*selects, max(selects) + 1], rows), item.arrow)}
    if item.is_rest:
        sizes = {group: int(rng.integers(1, 40)) for group in groups.tolist()}
        return {item.column: pa.array([rng.bytes(sizes[group]) for group in groups.tolist()], item.arrow)}
    if item.count > 1:
        values = [_values(item, rng, item.count) for _ in range(rows)]
        return {item.column: pa.array(values, item.arrow)}
    if item.form.name in ("tod", "tod_upper", "stcke"):
        return _clocks(item, rng, rows)
    return {item.column: pa.array(_values(item, rng, rows), item.arrow)}


def _values(item: Field, rng: np.random.Generator, rows: int) -> list:
    form = item.form.name
    if form.startswith("ebcdic"):
        return [_word(rng, item.length) for _ in range(rows)]
    if form in ("bytes", "ip16"):
        return [rng.bytes(item.length) for _ in range(rows)]
    if form == "hfp":
        return hfp_values(rng, rows, item.length).tolist()
    if form == "packed_date":
        days = np.datetime64("1900-01-01") + rng.integers(0, 365_000, rows)
        return [None if rng.random() < 0.1 else day for day in days.tolist()]
    if form.startswith("packed"):
        numbers = rng.integers(0, 10 ** (2 * item.length - 1), rows).tolist()
        return [None if rng.random() < 0.1 else number for number in numbers]
    signed = form in ("int", "tod_signed")
    bits = 8 * item.length
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    edges = [low, high - 1, 0, 1]
    return [
        edges[int(rng.integers(4))] if rng.random() < 0.2 else low + int.from_bytes(rng.bytes(item.length), "big")
        for _ in range(rows)
    ]


def hfp_values(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Doubles that hexadecimal floating point of 4 or 8 bytes holds exactly."""
    bits = 21 if length == 4 else 53
    mantissa = rng.integers(0, 2**bits, rows).astype(np.float64)
    return np.ldexp(np.where(rng.random(rows) < 0.1, -mantissa, mantissa), rng.integers(-200, 190, rows))


def _clocks(item: Field, rng: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    raw = [0 if rng.random() < 0.1 else int.from_bytes(rng.bytes(8), "big") for _ in range(rows)]
    if item.form.name == "tod_upper":
        raw = [value >> 32 << 32 for value in raw]
    times = [None if value == 0 else (value >> 12) - TOD_UNIX_EPOCH_US for value in raw]
    if item.form.name == "tod":
        return {item.column: pa.array(times, item.arrow), f"{item.column}_raw": pa.array(raw, pa.uint64())}
    if item.form.name == "tod_upper":
        upper = pa.array([value >> 32 for value in raw], pa.uint32())
        return {item.column: pa.array(times, item.arrow), f"{item.column}_raw": upper}
    kept = [bytes(1) + value.to_bytes(8, "big") + rng.bytes(7) for value in raw]
    return {item.column: pa.array(times, item.arrow), f"{item.column}_raw": pa.array(kept, pa.binary(16))}


def _word(rng: np.random.Generator, width: int) -> str:
    """Text of up to `width` characters, without trailing blanks; now and then from the whole code page."""
    length = int(rng.integers(0, width + 1))
    alphabet = range(256) if rng.random() < 0.2 else b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#$@. "
    return "".join(chr(alphabet[int(k)]) for k in rng.integers(0, len(alphabet), length)).rstrip(" ")
