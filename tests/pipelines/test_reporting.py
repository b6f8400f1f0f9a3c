"""What is written for others: the report on a system, marts as files, and the notebook of five questions."""

import io
import re
import zipfile
from dataclasses import replace
from datetime import date, datetime
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from model.calendar import CalendarError
from pipelines import reports
from pipelines.home import Home
from pipelines.reports.content import Chart, Part, Report, Series
from pipelines.reports.sources import Sources
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
    assert page.count("<svg") == 4
    assert page.index("Last week against the week before") < page.index("Busy at the daily peak")
    assert page.index("When the target is reached") < page.index("General-purpose engines in use")
    assert not re.search(r"(src|href)=['\"](?!#)", page.replace("xlink:href", ""))
    assert "before 90 % is reached" in page
    assert "growth continues as in the recorded weeks" in page
    assert "test/1" in page
    assert re.search(r"The last records are of 2026-\d\d-\d\d, \d+ days ago", page)
    assert "nan" not in page


def test_a_report_on_a_system_with_users_marks_the_rate_that_they_make(home):
    from tests.model.capacity.test_closed_classes import bundle

    page = reports.written(reports.report(replace(Sources.of(home), bundle=bundle()), "PRDA"), "html").decode()
    assert page.count("<svg") == 4
    assert "users who think" in page


def test_a_report_speaks_of_the_age_of_records_only_where_it_matters(home):
    of = Sources.of(home)
    assert replace(of, today=date(2026, 11, 8)).age(date(2026, 11, 1)) == ""
    assert "2026-11-01, 8 days ago" in replace(of, today=date(2026, 11, 9)).age(date(2026, 11, 1))


def sheets(content):
    """The cells of each sheet of a workbook, texts as they are and formulas with their sign."""
    book = zipfile.ZipFile(io.BytesIO(content))
    main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    shared = "xl/sharedStrings.xml"
    texts = [
        "".join(part.text or "" for part in entry.iter(f"{main}t"))
        for entry in (ElementTree.fromstring(book.read(shared)) if shared in book.namelist() else ())
    ]
    names = [sheet.get("name") for sheet in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{main}sheet")]
    found = {}
    for number, name in enumerate(names, start=1):
        cells = list(ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")).iter(f"{main}c"))
        assert not [cell for cell in cells if cell.find(f"{main}f") is not None], "a formula"
        found[name] = []
        for cell in cells:
            value, kind = cell.find(f"{main}v"), cell.get("t")
            if kind == "inlineStr":
                found[name].append(cell.find(f"{main}is/{main}t").text)
            elif value is not None:
                found[name].append(texts[int(value.text)] if kind == "s" else float(value.text))
    return found


def test_a_report_as_a_workbook_has_figures_and_native_charts_and_its_summary_first(home):
    content = reports.written(reports.report(Sources.of(home), "PRDA"), "xlsx")
    found = sheets(content)
    assert next(iter(found)) == "Summary"
    assert found["Summary"][0].startswith("Capacity of PRDA")
    charts = [name for name in zipfile.ZipFile(io.BytesIO(content)).namelist() if name.startswith("xl/charts/")]
    assert len(charts) == 4
    assert 100.0 in next(cells for name, cells in found.items() if name.startswith("Data R4HA"))


def test_a_report_as_pdf_has_its_summary_on_the_first_page(home):
    content = reports.written(reports.report(Sources.of(home), "PRDA"), "pdf")
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 3


def test_reports_on_a_machine_and_on_all_set_the_weeks_side_by_side(home):
    machine = reports.report(Sources.of(home), "CEC1")
    [row] = machine.summary[0].rows
    assert (row["LPAR"], row["change"]) == ("PRDA", "+0.0 %")
    assert {one["name"] for one in machine.summary[1].rows} == {"3906-704 CEC1", "PRDA"}
    chart = next(part.chart for part in machine.summary if part.chart)
    assert [one.name for one in chart.series] == ["PRDA", "PRDB", "DELETED", "physical CPs"]
    everything = reports.report(Sources.of(home), "all")
    assert "1 machine, 1 LPAR" in everything.lead
    assert [part for part in everything.parts if part.heading.startswith("LPAR PRDA: ")]


def test_a_report_of_a_shift_is_of_its_intervals_alone(home):
    of = Sources.of(home, "prime")
    row = reports.report(of, "PRDA").summary[0].rows[0]
    assert row["mean CPU busy, %"] == pytest.approx(25 * (1 + 12.5 / 24))
    with pytest.raises(CalendarError, match="did you mean prime"):
        Sources.of(home, "prim")


HOSTILE = ("=HYPERLINK(1)", "<b>&$x$</b>", "+1\x07", "'a'!b", "[x]:*?/")


@pytest.mark.parametrize("form", reports.FORMS)
def test_names_from_records_are_text_in_every_form(form):
    rows = [{"LPAR": name, name: name} for name in HOSTILE]
    x = [datetime(2026, 9, 1), datetime(2026, 9, 2)]
    series = [Series(name, [1.0, None], kind) for name, kind in zip(HOSTILE, ("area", "line") * 3, strict=False)]
    parts = [Part(name, Chart(f"Data of {name}", "engines", x, series), [row], [name])
             for name, row in zip(HOSTILE, rows, strict=True)]  # fmt: skip
    content = reports.written(Report(f"Of {HOSTILE[0]}", HOSTILE[1], parts[:1], parts), form)
    if form == "html":
        page = content.decode()
        assert "<b>&" not in page
        assert "&lt;b&gt;&amp;$x$&lt;/b&gt;" in page
    elif form == "xlsx":
        found = sheets(content)
        assert all(len(name) <= 31 and not set("[]:*?/\\") & set(name) for name in found)
        assert {"=HYPERLINK(1)", "<b>&$x$</b>", "+1?"} <= {cell for cells in found.values() for cell in cells}
    else:
        assert content.startswith(b"%PDF-")


def test_a_night_writes_the_reports_of_its_day_and_keeps_the_latest(home, tmp_path):
    import shutil

    from pipelines.nights import work
    from pipelines.nights.night import Night, Step
    from pipelines.settings import Reports, Settings

    copy = Home(tmp_path / "state")
    shutil.copytree(home.root, copy.root)
    rules = Settings(reports=Reports(days=["fri"], of=["CEC1", "NOPE"], to=["html", "xlsx"], keep=1))
    for day, written in (("2026-11-20", 2), ("2026-11-21", 0), ("2026-11-27", 2)):
        night = Night(day, f"{day}T01:00:00Z")
        work.write_reports(Step(copy, rules, night))
        assert len(night.reports) == written
        assert len(night.notes) == bool(written)
    assert "NOPE" in Step(copy, rules, night).night.notes[0]
    assert sorted(path.name for path in (copy.reports / "scheduled").iterdir()) == ["2026-11-27"]


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
    from pipelines.reports.lpar import _whole_days

    days = [datetime(2026, 9, day) for day in range(1, 6)]
    span = datetime.fromisoformat(f"2026-09-{first}"), datetime.fromisoformat(f"2026-09-{last}")
    assert [day.day for day in days[_whole_days(days, span, 900.0)]] == whole


def test_a_day_recorded_in_part_is_drawn_where_there_is_no_other():
    from pipelines.reports.lpar import _whole_days

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


def test_every_mart_is_a_sheet_of_one_workbook_and_what_a_sheet_has_no_room_for_is_told(home, tmp_path):
    done = run_etalon(home.root, "export", "marts", "--to", "xlsx", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = sheets((tmp_path / "marts.xlsx").read_bytes())
    assert found["fct_gap"][:2] == ["system_id", "smf_sid"]
    assert "fct_msu  766 rows" in done.stdout
    from pipelines.reports import tables

    kept = {name: (rows, kept) for name, rows, kept in tables.write(home.snapshot, tmp_path / "few.xlsx", 10)}
    assert kept["fct_msu"] == (766, 10)


def test_a_form_that_is_not_known_is_refused_and_so_is_a_home_without_a_snapshot(home, tmp_path):
    assert run_etalon(home.root, "export", "marts", "--to", "ods", str(tmp_path)).returncode == 2
    assert run_etalon(home.root, "report", "PRDA", "--out", str(tmp_path / "a.doc")).returncode == 2
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
