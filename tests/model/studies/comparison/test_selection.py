"""A run is the intervals that were asked for, or a refusal that says what there is."""

from __future__ import annotations

import pytest

from model.studies.comparison import ComparisonError, choose, parse, steady_stretch
from tests.model.studies.comparison.made import MEASURES, START, intervals

RAMP = [10, 35, 60, 74, 79.5, 80.2, 80.4, 79.8, 80.1, 71, 30]


def test_steady_state_cuts_off_the_ramp_and_says_so() -> None:
    found = steady_stretch(intervals(RAMP))
    assert [interval.busy_pct for interval in found.intervals] == [79.5, 80.2, 80.4, 79.8, 80.1]
    assert (found.cut_before, found.cut_after) == (4, 2)
    assert "79.95 % ± 1 points; 4 intervals cut off before and 2 after" in found.words


def test_every_interval_of_a_steady_state_lies_in_the_band_and_it_cannot_be_longer() -> None:
    for band in (0.5, 1, 5, 20):
        found = steady_stretch(intervals(RAMP), band_points=band)
        busy = [interval.busy_pct for interval in found.intervals]
        assert max(busy) - min(busy) <= 2 * band
        longest = max(
            last - first
            for first in range(len(RAMP))
            for last in range(first + 1, len(RAMP) + 1)
            if max(RAMP[first:last]) - min(RAMP[first:last]) <= 2 * band
        )
        assert len(busy) == longest


def test_steady_state_near_a_busy_ignores_longer_stretches_elsewhere() -> None:
    series = intervals([40, 40, 40, 40, 40, 80, 80.5, 79.5, 20])
    assert steady_stretch(series).intervals[0].busy_pct == 40
    assert steady_stretch(series, near_pct=80).intervals[0].busy_pct == 80


def test_a_hole_between_intervals_ends_a_steady_state() -> None:
    found = steady_stretch(intervals([80, 80, 80, 80, 80, 80, 80], hole_after=3))
    assert (len(found.intervals), found.cut_after) == (4, 3)


def test_an_uneven_load_has_no_steady_state() -> None:
    with pytest.raises(ComparisonError, match="no steady state"):
        steady_stretch(intervals([10, 20, 30, 40, 50]))


def test_a_point_is_chosen_by_name_and_alone_without_one() -> None:
    one = intervals([80, 81], point="80")
    for text in ("S@80", "S"):
        [run] = choose(parse(text), one, MEASURES)
        assert (run.name, len(run.intervals), run.seconds) == ("S@80", 2, 240)
    both = [*one, *intervals([50], point="50")]
    assert [run.name for run in choose(parse("S@*"), both, MEASURES)] == ["S@80", "S@50"]
    with pytest.raises(ComparisonError, match="2 points: 80, 50"):
        choose(parse("S"), both, MEASURES)


def test_a_window_takes_the_intervals_by_their_midpoint_and_heeds_offsets() -> None:
    series = intervals([80] * 5)
    utc = choose(parse("S@2026-03-01T10:00:30/2026-03-01T10:04:30"), series, MEASURES)[0]
    local = choose(parse("S@2026-03-01T11:00:30+01:00/2026-03-01T11:04:30+01:00"), series, MEASURES)[0]
    assert [interval.position for interval in utc.intervals] == [1, 2]
    assert list(utc.intervals) == list(local.intervals)
    assert utc.start == START


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S@81", "no point '81'; there is: 80"),
        ("S@2027-01-01/2027-01-02", "reach from 2026-03-01T10:00:00 to 2026-03-01T10:04:00"),
        ("S@2027-01-02/2027-01-01", "ends before it starts"),
        ("S@steady:high", "no busy percentage"),
        ("S@", "names no run"),
        ("@80", "names no run"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(ComparisonError, match=said.replace("(", r"\(")):
        choose(parse(text), intervals([80, 81], point="80"), MEASURES)


def test_a_window_that_cannot_be_read_is_refused_with_one_that_can() -> None:
    with pytest.raises(ComparisonError, match="is no time window: write one as S@2026"):
        choose(parse("S@monday/tuesday"), intervals([80, 81]), MEASURES)


def test_a_point_measured_under_two_conditions_is_told_apart_by_condition() -> None:
    from dataclasses import replace

    old = [replace(each, condition="release=old") for each in intervals([80, 81], point="80")]
    new = [replace(each, condition="release=new") for each in intervals([80, 81, 82], point="80")]
    with pytest.raises(ComparisonError, match=r"80 \(release=old\), 80 \(release=new\)"):
        choose(parse("S@80"), old + new, MEASURES)
    [run] = choose(parse("S@release=new"), old + new, MEASURES)
    assert (run.name, len(run.intervals)) == ("S@80 (release=new)", 3)
