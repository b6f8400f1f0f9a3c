"""Answers say when the marts published now are defined otherwise than when the model was calibrated."""

from dataclasses import replace

from model.capacity.ask import predict
from model.capacity.bundle import build
from model.capacity.evidence import DEFINITIONS_CHANGED
from tests.model.calibration.test_components import plain

THEN = {"": "f1", "PRDA": "g1"}


def answered(now: dict[str, str] | None, name: str = "PRDA"):
    made = replace(plain(), definition=THEN.get(name, THEN[""]))
    bundle = build({name: made}, data={"files": 1}, validation={})
    return predict(bundle if now is None else {**bundle, "published_definitions": now}, name, {})


def said(answer) -> bool:
    assert answer.evidence["definitions_changed"] is (DEFINITIONS_CHANGED in answer.notes)
    assert answer.evidence["data"] == {"files": 1}
    return answer.evidence["definitions_changed"]


def test_other_groups_of_the_system_are_said_and_those_of_another_are_not():
    assert said(answered({"": "f1", "PRDA": "g2"}))
    assert not said(answered({**THEN, "OTHER": "g9"}))


def test_a_system_without_groups_follows_the_formulas():
    assert said(answered({**THEN, "": "f2"}, "PRDB"))
    assert not said(answered(THEN, "PRDB"))


def test_nothing_is_said_where_nothing_is_published_or_remembered():
    assert not said(answered(None))
    assert not said(answered({}))
