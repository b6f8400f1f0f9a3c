"""Nights: what is complete, what is missing, who is told, and what is kept."""

import datetime as dt
import http.server
import json
import os
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import duckdb
import pytest

from pipelines import settings, steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import copies, coverage, landing, notify, page, retention, run
from pipelines.nights.notify import Event
from pipelines.settings import Coverage, Landing, Mail, Notify

NOON = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)


def landed(folder, name, age_s=3600.0):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    when = time.time() - age_s
    os.utime(path, (when, when))
    return path


def states(folder, rules, before=None):
    return {found.path.name: found.state for found in landing.arrivals(folder, rules, before or {})}


def test_a_file_is_complete_when_it_has_not_changed_for_a_while(tmp_path):
    landed(tmp_path, "old.smf")
    landed(tmp_path, "new.smf", age_s=1)
    landed(tmp_path, "under.smf.part")
    assert states(tmp_path, Landing(settle_s=60)) == {"old.smf": "complete", "new.smf": "arriving"}


def test_a_file_from_a_server_whose_clock_is_ahead_is_complete_at_the_second_look(tmp_path):
    landed(tmp_path, "ahead.smf", age_s=-7200)
    rules = Landing(settle_s=60)
    first = landing.arrivals(tmp_path, rules, {})
    assert [found.state for found in first] == ["arriving"]
    assert states(tmp_path, rules, {str(first[0].path): first[0].mark}) == {"ahead.smf": "complete"}


def test_with_a_marker_set_a_file_waits_for_it(tmp_path):
    rules = Landing(marker=".ok")
    landed(tmp_path, "a.smf")
    assert states(tmp_path, rules) == {"a.smf": "arriving"}
    landed(tmp_path, "a.smf.ok", age_s=0)
    assert states(tmp_path, rules) == {"a.smf": "complete"}


def test_a_file_of_no_known_system_is_left_and_told(tmp_path):
    landed(tmp_path, "PRDA.D1.smf")
    landed(tmp_path, "TEST.D1.smf")
    rules = Landing(systems={"PRDA": ["PRDA.*"]})
    assert states(tmp_path, rules) == {"PRDA.D1.smf": "complete", "TEST.D1.smf": "unexpected"}


def test_the_archive_keeps_folders_and_never_writes_over_a_file(tmp_path):
    folder, to = tmp_path / "landing", tmp_path / "archive"
    for _ in range(2):
        path = landed(folder, "2026-11-20/a.smf")
        landing.archive(path, folder, to, landing.fingerprint([path]), Landing())
    assert len(list((to / "2026-11-20").iterdir())) == 2
    assert not list(landing.files(folder, Landing()))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[landing]\nsettle = 5\n", "landing.settle"),
        ("[retain]\nfct_msu = 30\n", "schema.table"),
        ("fit = maybe\n", "etalon.toml"),
        ("[notify]\nwebhook = 'ftp://x'\n", "notify.webhook"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_with_file_and_field(tmp_path, text, told):
    (tmp_path / "etalon.toml").write_text(text)
    with pytest.raises(EtalonError, match=r"etalon\.toml") as raised:
        settings.read(Home(tmp_path))
    assert told in str(raised.value)


def test_the_environment_wins_over_the_file(tmp_path, monkeypatch):
    (tmp_path / "etalon.toml").write_text("[landing]\nsettle_s = 5\nmarker = '.ok'\n")
    monkeypatch.setenv("ETALON_LANDING__SETTLE_S", "7")
    found = settings.read(Home(tmp_path)).landing
    assert (found.settle_s, found.marker) == (7, ".ok")


def hours(days, per_hour=4, missing=()):
    first = dt.datetime(2026, 11, 1)
    every = (first + dt.timedelta(days=day, hours=hour) for day in days for hour in range(24))
    return {at: per_hour for at in every if at not in missing}


DAY = dt.date(2026, 11, 20)


def told(monkeypatch, counts, rules=None):
    monkeypatch.setattr(coverage, "written", lambda *_: counts)
    monkeypatch.setattr(coverage, "_classes", lambda *_: [])
    return [lack.text for lack in coverage.lacks(None, DAY, rules or Coverage())]


def test_a_system_that_did_not_come_is_one_line(monkeypatch):
    whole = {("PRDA", kind): hours(range(20)) for kind in ("70.1", "72.3")}
    gone = {("PRDB", kind): hours(range(19)) for kind in ("70.1", "72.3", "30")}
    assert told(monkeypatch, whole | gone) == ["PRDB: nothing of 2026-11-20; the last records are of 2026-11-19"]


def test_a_short_day_names_its_hours_and_half_a_day_its_number(monkeypatch):
    silent = {dt.datetime(2026, 11, 20, hour) for hour in (5, 6, 7)}
    counts = {
        ("PRDA", "70.1"): hours(range(20), missing=silent),
        ("PRDA", "72.3"): hours(range(20), missing=silent),
        ("PRDA", "30"): hours(range(19), per_hour=10) | hours([19], per_hour=4),
    }
    assert told(monkeypatch, counts) == [
        "PRDA: no SMF 70.1, 72.3 of 2026-11-20 from 05:00 to 08:00",
        "PRDA: 96 SMF 30 of 2026-11-20, usually 240",
    ]


def test_what_is_declared_is_expected_though_it_never_came(monkeypatch):
    rules = Coverage(expected={"PRDC": ["70.1"]})
    assert told(monkeypatch, {("PRDA", "70.1"): hours(range(20))}, rules) == ["PRDC: nothing of 2026-11-20"]


class Webhook(http.server.BaseHTTPRequestHandler):
    received: list[dict] = []  # noqa: RUF012

    def do_POST(self):
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class MailServer(socketserver.StreamRequestHandler):
    """As much of SMTP as takes a message."""

    received: list[str] = []  # noqa: RUF012

    def handle(self):
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper().strip()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = []
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(text.decode())
                self.received.append("".join(lines))
            if word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            self.wfile.write(b"250 ok\r\n")


@contextmanager
def serving(handler):
    handler.received.clear()
    kind = http.server.HTTPServer if handler is Webhook else socketserver.TCPServer
    with kind(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


EVENTS = [
    Event("warning", "PRDB: nothing of 2026-11-20", "nights/x.html"),
    Event("failure", "disk full", "nights/x.html"),
]


def test_events_of_a_night_are_one_message_to_webhook_and_mail_with_links(tmp_path):
    with serving(Webhook) as hook, serving(MailServer) as mail:
        rules = Notify(
            webhook=f"http://127.0.0.1:{hook}/x",
            mail=Mail(host="127.0.0.1", port=mail, sender="etalon@host", to=["ops@host"]),
            link="http://etalon.host/",
        )
        assert notify.tell(EVENTS, rules, tmp_path / "outbox.json", NOON) == []
    (message,) = Webhook.received
    assert message["text"].startswith("Etalon: disk full (and 1 more)")
    assert {event["link"] for event in message["events"]} == {"http://etalon.host/nights/x.html"}
    (letter,) = MailServer.received
    assert "Subject: Etalon: disk full (and 1 more)" in letter
    assert "http://etalon.host/nights/x.html" in letter
    assert json.loads((tmp_path / "outbox.json").read_text()) == []


def test_in_quiet_hours_only_failures_wake_anyone_and_the_rest_comes_later(tmp_path):
    night = NOON.replace(hour=3)
    with serving(Webhook) as hook:
        rules = Notify(webhook=f"http://127.0.0.1:{hook}/x", quiet=(dt.time(22), dt.time(6)))
        outbox = tmp_path / "outbox.json"
        assert notify.tell(EVENTS[:1], rules, outbox, night) == []
        assert Webhook.received == []
        notify.tell([], rules, outbox, NOON)
        assert "PRDB" in Webhook.received[0]["text"]
        notify.tell(EVENTS, rules, outbox, night)
        assert len(Webhook.received) == 2


def test_what_could_not_be_told_waits(tmp_path):
    rules = Notify(webhook="http://127.0.0.1:9/x")
    (wrong,) = notify.tell(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert wrong.startswith("the webhook could not be told")
    assert len(json.loads((tmp_path / "outbox.json").read_text())) == 2


def test_an_address_that_answers_no_http_is_told_and_fails_no_night(tmp_path):
    with serving(MailServer) as port:
        rules = Notify(webhook=f"http://127.0.0.1:{port}/x")
        (wrong,) = notify.tell(EVENTS, rules, tmp_path / "outbox.json", NOON)
    assert wrong.startswith("the webhook could not be told: BadStatusLine")
    assert len(json.loads((tmp_path / "outbox.json").read_text())) == 2


def test_a_second_night_beside_a_first_is_refused(tmp_path):
    home = Home(tmp_path)
    with run.only_one(home):
        code = "import sys; from pipelines.cli import main; main(['nightly'])"
        environment = {**os.environ, "ETALON_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == Exit.LOCKED
    assert "another night is under way" in done.stderr


def test_a_night_waits_for_another_writer_and_tells_other_faults_at_once():
    waits = iter([EtalonError("locked", Exit.LOCKED), None])

    def do():
        if (error := next(waits)) is not None:
            raise error
        return "done"

    assert run.patiently(do, (0,)) == "done"
    with pytest.raises(EtalonError, match="broken"):
        run.patiently(lambda: (_ for _ in ()).throw(EtalonError("broken")), (0,))


def test_a_bad_record_is_shown_in_hexadecimal_digits_and_ebcdic():
    assert page.hex_lines("SMF 30".encode("cp037"), 0x100) == [
        {"offset": "00000100", "bytes": "E2D4 C640F3F0", "EBCDIC": "SMF 30"}
    ]


@pytest.fixture
def warehouse(tmp_path):
    """A state folder with a warehouse of made-up rows: a raw table and a mart of sixty days."""
    from ingest import registry
    from ingest import warehouse as opened

    home = Home(tmp_path / "state")
    opened.prepare(home.warehouse, registry.load())
    with opened.open_writer(home.warehouse) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.fct_msu AS SELECT NULL::TIMESTAMP AS interval_start_local, repeat('x', 100) AS name, "
            "TIMESTAMP '2026-09-21' + INTERVAL 1 DAY * range AS interval_start_utc FROM range(60)"
        )
    return home


def test_rows_older_than_their_days_are_dropped_and_others_kept(warehouse):
    dropped = retention.retain(warehouse, {"marts.fct_msu": 30}, dt.date(2026, 11, 20))
    assert dropped == {"marts.fct_msu": 30}
    with duckdb.connect(str(warehouse.warehouse), read_only=True) as con:
        assert con.execute("SELECT min(interval_start_utc)::date FROM marts.fct_msu").fetchone() == (
            dt.date(2026, 10, 21),
        )


def test_without_a_warehouse_nothing_is_dropped_and_none_is_made(tmp_path):
    home = Home(tmp_path / "state")
    with pytest.raises(EtalonError, match="no warehouse"):
        retention.retain(home, {"marts.*": 30}, dt.date(2026, 11, 20))
    assert not home.warehouse.exists()


def test_a_warehouse_made_small_holds_the_same(warehouse):
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute("CREATE TABLE marts.big AS SELECT random() AS x FROM range(2_000_000)")
        con.execute("DROP TABLE marts.big")
        con.execute("CHECKPOINT")
    before = warehouse.warehouse.stat().st_size
    retention.compact(warehouse.warehouse)
    assert warehouse.warehouse.stat().st_size < before
    with duckdb.connect(str(warehouse.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)
    steps.prepare(warehouse)


def test_a_copy_is_restored_whole_or_not_at_all(warehouse, tmp_path):
    from serve.tokens import granted, read

    (warehouse.root / "models").mkdir()
    (warehouse.root / "models" / "champion.json").write_text("{}")
    granted(warehouse.root / "tokens.json", "ci", ["read"], None)
    with run.only_one(warehouse), pytest.raises(EtalonError, match="another night"):
        copies.backup(warehouse, tmp_path / "copy")
    copy = copies.backup(warehouse, tmp_path / "copy")
    with pytest.raises(EtalonError, match="not empty"):
        copies.backup(warehouse, copy)
    other = Home(tmp_path / "other")
    copies.restore(other, copy)
    assert other.champion.read_text() == "{}"
    assert [grant.name for grant in read(other.root / "tokens.json")] == ["ci"]
    with duckdb.connect(str(other.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)
    with pytest.raises(EtalonError, match="is there already"):
        copies.restore(other, copy)
    (copy / "models" / "champion.json").write_text("{ }")
    with pytest.raises(EtalonError, match=r"champion\.json"):
        copies.restore(Home(tmp_path / "third"), copy)
    with pytest.raises(EtalonError, match="no copy of a state") as refused:
        copies.restore(Home(tmp_path / "third"), tmp_path / "other")
    assert refused.value.code == Exit.NO_INPUT


def test_a_warehouse_from_before_versions_is_brought_up_and_a_later_one_refused(warehouse):
    assert copies.migrate(warehouse) == "from schema 0 to 1; `etalon build` makes the marts anew"
    assert copies.migrate(warehouse) == "up to date: schema 1"
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute("UPDATE meta.warehouse_schema SET version = 99")
    with pytest.raises(EtalonError, match="later version"):
        copies.migrate(warehouse)


class Killed(BaseException):
    """Stands for a process that ends at once: nothing after it runs."""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A state folder with a landed runs file, dbt and expectations replaced by what they leave behind."""
    from ingest import warehouse as opened
    from pipelines.building import touched

    home = Home(tmp_path / "state")
    landed(home.landing, "a.runs.csv").write_text(
        "system_id,smf_sid,point,condition,start_utc,end_utc\n"
        "cics,SYSA,p,rate=1,2020-01-01T00:00:00Z,2020-01-01T00:05:00Z\n"
    )
    (home.root / "etalon.toml").write_text("fit = false\n[landing]\nsettle_s = 0\n")
    made: list[str] = []

    def build(home):
        with opened.open_writer(home.warehouse) as con:
            touched.record(con, "made up", touched.everything(con))
        made.append("build")
        return "all of it"

    class Passed:
        verdict, counts, problems = "pass", {"pass": 1, "warn": 0, "fail": 0}, ()

    def check(home):
        made.append("check")
        return Passed

    monkeypatch.setattr(steps, "build", build)
    monkeypatch.setattr(steps, "check", check)
    monkeypatch.setattr(coverage, "lacks", lambda *_: [])
    return home, made


@pytest.mark.parametrize("step", ["ingest", "build", "check", "publish"])
def test_a_night_killed_at_a_step_is_done_whole_by_the_next(made_up, monkeypatch, step):
    home, made = made_up
    whole = getattr(steps, step)

    def dies(*arguments, **options):
        whole(*arguments, **options)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(steps, step, dies)
        with pytest.raises(Killed):
            run.run(home, DAY)
    night = run.run(home, DAY)
    assert (night.errors, night.code) == ([], 0)
    assert made[-2:] == ["build", "check"] or step == "publish"
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run").fetchall() == [("p",)]
        assert con.execute("SELECT count(*) FROM meta.ledger").fetchone() == (1,)
    again = run.run(home, DAY)
    assert again.verdict == "nothing new"
    assert not again.built


def test_a_file_that_grew_while_it_was_loaded_is_not_archived_before_its_end_is(made_up, monkeypatch, tmp_path):
    home, _ = made_up
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", str(tmp_path / "archive"))
    path, load = home.landing / "a.runs.csv", steps.ingest

    def growing(home, paths):
        found = load(home, paths)
        with path.open("a") as stream:
            stream.write("cics,SYSA,q,rate=2,2020-01-01T00:05:00Z,2020-01-01T00:10:00Z\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(steps, "ingest", growing)
        run.run(home, DAY)
    assert path.exists()
    run.run(home, DAY)
    assert not path.exists()
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run ORDER BY 1").fetchall() == [("p",), ("q",)]


def test_a_night_that_fails_says_so_in_its_page_its_code_and_a_message(made_up, monkeypatch):
    home, _ = made_up

    def full(home):
        raise OSError(28, "No space left on device", str(home.snapshot))

    with serving(Webhook) as hook:
        monkeypatch.setenv("ETALON_NOTIFY__WEBHOOK", f"http://127.0.0.1:{hook}/x")
        monkeypatch.setattr(steps, "publish", full)
        night = run.run(home, DAY)
    assert night.code == Exit.FAILED
    assert "No space left on device" in Webhook.received[0]["text"]
    assert "No space left on device" in (home.nights / "index.html").read_text()


@pytest.mark.parametrize("step", ["prepare", "check", "publish"])
def test_a_night_waits_at_every_step_for_another_writer(made_up, monkeypatch, step):
    home, _ = made_up
    whole, found = getattr(steps, step), iter([EtalonError("busy", Exit.LOCKED)])

    def busy(home):
        for error in found:
            raise error
        return whole(home)

    monkeypatch.setattr(run, "AGAIN_S", (0,))
    monkeypatch.setattr(steps, step, busy)
    night = run.run(home, DAY)
    assert (night.errors, night.code, night.published) == ([], 0, True)


def test_a_night_with_an_error_of_any_kind_has_not_gone_well(made_up, monkeypatch):
    home, _ = made_up

    def refuses(home):
        raise EtalonError("no such thing", Exit.QUESTION)

    monkeypatch.setattr(steps, "build", refuses)
    night = run.run(home, DAY)
    assert (night.errors, night.code) == (["no such thing"], Exit.FAILED)


FULL = """
import resource, sys
from pathlib import Path
from pipelines.nights.files import write
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write(Path(sys.argv[1]), "x" * 5000)
except OSError as error:
    print(error.strerror)
"""


def test_where_the_disk_is_full_the_file_before_stays(tmp_path):
    target = tmp_path / "landing.json"
    target.write_text("{}")
    done = subprocess.run([sys.executable, "-c", FULL, target], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "File too large"
    assert [path.name for path in tmp_path.iterdir()] == ["landing.json"]
    assert target.read_text() == "{}"


def test_a_night_that_checked_nothing_says_of_no_finding_that_it_is_gone(made_up):
    home, _ = made_up
    run.run(home, DAY)
    [written] = home.nights.glob("20*.json")
    first = json.loads(written.read_text())
    first["quality"]["problems"] = ["warn: some hours are short (PRDA): look at the dump"]
    written.unlink()
    (home.nights / "2020-01-01T000000Z.json").write_text(json.dumps(first))
    assert run.run(home, DAY).quality is None
    latest = max(home.nights.glob("20*.html"))
    assert "some hours are short" not in latest.read_text()
