"""Growth after the records: by the trend from their end, damped where they are short, with seasons, and as planned."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from model.capacity.ask import headroom, predict
from model.capacity.growth import Span, effective_weeks, grown, is_month_end, others_grown, seasonal
from model.capacity.parameters import Growth, RecordedIntervals
from model.capacity.question import parse
from model.capacity.system import System
from model.capacity.values import QuestionError
from tests.cases.histories import bundle_of, history
from tests.cases.systems import HISTORY

RATE = 0.02


def system(days=100, **trend):
    """A system with an interval an hour for so many days, until 9 January 2027, whose classes grow by two percent."""
    hours = 24 * days
    starts = np.datetime64("2027-01-10T00:00") - (hours - np.arange(hours)) * np.timedelta64(1, "h")
    rates = np.repeat([[100.0], [50.0]], hours, axis=1)
    recorded = RecordedIntervals(tuple(str(one) for one in starts), 3600.0, rates)
    classes = tuple(replace(one, growth=Growth(RATE, **trend)) for one in HISTORY.classes)
    return System(replace(HISTORY, machine=None, weights=None, recorded=recorded, peak=10, classes=classes))


def factor(ready, when, **query):
    """Growth of both classes from the recorded peak until a date to come, at the centre."""
    load = parse(ready, {"when": when, **{key.replace("__", "."): value for key, value in query.items()}})
    return (load.scenario.rates / [[[100.0, 50.0]]])[0, 0]


def weeks(ready, when):
    """Weeks from the end of the records to a date."""
    return float(
        (np.datetime64(when, "s") - ready.parameters.recorded.times[-1])
        / np.timedelta64(7, "D")
    )


def test_a_load_grows_from_its_own_time_through_the_end_of_the_records():
    ready = system()
    start = ready.parameters.recorded.times[10]
    since = float((np.datetime64("2027-03-01", "s") - start) / np.timedelta64(7, "D"))
    assert factor(ready, "2027-03-01") == pytest.approx([np.exp(RATE * since)] * 2)


@pytest.mark.parametrize(("ahead", "expected"), [(2, 2), (4, 4), (17, 4 + 13 * (1 - np.exp(-1))), (500, 17)])
def test_the_trend_of_a_short_history_fades(ahead, expected):
    assert effective_weeks(np.array([ahead], float), 1.0)[0] == pytest.approx(expected, rel=1e-6)
    assert effective_weeks(np.array([ahead], float), 13.0)[0] == ahead


def test_an_uncertain_level_widens_with_the_root_of_time():
    ready = system(drift_sd=0.1)
    spread = [
        np.std(np.log(grown(ready, Span(np.datetime64("2027-01-09"), 0.0, np.array([w])), {})[1:, 0, 0]))
        for w in (1.0, 4.0)
    ]
    assert spread == pytest.approx([0.1, 0.2], rel=0.15)
    assert np.all(others_grown(ready, Span(np.datetime64("2027-01-09"), 2.0, np.array([4.0]))) == 1.0)


def test_days_of_the_week_and_ends_of_months_have_their_own_load():
    trend = {"weekday": (0.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.2), "month_end": 0.3}
    ready = system(**trend)
    # The recorded load is of a Friday; the end of February 2027 is a Friday, the last day of January a Sunday.
    friday = ready.parameters.recorded.times[10].astype("datetime64[D]").astype(object)
    assert friday.weekday() == 4
    plain = system()
    for when, log in (("2027-02-26", 0.3), ("2027-02-27", -1.0), ("2027-01-29", 0.3), ("2027-02-01", 0.0)):
        assert factor(ready, when) / factor(plain, when) == pytest.approx([np.exp(log)] * 2), when
    later = seasonal(Growth(RATE, **trend), np.datetime64("2027-01-29"), np.datetime64("2027-01-31"))
    assert later == pytest.approx(-1.5)
    days = [dt.date(2027, 1, day) for day in range(1, 32)]
    assert [day.day for day in days if is_month_end(day)] == [29]


def test_planned_growth_takes_the_place_of_the_trend_after_the_records():
    ready, when = system(), "2027-07-10"
    recorded = np.exp(RATE * (weeks(ready, when) - weeks(ready, when)))
    year = weeks(ready, when) / (365.2425 / 7)
    to_end = factor(ready, when, growth_pct_per_year=0)[0]
    both = factor(ready, when, growth_pct_per_year=10, growth_pct_per_year__online=20)
    assert recorded * both / to_end == pytest.approx([1.2**year, 1.1**year])
    only = factor(ready, when, growth_pct_per_year__online=20)
    assert only[1] == pytest.approx(factor(ready, when)[1])


def test_steps_come_on_their_date_and_seasons_in_their_months():
    ready = system()
    steps = {"step_pct.online": "2027-03-01:20,2027-06-01:-5"}
    for when, more in (("2027-02-27", 1.0), ("2027-03-02", 1.2), ("2027-06-02", 1.2 * 0.95)):
        load = parse(ready, {"when": when, **steps}).scenario.rates[0, 0]
        assert load / factor(ready, when) / [100.0, 50.0] == pytest.approx([more, 1.0]), when
    # The recorded load is of October.
    assert factor(ready, "2027-12-10", season_pct="10:10,12:30") / factor(ready, "2027-12-10") == pytest.approx(
        [1.3 / 1.1] * 2
    )


@pytest.mark.parametrize(
    ("at", "field", "message"),
    [
        ({"growth_pct_per_year": -100}, "growth_pct_per_year", "above -100 %"),
        ({"growth_pct_per_year.nobody": 5}, "growth_pct_per_year.nobody", "no class 'nobody'"),
        ({"step_pct": "soon:20"}, "step_pct", "'soon' is not a date.*2027-01-15:20"),
        ({"step_pct": "20"}, "step_pct", "must have the form DATE:PCT"),
        ({"season_pct": "13:20"}, "season_pct", "not a month from 1 to 12"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_with_its_form(at, field, message):
    with pytest.raises(QuestionError, match=message) as refused:
        parse(system(), {"when": "2027-03-01", **at})
    assert refused.value.field == field


def test_a_plan_says_nothing_of_a_recorded_load():
    bundle = bundle_of(history())
    with pytest.raises(QuestionError, match="ask with when=DATE, or headroom"):
        predict(bundle, "PRDA", {"growth_pct_per_year": 5})


def test_a_load_that_declines_is_forecast_from_the_end_of_the_records():
    given = history(growth_per_week=np.log(0.7))
    result = headroom(bundle_of(given), "PRDA", max_busy_pct=45)
    assert result["forecast"][0]["date"] == str(given.start_local[-1])[:10]
    assert result["first"] is None and not any(row["already"] for row in result["crossings"])
    assert result["notes"][0].startswith("short history: 2.0 weeks")


def test_planned_growth_crosses_earlier_than_none():
    bundle = bundle_of(history())
    planned, flat = (
        headroom(bundle, "PRDA", {"growth_pct_per_year": pct}, max_busy_pct=95)["first"] for pct in (100, 0)
    )
    assert flat is None and planned["value"] is not None
