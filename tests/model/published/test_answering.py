"""Questions to the studies, of systems whose truth is known."""

import json
from dataclasses import replace

import pytest

from model.capacity.values import QuestionError
from model.published.model import Published, fit, predict
from model.published.observations import WORKLOAD, Identity, Observation, Operand
from model.published.prediction import UNPACED_TIMES
from model.published.reading import read_points

SESSIONS = (1000, 2000, 4000, 16000)


MART_METRICS = {
    "pass": "passed", "etr_tps": "etr_tps",
    "avg_s": "response_avg_s", "min_s": "response_min_s", "p90_s": "response_p90_s",
}  # fmt: skip


def row(system, metric, condition, value, unit="KB", table="storage"):
    condition = {key: str(level) for key, level in condition.items()}
    return Observation(system, metric, condition, value, unit, table, "study", mart_metric=MART_METRICS.get(metric, ""))


def storage(system, base_kb, session_kb):
    rows = []
    for count in SESSIONS:
        parts = {"private": base_kb + session_kb * count, "common": 2500.0}
        parts["Total"] = sum(parts.values())
        rows += [row(system, "storage_kb", {"sessions": count, "component": p}, kb) for p, kb in parts.items()]
    return rows


def clients(system, think_s, response_s):
    return [
        row(system, "throughput", {"users": n}, n / (think_s + response_s), "tran/s", "rates")
        for n in (100, 200, 800, 1600)
    ]


def passed(run, counts, total):
    rows = [row(run, "pass", {"tran": tran}, count, "count", "by_tran") for tran, count in counts.items()]
    return rows + [replace(row(run, "total", {}, whole, "count", "totals"), mart_metric="passed") for whole in total]


@pytest.mark.parametrize(("total_of_second", "is_sum"), [(70, True), (71, False)])
def test_a_metric_is_the_sum_of_what_another_table_has_by_a_key_where_all_adds_up(total_of_second, is_sum):
    """Of a third run the transactions are known, and not how many passed in all."""
    runs = {"first": (10, 20), "second": (30, 40), "third": (5, 6)}
    totals = {"first": [30], "second": [total_of_second], "third": []}
    rows = [one for run, (a, b) in runs.items() for one in passed(run, {"A": a, "B": b}, totals[run])]
    model = fit(rows, {run: {WORKLOAD: "shop"} for run in runs})
    found = values(predict(model, "third"))["total", ""]
    assert (found.value == 11) == is_sum
    assert (found.evidence["basis"] == "follows from other values") == is_sum


@pytest.fixture(scope="module")
def model():
    rows = storage("clear", 9000.0, 3.1) + storage("tls", 16000.0, 5.2) + clients("clear", 2.0, 0.05)
    for release, busy, rate in (("V1", 80.0, 1000.0), ("V2", 82.4, 1020.0)):
        rows.append(row("one", "cpu_busy_pct", {"variant": release}, busy, "pct", "runs"))
        rows.append(row("one", "etr_tps", {"variant": release}, rate, "tran/s", "runs"))
    rows.append(row("two", "cpu_busy_pct", {"variant": "V1"}, 60.0, "pct", "runs"))
    rows += [row("two", "etr_tps", {"variant": v}, 500.0, "tran/s", "runs") for v in ("V1", "V2")]
    identity = Identity(
        "clear",
        "growth",
        "study",
        "growth_pct",
        {"sessions": "2000"},
        "pct",
        "change_pct",
        (Operand(table="storage", metric="storage_kb", condition={"component": "Total"}),
         Operand(table="storage", metric="storage_kb", condition={"component": "Total", "sessions": "1000"})),
    )  # fmt: skip
    facts = {"clear": {"cps": "2", WORKLOAD: "a"}, "tls": {}, "one": {}, "two": {}}
    return json.loads(json.dumps(fit(rows, facts, [identity])))


def test_what_has_levels_of_what_follows_alone_is_asked_by_them():
    rows = [row("one", "itr_tps", {"machine": m}, rate, "tran/s", "runs") for m, rate in (("m1", 100.0), ("m2", 112.0))]
    operands = tuple(Operand(condition={"machine": m, "quantity": ""}) for m in ("m2", "m1"))
    gain = Identity("one", "runs", "study", "itr_tps", {"quantity": "gain"}, "pct", "change_pct", operands)
    (found,) = predict(fit(rows, {"one": {}}, [gain]), "one", {"quantity": "gain"})
    assert (found.metric, found.value) == ("itr_tps", pytest.approx(12.0))


def test_work_of_a_sibling_is_compared_at_the_total_rate_of_all_sorts_of_transactions():
    rows = [row(run, "total_tps", {}, rate, "tran/s", "summary") for run, rate in (("first", 100.0), ("second", 150.0))]
    rows.append(row("first", "reads_per_s", {}, 500.0, "1/s", "summary"))
    found = values(predict(fit(rows, {run: {WORKLOAD: "shop"} for run in ("first", "second")}), "second"))
    reads = found["reads_per_s", ""]
    assert reads.value == pytest.approx(750.0)
    assert reads.hi / reads.lo < 10.0


def values(outputs):
    return {(o.metric, o.condition.get("component", "")): o for o in outputs}


def test_storage_between_and_beyond_the_measured_sessions_follows_its_sessions(model):
    for count in (8000, 32000):
        found = values(predict(model, "clear", {"sessions": count}))["storage_kb", "private"]
        assert found.value == pytest.approx(9000.0 + 3.1 * count, rel=0.03)
        assert found.lo < found.value < found.hi


def test_what_does_not_depend_on_a_condition_stays(model):
    found = values(predict(model, "tls", {"sessions": 8000}))["storage_kb", "common"]
    assert found.value == pytest.approx(2500.0, rel=1e-3)


def test_totals_add_up(model):
    found = values(predict(model, "clear", {"sessions": 8000}))
    parts = found["storage_kb", "private"].value + found["storage_kb", "common"].value
    assert found["storage_kb", "Total"].value == pytest.approx(parts, rel=1e-12)


def test_an_identity_of_the_catalogue_is_computed_from_its_parts(model):
    found = values(predict(model, "clear", {"sessions": 8000}))
    base = values(predict(model, "clear", {"sessions": 1000}))["storage_kb", "Total"].value
    expected = 100.0 * (found["storage_kb", "Total"].value / base - 1.0)
    assert found["growth_pct", ""].value == pytest.approx(expected, rel=1e-9)


def test_throughput_of_users_who_think_is_theirs_over_the_cycle(model):
    found = values(predict(model, "clear", {"users": 400}))["throughput", ""]
    assert found.value == pytest.approx(400 / 2.05, rel=0.005)


def limited(users):
    """The throughput of users who think 1 s, and wait for nothing but a resource that serves 400 a second."""
    return min(users / 1.05, 400.0)


def test_users_of_a_resource_that_fills_up_make_no_more_than_it_serves():
    """Levels on either side show where it is full."""
    measured = (50, 100, 200, 800, 1600)
    rows = [row("people", "throughput", {"users": n}, limited(n), "tran/s", "rates") for n in measured]
    model = fit(rows, {"people": {"think_time": "1"}})
    for users in (150, 300, 410, 1200, 3000):
        found = values(predict(model, "people", {"users": users}))["throughput", ""]
        assert found.lo <= limited(users) * 1.005
        assert found.hi >= limited(users) * 0.995
        assert users > 800 or found.value == pytest.approx(limited(users), rel=0.01)


def test_throughput_of_far_more_users_than_measured_may_have_stopped_growing(model):
    near, far = (values(predict(model, "clear", {"users": users}))["throughput", ""] for users in (6400, 160_000))
    assert near.lo > 0.9 * near.value
    assert far.lo == near.lo
    assert far.value == pytest.approx(160_000 / 2.05, rel=0.05)


def test_users_and_sessions_are_one_population(model):
    assert ("throughput", "") in values(predict(model, "clear", {"sessions": 400}))
    assert values(predict(model, "clear", {"clients": 400})).keys() >= {("throughput", "")}


def test_a_release_costs_what_it_costs_elsewhere_at_the_rate_measured(model):
    found = values(predict(model, "two", {"variant": "V2"}))["cpu_busy_pct", ""]
    assert 60.0 <= found.value < 61.0
    assert found.lo < 60.6 < found.hi


def test_intervals_widen_away_from_the_data(model):
    def width(count):
        found = values(predict(model, "clear", {"sessions": count}))["storage_kb", "private"]
        return (found.hi - found.lo) / found.value

    assert width(128000) > width(8000)


def test_an_answer_says_where_the_mean_of_the_neighbours_was_nearer(model):
    said = {**model, "behind": ["study storage: storage"]}
    answered = values(predict(said, "clear", {"sessions": 8000}))["storage_kb", "private"]
    assert any("mean of their neighbours" in note for note in answered.notes)
    plain = values(predict(model, "clear", {"sessions": 8000}))["storage_kb", "private"]
    assert not any("neighbours" in note for note in plain.notes)


def test_far_outside_the_levels_a_straight_line_stays_one_whatever_siblings_would_say():
    rows = storage("straight", 9000.0, 3.1) + [
        row("noisy", "storage_kb", {"sessions": count, "component": "private"}, kb)
        for count, kb in zip(SESSIONS, (12000.0, 13000.0, 28000.0, 40000.0), strict=True)
    ]
    found = values(predict(fit(rows, {}), "straight", {"sessions": 64000}))["storage_kb", "private"]
    assert found.value == pytest.approx(9000.0 + 3.1 * 64000, rel=0.02)


def test_answers_do_not_depend_on_the_order_of_rows(model):
    turned = {**model, "rows": model["rows"][::-1]}
    one, other = (values(predict(m, "tls", {"sessions": 8000})) for m in (model, turned))
    assert {k: v.value for k, v in one.items()} == pytest.approx({k: v.value for k, v in other.items()}, rel=1e-9)


def test_a_condition_of_the_configuration_is_accepted_as_it_was_measured(model):
    assert predict(model, "clear", {"sessions": 8000, "cps": 2})
    with_range = {**model, "facts": {**model["facts"], "clear": {**model["facts"]["clear"], "jobs": "8 to 128"}}}
    assert predict(with_range, "clear", {"sessions": 8000, "jobs": 64})
    with pytest.raises(QuestionError, match="only '8 to 128' was measured"):
        predict(with_range, "clear", {"sessions": 8000, "jobs": 256})
    with pytest.raises(QuestionError, match="only '2' was measured"):
        predict(model, "clear", {"cps": 3})


@pytest.mark.parametrize(
    ("system", "at", "allowed"),
    [
        ("nowhere", {}, "clear"),
        ("clear", {"region": 4}, "sessions"),
        ("two", {"variant": "V3"}, "V1"),
        ("clear", {"sessions": "many"}, None),
    ],
)
def test_what_is_unknown_is_refused_with_what_is_known(model, system, at, allowed):
    with pytest.raises(QuestionError) as refused:
        predict(model, system, at)
    assert allowed is None or allowed in refused.value.allowed


def test_a_release_may_be_asked_by_another_name_and_by_the_words_that_tell_it():
    rows = [row("one", "csa_kb", {"variant": f"IMS {v} OTMA"}, 700.0, "KB", "runs") for v in ("V9", "V10")]
    (found,) = predict(fit(rows, {}), "one", {"release": "V10"})
    assert found.condition == {"variant": "IMS V10 OTMA"}


def test_words_that_several_levels_have_stand_for_all_of_them():
    levels = ("IMS V9 IMS1", "IMS V10 IMS1", "IMS V10 IMS2")
    rows = [row("one", "csa_kb", {"variant": level}, 700.0, "KB", "runs") for level in levels]
    found = predict(fit(rows, {}), "one", {"ims_version": "V10"})
    assert {output.condition["variant"] for output in found} == {"IMS V10 IMS1", "IMS V10 IMS2"}


def test_a_system_with_a_table_of_its_own_is_asked_for_the_release_that_other_tables_show():
    levels = {"V9": 800.0, "V10": 840.0, "V10 online": 400.0}
    rows = [row(of, "csa_kb", {"variant": v}, kb, table="runs") for of in ("a", "b") for v, kb in levels.items()]
    model = fit([*rows, row("batch", "csa_kb", {"variant": "V9"}, 600.0, table="batch")], {})
    assert Published(model).keys("batch")["variant"] == ("V10", "V9")
    (found,) = predict(model, "batch", {"variant": "V10"})
    assert found.value > 600.0
    assert found.lo < 600.0 * 1.05 < found.hi


def test_keys_come_with_their_levels(model):
    keys = Published(model).keys("two")
    assert keys["variant"] == ("V1", "V2")


def test_points_of_any_system_are_rows_by_the_condition_of_their_run():
    marts = [
        {
            "system_id": "shop",
            "point": f"{kb}K",
            "condition": f"buffer_kb={kb}",
            "workload": "QUEUES",
            "subject": "",
            "metric": "elapsed_s",
            "value": 4.0 + 8.0 / kb,
            "value_se": 0.01,
            "unit": "s",
        }
        for kb in (2, 4, 8, 32)
    ]
    found = predict(fit(read_points(marts), {}), "shop", {"buffer_kb": 16})
    assert found[0].metric == "elapsed_s"
    assert found[0].value == pytest.approx(4.5, rel=0.01)


def test_what_a_study_got_wrong_of_one_system_is_not_copied_to_its_sibling():
    levels = (1, 2, 4, 8, 32)
    rows = [row("one", "storage_kb", {"sessions": n}, 1000.0 + 5 * n) for n in levels]
    rows += [row("other", "storage_kb", {"sessions": n}, 1010.0 + 5 * n) for n in levels if n != 4]
    rows[2] = replace(rows[2], value=2000.0, se=2000.0, judged=False)
    assert predict(fit(rows, {}), "other", {"sessions": 4})[0].value == pytest.approx(1030.0, rel=0.01)


def test_more_regions_are_not_expected_to_shorten_waiting():
    levels = (60, 80)
    rows = [row("steady", "wait_ms", {"ifp_regions": n}, 4.0 * n, "ms") for n in levels]
    rows += [
        row("noisy", "wait_ms", {"ifp_regions": n}, wait, "ms") for n, wait in zip(levels, (1100, 900), strict=True)
    ]
    model = fit(rows, {})
    assert predict(model, "noisy", {"ifp_regions": 20})[0].value < 1100.0


def test_an_answer_far_from_the_data_has_limits_a_reader_can_use():
    rows = [row("one", "wait_ms", {"ifp_regions": n}, wait, "ms") for n, wait in ((60, 1100.0), (80, 200.0))]
    (found,) = predict(fit(rows, {}), "one", {"ifp_regions": 1})
    assert found.hi / found.lo < 1e4


def test_two_shares_of_a_whole_make_up_the_whole_where_neither_was_measured():
    shares = {"V1": (94.0, 6.0), "V2": (92.5, 7.5)}
    rows = [
        row(system, metric, {"variant": level, "structure": "Logger"}, value, "pct", "structures")
        for system in ("one", "two")
        for level, values_pct in shares.items()
        for metric, value in zip(("sync_pct", "async_pct"), values_pct, strict=True)
        if (system, level) != ("two", "V2")
    ]
    found = {output.metric: output.value for output in predict(fit(rows, {}), "two", {"variant": "V2"})}
    assert found["sync_pct"] + found["async_pct"] == pytest.approx(100.0, rel=1e-9)


def test_what_is_left_of_a_whole_is_as_sure_as_its_small_share():
    """A share of 6 % that may be half as large again leaves 91 to 96 %."""
    rows = [
        row("one", metric, {"variant": level, "structure": structure}, value, unit, "structures")
        for structure in ("Logger", "Queue")
        for level, figures in {
            "V1": [("sync_pct", 94.0, "pct"), ("async_pct", 6.0, "pct"), ("access_per_s", 1800.0, "1/s")],
            "V2": [("access_per_s", 1800.0, "1/s")],
        }.items()
        for metric, value, unit in figures
    ]
    found = {
        output.metric: output for output in predict(fit(rows, {}), "one", {"variant": "V2", "structure": "Logger"})
    }
    assert 90.0 < found["sync_pct"].lo < 93.0
    assert 95.0 < found["sync_pct"].hi < 97.0
    assert found["async_pct"].hi == pytest.approx(100.0 - found["sync_pct"].lo, abs=0.2)


def test_a_figure_that_two_tables_print_is_answered_once():
    rows = [
        replace(found, table=table, condition={**found.condition, "application": words})
        for found in clients("one", 2.0, 0.05)
        for table, words in (("storage", "sockets"), ("buffers", "Sockets"))
    ]
    assert [output.metric for output in predict(fit(rows, {}), "one", {"users": 400})] == ["throughput"]
    whole = [replace(found, table="whole run", condition={"users": found.condition["users"]}) for found in rows[::2]]
    assert len(predict(fit([*rows, *whole], {}), "one", {"users": 400})) == 2


def test_two_numbers_of_one_population_are_refused(model):
    with pytest.raises(QuestionError, match="sessions and users are one population"):
        predict(model, "clear", {"sessions": 4000, "users": 400})


def test_storage_beyond_the_measured_sessions_is_not_below_the_last(model):
    rows = [
        row("one", "storage_kb", {"sessions": count}, kb)
        for count, kb in zip(SESSIONS, (20000.0, 20000.0, 19900.0, 24000.0), strict=True)
    ]
    answers = [predict(fit(rows, {}), "one", {"sessions": count})[0].value for count in (16000, 64000, 256000)]
    assert answers == sorted(answers)


@pytest.mark.parametrize(
    ("sibling", "less"), [({4000: 272.0, 16000: 290.0}, False), ({8000: 300.0, 16000: 240.0}, True)]
)
def test_storage_beyond_the_measured_sessions_is_below_the_last_only_where_a_sibling_falls(sibling, less):
    measured = {"one": {1000: 210.0, 2000: 210.0, 8000: 232.0}, "two": {1000: 276.0, 2000: 276.0, **sibling}}
    rows = [row(s, "storage_kb", {"sessions": n}, kb) for s, points in measured.items() for n, kb in points.items()]
    assert (predict(fit(rows, {}), "one", {"sessions": 16000})[0].value < 232.0) == less


def test_a_measured_level_is_answered_by_what_was_measured_there():
    steps = (20.0, 20.0, 31.0, 22.0)
    rows = [
        row("one", "storage_kb", {"sessions": count}, kb, table="t") for count, kb in zip(SESSIONS, steps, strict=True)
    ]
    model = fit(rows, {})
    found = [predict(model, "one", {"sessions": count})[0] for count in SESSIONS]
    assert [output.value for output in found] == pytest.approx(steps)
    assert all(output.lo < output.value < output.hi for output in found)
    between = predict(model, "one", {"sessions": 8000})[0]
    assert all(output.hi / output.lo < between.hi / between.lo for output in found)


@pytest.mark.parametrize(
    ("value", "unit", "limits"),
    [(0.0, "s", (0.0, 0.05)), (0.3, "s", (0.25, 0.35)), (0.0, "count", (0.0, 0.0)), (13.0, "count", (13.0, 13.0))],
)
def test_a_measured_figure_may_be_all_that_rounds_to_it_unless_it_is_a_count(value, unit, limits):
    rounding = 0.05 if unit == "s" else 0.5
    (found,) = predict(fit([replace(row("one", "wait", {}, value, unit, "waits"), rounding=rounding)], {}), "one")
    assert (found.value, found.lo, found.hi) == pytest.approx((value, *limits), rel=0.02)


def test_a_level_measured_once_follows_the_other_option_over_the_sizes():
    links = {"ctc": 20.0, "mtm": 15.0, "vtam": 18.0}
    rows = [
        row(system, "send_s", {"bandwidth_mode": mode, "buffer_kb": size}, factor * (base + 16.0 / size), "s", "links")
        for system, base in links.items()
        for mode, factor in (("no", 2.0), ("yes", 1.0))
        for size in ((4,) if mode == "no" else (4, 8, 32))
    ]
    (found,) = predict(fit(rows, {}), "vtam", {"bandwidth_mode": "no", "buffer_kb": 16})
    assert found.value == pytest.approx(2.0 * 19.0, rel=0.06)
    assert found.hi < 2.0 * found.lo


def test_a_level_measured_once_is_as_far_from_the_other_option_beside_a_measured_size_as_at_it():
    """Slow links gain most by the option, so that its ratio goes with how long they take."""
    rows = [
        row(system, "send_s", {"bandwidth_mode": mode, "buffer_kb": size}, seconds, "s", "links")
        for system, gain, base in (("ctc", 2.3, 10.0), ("mtm", 1.5, 8.0), ("vtam", 1.8, 9.0))
        for mode, size, seconds in (("no", 4, gain * (base + 3.0)), *(("yes", s, base + 12.0 / s) for s in (4, 8, 32)))
    ]
    model = fit(rows, {})
    at, beside = (predict(model, "ctc", {"bandwidth_mode": "no", "buffer_kb": size})[0].value for size in (32.0, 32.5))
    assert beside == pytest.approx(at, rel=0.02)


def test_a_step_that_a_sibling_shows_at_a_level_is_a_step_of_the_series_too():
    """One system was measured at 4000 sessions, the others at 8000: a pool is extended before 4000."""
    kb = {1000: 44.0, 2000: 70.0, 4000: 136.0, 8000: 235.0, 16000: 447.0}
    measured = {
        "stepped": (1000, 2000, 4000, 16000),
        "one": (1000, 2000, 8000, 16000),
        "two": (1000, 2000, 8000, 16000),
    }
    rows = [
        row(system, "storage_kb", {"sessions": n}, factor * kb[n])
        for (system, counts), factor in zip(measured.items(), (1.0, 0.99, 0.985), strict=True)
        for n in counts
    ]
    model = fit(rows, {})
    found = predict(model, "one", {"sessions": 4000})[0]
    assert found.lo < 0.99 * kb[4000] < found.hi
    assert predict(model, "stepped", {"sessions": 8000})[0].value == pytest.approx(kb[8000], rel=0.02)


def test_a_transaction_not_measured_took_as_long_at_most_as_the_others_of_its_run():
    longest = {"minutes": (2.0, 6.4, 1.5, 3.3, 2.2, 4.0), "hours": (149.0, 134.0, 137.0, 150.0, 135.0, None)}
    rows = [
        row(run, "max_s", {"tran": f"T{i}"}, seconds, "s", "responses")
        for run, found in longest.items()
        for i, seconds in enumerate(found)
        if seconds is not None
    ]
    (found,) = predict(fit(rows, {run: {WORKLOAD: "a"} for run in longest}), "hours", {"tran": "T5"})
    assert found.value == pytest.approx(141.0, rel=0.03)


@pytest.mark.parametrize(("last", "bounded"), [(400.0, True), (100.0, False)])
def test_an_answer_between_levels_that_all_rise_is_between_its_neighbours(last, bounded):
    levels = {"10": 100.0, "20": 103.0, "40": 330.0, "80": last}
    rows = [Observation("one", "storage_kb", {"sessions": x}, y, "KB", "storage", "study") for x, y in levels.items()]
    found = {count: predict(fit(rows, {}), "one", {"sessions": count})[0] for count in (15, 160)}
    within = found[15]
    assert (within.lo > 99.0 and within.hi < 104.0) == bounded
    assert within.lo <= within.value <= within.hi
    assert found[160].hi > last * 1.05


@pytest.mark.parametrize(("first", "bounded"), [(0.0, True), (-1.0, False)])
def test_what_was_never_measured_below_zero_is_never_below(first, bounded):
    levels = {1: first, 2: 5.0, 3: 0.0, 4: 6.0}
    model = fit([row("one", "storage_kb", {"sessions": x}, y) for x, y in levels.items()], {})
    found = predict(model, "one", {"sessions": 0.5})[0]
    assert (found.lo == 0.0) == bounded and found.lo <= found.value <= found.hi


def test_throughput_at_more_users_than_measured_follows_a_sibling_by_rate_not_by_response():
    rows = clients("one", 2.0, 0.05)
    rows.append(row("other", "throughput", {"users": 100}, 100 / 2.1, "tran/s", "rates"))
    facts = {name: {WORKLOAD: "a"} for name in ("one", "other")}
    found = values(predict(fit(rows, facts, []), "other", {"users": 300}))["throughput", ""]
    assert found.value == pytest.approx(300 / 2.1, rel=0.02)
    assert found.lo < 300 / 2.1 < found.hi


def test_a_doubtful_level_bounds_no_answer_beside_it():
    levels = {1: 276.0, 2: 276.0, 4: 700.0, 8: 703.0, 32: 704.0, 64: 710.0}
    rows = [row("one", "storage_kb", {"sessions": x}, y) for x, y in levels.items()]
    rows[:2] = [replace(one, se=one.value, judged=False) for one in rows[:2]]
    model = fit(rows, {})
    for count in (0.5, 1, 1.5, 3, 16):
        assert predict(model, "one", {"sessions": count})[0].value == pytest.approx(702.0, rel=0.02), count


def test_of_a_part_that_a_measured_total_leaves_no_room_for_there_is_nothing():
    seconds = {"V1": (0.5, 25.0, 60.0), "V2": (0.4, 26.0, 57.0), "V2 by member": (1.6, 0.1)}
    rows = []
    for variant, parts in seconds.items():
        phases = dict(zip(("prepare", "commit", "ready"), parts, strict=False))
        phases["Total"] = sum(parts)
        rows += [row("one", "elapsed_s", {"variant": variant, "phase": p}, s, "s") for p, s in phases.items()]
    found = {o.condition["phase"]: o.value for o in predict(fit(rows, {}), "one", {"variant": "V2 by member"})}
    assert found == pytest.approx({"prepare": 1.6, "commit": 0.1, "ready": 0.0, "Total": 1.7})
    without = [one for one in rows if one.condition != {"variant": "V2 by member", "phase": "Total"}]
    found = {o.condition["phase"]: o.value for o in predict(fit(without, {}), "one", {"variant": "V2 by member"})}
    assert found["ready"] > 0.0
    assert found["Total"] == pytest.approx(1.7 + found["ready"])


def test_times_of_users_who_wait_for_nothing_but_the_answer_are_noted_as_unknown():
    """How long a class waits depends on what holds the other classes back."""
    rows = [
        row(run, "avg_s", {"tran": tran}, 0.1 * i, "s", "responses")
        for run, trans in (("paced", ("A", "B", "C")), ("full", ("A",)))
        for i, tran in enumerate(trans, 1)
    ]
    facts = {"paced": {WORKLOAD: "shop"}, "full": {WORKLOAD: "shop", "requested_rate": "maximum"}}
    outputs = {one.condition["tran"]: one for one in predict(fit(rows, facts), "full")}
    assert UNPACED_TIMES in outputs["B"].notes
    assert UNPACED_TIMES not in outputs["A"].notes
