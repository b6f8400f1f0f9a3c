"""Tables of any type come out as JSON that any program reads."""

import json

import duckdb
import pyarrow as pa
import pytest

from pipelines import forms, text


@pytest.fixture
def every_type() -> pa.Table:
    """One column for every type that a query can give, with its extremes and NULL."""
    with duckdb.connect() as con:
        return con.sql("SELECT * FROM test_all_types()").to_arrow_table()


def one(query: str) -> pa.Table:
    """What a query gives."""
    with duckdb.connect() as con:
        return con.sql(query).to_arrow_table()


def test_values_of_every_type_are_json(every_type):
    rows = json.loads(forms.dumps(list(forms.records(every_type))))
    assert len(rows) == 3
    assert set(rows[2].values()) == {None}
    assert rows[1]["int_array"] == [42, 999, None, None, -42]
    assert rows[1]["map"] == {"key1": "🦆🦆🦆🦆🦆🦆", "key2": "goose"}
    assert rows[1]["blob"] == "00000061"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("'nan'::DOUBLE", None),
        ("'-inf'::FLOAT", None),
        ("['inf'::DOUBLE, 1.5]", [None, 1.5]),
        ("1.50::DECIMAL(4, 2)", 1.5),
        ("12::DECIMAL(38, 0)", 12),
        ("sum(7::BIGINT)", 7),
        ("TIMESTAMP '2026-11-21 10:00:00.5'", "2026-11-21T10:00:00.500000"),
        ("TIMESTAMPTZ '2026-11-21 10:00:00+00'", "2026-11-21T10:00:00+00:00"),
        ("DATE '2026-11-21'", "2026-11-21"),
        ("TIME '10:00:00'", "10:00:00"),
        ("INTERVAL 90 MINUTES", "P0M0DT5400S"),
        ("MAP {'30.2': 5, '70.1': NULL}", {"30.2": 5, "70.1": None}),
        ("MAP {7: {'at': DATE '2026-11-21'}}", {"7": {"at": "2026-11-21"}}),
        ("MAP {[1]: 2}", {"[1]": 2}),
        ("'\\xA7\\x00'::BLOB", "a700"),
        ("true", True),
    ],
)
def test_a_value_is_what_a_program_expects(value, plain):
    (row,) = json.loads(forms.dumps(list(forms.records(one(f"SELECT {value} AS v")))))
    assert row == {"v": plain}


def test_columns_of_one_name_are_told_apart():
    table = one("SELECT 1 AS a, 2 AS a, 3 AS a")
    assert list(forms.records(table)) == [{"a": 1, "a_1": 2, "a_2": 3}]
    assert forms.distinct(table.column_names) == ["a", "a_1", "a_2"]
    assert list(forms.records(one("SELECT 1 AS a WHERE false"))) == []


def test_a_reader_is_shown_values_of_every_type():
    with duckdb.connect() as con:
        relation = con.sql("SELECT * FROM test_all_types()")
        low, high, nothing = forms.shown(relation)
        [[nested]] = [list(row.values()) for row in forms.shown(con.sql("SELECT MAP {'a': '\\x01\\xC1'::BLOB} AS m"))]
    assert set(nothing.values()) == {None}
    assert {type(value) for value in high.values()} == {bool, int, float, str}
    assert (low["smallint"], high["dec_4_1"], high["blob"]) == (-32768, 999.9, "X'00000061'")
    assert nested == r'{"a":"\x01\xC1"}'
    assert high["int_array"] == "[42,999,null,null,-42]"
    assert len(high["timestamp_array"]) == len(low["blob"]) == 60
    assert high["timestamp_tz"] == "294247-01-10 04:00:54.775806+00"


def test_a_cell_stays_in_its_line_and_cannot_steer_the_terminal():
    rows = [{"said\n": "one\ntwo\tthree \x1b[2J 中 é"}]
    assert text.table(rows).splitlines()[2] == "one\\ntwo\\tthree \\x1b[2J 中 é"
