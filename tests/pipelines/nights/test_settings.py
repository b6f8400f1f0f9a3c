"""Settings of a state folder."""

import pytest

from pipelines import settings
from pipelines.exits import EtalonError
from pipelines.home import Home


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[landing]\nsettle = 5\n", "landing.settle: there is no such setting"),
        ("[retain]\nfct_msu = 30\n", "schema.table"),
        ("fit = maybe\n", "etalon.toml"),
        ("[notify]\nwebhook = 'ftp://x'\n", "notify.webhook"),
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
