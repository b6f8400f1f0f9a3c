"""A system whose headroom becomes short is reported once."""

import json

from pipelines.nights import headroom
from tests.pipelines.nights.conftest import DAY


def test_short_headroom_is_told_when_it_becomes_short_and_again_after_it_was_not(tmp_path, monkeypatch):
    dates = {"PRDA": "2027-03-01", "PRDB": "2028-03-01", "PRDC": None}

    def asked(bundle, system):
        first = {"resource": "cp", "value": dates[system], "lo": "2026-12-24"} if dates[system] else None
        return {"first": first}

    monkeypatch.setattr("model.capacity.ask.headroom", asked)
    bundle = {"systems": {system: {"profile": {}} for system in dates} | {"points": {}}}
    line = (
        "PRDA: headroom below 6 months: cp reaches its target on 2027-03-01 (from 2026-12-24 on in one case of twenty)"
    )
    memory = tmp_path / "headroom.json"

    def new():
        found = headroom.short(bundle, 6, DAY)
        lines = headroom.newly_short(found, memory)
        memory.write_text(json.dumps({"short": sorted(found)}))
        return lines

    assert new() == [line]
    assert new() == []
    dates["PRDA"] = None
    assert new() == []
    dates["PRDA"] = "2027-03-01"
    assert new() == [line]
