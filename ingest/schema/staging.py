"""Staging views: one per raw table, with friendly names, one unit per kind of quantity, and the record's context.

The expressions here are the only place where a raw number is rescaled. Integers become signed, so that differences may
be negative; an eight-byte unsigned value that does not fit is NULL there and kept in raw. A record that several files
hold is there once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ingest.field_types import SINCE_1900, UNITS
from ingest.layout import Bit, Field, Layout, Section

#: No offset from UTC changes by more at once; what is more is no change of offset.
_LARGEST_SHIFT_S = 12_600
_UNIX_EPOCH_US = 2_208_988_800_000_000
DOUBTFUL = ("inferred", "memory")


@dataclass(frozen=True, slots=True)
class StagingColumn:
    """One column of a staging view: name, SQL expression, SQL type, and what it means."""

    name: str
    expression: str
    type: str
    description: str


def view_name(section: Section) -> str:
    """Name of the staging view over a section's raw table."""
    return f"stg_{section.table}"


def columns(layout: Layout, section: Section) -> list[StagingColumn]:
    """Every column of a section's staging view: keys, context, then the section's fields and named bits."""
    table_alias = _alias(layout, section)
    view_columns = _keys(table_alias) + _context(layout)
    if section.parent:
        text = f"section_seq of the row of {section.table.removesuffix(section.name)}{section.parent} it belongs to."
        view_columns.append(StagingColumn("parent_seq", f"{table_alias}.parent_seq", "UINTEGER", text))
    if section.entries:
        text = f"Ordinal of the entry in that row, from 0 to {section.entries - 1}; one of zeros alone has no row."
        view_columns.append(StagingColumn("entry_seq", f"{table_alias}.entry_seq", "UINTEGER", text))
    taken = {column.name for column in view_columns}
    for item in section.fields:
        if item.name not in taken:
            view_columns.append(_field(item, table_alias, section.bits_of(item)))
        view_columns.extend(_bit(item, bit, table_alias) for bit in section.bits_of(item) if bit.name)
    return view_columns


def view_sql(layout: Layout, section: Section, *, named: bool = False) -> str:
    """The query of a section's staging view; with `named`, systems are called by their names of `meta.system_name`."""
    table_alias = _alias(layout, section)
    view_columns = columns(layout, section)
    if named:
        sid = next(column for column in view_columns if column.name == "smf_sid")
        view_columns[view_columns.index(sid)] = replace(
            sid, expression=f"coalesce(system_here.name, system_anywhere.name, {sid.expression})"
        )
    selected = ",\n".join(
        f"  {column.expression}" + ("" if column.expression == f"{table_alias}.{column.name}" else f" as {column.name}")
        for column in view_columns
    )
    lines = ["select", selected, f"from raw.{section.table} as {table_alias}", *_counted_here(table_alias)]
    joined = {section.name: table_alias}
    for other in (layout.header, product_section(layout)):
        if other is not None and other is not section:
            joined[other.name] = _alias(layout, other)
            lines.append(_same_record(other, joined[other.name], table_alias))
    if named:
        lines += _names(layout, table_alias, joined)
    return "\n".join(lines) + "\n"


def _same_record(other: Section, alias: str, table_alias: str) -> str:
    return (
        f"left join raw.{other.table} as {alias}\n  on {alias}.file_id = {table_alias}.file_id"
        f" and {alias}.record_seq = {table_alias}.record_seq and {alias}.section_seq = 0"
    )


def _names(layout: Layout, table_alias: str, joined: dict[str, str]) -> list[str]:
    """The joins that name the system of a record: by its sysplex and machine, as far as the record names them."""
    identity, lines = {"sysplex_name": "''", "cpc_serial": "''"}, []
    for name in identity:
        for source in layout.sections:
            item = next((field for field in source.fields if field.name == name and not field.when), None)
            if item is None or (source.cardinality != "one" and source is not product_section(layout)):
                continue
            if source.name not in joined:
                joined[source.name] = f"of_{source.name}"
                lines.append(_same_record(source, joined[source.name], table_alias))
            identity[name] = f"coalesce(trim({_text(f'{joined[source.name]}.{item.column}')}), '')"
            break
    sid = _text(f"header.{layout.header.by_name('smf_sid').column}")
    for alias, file, serial in (
        ("system_here", f"= {table_alias}.file_id", identity["cpc_serial"]),
        ("system_anywhere", "is null", "''"),
    ):
        lines.append(
            f"left join meta.system_name as {alias}\n  on {alias}.file_id {file} and {alias}.smf_sid = {sid}"
            f" and {alias}.sysplex_name = {identity['sysplex_name']}\n  and {alias}.cpc_serial = {serial}"
        )
    return lines


def _counted_here(table_alias: str) -> list[str]:
    """The join that leaves out records which are counted in another file."""
    return [
        "anti join meta.record_overlap as elsewhere",
        f"  on elsewhere.file_id = {table_alias}.file_id and elsewhere.record_seq = {table_alias}.record_seq",
    ]


def product_section(layout: Layout) -> Section | None:
    """The product section of an RMF or CICS layout, which says what interval or region rows are of, or None."""
    return layout.section("product") if layout.product in ("rmf", "cics") else None


def describe(item: Field) -> str:
    """Meaning of a field with its IBM name and, where it is doubtful, a warning."""
    text = f"{item.meaning} IBM: {item.ibm}."
    unit = UNITS.get(item.unit)
    if unit and unit.staging:
        text += f" Unit: {unit.staging}."
    if item.when:
        values = ", ".join(str(value) for value in sorted(item.when.values))
        text += f" Only where {item.when.selector} is {'not ' if item.when.negated else ''}{values}."
    if item.none:
        text += f" NULL where {none_of(item)} is recorded, which means none."
    if item.confidence in DOUBTFUL:
        how = "inferred" if item.confidence == "inferred" else "from memory"
        text += f" Its place in the record is {how}: do not build on it."
    return text


def none_of(item: Field) -> str:
    """The numbers of a field that stand for no value, as they are recorded."""
    width = 2 * item.length
    return " or ".join(f"X'{value % (1 << 8 * item.length):0{width}X}'" for value in item.none)


def _alias(layout: Layout, section: Section) -> str:
    if section is layout.header:
        return "header"
    return "product" if section is product_section(layout) else "section"


def _keys(table_alias: str) -> list[StagingColumn]:
    return [
        StagingColumn("file_id", f"{table_alias}.file_id", "UBIGINT", "Identity of the input file."),
        StagingColumn(
            "record_seq", f"{table_alias}.record_seq", "UINTEGER", "Ordinal of the record in the file, from 0."
        ),
        StagingColumn(
            "section_seq", f"{table_alias}.section_seq", "UINTEGER", "Ordinal of the section in its record, from 0."
        ),
    ]


def _context(layout: Layout) -> list[StagingColumn]:
    header = layout.header
    clock, date = header.by_name("written_clock_us").column, header.by_name("written_date").column
    context = [
        StagingColumn(
            "smf_sid",
            _text(f"header.{header.by_name('smf_sid').column}"),
            "VARCHAR",
            "System identifier given to SMF; `SYSPLEX.SID` where several sysplexes have it.",
        ),
        StagingColumn(
            "written_local",
            f"header.{date} + to_microseconds(header.{clock}::BIGINT * 10000)",
            "TIMESTAMP",
            "Local time at which the record was handed to SMF.",
        ),
    ]
    product = product_section(layout)
    if product is None:
        return context
    if layout.product == "cics":
        return [*context, *(_field(product.by_name(name), "product", ()) for name in ("applid", "release_code"))]
    start = f"product.{product.by_name('interval_start_clock_s').column}::BIGINT"
    local = (
        f"product.{product.by_name('interval_start_date').column}"
        f" + to_seconds({start} // 10000 * 3600 + {start} // 100 % 100 * 60 + {start} % 100)"
    )
    return [
        *context,
        StagingColumn("interval_start_local", local, "TIMESTAMP", "Local time at which the interval started."),
        *_start_utc(product),
        *(_field(product.by_name(name), "product", ()) for name in ("interval_s", "sysplex_name", "system_name")),
    ]


def _start_utc(product: Section) -> list[StagingColumn]:
    """The start of an interval in UTC: local start less the offset from UTC, which the record gives as of its end.

    Where the offset changed within the interval, as for daylight saving, the store clock of the end tells by how many
    half hours it did; leap seconds, which that clock may include, are far fewer.
    """
    plain = f"interval_start_local - to_microseconds(product.{product.by_name('local_offset_us').column} // 4096)"
    seconds, _ = _interval(product.by_name("interval_s"), f"product.{product.by_name('interval_s').column}")
    end = f"epoch_us(product.{product.by_name('interval_expiry_utc').column})"
    return [
        StagingColumn(
            "store_clock_ahead_s",
            f"{end} / 1e6 - ({seconds}) - epoch_us({plain}) / 1e6",
            "DOUBLE",
            "Store clock minus local time and its offset at the end of the interval. It has the leap seconds of the "
            "clock, and half hours if the offset changed within the interval.",
        ),
        StagingColumn(
            "interval_start_utc",
            f"{plain} + case when abs(store_clock_ahead_s) < {_LARGEST_SHIFT_S}"
            " then to_minutes(30 * round(store_clock_ahead_s / 1800)::BIGINT) else interval '0' minute end",
            "TIMESTAMP",
            "UTC time at which the interval started; NULL where the record carries no offset.",
        ),
    ]


def _text(column: str) -> str:
    return f"rtrim({column}, chr(0) || ' ')"


def _field(item: Field, table_alias: str, bits: tuple[Bit, ...]) -> StagingColumn:
    column = f"{table_alias}.{item.column}"
    if item.count > 1:
        expression, kind = _EXPRESSIONS[item.form.name](item, "x")
        expression, kind = f"list_transform({column}, lambda x: {expression})", f"{kind}[]"
    else:
        expression, kind = _EXPRESSIONS[item.form.name](item, column)
    if item.none:
        expression = f"case when {column} not in ({', '.join(map(str, item.none))}) then {expression} end"
    text = describe(item)
    if bits:
        text += " Bits: " + " ".join(f"{_range(bit)} {bit.ibm}: {bit.meaning}" for bit in bits)
    return StagingColumn(item.name, expression, kind, text)


def _bit(item: Field, bit: Bit, table_alias: str) -> StagingColumn:
    column = f"{table_alias}.{item.column}"
    shift = item.length * 8 - 1 - bit.last
    text = f"{bit.meaning} IBM: {bit.ibm}, bit {_range(bit)} of {bit.field}."
    if bit.first == bit.last:
        return StagingColumn(bit.name, f"({column} & {1 << shift}) <> 0", "BOOLEAN", text)
    mask = (1 << (bit.last - bit.first + 1)) - 1
    return StagingColumn(bit.name, f"(({column} >> {shift}) & {mask})::INTEGER", "INTEGER", text)


def _range(bit: Bit) -> str:
    return str(bit.first) if bit.first == bit.last else f"{bit.first}-{bit.last}"


def _number(item: Field, column: str) -> tuple[str, str]:
    if item.unit == SINCE_1900:
        return f"make_timestamp(nullif({column}, 0)::BIGINT * 4096 - {_UNIX_EPOCH_US})", "TIMESTAMP"
    factor = UNITS[item.unit].factor if item.unit in UNITS else 1
    floating = item.form.name == "hfp"
    wide = item.form.name in ("uint", "flags", "packed") and item.length > 4
    if factor < 1:
        return f"{column} / {round(1 / factor)}.0::DOUBLE", "DOUBLE"
    if floating or (wide and factor > 1):
        return (column, "DOUBLE") if factor == 1 else (f"{column} * {factor:.0f}::DOUBLE", "DOUBLE")
    if wide:
        return f"try_cast({column} as BIGINT)", "BIGINT"
    return (f"{column}::BIGINT", "BIGINT") if factor == 1 else (f"{column}::BIGINT * {factor:.0f}", "BIGINT")


def _duration(item: Field, column: str) -> tuple[str, str]:
    return f"{column} / 4096::DOUBLE", "DOUBLE"


def _clock(item: Field, column: str) -> tuple[str, str]:
    value = f"{column}::BIGINT"
    return f"{value} // 10000 * 3600 + {value} // 100 % 100 * 60 + {value} % 100", "BIGINT"


def _interval(item: Field, column: str) -> tuple[str, str]:
    return f"{column} // 100000 * 60 + {column} % 100000 / 1000::DOUBLE", "DOUBLE"


def _address(item: Field, column: str) -> tuple[str, str]:
    """An IPv4 address in dots where it is mapped or stands alone in the last four bytes, else IPv6 in eight groups."""
    digits = f"hex({column})"
    dots = " || '.' || ".join(f"('0x' || substr({digits}, {place}, 2))::UTINYINT" for place in (25, 27, 29, 31))
    groups = " || ':' || ".join(f"lower(substr({digits}, {place}, 4))" for place in range(1, 33, 4))
    mapped = f"substr({digits}, 1, 24) in ('00000000000000000000FFFF', '000000000000000000000000')"
    return f"case when {mapped} then {dots} else {groups} end", "VARCHAR"


def _as_is(kind: str) -> Callable[[Field, str], tuple[str, str]]:
    return lambda item, column: (column, kind)


_EXPRESSIONS: dict[str, Callable[[Field, str], tuple[str, str]]] = {
    "uint": _number,
    "int": _number,
    "flags": _number,
    "hfp": _number,
    "packed": _number,
    "hundredths": _number,
    "ebcdic": lambda item, column: (_text(column), "VARCHAR"),
    "ebcdic1047": lambda item, column: (_text(column), "VARCHAR"),
    "bytes": lambda item, column: (f"hex({column})", "VARCHAR"),
    "ip16": _address,
    "packed_date": _as_is("DATE"),
    "packed_time": _clock,
    "packed_interval": _interval,
    "tod": _as_is("TIMESTAMP"),
    "tod_upper": _as_is("TIMESTAMP"),
    "stcke": _as_is("TIMESTAMP"),
    "tod_duration": _duration,
    "tod_signed": _duration,
}
