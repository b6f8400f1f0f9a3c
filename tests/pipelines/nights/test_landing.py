"""Which files of the landing folder are complete, and where they go afterwards."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.nights import landing
from pipelines.settings import Landing
from tests.pipelines.nights.conftest import landed


def left(folder, rules, before=None):
    return {found.path.name: found.why_left for found in landing.arrivals(folder, rules, before or {})}


def test_a_file_is_complete_when_it_has_not_changed_for_a_while(tmp_path):
    landed(tmp_path, "old.smf")
    landed(tmp_path, "new.smf", age_s=1)
    landed(tmp_path, "under.smf.part")
    assert left(tmp_path, Landing(settle_s=60)) == {"old.smf": "", "new.smf": "still arriving"}


def test_a_file_from_a_server_whose_clock_is_ahead_is_complete_at_the_second_look(tmp_path):
    landed(tmp_path, "ahead.smf", age_s=-7200)
    rules = Landing(settle_s=60)
    first = landing.arrivals(tmp_path, rules, {})
    assert [found.why_left for found in first] == ["still arriving"]
    assert left(tmp_path, rules, {first[0].name: first[0].mark}) == {"ahead.smf": ""}


def test_a_file_whose_name_is_no_text_is_complete_at_the_second_look(tmp_path):
    landed(tmp_path, os.fsdecode(b"caf\xe9.smf"), age_s=-7200)
    (first,) = landing.arrivals(tmp_path, Landing(settle_s=60), {})
    json.dumps(first.name).encode()
    (second,) = landing.arrivals(tmp_path, Landing(settle_s=60), {first.name: first.mark})
    assert (first.why_left, second.why_left) == ("still arriving", "")


def test_a_file_that_is_taken_away_meanwhile_is_no_arrival(tmp_path, monkeypatch):
    landed(tmp_path, "here.smf")
    listed = [*landing.files(tmp_path, Landing()), (tmp_path / "gone.smf", "")]
    monkeypatch.setattr(landing, "files", lambda folder, rules: iter(listed))
    assert left(tmp_path, Landing()) == {"here.smf": ""}


def test_with_a_marker_set_a_file_waits_for_it(tmp_path):
    rules = Landing(marker=".ok")
    landed(tmp_path, "a.smf")
    assert left(tmp_path, rules) == {"a.smf": "still arriving"}
    landed(tmp_path, "a.smf.ok", age_s=0)
    assert left(tmp_path, rules) == {"a.smf": ""}


def test_a_file_of_no_known_system_is_left_and_told(tmp_path):
    landed(tmp_path, "PRDA.D1.smf")
    landed(tmp_path, "TEST.D1.smf")
    rules = Landing(systems={"PRDA": ["PRDA.*"]})
    assert left(tmp_path, rules) == {"PRDA.D1.smf": "", "TEST.D1.smf": "matches no pattern of a system"}


def test_an_empty_file_waits_for_its_data(tmp_path):
    path = landed(tmp_path, "a.smf")
    path.write_bytes(b"")
    assert left(tmp_path, Landing(settle_s=0)) == {"a.smf": landing.EMPTY}
    path.write_bytes(b"x")
    assert left(tmp_path, Landing(settle_s=0)) == {"a.smf": ""}


def test_links_and_pipes_are_left_and_told(tmp_path):
    outside = landed(tmp_path / "outside", "secret.smf")
    folder = tmp_path / "landing"
    folder.mkdir()
    (folder / "file.smf").symlink_to(outside)
    (folder / "folder").symlink_to(outside.parent)
    os.mkfifo(folder / "pipe.smf")
    link = "is a symbolic link: put the file itself here"
    assert left(folder, Landing()) == {"file.smf": link, "folder": link, "pipe.smf": "is not a regular file"}


def test_the_archive_keeps_folders_and_never_writes_over_a_file(tmp_path):
    folder, to = tmp_path / "landing", tmp_path / "archive"
    rules = Landing(archive=to, settle_s=0)
    for content in ("first", "second", "first"):
        landed(folder, "2026-11-20/a.smf").write_text(content)
        assert not landing.archive(landing.arrivals(folder, rules, {}), folder, rules)
    assert sorted(path.read_text() for path in (to / "2026-11-20").iterdir()) == ["first", "second"]
    assert not list(landing.files(folder, Landing()))


@pytest.mark.parametrize("killed_at", ["copying", "removing"])
def test_a_night_killed_while_it_archives_leaves_one_whole_file(tmp_path, monkeypatch, killed_at):
    folder, to = tmp_path / "landing", tmp_path / "archive"
    rules = Landing(archive=to, settle_s=0)
    content = b"a whole file"
    landed(folder, "a.smf").write_bytes(content)

    def other_file_system(path, target):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)

    def killed(source, target=None):
        if target is not None:
            target.write_bytes(content[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", other_file_system)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(*((shutil, "copy2") if killed_at == "copying" else (Path, "unlink")), killed)
        landing.archive(landing.arrivals(folder, rules, {}), folder, rules)
    assert not landing.archive(landing.arrivals(folder, rules, {}), folder, rules)
    assert [(path.name, path.read_bytes()) for path in to.iterdir()] == [("a.smf", content)]
    assert not list(landing.files(folder, rules))


FULL = """
import resource, sys
from pathlib import Path
from state.files import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_text(Path(sys.argv[1]), "x" * 5000)
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
