"""Names from records in other syntaxes: they come out as they went in, and two never become one."""

import csv
import io
import re
from pathlib import PurePosixPath

import duckdb
from hypothesis import example, given
from hypothesis import strategies as st
from mlflow.entities import Metric
from mlflow.utils.validation import _validate_metric

from model.names import csv_cell, csv_cell_sql, file_name, from_csv_cell, metric_key, original, sql_text

ZOS = st.text("ABCXYZ019#$@_", min_size=1, max_size=8)
ANY = st.one_of(ZOS, st.text(), st.text(max_size=3).map(lambda text: "_x" + text))


@given(ANY)
@example("..")
@example("")
@example("_x23_")
@example("A" * 300)
def test_a_file_name_is_one_part_of_any_path_and_says_what_it_was_made_from(text):
    name = file_name(text)
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", name)
    assert PurePosixPath("folder", name).name == name
    if "_xx" not in name:
        assert original(name) == text


def test_names_that_need_nothing_stay_as_they_are():
    for name in ("cics53-18cp", "total_work_cpu_pct", "_OMVS", "SYS1.PARMLIB"):
        assert file_name(name) == name
    assert file_name("PR#B") == "PR_x23_B"
    assert metric_key("PR#B", "later days", "cpu_busy_pct") == "PR_x23_B/later days/cpu_busy_pct"


@given(ANY, ANY)
@example("A" * 300, "A" * 299 + "B")
@example("A#", "A_x23_")
def test_two_names_never_become_one(one, other):
    for way in (file_name, metric_key, csv_cell, sql_text):
        assert (way(one) == way(other)) == (one == other)


@given(st.lists(ANY, min_size=1, max_size=4))
def test_mlflow_takes_any_name_as_a_metric(parts):
    _validate_metric(metric_key(*parts), 1.0, 0, 0)
    assert Metric(metric_key(*parts), 1.0, 0, 0)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
@example("=1+1")
@example("'=1+1")
@example("@SUM(A1)")
@example("-2+3")
@example("-2.5e-3")
def test_a_cell_of_csv_is_no_formula_and_is_read_back(text):
    sink = io.StringIO()
    csv.writer(sink).writerow([csv_cell(text), "end"])
    ((cell, _),) = csv.reader(io.StringIO(sink.getvalue(), newline=""))
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or float(cell) == float(text)
    assert from_csv_cell(cell) == text
    assert duckdb.sql(f"SELECT {csv_cell_sql(sql_text(text))}").fetchall() == [(cell,)]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_text_of_sql_is_what_it_says(text):
    assert duckdb.sql(f"SELECT {sql_text(text)}").fetchall() == [(text,)]
