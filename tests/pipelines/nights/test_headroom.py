"""A system whose headroom becomes short is told once."""

from pipelines.home import Home
from pipelines.nights import headroom
from tests.pipelines.nights.conftest import DAY


def test_short_headroom_is_told_when_it_becomes_short_and_again_after_it_was_not(tmp_path, monkeypatch):
    dates = {"PRDA": "2027-03-01", "PRDB": "2028-03-01", "PRDC": None}

    def asked(bundle, system):
        first = {"resource": "cp", "value": dates[system], "lo": "2026-12-24"} if dates[system] else None
        return {"first": first}

    monkeypatch.setattr("model.capacity.ask.headroom", asked)
    bundle = {"systems": {system: {"profile": {}} for system in dates} | {"points": {}}}
    told = (
        "PRDA: headroom below 6 months: cp reaches its target on 2027-03-01 (from 2026-12-24 on in one case of twenty)"
    )
    home = Home(tmp_path)
    assert headroom.newly_short(home, bundle, 6, DAY) == [told]
    assert headroom.newly_short(home, bundle, 6, DAY) == []
    dates["PRDA"] = None
    assert headroom.newly_short(home, bundle, 6, DAY) == []
    dates["PRDA"] = "2027-03-01"
    assert headroom.newly_short(home, bundle, 6, DAY) == [told]
