"""Tables of any type come out as CSV that any program reads."""

import csv
import io
import json

import duckdb
import pyarrow as pa
import pyarrow.csv
from hypothesis import given
from hypothesis import strategies as st

from model.names import csv_cell
from pipelines import csv_rows


def written(table: pa.Table) -> bytes:
    """The table as CSV."""
    sink = io.BytesIO()
    csv_rows.write(table, sink)
    return sink.getvalue()


def arrow_writes(table: pa.Table) -> bytes:
    """The table as pyarrow's own writer has it, which knows neither bytes, nested values nor formulas."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            cells = [value and csv_cell(value) for value in table[number].to_pylist()]
            table = table.set_column(number, field, [pa.array(cells, pa.string())])
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue()


def test_values_of_every_type_are_csv():
    with duckdb.connect() as con:
        table = con.sql("SELECT * FROM test_all_types()").to_arrow_table()
    rows = list(csv.DictReader(io.StringIO(written(table).decode())))
    assert json.loads(rows[1]["array_of_structs"])[1] == {"a": 42, "b": "🦆🦆🦆🦆🦆🦆"}
    assert rows[1]["blob"] == "00000061"
    assert rows[1]["bigint"] == "9223372036854775807"
    assert set(rows[2].values()) == {""}


INTEGERS = {f"{sign}int{bits}": (bits, sign) for bits in (8, 16, 32, 64) for sign in ("", "u")}
ROWS = st.fixed_dictionaries(
    {
        **{
            name: st.none() | st.integers(0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1)
            for name, (bits, sign) in INTEGERS.items()
        },
        "text": st.none() | st.text() | st.text("=+-@'#$_1A", max_size=3),
        "real": st.none() | st.floats(allow_nan=False),
        "time": st.none() | st.datetimes(),
        "flag": st.none() | st.booleans(),
    }
)
SCHEMA = pa.schema(
    [(name, getattr(pa, name)()) for name in INTEGERS]
    + [("text", pa.string()), ("real", pa.float64()), ("time", pa.timestamp("us")), ("flag", pa.bool_())]
)


@given(st.lists(ROWS), st.integers(0, 3))
def test_plain_values_are_written_as_arrow_writes_them(rows: list, left_out: int):
    table = pa.Table.from_pylist(rows, SCHEMA)
    parts = pa.concat_tables([table.slice(left_out), table])
    assert written(parts) == arrow_writes(parts)


def test_lists_of_figures_are_json_and_bytes_are_digits():
    table = pa.table(
        {
            "figures": pa.array([[0, -7], None, [127, -128]], pa.list_(pa.int8(), 2)),
            "gaps": pa.array([[None, 1], [2, 3], None], pa.list_(pa.int32(), 2)),
            "names": pa.array([['a"b', "ü"], [], None], pa.list_(pa.string())),
            "token": pa.array([b"\x00\xff", None, b"ab"], pa.binary(2)),
            "raw": pa.array([b"", b"\x10", None]),
        }
    )
    for rows in (table, table.slice(0, 1), pa.concat_tables([table.slice(1), table])):
        found = list(csv.reader(io.StringIO(written(rows).decode())))[1:]
        wanted = [
            [
                *("" if row[name] is None else json.dumps(row[name]) for name in ("figures", "gaps", "names")),
                *("" if row[name] is None else row[name].hex() for name in ("token", "raw")),
            ]
            for row in rows.to_pylist()
        ]
        assert found == wanted


def test_a_table_without_rows_is_its_heading():
    assert written(pa.table({'a"b': pa.array([], pa.uint8()), "c": pa.array([], pa.string())})) == b'"a""b","c"\n'


def test_rows_longer_than_a_part_are_written():
    table = pa.table({"text": ["x" * 3_000_000, '"' * 1_000_000, ""]})
    assert written(table) == arrow_writes(table)


def test_a_text_is_no_formula_and_a_number_stays_one():
    table = pa.table({"=name": ["=1+1", "@SUM(A1)", "-", "-5", None, "'x", "$TSO", "#1"], "busy": [-1.5] * 8})
    rows = list(csv.reader(io.StringIO(written(table).decode())))
    assert rows[0] == ["'=name", "busy"]
    assert [row[0] for row in rows[1:]] == ["'=1+1", "'@SUM(A1)", "'-", "-5", "", "''x", "$TSO", "#1"]
    assert {row[1] for row in rows[1:]} == {"-1.5"}
