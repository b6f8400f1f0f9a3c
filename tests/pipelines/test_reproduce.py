"""`etalon reproduce` end to end: published figures out of rendered records, through ingest and marts."""

import json


def test_a_system_comes_out_as_published_with_its_contradiction_excepted(etalon, tmp_path):
    done = etalon("reproduce", "ims10-connect-smq", "--out", str(tmp_path / "report"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["summary"] == {"values": 17, "equal": 16, "excepted": 1, "failing": 0}
    (excepted,) = [r for r in found["systems"][0]["results"] if r["verdict"] == "excepted"]
    assert (excepted["metric"], excepted["condition"]) == ("cpu_busy_pct", "variant=IMS V9")
    assert "827 / 1038" in excepted["note"]
    assert {path.suffix for path in (tmp_path / "report").iterdir()} == {".html", ".md", ".csv"}


def test_a_system_of_ratios_alone_is_listed_and_nothing_of_it_fails(etalon):
    done = etalon("reproduce", "cs113-awm-ipv6", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"] == {"values": 0, "equal": 0, "excepted": 0, "failing": 0}


def test_an_unknown_system_is_refused(etalon):
    done = etalon("reproduce", "vax")
    assert done.returncode == 6
    assert "no reference system 'vax'" in done.stderr
