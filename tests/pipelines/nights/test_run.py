"""A night as a whole: one at a time, repeated until it is done, and honest about what failed."""

import json
import os
import signal
import subprocess
import sys
import zipfile

import dagster as dg
import duckdb
import pytest
from dagster._core.test_utils import create_run_for_test

from pipelines import steps, workers
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import coverage, retention, run
from pipelines.nights import night as night_module
from pipelines.nights.coverage import Lack
from pipelines.nights.night import patiently
from tests.pipelines.nights.conftest import DAY, landed
from tests.pipelines.nights.receivers import Webhook, serving


def test_a_second_night_beside_a_first_is_refused(tmp_path):
    home = Home(tmp_path)
    with run.only_one(home):
        code = "import sys; from pipelines.cli import main; main(['nightly'])"
        environment = {**os.environ, "ETALON_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == Exit.LOCKED
    assert "another night is running" in done.stderr


def test_a_night_waits_for_another_writer_and_tells_other_faults_at_once():
    waits = iter([EtalonError("locked", Exit.LOCKED), None])

    def do():
        if (error := next(waits)) is not None:
            raise error
        return "done"

    assert patiently(do, (0,)) == "done"
    with pytest.raises(EtalonError, match="broken"):
        patiently(lambda: (_ for _ in ()).throw(EtalonError("broken")), (0,))


def killed_night(home):
    """Do a night in a process of its own, which is killed on its way."""
    child = os.fork()
    if not child:
        try:
            run.run(home, DAY)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("step", ["ingest", "build", "publish"])
def test_a_night_killed_at_a_step_is_done_whole_by_the_next(made_up, monkeypatch, step):
    home, made = made_up
    whole = getattr(steps, step)

    def dies(*arguments, **options):
        whole(*arguments, **options)
        die()

    with monkeypatch.context() as patched:
        patched.setattr(steps, step, dies)
        killed_night(home)
    night = run.run(home, DAY)
    assert (night.errors, night.code) == ([], 0)
    assert made == ["build", "check"] or step == "publish"
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run").fetchall() == [("p",)]
        assert con.execute("SELECT count(*) FROM meta.ledger").fetchone() == (1,)
    again = run.run(home, DAY)
    assert again.verdict == "no new files"
    assert not again.built


def test_what_a_killed_night_found_is_told_by_the_next_and_listed(made_up, monkeypatch):
    home, _ = made_up
    found = [Lack("PRDB", "system", "PRDB: nothing")]

    def dies(home, rules, until):
        die()

    with serving(Webhook) as hook, monkeypatch.context() as patched:
        monkeypatch.setenv("ETALON_NOTIFY__TO", f'["json://127.0.0.1:{hook}/x"]')
        patched.setenv("ETALON_RETAIN", '{"raw.*": 1}')
        patched.setattr(coverage, "lacks", lambda *_: found)
        patched.setattr(retention, "retain", dies)
        killed_night(home)
        assert Webhook.received == []
        [killed] = home.nights.glob("20*.json")
        killed = killed.rename(home.nights / "2020-01-01T000000Z.json")
        patched.undo()
        assert not run.run(home, DAY).lacks
        assert "PRDB: nothing" in Webhook.received[0]["message"]
    assert "did not end" in (home.nights / "index.html").read_text()
    assert "PRDB: nothing" in killed.with_suffix(".html").read_text()


def test_a_file_that_grows_after_it_was_loaded_is_not_archived_before_its_end_is(made_up, monkeypatch, tmp_path):
    home, _ = made_up
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", str(tmp_path / "archive"))
    path = home.landing / "a.runs.csv"
    with path.open("a") as writer:
        run.run(home, DAY)
        # A transfer that stalled for longer than `settle_s` goes on: its file is where it was.
        writer.write("cics,SYSA,q,rate=2,2020-01-01T00:05:00Z,2020-01-01T00:10:00Z\n")
    run.run(home, DAY)
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run ORDER BY 1").fetchall() == [("p",), ("q",)]
    assert run.run(home, DAY).verdict == "no new files"
    assert [file.name for file in (tmp_path / "archive").iterdir()] == ["a.runs.csv"]
    assert not path.exists()


@pytest.mark.parametrize("step", ["ingest", "build", "publish"])
def test_a_night_on_a_full_disk_says_so_wherever_it_meets_it_and_the_next_does_it_all(made_up, monkeypatch, step):
    home, _ = made_up

    def full(home, *_, **__):
        raise OSError(28, "No space left on device", str(home.snapshot))

    with serving(Webhook) as hook, monkeypatch.context() as patched:
        patched.setenv("ETALON_NOTIFY__TO", f'["json://127.0.0.1:{hook}/x"]')
        patched.setattr(steps, step, full)
        night = run.run(home, DAY)
    assert night.code == Exit.FAILED
    for sent in (Webhook.received[0]["message"], (home.nights / "index.html").read_text()):
        assert "No space left on device" in sent and "Free space" in sent
    night = run.run(home, DAY)
    assert (night.code, night.published) == (Exit.OK, True)
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run").fetchall() == [("p",)]


@pytest.mark.parametrize("step", ["prepare", "publish"])
def test_a_night_waits_at_every_step_for_another_writer(made_up, monkeypatch, step):
    home, _ = made_up
    whole, found = getattr(steps, step), iter([EtalonError("busy", Exit.LOCKED)])

    def busy(home):
        for error in found:
            raise error
        return whole(home)

    monkeypatch.setattr(night_module, "AGAIN_S", (0,))
    monkeypatch.setattr(steps, step, busy)
    night = run.run(home, DAY)
    assert (night.errors, night.code, night.published) == ([], 0, True)


def test_a_night_with_an_error_of_any_kind_has_not_gone_well(made_up, monkeypatch):
    home, _ = made_up

    def refuses(home, progress):
        raise EtalonError("no such thing", Exit.QUESTION)

    monkeypatch.setattr(steps, "build", refuses)
    night = run.run(home, DAY)
    assert (night.errors, night.code) == (["no such thing"], Exit.FAILED)


def test_damaged_files_of_the_state_are_made_anew(made_up):
    home, made = made_up
    first = run.run(home, DAY)
    for path in (home.snapshot, home.window, home.nights / "missing.json", home.nights / "outbox.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"damaged")
    night = run.run(home, DAY)
    assert (night.errors, night.published, made[-1]) == ([], True, "check")
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM meta.ledger").fetchone() == (1,)
    (home.nights / f"{first.started.replace(':', '')}.json").write_text("{")
    assert not run.run(home, DAY).errors
    assert "cannot be read" in (home.nights / "index.html").read_text()


def test_nights_of_one_second_have_a_file_each(made_up):
    home, _ = made_up
    begun = [run.run(home, DAY).started for _ in range(3)]
    assert len(set(begun)) == 3
    assert {path.stem for path in home.nights.glob("2*.json")} == {started.replace(":", "") for started in begun}


def test_a_damaged_warehouse_is_left_and_its_remedy_stated(made_up):
    home, _ = made_up
    run.run(home, DAY)
    home.warehouse.write_bytes(b"damaged")
    night = run.run(home, DAY)
    assert night.code == Exit.FAILED
    assert "restore a backup, or move it away and load the files again" in night.errors[0]
    assert home.warehouse.read_bytes() == b"damaged"
    home.warehouse.rename(home.root / "damaged")
    night = run.run(home, DAY)
    assert (night.errors, [file["status"] for file in night.files]) == ([], ["loaded"])


@pytest.mark.parametrize("step", ["ingest", "prepare"])
def test_where_the_warehouse_was_moved_away_and_a_night_killed_all_is_loaded_again(made_up, monkeypatch, step):
    home, _ = made_up
    run.run(home, DAY)
    home.warehouse.rename(home.root / "moved.duckdb")
    with monkeypatch.context() as patched:
        patched.setattr(steps, step, lambda *_, **__: die())
        killed_night(home)
    night = run.run(home, DAY)
    assert (night.errors, night.published) == ([], True)
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run").fetchall() == [("p",)]


def test_a_new_warehouse_that_lacks_what_was_archived_is_not_published(made_up):
    home, _ = made_up
    run.run(home, DAY)
    home.warehouse.unlink()
    (home.landing / "a.runs.csv").rename(home.root / "archived.runs.csv")
    landed(home.landing, "b.runs.csv").write_text((home.root / "archived.runs.csv").read_text().replace(",p,", ",q,"))
    night = run.run(home, DAY)
    assert night.code == Exit.FEWER and "1 file: " in night.errors[0]
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute("SELECT point FROM raw.etalon_run").fetchall() == [("p",)]
    steps.ingest(home, [home.root / "archived.runs.csv"])
    assert run.run(home, DAY).published


def test_a_night_names_the_damaged_files_that_it_makes_anew(made_up):
    home, _ = made_up
    run.run(home, DAY)
    names = ("missing.json", "alerts.json")
    for name in names:
        (home.nights / name).write_bytes(b"\xff")
    notes = " ".join(run.run(home, DAY).notes)
    assert all(name in notes for name in names)
    assert run.run(home, DAY).notes == []


def test_a_night_is_refused_beside_a_run_of_the_daemon_and_ends_one_that_is_dead(made_up):
    home, _ = made_up
    with dg.DagsterInstance.get() as instance:
        other = create_run_for_test(instance, job_name="night", status=dg.DagsterRunStatus.STARTED)
        with workers.lock_of(home, other.run_id), pytest.raises(EtalonError, match="is active") as refused:
            run.run(home, DAY)
        assert refused.value.code == Exit.LOCKED
        assert run.run(home, DAY).published
        assert instance.get_run_by_id(other.run_id).status is dg.DagsterRunStatus.FAILURE


def test_a_night_that_is_stopped_has_not_ended_and_is_gone_on_with(made_up, monkeypatch):
    home, _ = made_up
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(steps, "build", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        run.run(home, DAY)
    [path] = home.nights.glob("20*.json")
    assert json.loads(path.read_text())["verdict"].startswith("did not end")
    assert run.run(home, DAY).published


def test_a_night_calibrates_where_data_or_days_are_others_and_not_for_ratings(made_up, monkeypatch):
    home, _ = made_up
    fits: list[Home] = []

    def fit(home):
        fits.append(home)
        raise EtalonError("nothing to calibrate", Exit.NOT_READY)

    monkeypatch.setenv("ETALON_FIT", "true")
    monkeypatch.setattr(steps, "fit", fit)
    monkeypatch.setattr(steps, "standing", lambda home: {"systems": {}})
    counts = []
    for change in (
        lambda: None,
        lambda: None,
        lambda: monkeypatch.setenv("ETALON_FIT_DAYS", "30"),
        lambda: rated(home),
    ):
        change()
        assert not run.run(home, DAY).errors
        counts.append(len(fits))
    assert counts == [1, 1, 2, 2]


def rated(home):
    home.machines.write_text("machine,engines,su_per_s\nNEW-705,5,90000\n")


@pytest.mark.parametrize("archive", [True, False])
def test_a_file_of_no_known_kind_stays_and_is_told_once_until_it_changes(made_up, archive):
    home, _ = made_up
    with zipfile.ZipFile(landed(home.landing, "day.zip"), "w") as packed:
        packed.writestr("a.smf", b"")
        packed.writestr("b.smf", b"")
    noise = landed(home.landing, "noise.bin")
    noise.write_bytes(bytes(range(1, 200)))
    if archive:
        with (home.root / "etalon.toml").open("a") as settings:
            settings.write(f'archive = "{home.root.parent / "archive"}"\n')
    first = run.run(home, DAY)
    assert (first.code, list(first.left)) == (Exit.NO_INPUT, ["noise.bin"])
    for _ in range(2):
        later = run.run(home, DAY)
        assert (later.code, later.files, noise.exists()) == (Exit.OK, [], True)
    assert (home.landing / "day.zip").exists() == (not archive), "an empty member is told once, too"
    noise.write_bytes(bytes(range(1, 210)))
    assert [file["status"] for file in run.run(home, DAY).files] == ["quarantined"]
