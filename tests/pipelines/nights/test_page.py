"""The page of a night."""

import json

from pipelines.nights import page, run
from tests.pipelines.nights.conftest import DAY


def test_a_bad_record_is_shown_in_hexadecimal_digits_and_ebcdic():
    assert page.hex_lines("SMF 30".encode("cp037"), 0x100) == [
        {"offset": "00000100", "bytes": "E2D4 C640F3F0", "EBCDIC": "SMF 30"}
    ]


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
