"""Counts of a configuration, and rates of systems without a network."""

import pytest

from model.capacity import ask
from model.capacity.values import QuestionError
from model.published.model import fit
from model.published.observations import Observation
from tests.model.capacity.conftest import predict, value


@pytest.fixture(scope="module")
def known(bundle):
    rows = [
        Observation("shop", "etr_tps", {}, 6000.0, "tran/s", "summary"),
        Observation("two", "service_units", {"option": "No"}, 5000.0, "SU", "work"),
        Observation("two", "csa_kb", {"option": "No"}, 700.0, "KB", "work"),
        Observation("two", "cpu_busy_pct", {"option": "No"}, 60.0, "pct", "work"),
        Observation("two", "tran_rate_tps", {"option": "No"}, 500.0, "tran/s", "work"),
        Observation("two", "service_units", {"option": "Yes"}, 5200.0, "SU", "work"),
        Observation("two", "tran_rate_tps", {"option": "Yes"}, 400.0, "tran/s", "work"),
        Observation("driven", "avg_s", {}, 0.5, "s", "responses", mart_metric="response_avg_s"),
        Observation("driven", "online_tran_rate_tps", {}, 70.0, "tran/s", "rate"),
        Observation("sorts", "total_tps", {}, 100.0, "tran/s", "rates"),
        Observation("sorts", "lu2_tps", {}, 25.0, "tran/s", "rates"),
        Observation("formula", "users", {}, 8000.0, "count", "formula"),
        Observation("formula", "trans_per_user_per_min", {}, 6.0, "1/min", "formula"),
        Observation("formula", "cpu_s_per_tran", {}, 5.5e-5, "s", "formula"),
        Observation("formula", "cpu_s_per_elapsed_s", {}, 0.044, "s/s", "formula"),
        Observation("formula", "result", {}, 4.4 / 3, "pct of 3 CPs", "formula"),
        Observation("transfer", "throughput_mb_per_s", {}, 110.0, "MB/s", "formula"),
        Observation("transfer", "cpu_s_per_kb", {}, 1.2e-6, "s/KB", "formula"),
        Observation("transfer", "cpu_s_per_elapsed_s", {}, 0.14, "s/s", "formula"),
        Observation("ratios", "avg_pct", {"benchmark": "B"}, -3.0, "pct", "ratios"),
        Observation("wider", "avg_pct", {"benchmark": "C"}, -3.0, "pct", "ratios"),
        *(Observation("held", "throughput", {"users": f"{n}"}, n / 10.0, "tran/s", "law") for n in (100, 200, 400)),
        *(Observation("held", "storage_kb", {"users": f"{n}"}, 50.0 + n, "KB", "law") for n in (100, 200, 400)),
        *(Observation("sent", "throughput", {"users": f"{n}"}, n / 10.0, "MB/s", "law") for n in (100, 200, 400)),
    ]
    rows += [
        *(Observation("paced", "throughput", {"users": f"{n}"}, n / 10.0, "tran/s", "law") for n in (100, 200, 400)),
        *(Observation("paced", "storage_kb", {"users": f"{n}"}, 50.0 + n, "KB", "law") for n in (100, 200, 400)),
        *(Observation("paced", "cpu_busy_pct", {"users": f"{n}"}, n / 10.0, "pct", "law") for n in (100, 200, 400)),
        *(Observation("files", "throughput", {"users": f"{n}"}, n / 10.0, "MB/s", "law") for n in (100, 200, 400)),
        *(Observation("link", "send_s", {"buffer_kb": f"{n}"}, 9.0 + 8.0 / n, "s", "law") for n in (4, 8, 32)),
    ]
    facts = {
        "paced": {"think_time": "8"},
        "files": {"think_time": "15", "file_size": "2"},
        "link": {"messages_sent": "10000", "average_message_bytes": "500"},
        "shop": {"ims_connect_clients": "4000", "aors": "10", "machine": "m0", "memory": "2"},
        "two": {"terminals_per_lpar": "300", "terminals": "600"},
        "driven": {"concurrent_users": "200", "requested_rate": "maximum"},
        "sorts": {"lu2_clients": "20", "web_clients": "30", "workload": "w"},
        "ratios": {"sessions": "3"},
        "wider": {"sessions": "8 to 128", "buffer_kb": "1;8"},
        "formula": {"users": "8000"},
        "transfer": {"throughput_mb_per_s": "110"},
    }
    return {**bundle, "conditions": fit(rows, facts)}


def figure(answer, metric, **condition):
    wanted = {f"{key}={level}" for key, level in condition.items()}
    return next(o for o in answer["outputs"] if o["metric"] == metric and wanted <= set(o["condition"].split("; ")))


def half_width(output):
    return (output["hi"] - output["lo"]) / output["value"]


def test_clients_make_the_load_of_a_growth_and_are_named_in_the_answer(known):
    asked = predict(known, "shop", {"ims_connect_clients": 4400})
    grown = predict(known, "shop", {"growth_pct": 10})
    for metric in ("cpu_busy_pct", "etr_tps"):
        assert value(asked, metric)["value"] == pytest.approx(value(grown, metric)["value"])
        assert half_width(value(asked, metric)) > half_width(value(grown, metric))
    assert asked["extrapolated"]
    assert asked["at"] == {"ims_connect_clients": 4400}
    assert "growth" not in str(asked["outputs"])
    assert any("4,000 were measured" in note for note in asked["notes"])


def test_users_asked_for_are_those_answered_and_their_work_adds_up(known):
    asked = predict(known, "formula", {"users": 200_000})
    found = {output["metric"]: output["value"] for output in asked["outputs"]}
    assert found["users"] == pytest.approx(200_000)
    work = found["users"] * found["trans_per_user_per_min"] / 60 * found["cpu_s_per_tran"]
    assert found["cpu_s_per_elapsed_s"] == pytest.approx(work)
    assert found["result"] == pytest.approx(100 * work / 3)


def test_work_goes_with_what_is_carried(known):
    asked = predict(known, "transfer", {"throughput_mb_per_s": 220})
    carried, work = value(asked, "throughput_mb_per_s"), value(asked, "cpu_s_per_elapsed_s")
    assert carried["lo"] == carried["hi"] == pytest.approx(220.0)
    assert work["value"] == pytest.approx(0.28)
    assert work["lo"] < work["value"] < work["hi"]
    assert value(asked, "cpu_s_per_kb")["value"] == 1.2e-6


def test_engines_are_sized_for_clients(known):
    sized = ask.size(known, "shop", {"ims_connect_clients": 8000}, max_busy_pct=80)
    grown = ask.size(known, "shop", {"growth_pct": 100}, max_busy_pct=80)
    assert sized["engines"] == grown["engines"]
    assert sized["at"] == {"ims_connect_clients": 8000}


def test_those_who_serve_change_no_figure_and_leave_it_less_sure(known):
    before, asked = predict(known, "shop", {}), predict(known, "shop", {"aors": 20})
    assert value(asked, "cpu_busy_pct")["value"] == value(before, "cpu_busy_pct")["value"]
    assert half_width(value(asked, "cpu_busy_pct")) > half_width(value(before, "cpu_busy_pct"))


def test_what_the_configuration_says_anyway_changes_nothing(known):
    before = predict(known, "shop", {})["outputs"]
    assert predict(known, "shop", {"aors": 10, "machine": "m0", "ims_connect_clients": 4000})["outputs"] == before


@pytest.mark.parametrize("key", ["concurrent_users", "users"])
def test_users_who_wait_for_nothing_but_the_answer_wait_for_each_other(known, key):
    asked = predict(known, "driven", {key: 400})
    assert value(asked, "avg_s")["value"] == pytest.approx(1.0)
    assert value(asked, "online_tran_rate_tps")["value"] == 70.0


def test_a_driver_keeps_its_rate_whatever_the_users_and_is_asked_for_another(known):
    paced = {**known["conditions"]["facts"], "driven": {"concurrent_users": "200", "requested_rate": "70"}}
    known = {**known, "conditions": {**known["conditions"], "facts": paced}}
    assert value(predict(known, "driven", {"users": 400}), "avg_s")["value"] == 0.5
    assert value(predict(known, "driven", {"requested_rate": 35}), "online_tran_rate_tps")["value"] == 35


def test_one_of_several_sorts_of_clients_makes_its_share_of_the_load(known):
    assert value(predict(known, "sorts", {"lu2_clients": 40}), "total_tps")["value"] == pytest.approx(125.0)
    assert value(predict(known, "sorts", {"web_clients": 60}), "total_tps")["value"] == pytest.approx(175.0)


@pytest.mark.parametrize(
    "asked", [{"aors": 0}, {"aors": "many"}, {"ims_connect_clients": 9, "etr_tps": 5}, {"memory": 4}]
)
def test_counts_that_cannot_be_or_say_the_load_twice_are_refused(known, asked):
    with pytest.raises(QuestionError) as refused:
        predict(known, "shop", asked)
    assert next(iter(asked)) in refused.value.message


def test_work_goes_with_the_rate_of_each_condition_and_storage_stays(known):
    asked = predict(known, "two", {"etr_tps": 600})
    assert figure(asked, "service_units", option="No")["value"] == pytest.approx(6000.0)
    assert figure(asked, "service_units", option="Yes")["value"] == pytest.approx(7800.0)
    assert figure(asked, "tran_rate_tps", option="Yes")["value"] == 600
    assert figure(asked, "csa_kb", option="No")["value"] == 700
    assert any("not changed by the load" in note and "csa_kb" in note for note in asked["notes"])
    far = predict(known, "two", {"etr_tps": 5000})
    assert half_width(figure(far, "service_units", option="No")) > half_width(
        figure(asked, "service_units", option="No")
    )


def test_busy_at_a_rate_and_the_rate_at_a_busy(known):
    at_rate = predict(known, "two", {"option": "No", "etr_tps": 600})
    assert value(at_rate, "cpu_busy_pct")["value"] == pytest.approx(72.0)
    assert value(predict(known, "two", {"option": "No", "cpu_busy_pct": 72}), "tran_rate_tps")[
        "value"
    ] == pytest.approx(600)
    full = predict(known, "two", {"option": "No", "etr_tps": 6000})
    assert value(full, "cpu_busy_pct")["value"] == 100
    assert any("saturated" in note for note in full["notes"])


def test_the_users_who_make_a_rate_are_found_by_their_law(known):
    asked = predict(known, "held", {"etr_tps": 30})
    assert value(asked, "throughput")["value"] == pytest.approx(30.0, rel=1e-3)
    assert value(asked, "storage_kb")["value"] == pytest.approx(350.0, rel=0.01)


@pytest.mark.parametrize(
    ("system", "asked", "why"),
    [
        ("held", {"etr_tps": 1e6}, "not made by"),
        ("held", {"etr_tps": 30, "users": 7}, "says the load already"),
        ("held", {"growth_pct": 7}, "which number of users"),
        ("sent", {"etr_tps": 20}, "MB/s"),
        ("ratios", {"etr_tps": 20}, "no rate"),
        ("ratios", {"engines": 2}, "no engine time was measured"),
        ("two", {"growth_pct": -100}, "nothing is left"),
    ],
)
def test_rates_of_which_nothing_is_known_are_refused_with_the_reason(known, system, asked, why):
    with pytest.raises(QuestionError, match=why):
        predict(known, system, asked)


def test_ratios_do_not_depend_on_how_many_ask(known):
    asked = predict(known, "ratios", {"sessions": 6})
    assert value(asked, "avg_pct")["value"] == -3.0


def test_beyond_a_range_of_counts_a_change_is_less_sure_and_the_note_says_the_range(known):
    within = predict(known, "wider", {"sessions": 100})
    near, far = (predict(known, "wider", {"sessions": count}) for count in (256, 1280))
    assert within["outputs"] == predict(known, "wider", {})["outputs"]
    assert predict(known, "wider", {"sessions": "8 to 128"})["outputs"] == within["outputs"]
    assert value(near, "avg_pct")["value"] == value(far, "avg_pct")["value"] == -3.0
    low, lower = value(near, "avg_pct")["lo"], value(far, "avg_pct")["lo"]
    assert -20 < lower < low < -6 and value(near, "avg_pct")["hi"] > 0
    assert near["extrapolated"] and "8 to 128 were measured" in near["notes"][0]
    assert value(predict(known, "wider", {"buffer_kb": 16}), "avg_pct")["lo"] == pytest.approx(low)


@pytest.mark.parametrize(
    ("system", "at", "throughput"),
    [
        ("paced", {"users": 200, "think_time": 3}, 200 / (3 + 2)),
        ("paced", {"users": 200, "think_time": 18}, 200 / (18 + 2)),
        ("files", {"users": 200, "file_size": 4}, 200 * 4 / (15 + 10)),
        ("files", {"users": 200, "file_size": 4, "think_time": 30}, 200 * 4 / (30 + 10)),
    ],
)
def test_users_who_do_otherwise_pass_a_cycle_of_another_length(known, system, at, throughput):
    answer = predict(known, system, at)
    found = value(answer, "throughput")
    assert found["value"] == pytest.approx(throughput, rel=0.01)
    assert found["lo"] <= throughput <= found["hi"]
    assert answer["extrapolated"]
    assert "measured with" in answer["notes"][0]


def test_work_goes_with_the_throughput_and_storage_with_the_users(known):
    plain, asked = (predict(known, "paced", {"users": 200, "think_time": s}) for s in (8, 3))
    assert value(asked, "cpu_busy_pct")["value"] == pytest.approx(2 * value(plain, "cpu_busy_pct")["value"], rel=0.02)
    assert value(asked, "storage_kb")["value"] == pytest.approx(value(plain, "storage_kb")["value"], rel=0.02)


def test_a_refused_think_time_is_named_as_it_was_asked(known):
    with pytest.raises(QuestionError) as refused:
        predict(known, "paced", {"users": 400, "think_time": 0.0001})
    assert (refused.value.field, refused.value.value) == ("at.think_time", 0.0001)


def test_a_think_time_without_users_says_how_to_ask(known):
    with pytest.raises(QuestionError, match=r"say of how many users too, such as users=\d+$"):
        predict(known, "paced", {"think_time": 3})


def test_who_thinks_as_long_as_measured_is_answered_as_measured(known):
    plain = predict(known, "paced", {"users": 200})
    same = predict(known, "paced", {"users": 200, "think_time": 8})
    assert same["outputs"] == plain["outputs"]
    assert predict(known, "paced", {"think_time": "8"})["outputs"] == predict(known, "paced", {})["outputs"]


@pytest.mark.parametrize(
    "at", [{"think_time": 3}, {"users": 400, "think_time": 0.0001}, {"users": 200, "file_size": 4}, {"think_time": -1}]
)
def test_think_times_of_no_known_users_are_refused(known, at):
    with pytest.raises(QuestionError):
        predict(known, "paced", at)


def test_times_of_sending_go_with_the_messages(known):
    plain = value(predict(known, "link", {"buffer_kb": 16}), "send_s")
    asked = predict(known, "link", {"buffer_kb": 16, "messages_sent": 20000})
    assert value(asked, "send_s")["value"] == pytest.approx(2 * plain["value"])
    assert half_width(value(asked, "send_s")) > half_width(plain)
    assert "10,000 were measured" in asked["notes"][0]


@pytest.mark.parametrize("bytes_each", [125, 2000])
def test_times_of_larger_messages_are_between_the_same_and_proportional(known, bytes_each):
    measured, asked = (
        value(predict(known, "link", {"buffer_kb": 16, "average_message_bytes": size}), "send_s")
        for size in (500, bytes_each)
    )
    ends = sorted((measured["value"], measured["value"] * bytes_each / 500))
    assert asked["value"] == pytest.approx((ends[0] * ends[1]) ** 0.5)
    assert ends[0] / 1.25 < asked["lo"] < ends[0] and ends[1] < asked["hi"] < ends[1] * 1.25


@pytest.mark.parametrize(("system", "keys"), [("paced", {"users", "think_time"}), ("link", {"messages_sent"})])
def test_an_unknown_key_is_refused_with_what_can_be_asked_of_the_configuration_too(known, system, keys):
    with pytest.raises(QuestionError, match="unknown key 'colour'") as refused:
        predict(known, system, {"colour": "red"})
    assert keys <= set(refused.value.allowed)
