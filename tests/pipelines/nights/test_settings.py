"""Settings of a state folder."""

import zipfile
from functools import partial

import pytest

from ingest.containers.limits import Limits
from ingest.registry import load
from pipelines import settings, steps
from pipelines.decoding import decode_file
from pipelines.exits import EtalonError
from pipelines.home import Home


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[landing]\nsettle = 5\n", "landing.settle: unknown setting"),
        ("[retain]\nfct_msu = 30\n", "schema.table"),
        ("fit = maybe\n", "etalon.toml"),
        ("[archives]\nmembers = 0\n", "archives.members"),
        ("[calendar]\nholidays = ['xmas']\n", "calendar.holidays: 'xmas' is no date"),
        ("[calendar.shifts.prime]\nday = 'mon'\n", "calendar.shifts.prime.day: there is no such setting"),
        ("[notify]\nwebhook = 'http://x'\n", "notify.webhook: unknown setting"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_with_file_and_field(tmp_path, text, expected):
    (tmp_path / "etalon.toml").write_text(text)
    with pytest.raises(EtalonError, match=r"etalon\.toml") as raised:
        settings.read(Home(tmp_path))
    assert expected in str(raised.value)


def test_the_environment_wins_over_the_file(tmp_path, monkeypatch):
    (tmp_path / "etalon.toml").write_text("[landing]\nsettle_s = 5\nmarker = '.ok'\n")
    monkeypatch.setenv("ETALON_LANDING__SETTLE_S", "7")
    found = settings.read(Home(tmp_path)).landing
    assert (found.settle_s, found.marker) == (7, ".ok")


def test_archives_have_the_limits_that_are_set(tmp_path):
    assert settings.read(Home(tmp_path)).archives.limits == Limits()
    (tmp_path / "etalon.toml").write_text("[archives]\nmembers = 3\nratio = 10\n")
    assert settings.read(Home(tmp_path)).archives.limits == Limits(members=3, ratio=10)


def test_an_archive_beyond_the_limits_that_are_set_is_refused_by_name(tmp_path):
    (tmp_path / "etalon.toml").write_text("[archives]\nmembers = 1\n")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.smf", b"a")
        archive.writestr("b.smf", b"b")
    (report,) = steps.ingest(Home(tmp_path), [tmp_path / "two.zip"])
    assert "has 2 files, more than 1" in report.message
    (report,) = decode_file(
        tmp_path / "two.zip", "csv", tmp_path, load(), limits=partial(steps.unpacking, Home(tmp_path))
    )
    assert "has 2 files, more than 1" in report.message
