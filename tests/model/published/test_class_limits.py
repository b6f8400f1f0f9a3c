"""Users who send as fast as they are answered, of whose classes a limit holds some back."""

from dataclasses import replace

import pytest

from model.published.observations import Observation
from model.published.prediction import UNPACED_TIMES, Predictor
from model.published.tables import Tables

USERS, DRIVER_S, SECONDS = 100, 1.0, 1000.0
FREE_S, INSIDE_S = 0.3, 0.25
CLASSES = ("a", "b", "c", "d", "slow")
FACTS = {
    "paced": {"workload": "shop", "concurrent_users": "100", "requested_rate": "10"},
    "full": {
        "workload": "shop",
        "concurrent_users": "100",
        "requested_rate": "maximum",
        "tranclass_maxactive_slow_other": "1",
    },
}


def row(system, metric, name, value, unit, mart_metric=""):
    condition = {"tran": name} if name else {}
    table = "responses" if name else "results"
    return Observation(system, metric, condition, value, unit, table, "study", mart_metric=mart_metric)


def rows():
    """A run at a requested rate, and one without, in which a transaction of `slow` is inside its limit for 0.25 s."""
    found = [row("paced", "online_tran_rate_tps", "", 10.0, "tran/s")]
    for name in CLASSES:
        found.append(row("paced", "avg_s", name, 0.1, "s", "response_avg_s"))
        found.append(row("paced", "pass", name, 2000.0, "count", "passed"))
    rates = {name: USERS / len(CLASSES) / (DRIVER_S + FREE_S) for name in CLASSES} | {"slow": 1.0 / INSIDE_S}
    found.append(row("full", "online_tran_rate_tps", "", sum(rates.values()), "tran/s"))
    return found + [row("full", "pass", name, rate * SECONDS, "count", "passed") for name, rate in rates.items()]


def response(name, facts=FACTS, metric="avg_s"):
    tables = Tables(rows())
    cell = tables.blocks["study", "responses"].cell("full", metric, {"tran": name})
    return Predictor(tables, facts).value(cell)


def test_a_class_that_its_limit_holds_back_waits_for_what_its_cycle_is_longer():
    true_s = USERS / len(CLASSES) * INSIDE_S - DRIVER_S
    found = response("slow")
    assert found.value == pytest.approx(true_s, rel=0.1)
    assert found.low < true_s < found.high
    assert "slow (1 at a time)" in found.note
    assert "divide as in paced" in found.note


def test_classes_without_a_limit_meet_the_queues_that_are_inside_it():
    for name in CLASSES[:-1]:
        found = response(name)
        assert found.low < FREE_S < found.high < 1.0


def test_without_a_limit_the_answer_says_that_a_time_cannot_be_known():
    facts = FACTS | {"full": {key: fact for key, fact in FACTS["full"].items() if "maxactive" not in key}}
    found = response("slow", facts)
    assert found.note == UNPACED_TIMES
    assert found.high > 10.0 * found.low


def test_a_limit_that_holds_nobody_back_tells_no_response():
    facts = FACTS | {"full": FACTS["full"] | {"tranclass_maxactive_slow_other": "none"}}
    assert response("slow", facts).note == UNPACED_TIMES


def test_a_measured_response_is_not_predicted():
    measured = replace(rows()[1], system="full", value=0.7)
    tables = Tables([*rows(), measured])
    cell = tables.blocks["study", "responses"].cell("full", "avg_s", {"tran": "a"})
    found = Predictor(tables, FACTS).value(cell)
    assert (found.value, found.note) == (pytest.approx(0.7), "")
