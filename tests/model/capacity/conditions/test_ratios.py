"""Ratios of named levels, of systems whose truth is known."""

from dataclasses import replace

import pytest

from model.capacity.conditions.beliefs import Beliefs
from model.capacity.conditions.ratios import Ratios
from model.capacity.conditions.rows import RUN_S, WORKLOAD, Row
from model.capacity.conditions.tables import SYSTEM, Cell, Tables

TABLE = ("study", "runs")


def rows(key, changes, metric="elapsed_s", unit="s"):
    return [
        Row(system, metric, {key: level}, value, unit, TABLE[1], TABLE[0])
        for system, factor in changes.items()
        for level, value in (("old", 100.0), ("new", 100.0 * factor if factor else None))
        if value is not None
    ]


def asked(found, key, system="asked"):
    tables = Tables(found)
    donor = next(cell for cell in tables.blocks[TABLE].values if cell.system == system)
    return Ratios(tables).ratio(donor, donor.at_level(key, "new"), key, tables.value(donor)[0])


def test_an_option_does_elsewhere_what_it_does_to_others():
    option = asked(rows("access", {"a": 0.77, "b": 0.83, "asked": None}), "access")
    assert option.belief.median() == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(
    ("key", "unit", "changes"),
    [
        ("release", "s", {"a": 0.70, "b": 0.72}),
        ("access", "s", {"a": 0.8, "b": 0.8}),
        ("access", "s", {"a": 0.77, "b": 0.83}),
        ("tran_option", "SU", {"a": 1.01, "b": 1.01}),
        ("tran_option", "SU", {}),
    ],
)
def test_a_ratio_says_the_same_from_either_level(key, unit, changes):
    """Asked from one level and, of what that gives, from the other. What an option leaves unequal is told less surely
    by the level that shows less of it.
    """
    levels = ("no", "yes") if unit == "SU" else ("old", "new")
    others = [
        Row(system, metric, {key: level}, value, metric_unit, TABLE[1], TABLE[0])
        for level in levels
        for system, metric, metric_unit, value in (
            ("c", "other", "count", 7.0),
            *(
                (system, "figure", unit, 100.0 * (factor if level == levels[1] else 1.0))
                for system, factor in changes.items()
            ),
        )
    ]

    def asked_from(one, other, value):
        tables = Tables([*others, Row("asked", "figure", {key: one}, value, unit, TABLE[1], TABLE[0])])
        donor = next(cell for cell in tables.blocks[TABLE].values if cell.system == "asked")
        return Ratios(tables).ratio(donor, donor.at_level(key, other), key, value).belief

    there = asked_from(*levels, 150.0)
    back = asked_from(*reversed(levels), 150.0 * there.median())
    assert there.median() * back.median() == pytest.approx(1.0)
    if key == "release" or len(set(changes.values())) < 2:
        assert there.reach() == pytest.approx(back.reach())


def test_requests_that_no_engine_spins_for_repeat_less_well():
    def reach(metric):
        tables = Tables([Row("asked", metric, {"release": "old"}, 14.0, "us", TABLE[1], TABLE[0])])
        (donor,) = tables.blocks[TABLE].values
        return Ratios(tables).ratio(donor, donor.at_level("release", "new"), "release", 14.0).belief.reach()

    assert reach("async_service_us") > 3.0 * reach("sync_service_us")


def test_what_is_switched_on_is_seldom_less_work_and_another_option_tells_its_size_only():
    def cost(option=None):
        base = {"tran_option": "No", "pgm_option": "No"}
        found = [
            Row(system, "work", {**base, **changed}, value, "SU", TABLE[1], TABLE[0])
            for system, changed, value in (
                ("asked", {}, 1e5), ("asked", {option: "Yes"} if option else {}, 1.01e5 if option else 1e5),
                ("without", {"tran_option": "Yes"}, 0.0), ("without", {"pgm_option": "Yes"}, 0.0),
            )
        ]  # fmt: skip
        tables = Tables(found)
        donor = next(
            cell for cell in tables.blocks[TABLE].values if cell.system == "asked" and dict(cell.labels) == base
        )
        return Ratios(tables).ratio(donor, donor.at_level("tran_option", "Yes"), "tran_option", 1e5).belief

    unseen, by_another, by_itself = cost(), cost("pgm_option"), cost("tran_option")
    assert unseen.quantiles(0.05)[0] > 0.99
    assert by_another.median() == pytest.approx(by_itself.median(), abs=0.002)
    assert by_itself.reach() < by_another.reach() < unseen.reach()


def test_releases_count_as_equal_until_ratios_agree_that_they_are_not():
    scattered = asked(rows("release", {"a": 0.97, "b": 1.01, "c": 1.02, "asked": None}), "release")
    agreeing = asked(rows("release", {"a": 0.70, "b": 0.71, "c": 0.69, "asked": None}), "release")
    assert scattered.belief.median() == pytest.approx(1.0, abs=0.002)
    assert agreeing.belief.median() == pytest.approx(0.7, abs=0.03)


def test_parts_of_engine_time_change_between_two_machines_as_the_total_does():
    found = [
        Row(machine, metric, {"group": "CPU"}, value, "us/tran", TABLE[1], TABLE[0])
        for machine, values in (("slow", (500.0, 30.0)), ("fast", (465.0, None)))
        for metric, value in zip(("total_us", "part_us"), values, strict=True)
        if value is not None
    ]
    tables = Tables(found)
    donor = next(cell for cell in tables.blocks[TABLE].values if cell.metric == "part_us")
    ratio = Ratios(tables).ratio(donor, replace(donor, system="fast"), SYSTEM, tables.value(donor)[0])
    assert ratio.belief.median() == pytest.approx(0.93, abs=0.005)


def test_between_two_runs_a_metric_is_told_by_its_own_ratios():
    """The shortest times of a longer run are the same, the longest are not."""
    found = [
        Row(run, metric, {"tran": tran}, value, "s", TABLE[1], TABLE[0])
        for run, longest in (("minutes", 2.0), ("hours", 140.0))
        for tran, shortest in (("A", 0.02), ("B", 0.05), ("C", 0.11))
        for metric, value in (("min_s", shortest), ("max_s", longest + shortest))
        if (run, tran, metric) != ("hours", "C", "min_s")
    ]
    tables = Tables(found)
    donor = next(cell for cell in tables.blocks[TABLE].values if (cell.metric, cell.level("tran")) == ("min_s", "C"))
    ratio = Ratios(tables).ratio(donor, replace(donor, system="hours"), SYSTEM, tables.value(donor)[0])
    assert ratio.belief.median() == pytest.approx(1.0, abs=0.01)
    assert ratio.belief.log_sd() < 0.4


@pytest.mark.parametrize(("machines", "busy_pct"), [(("m", "m"), 12.0), (("m", "n"), 24.0)])
def test_one_part_alone_does_not_tell_another_between_two_runs_on_one_machine(machines, busy_pct):
    """A part that takes twice the time at the same rate says so of others on other engines only."""
    found = [
        Row(run, "APPL %", {"report_class": part}, busy, "pct of one CP", TABLE[1], TABLE[0])
        for run, parts in (("first", {"GATEWAY": 12.0, "REGION": 80.0}), ("second", {"REGION": 160.0}))
        for part, busy in parts.items()
    ]
    found += [Row(run, "etr_tps", {}, 19.0, "tran/s", "rates", TABLE[0]) for run in ("first", "second")]
    tables = Tables(found)
    donor = next(cell for cell in tables.blocks[TABLE].values if cell.level("report_class") == "GATEWAY")
    facts = {run: {"machine": machine} for run, machine in zip(("first", "second"), machines, strict=True)}
    ratio = Ratios(tables, facts).ratio(donor, replace(donor, system="second"), SYSTEM, tables.value(donor)[0])
    assert 12.0 * ratio.belief.median() == pytest.approx(busy_pct, rel=0.1)


def test_a_release_is_a_condition_even_where_each_system_has_one():
    tables = Tables(rows("release", {"asked": None}))
    assert [cell.level("release") for cell in tables.blocks[TABLE].values] == ["old"]


def test_an_option_changes_more_of_what_is_larger_for_the_part_it_changes():
    """Messages of 8 s that an option leaves alone, and a time on a link that it divides by four."""
    links = {"short": 4.0, "middle": 8.0, "asked": 16.0}
    found = [
        Row(system, "elapsed_s", {"access": level}, 8.0 + link / part, "s", TABLE[1], TABLE[0])
        for system, link in links.items()
        for level, part in (("old", 1.0), ("new", 4.0))
        if (system, level) != ("asked", "new")
    ]
    ratio = asked(found, "access")
    assert 12.0 / 24.0 < ratio.belief.median() < 10.0 / 16.0


def test_nothing_at_one_level_may_be_something_at_another_as_often_as_such_pairs_show():
    """Failures: ten transactions have none in either run; of a metric that has some in one run only, half do."""

    def pairs(metric, counts):
        return [
            Row(run, metric, {"tran": str(tran)}, value, "count", TABLE[1], TABLE[0])
            for tran, values in enumerate(counts)
            for run, value in zip(("short", "long"), values, strict=True)
            if value is not None
        ]

    def upper(metric):
        cell = Cell(TABLE, "long", metric, "", (("tran", "0"),), None)
        return Beliefs(tables, facts).infer(cell).belief.quantiles(0.5, 0.95)

    never, often = [(0.0, None)] + [(0.0, 0.0)] * 10 + [(3.0, 3.0)], [(0.0, None)] + [(0.0, 0.0), (0.0, 8.0)] * 5
    tables = Tables(pairs("stopped", never) + pairs("failed", often))
    facts = {run: {WORKLOAD: "w"} for run in ("short", "long")}
    assert upper("stopped") == (0.0, 0.0)
    assert upper("failed") == (0.0, 8.0)


def test_a_total_is_not_divided_by_an_interval_that_only_one_run_shows():
    """Service units of the run of an hour are known of no class: those of the short run stand, with a wide interval,
    unless the configuration says how long the run was.
    """
    found = [
        Row("short", metric, {"section": section}, value, unit, TABLE[1], TABLE[0])
        for metric, section, value, unit in (
            ("TOT", "SERVICE", 1e6, "service units"), ("/SEC", "SERVICE", 1e4, "service units/s"),
        )
    ]  # fmt: skip
    found += [Row(run, "etr_tps", {}, 19.0, "tran/s", "rates", TABLE[0]) for run in ("short", "long")]
    tables = Tables(found)
    donor = next(cell for cell in tables.blocks[TABLE].values if cell.metric == "TOT")
    assert Ratios(tables).work(donor, replace(donor, system="long")) == 1.0
    assert Ratios(tables, {"long": {RUN_S: "3600"}}).work(donor, replace(donor, system="long")) == pytest.approx(36.0)


@pytest.mark.parametrize(
    ("mart_metric", "unit", "power"), [("", "tran/s", 0.0), ("passed", "count", 1.0), ("response_max_s", "s", 0.5)]
)
def test_what_a_run_counts_and_its_longest_times_grow_with_how_long_it_takes(mart_metric, unit, power):
    """Runs of 10 and 20 transactions a second, the second ten times as long: rates double, counts are twentyfold."""
    found = [Row("short", "figure", {}, 5.0, unit, TABLE[1], TABLE[0], mart_metric=mart_metric)]
    found += [Row(run, "etr_tps", {}, tps, "tran/s", "rates", TABLE[0]) for run, tps in (("short", 10), ("long", 20))]
    facts = {"short": {RUN_S: "600"}, "long": {RUN_S: "6000"}}
    tables = Tables(found)
    (donor,) = tables.blocks[TABLE].values
    wanted = replace(donor, system="long")
    assert Ratios(tables, facts).work(donor, wanted) == pytest.approx(20.0**power if power else 2.0)
    unsure = [Ratios(tables, known).ratio(donor, wanted, SYSTEM, 5.0).belief.log_sd() for known in ({}, facts)]
    assert (unsure[1] > 1.5 * unsure[0]) == (mart_metric == "response_max_s")


@pytest.mark.parametrize("rates_known", [True, False])
@pytest.mark.parametrize(
    ("unit", "mart_metric", "of_the_load"),
    [("KB", "", False), ("s", "", True), ("count", "failed", True), ("MB/s", "", None)],
)
def test_a_metric_that_shows_no_ratio_of_its_own_is_surer_where_it_does_not_go_with_the_load(
    unit, mart_metric, of_the_load, rates_known
):
    """What systems of a workload hold is much the same, and so is work for a transaction where both rates are known."""
    found = [Row("first", "figure", {}, 5.0, unit, TABLE[1], TABLE[0], mart_metric=mart_metric)]
    if rates_known:
        found += [
            Row(run, "etr_tps", {}, tps, "tran/s", "rates", TABLE[0]) for run, tps in (("first", 1), ("other", 9))
        ]
    (donor,) = Tables(found).blocks[TABLE].values
    unsure = Ratios(Tables(found)).ratio(donor, replace(donor, system="other"), SYSTEM, 5.0).belief.log_sd()
    expected = not rates_known if of_the_load is None else of_the_load
    assert (unsure > 0.5) == expected


@pytest.mark.parametrize(("busy_pct", "least", "most"), [(80.0, 0.2, 0.4), (60.0, 0.7, 1.2), (None, 1.2, 2.0)])
def test_times_of_systems_that_are_as_busy_are_known_better(busy_pct, least, most):
    """Waiting for engines as busy is as long, so that nothing of the load tells their times apart."""
    found = [Row("first", "response_ms", {}, 11.0, "ms", TABLE[1], TABLE[0])]
    busy = (("first", 80.1), ("other", busy_pct))
    found += [Row(run, "cpu_busy_pct", {}, pct, "pct", "busy", TABLE[0]) for run, pct in busy if pct]
    tables = Tables(found)
    (donor,) = tables.blocks[TABLE].values
    unsure = Ratios(tables).ratio(donor, replace(donor, system="other"), SYSTEM, 11.0).belief.log_sd()
    assert least < unsure < most


def test_relatives_that_contradict_each_other_widen_the_answer():
    """A part is usually a sixth of the other; by the run before, or by both, it has changed as the other has not."""

    values = {("old", "REGION"): 80.0, ("old", "GATEWAY"): 13.0, ("new", "REGION"): 160.0}
    values |= {("older", "REGION"): 80.0, ("older", "GATEWAY"): 13.0}
    values |= {(run, f"same {i}"): 50.0 for i in range(3) for run in ("older", "old", "new")}
    found = [
        Row(run, "cost_us", {"part": part}, value, "us/tran", TABLE[1], TABLE[0])
        for (run, part), value in values.items()
    ]
    facts = {run: {WORKLOAD: "w"} for run in ("older", "old", "new")}
    cell = Cell(TABLE, "new", "cost_us", "", (("part", "GATEWAY"),), None)
    low, middle, high = Beliefs(Tables(found), facts).infer(cell).belief.quantiles(0.05, 0.5, 0.95)
    assert low < 14.0
    assert middle < 20.0 < high


def test_a_part_that_has_changed_tells_less_of_another():
    """The gateway takes a sixth of the region in both runs before; in the last the region takes twice the time."""
    busy = {"first": {"GATEWAY": 13.0, "REGION": 80.0}, "second": {"GATEWAY": 13.0, "REGION": 80.0}}

    def sd(region):
        found = [
            Row(run, "APPL %", {"report_class": part}, value, "pct of one CP", TABLE[1], TABLE[0])
            for run, parts in {**busy, "last": {"REGION": region}}.items()
            for part, value in parts.items()
        ]
        found += [Row(run, "etr_tps", {}, 19.0, "tran/s", "rates", TABLE[0]) for run in (*busy, "last")]
        tables = Tables(found)
        donor = next(cell for cell in tables.blocks[TABLE].values if cell.system == "last")
        ratios = Ratios(tables, {run: {"machine": "m"} for run in (*busy, "last")})
        return ratios.ratio(
            donor, donor.at_level("report_class", "GATEWAY"), "report_class", tables.value(donor)[0]
        ).belief.log_sd()

    assert sd(160.0) > sd(80.0) + 0.3


@pytest.mark.parametrize(("unit", "costs"), [("SU", True), ("s", False)])
def test_an_option_switched_on_costs_work_before_any_ratio_is_seen(unit, costs):
    storage = [Row("one", "csa_kb", {"tran_option": level}, 8.0, "KB", TABLE[1], TABLE[0]) for level in ("No", "Yes")]
    tables = Tables([*storage, Row("one", "used", {"tran_option": "No"}, 100.0, unit, TABLE[1], TABLE[0])])
    donor = next(cell for cell in tables.blocks[TABLE].values if cell.metric == "used")
    on = Ratios(tables).ratio(donor, donor.at_level("tran_option", "Yes"), "tran_option", 100.0)
    off = Ratios(tables).ratio(donor.at_level("tran_option", "Yes"), donor, "tran_option", 100.0)
    assert on.belief.median() == pytest.approx(1.0 / off.belief.median(), rel=1e-6)
    assert 1.005 < on.belief.median() < 1.03 if costs else on.belief.median() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(("growths", "unsure"), [((1.5, 1.5, 1.5, 1.5), False), ((1.1, 1.5, 2.0, 3.0), True)])
def test_a_part_is_to_another_as_elsewhere_where_other_parts_are(growths, unsure):
    """One transaction takes 1.2 times as long as another on a first system, whose transactions a second one has too."""
    first = {"asked": 1.2, "a": 1.0, "b": 0.8, "c": 1.1, "d": 0.9}
    second = {tran: time * growth for (tran, time), growth in zip(list(first.items())[1:], growths, strict=True)}
    found = [
        Row(system, "avg_s", {"tran": tran, "window": window}, time * by, "s", TABLE[1], TABLE[0])
        for window, by in (("steady", 1.0), ("all", 1.01))
        for system, times in (("first", first), ("second", second))
        for tran, time in times.items()
    ]
    tables = Tables(found)
    donor = next(c for c in tables.blocks[TABLE].values if c.system == "second" and c.level("tran") == "a")
    ratio = Ratios(tables).ratio(donor, donor.at_level("tran", "asked"), "tran", tables.value(donor)[0])
    assert (ratio.belief.log_sd() > 0.4) is unsure
