"""The highest rate of users of whom nothing but a throughput is known."""

from dataclasses import replace

import pytest

from model.capacity.ask import max_rate
from model.capacity.values import QuestionError
from model.published.model import fit
from model.published.observations import Observation
from tests.cases.systems import SYSTEM


def response_s(users):
    return 0.05 + users / 8000.0


@pytest.fixture(scope="module")
def bundle():
    rows = [
        Observation("clients", "throughput", {"users": str(n)}, n / (2.0 + response_s(n)), "tran/s", "rates", "study")
        for n in (100, 200, 400, 800, 1600)
    ]
    rows.append(Observation("other", "csa_kb", {"release": "V1"}, 700.0, "KB", "runs", "study"))
    conditions = fit(rows, {"clients": {"think_time": "2.0"}, "other": {}})
    return {"systems": {}, "conditions": conditions, "model_version": "m"}


def test_users_may_grow_until_their_response_reaches_the_target(bundle):
    found = max_rate(bundle, "clients", max_response_ms=1000.0 * response_s(3000))
    assert found["etr_tps"]["value"] == pytest.approx(3000 / (2.0 + response_s(3000)), rel=0.02)
    assert found["etr_tps"]["lo"] <= found["etr_tps"]["value"] <= found["etr_tps"]["hi"]
    assert found["limits"][0]["resource"].startswith("response of")
    assert any("users" in note for note in found["notes"])


def test_a_think_time_that_is_not_known_is_said(bundle):
    unknown = {**bundle, "conditions": {**bundle["conditions"], "facts": {}}}
    notes = [" ".join(max_rate(one, "clients", max_response_ms=425.0)["notes"]) for one in (bundle, unknown)]
    assert ["no think time is known" in said for said in notes] == [False, True]


def test_no_rate_keeps_within_what_the_fewest_users_exceed(bundle):
    assert max_rate(bundle, "clients", max_response_ms=10.0)["etr_tps"]["value"] == 0.0


@pytest.mark.parametrize(
    ("system", "asked", "field"),
    [
        ("clients", {}, "max_response_ms"),
        ("clients", {"max_busy_pct": 70.0}, "max_busy_pct"),
        ("clients", {"max_response_ms": 100.0, "at": {"users": 5}}, "at.users"),
        ("other", {"max_response_ms": 100.0}, "system"),
    ],
)
def test_what_no_law_says_is_refused_with_what_to_ask(bundle, system, asked, field):
    with pytest.raises(QuestionError) as refused:
        max_rate(bundle, system, **asked)
    assert refused.value.field == field


def test_a_network_without_responses_leaves_them_to_the_law_of_its_users(bundle):
    beside = {**bundle, "systems": {"clients": replace(SYSTEM, responses={})}}
    assert max_rate(beside, "clients", max_response_ms=425.0) == max_rate(bundle, "clients", max_response_ms=425.0)
