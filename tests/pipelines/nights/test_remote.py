"""A landing folder that is an address: files are fetched, loaded once, and archived there."""

import itertools
import shutil

import duckdb
import fsspec
import pytest

from pipelines import diagnosis
from pipelines.exits import EtalonError
from pipelines.nights import run
from pipelines.nights.remote import Remote
from pipelines.settings import Landing
from tests.pipelines.conftest import ROOT
from tests.pipelines.nights.conftest import DAY

HEADER = "system_id,smf_sid,point,condition,start_utc,end_utc\n"


def runs(*days):
    return (
        HEADER + "".join(f"cics,SYSA,{day},rate=1,2020-01-{day}T00:00Z,2020-01-{day}T00:05Z\n" for day in days)
    ).encode()


#: File systems know different things of a file: this one when it was made, that one when it was last changed.
both = pytest.mark.parametrize("store", ["memory", "file"], indirect=True)


@pytest.fixture
def store(request, made_up, tmp_path, monkeypatch):
    """An empty place of a file system, in memory unless asked for, and a state folder whose landing folder is in it."""
    home, _ = made_up
    (home.landing / "a.runs.csv").unlink()
    kind = getattr(request, "param", "memory")
    files = fsspec.filesystem(kind)
    root = "/landed" if kind == "memory" else str(tmp_path / "landed")
    files.makedirs(f"{root}/landing/deep", exist_ok=True)
    monkeypatch.setenv("ETALON_LANDING__FOLDER", files.unstrip_protocol(f"{root}/landing"))
    yield home, files, root
    if kind == "memory":
        files.rm(root, recursive=True)


def points(home):
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        return [row[0] for row in con.execute("SELECT point FROM raw.etalon_run ORDER BY 1").fetchall()]


def test_files_are_fetched_and_loaded_once_and_again_when_they_grow(store, monkeypatch):
    home, files, root = store
    files.pipe_file(f"{root}/landing/deep/a.runs.csv", runs("01"))
    files.pipe_file(f"{root}/landing/b.runs.csv.part", b"under way")
    assert run.run(home, DAY).verdict == "1 file loaded, published"
    assert run.run(home, DAY).verdict == "no new files"
    assert points(home) == ["01"]
    assert not [path for path in (home.root / "fetched").rglob("[!.]*") if path.is_file()]
    files.pipe_file(f"{root}/landing/deep/a.runs.csv", runs("01", "02"))
    run.run(home, DAY)
    assert points(home) == ["01", "02"]


def test_a_file_that_cannot_be_fetched_or_archived_stays_and_the_others_are_loaded(store, monkeypatch):
    home, files, root = store
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", files.unstrip_protocol(f"{root}/archive"))
    for name in ("a", "b"):
        files.pipe_file(f"{root}/landing/{name}.runs.csv", runs("01" if name == "a" else "02"))
    get, move = type(files).get_file, type(files).mv

    def refused(self, path, *rest, **options):
        if "b.runs.csv" in path:
            raise PermissionError(f"{path}: not yours")
        return get(self, path, *rest, **options)

    monkeypatch.setattr(type(files), "get_file", refused)
    monkeypatch.setattr(type(files), "mv", lambda *_: (_ for _ in ()).throw(OSError("archive is full")))
    assert "not yours" in run.run(home, DAY).left["b.runs.csv"]
    assert points(home) == ["01"]
    assert "archive is full" in run.run(home, DAY).left["a.runs.csv"]
    monkeypatch.setattr(type(files), "get_file", get)
    monkeypatch.setattr(type(files), "mv", move)
    for _ in range(2):
        assert not run.run(home, DAY).left
    assert "02" in points(home)
    assert all(files.exists(f"{root}/archive/{name}.runs.csv") for name in ("a", "b"))


def test_copies_that_are_lost_before_they_are_loaded_are_fetched_again(store, monkeypatch):
    home, files, root = store
    files.pipe_file(f"{root}/landing/a.runs.csv", runs("01"))
    with monkeypatch.context() as patched:
        patched.setenv("ETALON_LANDING__SETTLE_S", "3600")
        assert list(run.run(home, DAY).left.values()) == ["still arriving"]
    # A backup holds what nights remember, and no copies.
    shutil.rmtree(home.root / "fetched")
    run.run(home, DAY)
    assert points(home) == ["01"]


def test_loaded_files_are_moved_to_an_archive_there_and_none_written_over(store, monkeypatch):
    home, files, root = store
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", files.unstrip_protocol(f"{root}/archive"))
    monkeypatch.setenv("ETALON_LANDING__MARKER", ".ok")
    for day in ("01", "02"):
        files.pipe_file(f"{root}/landing/deep/a.runs.csv", runs(day))
        assert run.run(home, DAY).left == {"deep/a.runs.csv": "still arriving"}
        files.pipe_file(f"{root}/landing/deep/a.runs.csv.ok", b"")
        assert run.run(home, DAY).published
        assert run.run(home, DAY).verdict == "no new files"
    assert files.find(f"{root}/landing") == []
    assert len(files.find(f"{root}/archive/deep")) == 2
    assert points(home) == ["02"], "a corrected runs file takes the place of the one before"


@both
def test_an_original_that_changed_since_it_was_loaded_is_not_archived_before_it_is_loaded(store, monkeypatch):
    home, files, root = store
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", files.unstrip_protocol(f"{root}/archive"))
    path = f"{root}/landing/a.runs.csv"
    for days in (("01",), ("01", "02")):
        files.pipe_file(path, runs(*days))
        run.run(home, DAY)
    assert files.exists(path)
    assert points(home) == ["01", "02"]
    run.run(home, DAY)
    assert not files.exists(path)


def test_a_file_that_was_only_read_has_not_changed(store, monkeypatch):
    home, files, root = store
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", files.unstrip_protocol(f"{root}/archive"))
    files.pipe_file(f"{root}/landing/a.runs.csv", runs("01"))
    looks, listed = itertools.count(), Remote.listed

    def read_now(self):
        # SFTP and SMB list when a file was read last.
        return {name: {**about, "time": next(looks)} for name, about in listed(self).items()}

    monkeypatch.setattr(Remote, "listed", read_now)
    for _ in range(2):
        run.run(home, DAY)
    assert not files.exists(f"{root}/landing/a.runs.csv")


def test_a_file_taken_away_while_files_are_fetched_stops_no_night(store, monkeypatch):
    home, files, root = store
    for name in ("a", "b"):
        files.pipe_file(f"{root}/landing/{name}.runs.csv", runs("01" if name == "a" else "02"))
    get = type(files).get_file

    def gone(self, path, *given, **more):
        if path.endswith("a.runs.csv"):
            raise FileNotFoundError(path)
        return get(self, path, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(type(files), "get_file", gone)
        assert run.run(home, DAY).verdict == "1 file loaded, published"
    run.run(home, DAY)
    assert points(home) == ["01", "02"]


def test_a_file_taken_away_while_it_is_archived_stops_no_night(store, monkeypatch):
    home, files, root = store
    monkeypatch.setenv("ETALON_LANDING__ARCHIVE", files.unstrip_protocol(f"{root}/archive"))
    path, listed, looks = f"{root}/landing/a.runs.csv", Remote.listed, itertools.count()
    files.pipe_file(path, runs("01"))

    def taken(self):
        found = listed(self)
        if next(looks):
            files.rm(path)
        return found

    monkeypatch.setattr(Remote, "listed", taken)
    assert run.run(home, DAY).verdict == "1 file loaded, published"
    night = run.run(home, DAY)
    assert (night.verdict, night.left) == ("no new files", {})


def test_no_message_shows_a_password_or_hides_why_a_server_cannot_be_reached(made_up, monkeypatch):
    home, _ = made_up
    monkeypatch.setenv("ETALON_LANDING__FOLDER", "ftp://bob:secret@127.0.0.1:1/landing")
    [error] = run.run(home, DAY).errors
    messages = [error, *(found.line for found in diagnosis.examine(home, ROOT))]
    assert any("ftp://bob:***@127.0.0.1:1/landing: " in text and "refused" in text for text in messages)
    assert not any("secret" in text for text in messages)


def test_an_archive_on_another_file_system_is_refused(made_up, tmp_path):
    home, _ = made_up
    with pytest.raises(EtalonError, match=r"landing.archive file://.*: name a folder on the file system"):
        Remote(home, Landing(folder="memory://landing", archive=f"file://{tmp_path}"))


def test_an_address_that_cannot_be_listed_is_told(made_up, monkeypatch, tmp_path):
    home, _ = made_up
    with pytest.raises(EtalonError, match=r"landing.folder nosuch://x: Protocol not known"):
        Remote(home, Landing(folder="nosuch://x"))
    monkeypatch.setenv("ETALON_LANDING__FOLDER", "nosuch://x")
    assert "nosuch://x" in run.run(home, DAY).errors[0]
    [found] = [found for found in diagnosis.examine(home, ROOT) if found.what == "landing folder"]
    assert found.status == "bad"
    with pytest.raises(ValueError, match="the other is, too"):
        Landing(folder="s3://x/y", archive=str(tmp_path))
