"""What planners get from a published snapshot of rendered systems: comparisons, ready questions, their pages."""

import json
import re

import duckdb
import pytest

from model.lab.subsystems.night import live
from model.studies.comparison import ComparisonError
from pipelines import comparing, dictionary, questions
from pipelines.exits import EtalonError, Exit
from tests.marts import warehouses
from tests.oracles import subsystems
from tests.pipelines.conftest import run_etalon
from tests.shared import shared

#: The studies' figures of this table are read off by these names.
TABLE = "table16_ff_haldb"


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A state folder with a published snapshot of systems of every kind."""
    return warehouses.everything(tmp_path_factory)


def compared(home, *runs, **options):
    return comparing.compare(home, runs, **{"band_pct": 1.0, "steady_points": 1.0, **options})


def test_two_machines_compare_as_the_study_prints_them(home):
    import csv

    found = compared(home, "ims14-ff-haldb-z13", "ims14-ff-haldb-z14")
    with shared("evidence/measurements.csv").open(newline="", encoding="utf-8") as stream:
        rows = [
            row
            for row in csv.DictReader(stream)
            if row["table"] == TABLE and row["metric"].endswith(("pct", "tps", "tran"))
        ]
    checked = 0
    for row in rows:
        quantity = re.search(r"quantity=(delta_pct|delta)\b", row["condition"])
        shown = found.row(row["metric"])
        if quantity is None or shown is None or shown.sides[1].delta is None:
            continue
        value = getattr(shown.sides[1], quantity[1])
        assert round(value, len(row["value"].partition(".")[2])) == float(row["value"]), row
        checked += 1
    assert checked >= 8


def published(system, table, metric):
    """Condition → printed value of a metric of a system in a table of the studies."""
    import csv

    with shared("evidence/measurements.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    key = {"scenario_id": system, "table": table, "metric": metric}
    return {row["condition"]: row["value"] for row in rows if key.items() <= row.items()}


def rounds_or_truncates_to(value, printed):
    step = 10.0 ** -len(printed.partition(".")[2])
    return abs(value - float(printed)) <= step / 2 + 1e-9 or 0 <= value - float(printed) < step


def test_a_series_of_buffer_sizes_yields_the_improvements_of_the_study(home):
    found = compared(home, "ims10-msc-ctc@*")
    sides = dict(zip([run.name for run in found.runs], found.row("msc_send_s").sides, strict=True))
    printed = published("ims10-msc-ctc", "msc_bandwidth", "published_improvement_pct")
    assert len(printed) == len(sides) - 1
    for condition, expected in printed.items():
        size = re.search(r"buffer_kb=(\d+)", condition)[1]
        side = sides[f"ims10-msc-ctc@{size}K-yes"]
        assert side.verdict == "better"
        assert rounds_or_truncates_to(-side.delta_pct, expected), (condition, side.delta_pct, expected)


def test_region_counts_with_either_release_yield_the_improvements_of_the_study(home):
    printed = published("ims10-shared-emh", "shared_emh_improvement", "table_improvement_pct")
    assert len(printed) == 3
    for condition, expected in printed.items():
        regions = condition.partition("=")[2]
        found = compared(home, f"ims10-shared-emh@{regions}-V9", f"ims10-shared-emh@{regions}-V10")
        side = found.row("itr_tps").sides[1]
        assert rounds_or_truncates_to(side.delta_pct, expected), (condition, side.delta_pct, expected)


def test_options_on_and_off_yield_the_increments_of_the_study(home):
    found = compared(home, "ims10-tls@*")
    [row] = [
        row
        for row in found.rows
        if row.metric.name == "wlm_cpu_srb_service_per_tran" and row.metric.subject.startswith("service_class")
    ]
    increments = published("ims10-tls", "transaction_level_statistics", "increment_pct")
    assert len(increments) == 2
    for condition, expected in increments.items():
        tran, pgm = re.findall(r"=(\w+)", condition)
        place = [run.name for run in found.runs].index(f"ims10-tls@TRAN {tran} PGM {pgm}")
        assert rounds_or_truncates_to(row.sides[place].delta_pct, expected)


def test_session_counts_yield_the_storage_of_the_study(home):
    found = compared(home, "cs113-tn3270-attls-30s@*")
    assert [run.seconds for run in found.runs] == [300] * 4
    totals = {row.metric.subject: row for row in found.rows if row.metric.name == "storage_kb"}
    values = [side.figure.value for side in totals["TN3270 total"].sides]
    assert values == sorted(values)
    assert values[0] == 49164


def test_a_point_compared_has_the_values_of_the_mart(home):
    found = compared(home, "cics53-18cp@*")
    with duckdb.connect(str(home.snapshot), read_only=True) as connection:
        rows = connection.execute(
            "select point, metric, value, value_se from marts.fct_point_metric "
            "where system_id = 'cics53-18cp' and is_run and aggregation = 'ratio'"
        ).fetchall()
    names = [run.name for run in found.runs]
    for point, metric, value, se in rows:
        figures = {key.name: figure for key, figure in found.runs[names.index(f"cics53-18cp@{point}")].figures.items()}
        if list(figures).count(metric) == 1 and sum(1 for row in rows if row[:2] == (point, metric)) == 1:
            assert figures[metric].value == pytest.approx(value, rel=1e-9), (point, metric)
            expected = None if se is None else pytest.approx(se, rel=1e-6, abs=1e-12)
            assert figures[metric].se == expected, (point, metric)


def test_the_command_prints_a_table_and_writes_page_csv_and_pictures(home, tmp_path):
    options = ["--out", str(tmp_path / "out"), "--save-figures", str(tmp_path / "svg"), "--json"]
    done = run_etalon(home.root, "compare", "cics53-18cp@1", "cics53-18cp@2", "--confidence", "0.95", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [run["intervals"] for run in found["runs"]] == [5, 5]
    verdicts = {metric["metric"]: metric["values"][1]["verdict"] for metric in found["metrics"]}
    assert verdicts["itr_tps"] == "better"
    assert verdicts["cpu_busy_pct"] == "different"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comparison.csv",
        "comparison.html",
        "comparison.md",
    ]
    assert {"itr.svg", "cpu-busy.svg", "cpu-per-transaction.svg"} <= {
        path.name for path in (tmp_path / "svg").iterdir()
    }


def test_a_band_and_a_confidence_together_are_refused(home):
    done = run_etalon(home.root, "compare", "cics53-18cp@1", "cics53-18cp@2", "--confidence", "0.95", "--band", "3")
    assert done.returncode == 2
    assert "choose one of --band and --confidence" in done.stderr


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("nowhere@1", "There is: EUR1, LEAP, PRDA, PRDB, "),
        ("cics53-18cp@9", "there is: 1, 2, 3"),
        ("cics53-18cp", "points: 1, 2, 3, 4, 5, highest; choose one (cics53-18cp@1) or take all (cics53-18cp@*)"),
    ],
)
def test_a_run_that_is_not_there_is_refused_with_what_there_is(home, run, said):
    with pytest.raises(ComparisonError, match=re.escape(said)):
        compared(home, run, "ims14-ff-haldb-z13")


def test_steady_state_of_a_rendered_system_is_found_and_said(home):
    found = compared(home, "cics53-18cp@steady", "cics53-18cp@steady:23")
    assert all("every CPU busy within" in run.chosen for run in found.runs)


@pytest.mark.parametrize("name", questions.questions())
def test_every_question_has_an_answer(home, name):
    asked = questions.question(name)
    assert asked.title.endswith("?")
    found = questions.answer(home.snapshot, asked)
    assert found.num_rows > 0


def test_ready_questions_tell_of_a_made_up_night_what_happened_in_it(home):
    for name, rows in subsystems.answers(live(warehouses.LAB_SEED)).items():
        answered = questions.answer(home.snapshot, questions.question(name)).to_pylist()
        for row in rows:
            words = {column: value for column, value in row.items() if isinstance(value, str) or column == "hour_utc"}
            [found] = [one for one in answered if one["system_id"] == "SUBS" and words.items() <= one.items()]
            figures = {column: found[column] for column in row.keys() - words.keys()}
            assert figures == pytest.approx({column: row[column] for column in figures}, rel=2e-3, abs=6e-4), name


def test_ims_transactions_take_wait_and_cost_what_their_log_says(home):
    rows = questions.answer(home.snapshot, questions.question("ims-transactions")).to_pylist()
    messages = {"messages": 20, "input_queue_ms": 2.0}
    order = {"transaction_code": "ORDER", "program_name": "ORDER", "region": 8, "processing_ms": 9.0, "cpu_us": 900.0}
    part = {"transaction_code": "PART", "program_name": "PART", "region": 7, "processing_ms": 5.0, "cpu_us": 500.0}
    assert rows == [
        {**messages, **order, "response_ms": 12.1, "worst_p95_ms": 12.1},
        {**messages, **part, "response_ms": 8.1, "worst_p95_ms": 8.1},
    ]


@pytest.mark.parametrize("name", questions.questions())
def test_every_question_is_shown_with_its_query(name):
    asked = questions.question(name)
    page = questions.PAGE.read_text(encoding="utf-8")
    assert f"## {name}\n\n**{asked.title}**" in page
    assert f"```sql\n{asked.sql.strip()}\n```\n\n```text\n" in page, (
        "write it anew: python -m pipelines.questions DATABASE"
    )


def test_mobile_work_is_counted_once_though_report_classes_overlap(home):
    [day] = questions.answer(home.snapshot, questions.question("mobile-msu-by-day")).to_pylist()
    with duckdb.connect(str(home.snapshot), read_only=True) as connection:
        [(most,)] = connection.execute(
            "select max(mobile_msu) from marts.fct_service_class where system_id = 'cics53-18cp'"
        ).fetchall()
    assert day["peak_mobile_msu"] == pytest.approx(most, abs=0.01)


def test_a_question_without_an_answer_says_so(home):
    asked = questions.Question("none", "None?", "", "select system_id from marts.fct_point where false")
    assert questions.shown(asked, questions.answer(home.snapshot, asked)).endswith(asked.nothing)


def test_an_unknown_question_is_refused_with_those_there_are():
    with pytest.raises(EtalonError, match="top-transactions-by-cpu") as refused:
        questions.question("why")
    assert refused.value.code is Exit.QUESTION


def test_business_transactions_are_counted_once_where_they_began(home):
    with duckdb.connect(str(home.snapshot), read_only=True) as connection:
        [(begun, tasks, through)] = connection.execute(
            "select sum(transactions_begun), sum(transactions_begun) + sum(tasks_elsewhere), "
            "(select sum(tasks_ended) from marts.fct_cics_transaction where smf_sid = ?) "
            "from marts.fct_business_transaction where system_id = 'cics53-18cp'",
            [warehouses.TASKS_OF],
        ).fetchall()
    assert tasks == through == warehouses.TASKS
    assert begun == warehouses.TASKS * 4 // 9


def test_the_data_dictionary_is_up_to_date():
    assert dictionary.drift() == [], "run: python -m pipelines.dictionary --write"


def test_every_column_before_the_marts_is_described(home):
    columns = dictionary.described(home.snapshot)
    assert {column.schema for column in columns} == {"intermediate", "meta", "staging"}
    assert [(column.table, column.name) for column in columns if not column.meaning] == [], "say it in dbt/columns.yml"
    page = (dictionary.ROOT / dictionary.FOLDER / "steps.md").read_text(encoding="utf-8")
    tables = {column.table for column in columns}
    missing = [table for table in tables if f"### {table}\n" not in page]
    assert missing == [], "run: python -m pipelines.dictionary --write --database SNAPSHOT"
