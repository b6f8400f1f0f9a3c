"""What planners get from a published snapshot of rendered systems: comparisons, ready questions, their pages."""

import json
import re

import duckdb
import pytest

from benchmarks.marts import add_tasks
from model.comparison import ComparisonError
from pipelines import comparing, dictionary, questions, steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from tests.pipelines.conftest import run_etalon
from tests.shared import shared

SYSTEMS = ("ims14-ff-haldb-z13", "ims14-ff-haldb-z14", "cics53-18cp", "ims10-base-ff-smq")
TASKS = 9_000
#: The studies' figures of this table are read off by these names.
TABLE = "table16_ff_haldb"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A state folder with a published snapshot of four systems and a day of made-up CICS tasks."""
    home = Home(tmp_path_factory.mktemp("planning"))
    for command in (*(("lab", system) for system in SYSTEMS), ("ingest", str(home.lab))):
        done = run_etalon(home.root, *command)
        assert done.returncode == 0, done.stderr
    with duckdb.connect(str(home.warehouse)) as connection:
        add_tasks(connection, "C53A", TASKS)
    steps.build(home)
    steps.publish(home)
    return home


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


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("nowhere@1", "There is: cics53-18cp"),
        ("cics53-18cp@9", "there is: 1, 2, 3"),
        ("cics53-18cp", "points: 1, 2, 3"),
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
    answered = {"agreement-with-rmf", "network-traffic", "slow-devices", "storage-by-address-space", "long-batch-steps"}
    assert found.num_rows > 0 or name in answered, "these systems have no such records"


@pytest.mark.parametrize("name", questions.questions())
def test_every_question_is_shown_with_its_query(name):
    asked = questions.question(name)
    page = questions.PAGE.read_text(encoding="utf-8")
    assert f"## {name}\n\n**{asked.title}**" in page
    assert f"```sql\n{asked.sql.strip()}\n```\n\n```text\n" in page, (
        "write it anew: python -m pipelines.questions DATABASE"
    )


def test_there_are_twenty_questions_and_an_unknown_one_is_refused():
    assert len(questions.questions()) == 20
    with pytest.raises(EtalonError, match="top-transactions-by-cpu") as refused:
        questions.question("why")
    assert refused.value.code is Exit.QUESTION


def test_business_transactions_are_counted_once_where_they_began(home):
    with duckdb.connect(str(home.snapshot), read_only=True) as connection:
        [(begun, tasks, through)] = connection.execute(
            "select sum(transactions_begun), sum(transactions_begun) + sum(tasks_elsewhere), "
            "(select sum(tasks_ended) from marts.fct_cics_transaction) from marts.fct_business_transaction"
        ).fetchall()
    assert tasks == through == TASKS
    assert begun == TASKS * 4 // 9


def test_the_data_dictionary_is_up_to_date():
    assert dictionary.drift() == [], "run: python -m pipelines.dictionary --write"
