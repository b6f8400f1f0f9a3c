"""Another release or option than that of the configuration."""

from functools import partial

import pytest

from model.capacity import ask
from model.capacity.values import QuestionError
from model.published.ask import conditions_of
from model.published.model import fit
from model.published.observations import Observation
from tests.model.capacity.conftest import predict, value


@pytest.fixture(scope="module")
def known(bundle):
    figures = {"old": (100.0, 500.0, 700.0), "new": (100.0, 450.0, 800.0), "large": (300.0, 480.0, 900.0)}
    metrics = (("etr_tps", "tran/s"), ("cpu_us_per_tran", "us/tran"), ("csa_kb", "KB"))
    rows = [
        Observation(system, metric, {}, x, unit, "runs", "study")
        for system, values in figures.items()
        for (metric, unit), x in zip(metrics, values, strict=True)
    ]
    facts = {
        "old": {"release": "Shop 1.0", "dedicated_cps": "4", "security": "clear text"},
        "new": {"release": "Shop 2.0", "dedicated_cps": "4"},
        "large": {"release": "Shop 2.0", "dedicated_cps": "8"},
    }
    return {**bundle, "conditions": fit(rows, facts)}


@pytest.mark.parametrize(
    "at", [{"release": "V1.0"}, {"variant": "Shop 1.0"}, {"security": "clear"}, {"dedicated_cps": 4}]
)
def test_what_the_configuration_has_changes_nothing(known, at):
    assert predict(known, "old", {**at, "etr_tps": 50})["outputs"] == predict(known, "old", {"etr_tps": 50})["outputs"]


def test_another_release_is_answered_as_the_sibling_that_differs_in_it_alone_was_measured(known):
    asked = predict(known, "old", {"release": "2.0"})
    assert (asked["system"], asked["outputs"]) == ("old", predict(known, "new")["outputs"])
    assert asked["notes"][0] == "release = 2.0: answered as new was measured"


def test_a_measured_point_keeps_its_rate_with_another_release(known):
    rows = [
        *(Observation(**row) for row in known["conditions"]["rows"]),
        Observation("old", "etr_tps", {"point": "2"}, 50.0, "tran/s", "runs", "study"),
    ]
    measured = {**known, "conditions": fit(rows, known["conditions"]["facts"])}
    asked = predict(measured, "old", {"point": "2", "release": "2.0"})
    assert asked["outputs"] == predict(measured, "new", {"etr_tps": 50})["outputs"]


def test_of_a_system_without_such_a_sibling_engine_time_changes_as_between_two_others(known):
    plain, asked = predict(known, "large"), predict(known, "large", {"release": "1.0"})
    assert value(asked, "cpu_us_per_tran")["value"] == pytest.approx(480.0 * 500.0 / 450.0)
    assert value(asked, "csa_kb") == value(plain, "csa_kb")
    assert asked["extrapolated"]
    assert "as of old beside new" in asked["notes"][0]


def test_engines_and_the_highest_rate_are_those_of_the_system_measured_so(bundle):
    rows = [Observation(system, "csa_kb", {}, 700.0, "KB", "runs", "study") for system in ("shop", "newer")]
    conditions = fit(rows, {"shop": {"release": "R1"}, "newer": {"release": "R2"}})
    known = {**bundle, "systems": {**bundle["systems"], "newer": bundle["systems"]["shop"]}, "conditions": conditions}
    load = {"etr_tps": 7000}
    for ask_for in (partial(ask.size, max_busy_pct=80), partial(ask.max_rate, max_busy_pct=80)):
        asked, there = ask_for(known, "shop", {"release": "R2", **load}), ask_for(known, "newer", load)
        assert (asked["system"], asked["at"]) == ("shop", {"release": "R2", **load})
        assert asked["notes"] == ["release = R2: answered as newer was measured", *there["notes"]]
        assert ask_for(known, "shop", {"release": "R1", **load})["notes"] == there["notes"]


def test_options_are_offered_with_the_levels_of_siblings_and_others_refused_with_them(known):
    assert next(one.levels for one in conditions_of(known, "old") if one.key == "release") == ("Shop 1.0", "Shop 2.0")
    with pytest.raises(QuestionError, match="was not measured, nor") as refused:
        predict(known, "old", {"release": "3.0"})
    assert refused.value.allowed == ["Shop 1.0", "Shop 2.0"]
    with pytest.raises(QuestionError, match="security: 'AT-TLS' was not measured"):
        predict(known, "old", {"security": "AT-TLS"})
