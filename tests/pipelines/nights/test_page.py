"""The page of a night."""

import json

from pipelines.home import Home
from pipelines.nights import accounts, findings, page, run
from pipelines.nights.night import Night
from tests.pipelines.nights.conftest import DAY, landed


def test_a_bad_record_is_shown_in_hexadecimal_digits_and_ebcdic():
    assert page.hex_lines("SMF 30".encode("cp037"), 0x100) == [
        {"offset": "X'00000100'", "bytes": "E2D4 C640F3F0", "EBCDIC": "SMF 30"}
    ]


def night(started, **found):
    return Night("2026-11-20", started, "later", **found).to_dict()


def test_the_page_has_a_line_for_each_finding_the_worst_first_and_says_what_is_new_and_gone(tmp_path):
    home = Home(tmp_path)
    lost = {"system": "PRDB", "what": "system", "text": "PRDB: nothing of 2026-11-20"}
    fell = {"system": "PRDC", "what": "outage", "text": "PRDC: down until its IPL"}
    bad = {"path": "in/a", "status": "loaded", "records": 2, "quarantined": 1, "message": "in/a: record 1: no date"}
    quality = {"verdict": "warn", "counts": {"warn": 1}, "problems": ["warn: intervals follow (PRDA): look for a dump"]}
    model = {"outcome": "model/2 is champion", "champion": True, "drifted": ["PRDA: busy was 14 % higher"]}
    before = night(
        "2026-11-20T03:00:00Z", quality={"verdict": "warn", "counts": {}, "problems": ["warn: MSU (PRDA): x"]}
    )
    latest = night("2026-11-21T03:00:00Z", lacks=[fell, lost], files=[bad], quality=quality, model=model)
    for one in (before, latest):
        path = home.root / findings.page_of(one)
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(one))
    page.write_pages(home)
    written = (home.root / findings.page_of(latest)).read_text()
    texts = [
        '<h1 class="warning">1 file loaded; 1 thing missing; 2 warnings; 1 expectation not met</h1>',
        '#files">PRDB: nothing of 2026-11-20</a></td><td>new',
        '#first-record-that-could-not-be-decoded">1 file with records that could not be decoded: a: record 1: no date',
        "PRDA: busy was 14 % higher",
        '<a href="../quality/index.html">expectation failed: intervals follow (PRDA)</a></td><td>new</td>'
        "<td>look for a dump</td>",
        "PRDC: down until its IPL",
        "model/2 is champion",
        "Findings of the night before that are gone",
        "expectation failed: MSU (PRDA)",
    ]
    places = [written.find(line) for line in texts]
    assert -1 not in places and places == sorted(places), places


def test_a_system_of_which_a_stage_failed_is_a_warning_with_the_fault_and_what_is_served():
    model = {
        "outcome": "model/2 is champion",
        "champion": True,
        "faults": {"PR#B": "plot failed: ValueError: x (y.py:3)"},
    }
    found, _ = findings.findings(night("2026-11-21T03:00:00Z", model=model))
    assert (found.severity, found.text) == ("warning", "PR#B: plot failed: ValueError: x (y.py:3)")
    assert "last good model" in found.advice


def test_files_that_a_full_disk_kept_out_are_not_said_to_have_bad_records():
    full = {"path": "in/a", "status": "failed", "quarantined": 0, "message": "in/a: no room to write"}
    [found] = findings.findings(night("2026-11-21T03:00:00Z", files=[full]))
    assert found.text == "1 file that could not be loaded: a: no room to write"


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


def test_files_stand_by_their_names_in_the_landing_folder_those_alike_in_one_line(made_up):
    home, _ = made_up
    for number in (7, 8):
        landed(home.landing, f"prda/D{number}.bin").write_bytes(bytes(number))
    landed(home.landing, "b.txt", age_s=-3600)
    (home.landing / "link").symlink_to(home.root)
    night = run.run(home, DAY)
    assert [file["path"] for file in night.files] == ["a.runs.csv", "prda/D7.bin", "prda/D8.bin"]
    assert list(night.left) == ["b.txt", "link", "prda/D7.bin", "prda/D8.bin"]
    [written] = home.nights.glob("20*.html")
    assert str(home.landing) not in written.read_text()


def test_files_with_names_alike_or_the_same_wrong_with_them_are_one_line_with_their_sums():
    came = {"status": "loaded", "bytes": 10, "records": 2, "decoded": 2, "quarantined": 0, "overlap": 0}
    files = [{**came, "path": f"prda/D{number}.smf"} for number in range(3)]
    good = {"file": "prda/D*.smf", "files": 3, **came, "bytes": 30, "records": 6, "decoded": 6}
    assert accounts.outcomes(files) == [good]
    bad = {**came, "quarantined": 1, "reason_codes": {"no_date": 1}}
    files += [{**bad, "path": name, "message": f"{name}: record 1: no date"} for name in ("x", "y", "z", "a", "b")]
    files.append({**bad, "path": "D9.smf", "reason_codes": {}, "message": "D9.smf: is empty"})
    five = {"bytes": 50, "records": 10, "decoded": 10, "quarantined": 5, "overlap": 0}
    of_records = {**came, "quarantined": 1}
    assert accounts.outcomes(files) == [
        {**good, "what is wrong": ""},
        {"file": "x, y, z and 2 more", "files": 5, "status": "loaded", **five, "what is wrong": "record 1: no date"},
        {"file": "D9.smf", "files": 1, **of_records, "what is wrong": "is empty"},
    ]
    assert accounts.left({"x1": "why", "x2": "why", "y1": "why"}) == [
        {"file": "x*", "files": 2, "why": "why"},
        {"file": "y1", "files": 1, "why": "why"},
    ]
