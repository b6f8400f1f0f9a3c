"""Arrays made without pyarrow's constructors are those that its constructors make."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import arrays

KINDS = {
    pa.string(): st.text(),
    pa.binary(): st.binary(),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.timestamp("us"): st.datetimes(),
}
COLUMNS = st.sampled_from(list(KINDS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(st.none() | KINDS[kind], max_size=20))
)


@given(COLUMNS)
def test_values_become_the_array_that_pyarrow_makes_of_them(column):
    kind, values = column
    made = arrays.of_values(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))


@pytest.mark.parametrize("number", [-1, 2**32])
def test_a_number_beyond_its_type_is_refused(number):
    with pytest.raises(OverflowError):
        arrays.of_values([number], pa.uint32())


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=5), max_size=4), st.integers(0, 5))
def test_numbers_of_a_column_in_pieces_are_those_of_all_pieces(pieces, start):
    column = pa.chunked_array([pa.array(piece, pa.uint32()) for piece in pieces], pa.uint32()).slice(start)
    assert arrays.numbers_of(column).tolist() == column.to_pylist()


def test_what_is_not_valid_is_null_and_what_rows_lack_too():
    assert arrays.of_numbers(np.arange(3), valid=np.array([True, False, True])).to_pylist() == [0, None, 2]
    schema = pa.schema([("at", pa.timestamp("us")), ("name", pa.string())])
    rows = arrays.of_rows([{"at": dt.datetime(2026, 1, 1)}, {"name": "x"}], schema)
    assert rows.to_pylist() == [{"at": dt.datetime(2026, 1, 1), "name": None}, {"at": None, "name": "x"}]
