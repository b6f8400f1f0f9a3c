"""Reading questions: keys and classes, the loads they stand for, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.capacity.bundle import classes_named
from model.capacity.evaluation import evaluate
from model.capacity.figures import Figure, figure_draws
from model.capacity.parameters import Limit, RecordedIntervals, TransactionClass
from model.capacity.question import parse
from model.capacity.system import System
from model.capacity.values import QuestionError, check_keys, growth_factor, must_be_whole
from tests.cases.systems import DRAWS, HISTORY, grown


def rates(**query) -> list[float]:
    """Transactions/s by class at the centre."""
    at = {key.replace("__", "."): value for key, value in query.items()}
    return parse(System(HISTORY), at).scenario.rates[0, 0].tolist()


def test_without_a_load_the_operating_interval_is_asked():
    load = parse(System(HISTORY), {})
    assert load.scenario.rates[0, 0].tolist() == [170.0, 57.0]
    assert load.at == {"etr_tps": 227.0, "when": "2026-11-03T10:30"}


def test_a_recorded_interval_is_found_by_any_moment_in_it():
    assert rates(when="2026-11-02T09:45") == [110.0, 51.0]
    load = parse(System(HISTORY), {"when": "2026-11-02T09:45"})
    assert load.scenario.others[0, 0] == 2.0


def test_a_recorded_date_is_its_busiest_interval_and_not_midnight():
    load = parse(System(HISTORY), {"when": "2026-11-02"})
    assert load.scenario.rates[0, 0].tolist() == [130.0, 53.0]
    assert load.notes == ("when: the busiest recorded interval of that day, 2026-11-02T10:30:00",)


EARLY = {"shifts": {"early": {"hours": ["09:00", "10:00"]}, "sunday": {"days": ["sun"]}}}


def test_a_shift_starts_from_its_busiest_interval():
    history = replace(HISTORY, calendar=EARLY)
    load = parse(System(history), {"shift": "early"})
    assert load.at["when"] == "2026-11-03T09:30"
    assert load.scenario.rates[0, 0].tolist() == [150.0, 55.0]
    of_day = parse(System(history), {"shift": "early", "when": "2026-11-02"})
    assert of_day.scenario.rates[0, 0].tolist() == [110.0, 51.0]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"shift": "erly"}, "did you mean early"),
        ({"shift": "sunday"}, "no interval of shift sunday was recorded"),
        ({"shift": "early", "when": "2026-11-02T10:00"}, "a time of day determines the interval"),
        ({"shift": "early", "when": "mon 10:00"}, "no interval was recorded in the hour mon 10:00 and the shift"),
    ],
)
def test_a_shift_without_intervals_is_refused_with_the_reason(query, expected):
    with pytest.raises(QuestionError, match=expected):
        parse(System(replace(HISTORY, calendar=EARLY)), query)


def test_an_hour_of_the_week_is_the_mean_of_its_intervals_and_says_so():
    load = parse(System(HISTORY), {"when": "Mon 10:00"})
    assert load.scenario.rates[0, 0].tolist() == [125.0, 52.5]
    assert load.notes == ("when: the mean of 2 recorded intervals of that hour of the week",)
    assert load.at["when"] == "Mon 10:00"


def test_a_date_to_come_is_answered_as_that_date():
    load = parse(System(grown(HISTORY, 0.01)), {"when": "2026-12-01"})
    assert (load.at["when"], load.start) == ("2026-12-01", "2026-12-01T00:00:00")


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_an_hour_to_come_is_no_surer_for_intervals_that_are_shorter(parts):
    weeks = [100.0, 120.0, 90.0, 110.0]
    starts = [f"2026-11-{day:02d}T10:{60 // parts * part:02d}:00" for day in (2, 9, 16, 23) for part in range(parts)]
    used = np.repeat(weeks, parts)
    recorded = RecordedIntervals(tuple(starts), 3600.0 / parts, np.stack([used, used]), others=used)
    load = parse(System(grown(replace(HISTORY, recorded=recorded), 0.0)), {"when": "2026-11-30T10:30"})
    result = load.scenario.rates[:, 0, 0]
    assert result[0] == np.mean(weeks)
    assert result[1:].std() / result[0] == pytest.approx(np.std(weeks, ddof=1) / 2 / np.mean(weeks), rel=0.3)


def test_an_hour_that_was_recorded_once_is_as_unsure_as_days_differ_at_that_hour():
    starts = [f"2026-11-{day:02d}T10:00:00" for day in (2, 3, 4, 5)]
    used = np.array([100.0, 120.0, 90.0, 110.0])
    recorded = RecordedIntervals(tuple(starts), 3600.0, np.stack([used, used]), others=used)
    system = System(grown(replace(HISTORY, recorded=recorded, peak=3), 0.0))
    hour, day = (
        parse(system, {"when": when}).scenario.rates[:, 0, 0] for when in ("2026-11-09T10:30", "2026-11-09")
    )
    assert hour[0] == 100.0
    assert hour[1:].std() / hour[0] == pytest.approx(np.std(used, ddof=1) / np.mean(used), rel=0.3)
    assert np.ptp(day) == 0.0


def test_growth_of_all_and_of_one_class():
    assert rates(growth_pct=10) == pytest.approx([187.0, 62.7])
    assert rates(growth_pct__online=50) == pytest.approx([255.0, 57.0])
    assert rates(growth_pct=10, growth_pct__rweb=50) == pytest.approx([255.0, 62.7])
    assert rates(growth_pct__online=50, growth_pct__shop=10) == pytest.approx([255.0, 62.7])


def test_a_rate_of_a_class_replaces_what_was_recorded():
    assert rates(rate__online=300, growth_pct=10) == pytest.approx([300.0, 62.7])
    assert rates(rate__shop=454) == pytest.approx([340.0, 114.0])


def test_a_cap_that_holds_nothing_back_is_said_to():
    engines = System(HISTORY).engines
    assert parse(System(HISTORY), {"cap_engines": engines + 12}).notes == (
        f"cap_engines: {engines + 12:g} engines have no effect, because the LPAR has {engines:g}",
    )
    assert parse(System(HISTORY), {"cap_engines": engines - 0.5}).notes == ()


def test_a_class_without_transactions_has_no_response():
    system = System(HISTORY)
    state = evaluate(system, parse(system, {"rate.batch": 0}).scenario)
    specs = [
        Figure("response_ms", "response_ms", response="response_ms", transactions=name) for name in ("online", "batch")
    ]
    assert [figure_draws(system, state, spec) is None for spec in specs] == [False, True]


def test_a_rate_keeps_the_mix():
    assert rates(etr_tps=454) == pytest.approx([340.0, 114.0])


@given(busy=st.floats(5.0, 100.0))
def test_a_busy_is_reached_by_every_draw(busy):
    system = System(HISTORY)
    scenario = parse(system, {"cpu_busy_pct": busy}).scenario
    assert system.usage(scenario).busy / scenario.engines * 100 == pytest.approx(np.full((41, 1), busy), rel=1e-6)


def test_weight_and_cap_change_what_the_machine_gives():
    weighed = parse(System(HISTORY), {"weight": 300, "cap": "on"}).scenario
    assert (weighed.cpc.share, weighed.cpc.capped) == (0.5, True)
    system = System(HISTORY)
    for cap in (1.5, "1.5"):
        limited = parse(system, {"cap_engines": cap}).scenario
        assert np.all(system.partition.available(limited) <= 1.5)
        assert system.partition.available(limited).max() == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("at", "field", "message"),
    [
        ({"etr": 5}, "etr", "did you mean etr_tps"),
        ({"etr_tps": 5, "cpu_busy_pct": 50}, "cpu_busy_pct", "both set the load"),
        ({"etr_tps": 5, "growth_pct.online": 50}, "growth_pct.online", "already sets the load"),
        ({"growth_pct.nobody": 5}, "growth_pct.nobody", "no class 'nobody'"),
        ({"growth_pct.onlin": 5}, "growth_pct.onlin", "did you mean online"),
        ({"growth_pct.online": 5, "rate.RWEB": 5}, "rate.RWEB", "already sets the rate of this class"),
        ({"rate.shop": 50, "growth_pct.online": 5}, "growth_pct.online", "already sets the rate of this class"),
        ({"growth_pct": -101}, "growth_pct", "at least -100 %"),
        ({"rate.online": -1}, "rate.online", "must be from 0 to"),
        ({"etr_tps": 1e160}, "etr_tps", "at most 1,000,000,000,000"),
        ({"when": "2026-11-02T08:00"}, "when", "no interval was recorded"),
        ({"when": "sun 04:00"}, "when", "no interval was recorded in the hour"),
        ({"when": "mon ten"}, "when", "is written as 'mon 10:00'"),
        ({"when": "mon 25:00"}, "when", "is written as 'mon 10:00'"),
        ({"when": "often"}, "when", "takes 'peak'"),
        ({"when": "2026-11-02T09:45Z"}, "when", "has an offset"),
        ({"when": "2031-01-01"}, "when", "more than three years after the records"),
        ({"limit.regions": 5}, "limit.regions", "show no limit of this name"),
        ({"ziip_engines": 2}, "ziip_engines", "no zIIP-eligible work"),
        ({"cap": "maybe"}, "cap", "takes on"),
        ({"cap_engines": 0}, "cap_engines", "above 0"),
        ({"machine": "z99"}, "machine", "no rating of machine"),
        ({"smt": "2"}, "smt", "show no zIIPs"),
    ],
)
def test_a_question_that_cannot_be_understood_names_the_key(at, field, message):
    with pytest.raises(QuestionError, match=message) as raised:
        parse(System(HISTORY), at)
    assert raised.value.field == field


def inferred(servers: float, queues: float, spread: tuple[float, float]) -> System:
    """A system of which responses show a limit, with places from one draw to the next between two numbers."""
    places = np.append(servers, np.resize(spread, DRAWS))
    one = Limit("regions", ("online",), determined=True, servers=places, queues=queues, hold_s=1e-3)
    return System(replace(HISTORY, limits=(one,)))


def test_an_answer_on_other_places_says_how_many_are_inferred():
    [note] = parse(inferred(8.0, 1.0, (4.0, 16.0)), {"limit.regions": 10}).notes
    assert (
        note
        == "limit.regions: the recorded waits indicate 8 servers (90 %: 4 to 16); 10 means 1.25 times as many"
    )
    [note] = parse(inferred(1.0, 4.0, (1.0, 1.0)), {"limit.regions": 3}).notes
    assert "4 servers (1 in each of 4 queues, 90 %: 4 to 4); 3 means 0.75 times" in note


@pytest.mark.parametrize(("places", "answered"), [(3.9, False), (4, True), (16, True), (50, False)])
def test_places_that_would_multiply_those_inferred_are_refused(places, answered):
    system = inferred(8.0, 1.0, (4.0, 16.0))
    if answered:
        assert parse(system, {"limit.regions": places}).scenario.limits == {"regions": places}
        return
    with pytest.raises(QuestionError, match=r"8 servers.*4 to 16\).*Allowed: 4 to 16") as raised:
        parse(system, {"limit.regions": places})
    assert raised.value.field == "limit.regions"


def test_any_places_of_a_limit_that_nobody_waited_for_can_be_asked():
    named = Limit("regions", ("online",))
    load = parse(System(replace(HISTORY, limits=(named,))), {"limit.regions": 500})
    assert load.scenario.limits == {"regions": 500}
    assert any("no transaction waited for regions" in note for note in load.notes)


def test_a_name_that_stands_for_several_classes_is_refused_with_what_it_could_mean():
    classes = (TransactionClass("WEB", workload="A"), TransactionClass("B2", workload="WEB"))
    parameters = replace(HISTORY, classes=classes)
    with pytest.raises(QuestionError, match=r"service class: WEB; workload: B2"):
        classes_named(parameters, "growth_pct.web", "web")


@given(st.floats(-100.0, 1e6))
def test_growth_is_a_factor(percent):
    assert growth_factor("growth_pct", percent) == pytest.approx(1 + percent / 100)


@given(st.one_of(st.floats(), st.text(max_size=5), st.none(), st.booleans()))
def test_a_number_of_engines_is_whole_and_from_one_to_256_or_refused(value):
    try:
        result = must_be_whole("engines", value)
    except QuestionError as refused:
        assert refused.field == "engines"
    else:
        assert 1 <= result <= 256
        assert math.isclose(result, float(value))


@given(st.dictionaries(st.text(max_size=12), st.integers(), max_size=3))
def test_any_keys_are_known_or_named(at):
    try:
        check_keys(at)
    except QuestionError as refused:
        assert refused.field in at
