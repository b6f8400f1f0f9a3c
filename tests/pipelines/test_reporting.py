"""What is written for others: the report on a system, marts as files, and the notebook of five questions."""

import re
from datetime import date, datetime

import pyarrow.parquet as pq
import pytest

from pipelines.home import Home
from tests.pipelines.conftest import run_etalon
from tests.serve.recorded import modelled, record


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """A state folder with the history of one LPAR and its model."""
    from model.capacity import bundle

    home = Home(tmp_path_factory.mktemp("reporting"))
    bundle.write(bundle.build({"PRDA": modelled()}, model_version="test/1", data={}, validation={}), home.champion)
    record(home.root)
    return home


def test_a_report_is_one_page_that_stands_alone(home, tmp_path):
    target = tmp_path / "out" / "PRDA.html"
    done = run_etalon(home.root, "report", "PRDA", "--out", str(target))
    assert done.returncode == 0, done.stderr
    page = target.read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert not re.search(r"(src|href)=['\"](?!#)", page.replace("xlink:href", ""))
    assert "before 90 % is reached" in page
    assert "growth continues as in the recorded weeks" in page
    assert "test/1" in page
    assert re.search(r"The last records are of 2026-\d\d-\d\d, \d+ days ago", page)
    assert "nan" not in page


def test_a_report_on_a_system_with_users_marks_the_rate_that_they_make(home):
    from pipelines.system_report import report
    from tests.model.capacity.test_users import bundle

    page = report(bundle(), home.snapshot, home.quality, "PRDA")
    assert page.count("<svg") == 3
    assert "users who think" in page


def test_a_report_speaks_of_the_age_of_records_only_where_it_matters():
    from pipelines.system_report import _age

    assert _age(date(2026, 11, 1), date(2026, 11, 8)) == ""
    assert "2026-11-01, 8 days ago" in _age(date(2026, 11, 1), date(2026, 11, 9))


@pytest.mark.parametrize(
    ("first", "last", "whole"),
    [
        ("01T00:00", "05T23:45", [1, 2, 3, 4, 5]),
        ("01T00:05", "05T23:45", [1, 2, 3, 4, 5]),
        ("01T09:00", "05T23:45", [2, 3, 4, 5]),
        ("01T00:00", "05T12:00", [1, 2, 3, 4]),
        ("01T09:00", "05T12:00", [2, 3, 4]),
    ],
)
def test_daily_means_are_drawn_of_days_recorded_from_end_to_end(first, last, whole):
    from pipelines.system_report import _whole_days

    days = [datetime(2026, 9, day) for day in range(1, 6)]
    span = datetime.fromisoformat(f"2026-09-{first}"), datetime.fromisoformat(f"2026-09-{last}")
    assert [day.day for day in days[_whole_days(days, span, 900.0)]] == whole


def test_a_day_recorded_in_part_is_drawn_where_there_is_no_other():
    from pipelines.system_report import _whole_days

    span = datetime(2026, 9, 1, 9), datetime(2026, 9, 1, 17)
    assert _whole_days([datetime(2026, 9, 1)], span, 900.0) == slice(None)


def test_a_report_on_a_system_that_is_not_there_says_which_there_are(home):
    done = run_etalon(home.root, "report", "NOPE")
    assert done.returncode == 6
    assert "PRDA" in done.stderr


def test_every_mart_is_written_as_parquet_with_its_rows(home, tmp_path):
    done = run_etalon(home.root, "export", "marts", "--to", "parquet", str(tmp_path / "marts"))
    assert done.returncode == 0, done.stderr
    written = {path.stem: pq.read_metadata(path).num_rows for path in (tmp_path / "marts").glob("*.parquet")}
    assert written["fct_interval_utilization"] == 383
    assert f"{written['fct_msu']:,} rows" in done.stdout


def test_a_form_that_is_not_known_is_refused_and_so_is_a_home_without_a_snapshot(home, tmp_path):
    assert run_etalon(home.root, "export", "marts", "--to", "xlsx", str(tmp_path)).returncode == 2
    assert run_etalon(tmp_path, "export", "marts", str(tmp_path / "out")).returncode == 5


def test_the_notebook_answers_its_five_questions(home, monkeypatch):
    import runpy

    from pipelines.home import ROOT

    monkeypatch.setenv("ETALON_HOME", str(home.root))
    notebook = runpy.run_path(str(ROOT / "docs" / "notebooks" / "five_questions.py"))["app"]
    _, found = notebook.run()
    answers = [found[name] for name in ("busiest", "four_hours", "cost", "goals", "uncaptured")]
    assert all(len(answer) for answer in answers)
    assert found["busiest"]["system_id"].tolist() == ["PRDA"]
