"""The commands over networks: solve, sweep, move to another machine, simulate, replay; and what they refuse."""

import json
import re

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from ingest.registry import load
from ingest.schema import create_statements, staging_statements
from model.calibration.lpar import calibrate_lpar
from model.capacity import bundle
from pipelines import transactions
from pipelines.cli import app, explain
from pipelines.exits import Exit
from pipelines.home import Home
from tests.cases.histories import history
from tests.shared import ROOT

REGION = """
name = "region"
[[stations]]
name = "cp"
component = "cp"
servers = 2
source = "measured"
[[stations]]
name = "dasd"
scheduling = "delay"
[[resources]]
name = "MXT"
capacity = 4
[[classes]]
name = "CASH"
arrivals = { rate_per_s = 50 }
route = [
  { acquire = "MXT" },
  { visit = "cp", service = { mean_ms = 20 } },
  { visit = "dasd", service = { mean_ms = 5 } },
  { release = "MXT" },
]
"""


def said(*arguments):
    """Standard output of a command that succeeds."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    """The message and the exit code of a command that refuses."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is not None
    return explain(result.exception)


@pytest.fixture
def region(tmp_path):
    path = tmp_path / "region.toml"
    path.write_text(REGION)
    return path


def test_solve_answers_exactly(region, tmp_path):
    answer = json.loads(said("solve", region, "--json"))
    assert answer["method"] == "Markov chain"
    assert (answer["bottleneck"], answer["second_bottleneck"]) == ("cp", "MXT")
    assert answer["limits"][0]["rate_per_s"] == pytest.approx(100)
    alone = tmp_path / "alone.toml"
    alone.write_text('[[stations]]\nname="cp"\n[[classes]]\nname="a"\narrivals={rate_per_s=0.5}\n'
                     'route=[{visit="cp",service=1.0}]\n')  # fmt: skip
    exact = json.loads(said("solve", alone, "--json"))
    assert exact["classes"]["a"]["response_s"] == pytest.approx(2.0)
    assert "2 s" in said("solve", alone)


def test_solve_refuses_what_has_no_exact_solution_and_says_to_simulate(region):
    region.write_text(REGION.replace('source = "measured"', 'capacity = 5\nwhen_full = "block"'))
    message, code = refused("solve", region)
    assert code == Exit.QUESTION
    assert "station 'cp' has when_full = 'block' (" in message and "`etalon simulate MODEL.toml`" in message


def test_solve_sweeps_loads(region):
    points = json.loads(said("solve", region, "--sweep", "0.5:2.5:3", "--json"))["points"]
    assert [p["factor"] for p in points] == [0.5, 1.5, 2.5]
    assert [p["utilization"]["cp"] for p in points[:2]] == pytest.approx([0.25, 0.75], rel=1e-4)
    assert "no steady state" in points[2]["refused"]
    text = said("solve", region, "--sweep", "0.5:2.5:3")
    assert "cp busy" in text
    assert "75.0 %" in text


@pytest.mark.parametrize("sweep", ["1:2:0", "1:2:100000000", "0:1:3", "1:inf:3", "nan:1:2", "1:1e30:2", "1:2"])
def test_a_sweep_of_loads_that_cannot_be_is_refused_at_once(region, sweep):
    done = CliRunner().invoke(app, ["solve", str(region), f"--sweep={sweep}"])
    assert done.exit_code == Exit.USAGE
    assert repr(sweep) in done.stderr


def test_solve_of_a_system_says_what_answers_about_systems():
    done = CliRunner().invoke(app, ["solve", "PRDA"])
    assert done.exit_code == Exit.USAGE
    assert "`etalon predict PRDA`" in done.stderr


def test_an_imported_table_moves_the_engine_pool(region, tmp_path):
    table = tmp_path / "lspr.csv"
    table.write_text("machine,engines,AVG\nOLD-702,2,2.0\nNEW-701,1,1.5\n")
    moved = ("--capacity-table", table, "--measured-on", "OLD-702", "--on", "NEW-701", "--workload", "AVG")
    answer = json.loads(said("solve", region, *moved, "--json"))
    assert answer["limits"][0]["rate_per_s"] == pytest.approx(75)
    message, code = refused("solve", region, *moved[:-1], "high")
    assert code == Exit.QUESTION
    assert "OLD-702" in message


def test_simulate_prints_tables_and_json(region):
    answer = json.loads(said("simulate", region, "--horizon", 4000, "--replications", 2, "--json"))
    assert answer["classes"]["CASH"]["response_s"]["value"] > 0.025
    assert answer["resources"]["MXT"]["limit_reached_per_s"]["value"] > 0
    assert "MXT" in said("simulate", region, "--horizon", 4000, "--replications", 2)


def test_replay_takes_recorded_arrivals_and_work(region, tmp_path):
    start = np.datetime64("2026-11-21T10:00:00", "us")
    columns = {
        "arrival": start + np.array([0, 1_000, 500_000]).astype("timedelta64[us]"),
        "class": ["CASH"] * 3,
        "cp_us": [10_000.0, 20_000.0, 30_000.0],
        "dasd_ms": [1.0, 2.0, 3.0],
        "response_ms": [11.0, 22.0, 33.0],
    }
    parquet, csv = tmp_path / "recorded.parquet", tmp_path / "recorded.csv"
    pyarrow.parquet.write_table(pa.table(columns), parquet)
    rows = zip(*columns.values(), strict=True)
    csv.write_text("\n".join([",".join(columns), *(",".join(str(v) for v in row) for row in rows)]) + "\n")
    for path in (parquet, csv):
        replayed = json.loads(said("simulate", region, "--replay", path, "--json"))["replayed"]
        assert replayed[0]["transactions"] == 3
        # Two engines: nobody waits, so the replay gives back what was recorded.
        assert replayed[0]["replayed_s"] == pytest.approx(replayed[0]["recorded_s"])
    assert "recorded" in said("simulate", region, "--replay", csv)
    csv.write_text("arrival,class,cp_us\n0.0,CASH,\n")
    message, code = refused("simulate", region, "--replay", csv)
    assert code == Exit.QUESTION
    assert "'cp_us' is empty in 1 rows" in message


@pytest.fixture
def champion(tmp_path, monkeypatch):
    """A state folder with a champion of one system, PRDA."""
    monkeypatch.setenv("ETALON_HOME", str(tmp_path / "state"))
    bundle.write(
        bundle.build({"PRDA": calibrate_lpar(history())}, data={}, validation={}),
        tmp_path / "state/models/champion.json",
    )


def test_a_system_is_simulated_and_its_network_written(champion, tmp_path):
    short = ("--horizon", 20000, "--replications", 4)
    answer = json.loads(said("simulate", "PRDA", "--at", "growth_pct=10", *short, "--json"))
    assert answer["system"] == "PRDA"
    assert answer["interval_pct"] == 95
    assert "simulation of" in said("simulate", "PRDA", *short)
    said("export-network", "PRDA", "--at", "growth_pct=10", "--out", tmp_path / "prda.toml")
    assert (tmp_path / "prda.toml").read_text() == said("export-network", "PRDA", "--at", "growth_pct=10")
    found = {o["metric"]: o for o in answer["outputs"] if "class" not in o["condition"]}
    solved = json.loads(said("solve", tmp_path / "prda.toml", "--json"))
    busy = 100 * next(limit["utilization"] for limit in solved["limits"] if limit["name"] == "cp")
    # The limits of a network are those of its service without contention, so that they lie below the simulation.
    assert busy * 0.98 < found["cpu_busy_pct"]["value"] < busy * 1.04
    message, code = refused("simulate", "PRDA", "--at", "growth_pct=900")
    assert "saturated" in message
    assert code == Exit.QUESTION
    assert CliRunner().invoke(app, ["simulate", "PRDA", "--replay", "x.csv"]).exit_code == Exit.USAGE


def published_tasks(folder, service_class):
    """A snapshot with a minute of CICS tasks of a service class on PRDA, one in ten routed on."""
    folder.mkdir(parents=True)
    with duckdb.connect(folder / "etalon.duckdb") as database:
        database.execute("create schema staging; create schema marts; create schema intermediate")
        database.execute("create table marts.dim_system as select 'PRDA' as system_id, 'PRDA' as smf_sid")
        database.execute(
            "create table marts.fct_service_class (smf_sid varchar, class_name varchar, transactions_ended double)"
        )
        database.execute(
            "create table intermediate.int_ims_message "
            "(arrival_utc timestamp, transaction_code varchar, response_us bigint)"
        )
        database.execute(
            "create table staging.stg_smf110_1_performance as select 'PRDA' as smf_sid, 'T' as record_kind, "
            "'AOR1' as applid, case when i % 10 = 0 then 'TOR1' else 'AOR1' end as origin_applid, "
            f"'CASH' as transaction_id, '{service_class}' as service_class, i as task_number, "
            # Of those that began in the region one in ten was started by another task of it.
            "case when i % 10 = 1 then i - 1 else i end as origin_task_number, "
            "timestamp '2026-09-08 10:00:00' + to_microseconds(i * 9000) as start_utc, "
            "timestamp '2026-09-08 10:00:00' + to_microseconds(i * 9000 + 9000 + i % 7 * 1000) as stop_utc, "
            "timestamp '2026-09-08 10:00:00' + to_microseconds(i * 9000) as written_local, "
            "2000 + i % 5 * 1000 as cpu_us from range(6000) t(i)"
        )


def test_recorded_tasks_are_replayed_through_a_system(champion, tmp_path):
    name = bundle.read(tmp_path / "state/models/champion.json")["systems"]["PRDA"].class_names[0]
    published_tasks(tmp_path / "state/published", name.lower())
    answer = json.loads(said("replay", "PRDA", "--json"))
    assert answer["at"]["when"] == "2026-09-08T10:00:00"
    row = answer["classes"][0]
    assert (row["class"], row["transactions"]) == (name, 4800)
    assert 0 < row["wasserstein"] < 1 and 0 < row["ks"] <= 1
    assert row["recorded"]["mean_ms"] == pytest.approx(12, rel=0.01)
    assert "relative to the recorded mean" in said("replay", "PRDA")


def test_the_gate_keeps_how_far_replayed_transactions_are(champion, tmp_path):
    systems = bundle.read(tmp_path / "state/models/champion.json")["systems"]
    name = systems["PRDA"].class_names[0]
    published_tasks(tmp_path / "state/published", name)
    found = transactions.agreements(Home(tmp_path / "state"), systems)
    assert list(found) == ["PRDA"]
    row = found["PRDA"]["classes"][0]
    assert (row["class"], row["transactions"]) == (name, 4800)
    assert found["PRDA"]["passed"] == (row["wasserstein"] <= found["PRDA"]["allowed"])


def test_messages_that_may_be_another_systems_are_not_replayed(champion, tmp_path):
    name = bundle.read(tmp_path / "state/models/champion.json")["systems"]["PRDA"].class_names[0]
    published_tasks(tmp_path / "state/published", "OTHER")
    with duckdb.connect(tmp_path / "state/published/etalon.duckdb") as database:
        database.execute(f"insert into intermediate.int_ims_message values (timestamp '2026-09-08', '{name}', 9000)")
        database.execute(f"insert into marts.fct_service_class values ('PRDB', '{name}', 7)")
    message, code = refused("replay", "PRDA")
    assert "PRDB" in message and "do not say whose" in message
    assert code == Exit.NOT_READY


def test_a_system_without_recorded_transactions_says_what_to_load(champion, tmp_path):
    published_tasks(tmp_path / "state/published", "OTHER")
    message, code = refused("replay", "PRDA")
    assert "SMF 110" in message
    assert code == Exit.NOT_READY


def test_the_queries_of_the_documentation_replay_recorded_transactions(region, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "simulator.md").read_text()
    cics, ims = re.findall(r"^```sql\n(.*?)^```$", page, re.M | re.S)
    snapshot = tmp_path / "state" / "published" / "etalon.duckdb"
    snapshot.parent.mkdir(parents=True)
    monkeypatch.setenv("ETALON_HOME", str(tmp_path / "state"))
    layouts = load()
    wanted = ("smf110_1_header", "smf110_1_product", "smf110_1_performance")
    with duckdb.connect(str(snapshot)) as database:
        for schema in ("raw", "meta", "staging", "intermediate"):
            database.execute(f"create schema {schema}")
        for statement in create_statements(layouts):
            if "raw." not in statement or any(f"raw.{name} " in statement for name in wanted):
                database.execute(statement)
        for statement in staging_statements(layouts, wanted, []):
            if "staging.stg_smf110_1_performance" in statement:
                database.execute(statement)
        for row, (name, cpu_us) in enumerate((("inquiry", 10_000), ("update", 20_000), ("CEMT", 1))):
            keys = "(file_id, record_seq, section_seq"
            database.execute(f"insert into raw.smf110_1_header {keys}) values (1, ?, 0)", [row])
            database.execute(
                f"insert into raw.smf110_1_performance {keys}, tran, start, stop, usrcput, fciowtt) "
                "values (1, ?, 0, ?, timestamp '2026-11-21 10:00:00', timestamp '2026-11-21 10:00:01', ?, 0)",
                [row, name, cpu_us * 4096],
            )
        database.execute(
            "create table intermediate.int_ims_message as select timestamp '2026-11-21 10:00:00' as arrival_utc, "
            "'DEBIT' as transaction_code, 5000 as response_us"
        )
    route = 'route = [{ visit = "cp", service = 0.02 }, { visit = "dasd", service = 0.01 }]'
    stations = REGION.split("[[classes]]")[0]
    for query, names in ((cics, ("inquiry", "update")), (ims, ("debit", "report"))):
        classes = [f'[[classes]]\nname = "{name}"\n{route}\n' for name in names]
        region.write_text(stations + "".join(classes))
        rows = json.loads(said("simulate", region, "--replay", query, "--json"))["replayed"]
        assert rows[0]["class"] == names[0] and rows[0]["recorded_s"] is not None
    replayed = json.loads(said("simulate", region, "--replay", ims, "--json"))["replayed"]
    assert [row["transactions"] for row in replayed] == [1]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("class,cp_us\nCASH,1\n", "need a column 'arrival'"),
        ("arrival,class,cp_us\n0,LOAN,1\n", "'LOAN', which the network has not"),
        ("arrival,cp\n0,1\n", "does not say its unit"),
        ("arrival,disk_us\n0,1\n", "neither a station nor a label"),
        ("arrival,cp_us\n0,much\n", "other than numbers"),
    ],
)
def test_a_replay_that_cannot_be_read_is_refused_by_column(region, tmp_path, columns, says):
    path = tmp_path / "recorded.csv"
    path.write_text(columns)
    message, code = refused("simulate", region, "--replay", path)
    assert code == Exit.QUESTION
    assert says in message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("servers = 2", 'servers = "two"', "station 'cp': servers must be a whole number, got 'two'"),
        ("servers = 2", "servres = 2", "unknown key 'servres'"),
        ("mean_ms = 20", 'mean_ms = "20"', "class 'CASH' step 2 service: mean_ms must be a number"),
        ("rate_per_s = 50", "rate_per_s = -1", "rate_per_s must be positive"),
        ('visit = "cp"', 'visit = "ziip"', "visits unknown station 'ziip'"),
        ("capacity = 4", "", "resource 'MXT': capacity is missing"),
        ('{ release = "MXT" },', "", "still holding MXT"),
        ("service = { mean_ms = 5 }", "service = 'quick'", "a time is a number of seconds"),
        ("name = \"region\"", "name = ", "not TOML"),
    ],
)  # fmt: skip
def test_a_wrong_description_is_refused_with_file_and_field(region, old, new, says):
    assert old in REGION
    region.write_text(REGION.replace(old, new))
    for command in ("solve", "simulate"):
        message, code = refused(command, region)
        assert code == Exit.QUESTION
        assert str(region) in message
        assert says in message


def test_what_cannot_be_answered_is_said(region, tmp_path):
    assert refused("solve", tmp_path / "none.toml") == (f"{tmp_path / 'none.toml'}: No such file or directory", 3)
    (tmp_path / "bytes.toml").write_bytes(b"\xa7\x01")
    assert "not UTF-8" in refused("solve", tmp_path / "bytes.toml")[0]
    region.write_text(REGION.replace("mean_ms = 20", "mean_ms = 20, scv = 0"))
    assert refused("solve", region)[1] == Exit.QUESTION
    region.write_text(REGION.replace("rate_per_s = 50", "rate_per_s = 150"))
    answer = json.loads(said("simulate", region, "--horizon", 2000, "--replications", 2, "--json"))
    assert answer["overloaded"] == ["cp"]
    assert "more arrives than cp" in answer["remarks"][0]
    assert "cp by 150 %" in refused("solve", region)[0]
