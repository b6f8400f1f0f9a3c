"""Marts built by windows are those of one build: across clocks that are set, runs over midnight, overlapping dumps."""

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.running import Here, Processes
from pipelines import runners, steps
from pipelines.building import windows
from pipelines.building.touched import Margins, Span
from pipelines.exits import EtalonError
from tests.pipelines.odd_builds import assert_equal, marts, odd_warehouse

HOUR = dt.timedelta(hours=1)
START = dt.datetime(2026, 6, 10)
LENGTHS = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24, 48]).map(lambda hours: hours * HOUR)
PLACES = st.tuples(st.integers(0, 90), st.integers(1, 90))
SPANS = PLACES.map(lambda place: Span(START + place[0] * HOUR, START + sum(place) * HOUR))


@given(SPANS, LENGTHS)
def test_windows_cover_a_time_without_meeting_and_begin_at_multiples_of_their_length(span, length):
    found = windows.split([span], length)
    assert (found[0].start, found[-1].end) == (span.start, span.end)
    assert all(one.end == following.start for one, following in pairwise(found))
    assert all((window.start - dt.datetime(1900, 1, 1)) % length == dt.timedelta() for window in found[1:])
    whole = windows.contiguous(found)
    assert (len(whole), whole[0].start.year, whole[-1].end.year) == (len(found), 1900, 9000)


@pytest.mark.parametrize("hours", [0.5, 5, 36])
def test_windows_that_do_not_fit_into_days_are_refused(hours):
    with pytest.raises(ValueError, match="a window must be 1, 2, 3, 4, 6, 8 or 12 hours, or whole days"):
        windows.check_length(hours * HOUR)


@pytest.mark.parametrize(
    ("window", "runner", "hours"), [("6h", None, 6), ("2d", "here", 48), (None, "yarn", 24), (None, "here", None)]
)
def test_windows_are_of_a_day_for_a_runner_unless_given(window, runner, hours):
    length = None if hours is None else hours * HOUR
    assert runners.window_length(window, runner) == length
    with pytest.raises(EtalonError, match="window '5h': a window must be 1, 2"):
        runners.window_length("5h", runner)


def test_a_window_reads_the_whole_of_runs_that_begin_in_it_and_of_those_they_are_compared_with():
    window, run = Span(START, START + HOUR), Span(START + 0.5 * HOUR, START + 9 * HOUR)
    base, other = Span(START - 90 * HOUR, START - 89 * HOUR), Span(START - HOUR, START + HOUR)
    around = Margins(HOUR, HOUR).around
    assert windows.read_for(window, Margins(HOUR, HOUR), [(run, base), (other,)]) == (
        base.wider(around, around),
        Span(START - around, run.end + around),
    )


def test_an_engine_that_is_none_is_refused():
    refused = pytest.raises(EtalonError, match=r"unknown runner 'mars'\. Engine: here, processes")
    with refused, runners.open_runner("mars"):
        pass
    with runners.open_runner("here") as here, runners.open_runner("processes:3") as processes:
        assert isinstance(here, Here)
        assert isinstance(processes, Processes)
        assert processes.workers == 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_marts_by_windows_are_those_of_one_build(tmp_path):
    home = odd_warehouse(tmp_path)
    whole = marts(home)
    built = steps.build(home, everything=True, window=6 * HOUR, runner=Here())
    assert built.startswith("all of it")
    by_window = marts(home)
    assert_equal(whole, by_window)
    assert any("'night'" in key and "baseline=base" in key for key, _ in by_window["fct_point"])
    assert not (home.window.with_name("windows")).exists()
