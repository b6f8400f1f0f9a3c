"""Constructed intervals: their sums give the published figures, and they look like intervals."""

from itertools import pairwise

import numpy as np
import pytest

from model.lab import LabError
from model.lab.construct import add
from model.lab.measure import measured
from model.lab.rendering import DEFAULT_SEED, construct_points, setting_of
from model.lab.samples import around_one, below
from model.lab.targets import cpu_in_unit, point_targets, reference_share, why_not_rendered
from model.published import catalogue
from model.published.printed import prints_as
from tests.model.lab.systems import with_activity

SYSTEMS = with_activity()


def points_of(system_id, seed=DEFAULT_SEED):
    system = catalogue.system(system_id)
    setting = setting_of(system)
    return system, setting, list(construct_points(system, setting, seed))


@pytest.mark.parametrize("seed", [DEFAULT_SEED, 1, 2, 3])
@pytest.mark.parametrize("system_id", SYSTEMS)
def test_every_published_figure_is_met_to_its_printed_digits(system_id, seed):
    _, setting, points = points_of(system_id, seed)
    assert points
    for point in points:
        excepted = {misprint.metric for misprint in point.targets.misprints}
        values = measured(setting, point.targets, point.intervals)
        for figure in point.targets.figures:
            assert values[figure.metric], figure
            if figure.metric in excepted:
                continue
            for record, value in values[figure.metric].items():
                assert prints_as(value, figure.value) == "rounded", (figure, record, value)


def test_figures_derived_from_a_ratio_of_sums_come_out_as_published():
    expected = {
        "ims14-ff-haldb-z13": {"itr_tps": "7504.83", "cpu_us_per_tran": "532.99"},
        "ims14-ff-haldb-z14": {"itr_tps": "8017.71", "cpu_us_per_tran": "498.90"},
    }
    for system_id, figures in expected.items():
        _, setting, (point,) = points_of(system_id)
        ended = sum(sum(interval.ended.values()) for interval in point.intervals)
        seconds = sum(interval.length_ms for interval in point.intervals) / 1000
        online = sum(4 * interval.length_ms * 1000 for interval in point.intervals)
        busy = 1 - sum(sum(interval.wait_us) for interval in point.intervals) / online
        assert f"{ended / seconds / busy:.2f}" == figures["itr_tps"]
        assert f"{4 * busy * 1e6 * seconds / ended:.2f}" == figures["cpu_us_per_tran"]
        assert setting.plan.engines == 4


def test_the_one_contradiction_of_the_four_systems_is_found_and_nothing_else():
    found = {
        (system_id, point.targets.point.id): [misprint.metric for misprint in point.targets.misprints]
        for system_id in SYSTEMS
        for point in points_of(system_id)[2]
        if point.targets.misprints
    }
    assert found == {("cics53-18cp", "5"): ["tor_cpu_pct"]}


def test_points_that_show_only_their_rate_are_listed_and_not_rendered():
    system = catalogue.system("cics53-18cp")
    point = system.lab.point("4")
    assert "only the rate" in why_not_rendered(system, point)
    with pytest.raises(LabError, match="only the rate"):
        point_targets(system, point)
    rendered = {p.targets.point.id for p in points_of("cics53-18cp")[2]}
    assert rendered == {"1", "2", "3", "5"}
    assert {p.targets.point.id for p in points_of("cics52-18cp")[2]} == {"1", "2", "4"}


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_intervals_of_a_point_follow_without_gap_and_hold_what_an_lpar_can_hold(system_id):
    system, setting, points = points_of(system_id)
    intervals = [interval for point in points for interval in point.intervals]
    assert intervals[0].start == setting.clock.utc(system.lab.start_local)
    assert all(before.end <= after.start for before, after in pairwise(intervals))
    for point in points:
        assert all(before.end == after.start for before, after in pairwise(point.intervals))
    for interval in intervals:
        online = interval.length_ms * 1000
        assert abs(interval.length_ms - 1000 * system.lab.interval_s) < 10
        assert len(interval.wait_us) == system.lab.engines
        assert all(0 <= wait <= online for wait in interval.wait_us)
        captured = add(interval.class_cpu(system.lab, s.name) for s in system.lab.service_classes).total / 100
        busy = sum(online - wait for wait in interval.wait_us) / 1e6
        assert 0.9 < captured / busy < 1


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_intervals_vary_by_a_fraction_of_a_percent_to_a_percent(system_id):
    _, _, points = points_of(system_id)
    for point in points:
        rates = np.array([sum(i.ended.values()) / i.length_ms for i in point.intervals])
        cost = np.array(
            [sum(1000 * i.length_ms - wait for wait in i.wait_us) / sum(i.ended.values()) for i in point.intervals]
        )
        assert 0.0005 < rates.std() / rates.mean() < 0.015
        assert cost.std() / cost.mean() < 0.015


def test_a_busy_time_nobody_published_follows_from_the_reference_and_is_marked_assumed():
    system = catalogue.system("cics53-18cp")
    share = reference_share(system)
    assert share == pytest.approx(1499.40 / (18 * 97), rel=1e-5)
    low = point_targets(system, system.lab.point("1"))
    assert low.busy == pytest.approx(3.6073 / 18 / share, rel=1e-4)
    assert "cpu_busy_pct" in {assumption.metric for assumption in low.assumptions}
    top = point_targets(system, system.lab.point("5"))
    assert top.busy == pytest.approx(0.97)
    assert "cpu_busy_pct" not in {assumption.metric for assumption in top.assumptions}
    older = catalogue.system("cics52-18cp")
    assert reference_share(older) == share


def test_groups_whose_cpu_is_not_published_stay_unknown():
    _, _, (point,) = points_of("ims14-ff-haldb-z14")
    assert set(point.targets.groups.values()) == {None}
    assert all(not interval.regions for interval in point.intervals)
    assert "workload_cpu_engines" in {assumption.metric for assumption in point.targets.assumptions}


def test_variation_near_full_load_leaves_room():
    factors = around_one(np.random.default_rng(1), 50, 0.05)
    tempered = below(factors, 0.97, 0.998)
    assert 0.97 * tempered.max() <= 0.998 + 1e-12
    assert tempered.mean() == pytest.approx(1)
    assert below(factors, 0.2, 0.998) is factors


def test_a_unit_that_is_none_of_cpu_is_refused():
    with pytest.raises(LabError, match="no CPU unit"):
        cpu_in_unit(1.0, "ms", 100.0)
