"""Which files of the landing folder are complete, and where they go afterwards."""

import json
import os
import subprocess
import sys

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
    assert left(tmp_path, rules) == {"PRDA.D1.smf": "", "TEST.D1.smf": "fits no pattern of a system"}


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
    link = "is a link: put the file itself here"
    assert left(folder, Landing()) == {"file.smf": link, "folder": link, "pipe.smf": "is no regular file"}


def test_the_archive_keeps_folders_and_never_writes_over_a_file(tmp_path):
    folder, to = tmp_path / "landing", tmp_path / "archive"
    for _ in range(2):
        landed(folder, "2026-11-20/a.smf")
        rules = Landing(archive=to, settle_s=0)
        assert not landing.archive(landing.arrivals(folder, rules, {}), folder, rules)
    assert len(list((to / "2026-11-20").iterdir())) == 2
    assert not list(landing.files(folder, Landing()))


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
