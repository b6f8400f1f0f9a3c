"""A twin's records say what its network does, and the truth of a question agrees with what was recorded."""

import json
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ingest import registry as layouts
from ingest.formats.smf import decode_batches
from model.lab import LabError
from model.lab.twin import Twin, live, truth, write
from model.lab.twin.activity import Lived
from model.lab.twin.description import Question, hour_factors
from model.lab.twin.measured import measured
from model.lab.twin.questions import network_of
from model.lab.twin.truth import with_expected_use
from model.network import Network
from model.network.simulator import layout as L
from model.network.simulator import simulate
from model.network.simulator.varying_load import VaryingLoad
from tests.model.lab.twin import made


@cache
def lived() -> Lived:
    return live(made.twin())


def rows(path: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for batch in decode_batches(path, layouts.load()):
        assert not batch.quarantined
        for name, table in batch.tables.items():
            found.setdefault(name, []).extend(table.to_pylist())
    return found


def test_arrivals_follow_their_factors_from_stretch_to_stretch() -> None:
    run = VaryingLoad(Network.from_toml(made.NETWORK), seed=1)
    started = [run.run(np.array([factor, 1.0]), 50.0).total[:, L.T_STARTED] for factor in (1.0, 0.5, 0.0, 1.2)]
    assert [round(s[0] / 5000, 1) for s in started] == [1.0, 0.5, 0.0, 1.2]
    assert all(abs(s[1] / 1500 - 1) < 0.15 for s in started)


def test_engine_time_of_every_stretch_is_the_work_done_in_it_however_long_it_takes() -> None:
    network = """
name = "long"
stations = [{ name = "cp", component = "cp", servers = 3, scheduling = "priority_ps" }]
classes = [
  { name = "first", priority = 2, arrivals = { rate_per_s = 1 }, route = [{ visit = "cp", service = { mean_s = 1 } }] },
  { name = "next", priority = 1, arrivals = { rate_per_s = 1 }, route = [{ visit = "cp", service = { mean_s = 2 } }] },
]
"""
    run = VaryingLoad(Network.from_toml(network), seed=3)
    for _ in range(6):
        stretch = run.run(np.array([1.0, 0.7]), 7.0)
        ended = stretch.visit[:, 0, L.V_USING].sum()
        assert ended + stretch.under_way_s[0] == pytest.approx(stretch.station[0, L.X_BUSY_AREA])
        assert abs(stretch.under_way_s[0]) > 0.1


def test_cpu_of_a_class_is_its_demand_times_what_ended() -> None:
    first, second = (measured(lived(), lpar) for lpar in lived().lpars)
    assert (first.lpar.smf_sid, second.lpar.smf_sid) == ("PRDA", "PRDB")
    ended = first.ended.sum()
    assert first.ziip_s.sum() + first.ziip_on_cp_s.sum() == pytest.approx(0.004 * ended, rel=0.002)
    assert first.cp_s.sum() - first.ziip_on_cp_s.sum() == pytest.approx(0.008 * ended, rel=0.002)
    uncaptured = second.busy_s.sum() - second.cp_s.sum()
    assert uncaptured == pytest.approx(0.1 * 3600 * len(second.starts) + 0.06 * second.cp_s.sum(), rel=0.01)
    assert np.all((first.density > 1) & (first.density < 2)) and first.ziip_on_cp_s.sum() > 0


def test_cpu_varies_between_intervals_as_whole_intervals_do() -> None:
    m = measured(lived(), lived().lpars[1])
    each = m.cp_s[:, 0] / m.ended[:, 0]
    assert np.std(each) / np.mean(each) == pytest.approx(1 / np.sqrt(30 * 3600), rel=0.3)


def one_engine_for(many: dict[str, object], few: dict[str, object]) -> Twin:
    """Two days of two classes alike that share an engine, with loads of their own."""
    network = """
name = "alike"
stations = [{ name = "cp", component = "cp", servers = 1, scheduling = "ps" }]
classes = [
  { name = "many", arrivals = { rate_per_s = 1 }, route = [{ visit = "cp", service = { mean_ms = 1 } }] },
  { name = "few", arrivals = { rate_per_s = 1 }, route = [{ visit = "cp", service = { mean_ms = 1 } }] },
]
"""
    load = {"importance": 1, "workload": "w"}
    return Twin.of(
        {
            "system_id": "one",
            "start_utc": datetime(2026, 9, 7, tzinfo=UTC),
            "days": 2,
            "interval_s": 900,
            "seed": 1,
            "classes": {
                "many": {**load, "service_class": "MANY", **many},
                "few": {**load, "service_class": "FEW", "hour_of_week": "flat", **few},
            },
        },
        Network.from_toml(network),
    )


def test_the_few_of_a_class_fare_at_the_peak_as_the_many_that_do_the_same() -> None:
    up_and_down = [1.8 if hour % 2 else 0.2 for hour in range(168)]
    seen = live(one_engine_for({"rate_per_s": 400, "hour_of_week": up_and_down}, {"rate_per_s": 0.05})).activity
    peak = seen.ended[:, 0] > seen.ended[:, 0].mean()
    many, few = seen.elapsed_s[peak].sum(axis=0) / seen.ended[peak].sum(axis=0)
    assert few == pytest.approx(many, rel=0.1)
    # Elapsed time and CPU are those of the same transactions.
    elapsed, work = (seconds[peak, 1] / seen.ended[peak, 1] for seconds in (seen.elapsed_s, seen.using_s[:, :, 0]))
    assert np.corrcoef(elapsed, work)[0, 1] > 0.5 and np.all(work > 0)


def test_the_few_of_a_class_are_distributed_as_those_of_a_whole_interval() -> None:
    """Some fifty end in a stretch, and five hundred in the interval."""
    twin = one_engine_for({"rate_per_s": 500, "hour_of_week": "flat"}, {"rate_per_s": 0.6, "goal_ms": 4})
    seen = live(twin).activity
    later = seen.buckets[96:, 1]
    slow = later[:, 6:].sum(axis=1) / later.sum(axis=1)
    part = slow.mean()
    assert 0.05 < part < 0.25
    expected = np.sqrt(part * (1 - part) * (1 / 540 + 1 / 500))
    assert np.std(slow) < 1.5 * expected < np.sqrt(part * (1 - part) / 48)


def test_a_class_that_hardly_ever_comes_has_a_goal_of_twice_its_work() -> None:
    content = tomllib.loads(made.TWIN.replace("rate_per_s = 30", "rate_per_s = 1e-6")) | {"days": 1, "ask": {}}
    network = made.NETWORK.replace("service = { mean_ms = 12 }", "service = { mean_s = 3 }")
    seen = live(Twin.of({**content, "missing_days": []}, Network.from_toml(network)))
    assert dict(zip(seen.network.class_names, seen.goals_ms, strict=True))["orders"] == 6000


def test_days_that_were_not_recorded_are_missing() -> None:
    m = measured(lived(), lived().lpars[0])
    days = {lived().twin.local(start).date().isoformat() for start in m.starts}
    assert days == {"2026-09-07", "2026-09-09"}


def test_records_say_what_was_measured(tmp_path: Path) -> None:
    paths = write(lived(), tmp_path)
    assert [path.name for path in paths] == ["shop.PRDA.smf", "shop.PRDB.smf"]
    found = rows(paths[0])
    m = measured(lived(), lived().lpars[0])
    assert {row["smf70lpm"] for row in found["smf70_1_partition"]} == {"PRDA", "PRDB", "PHYSICAL"}
    own = [row for row in found["smf70_1_logical_processor"] if row["section_seq"] < 4]
    assert sum(row["smf70edt"] for row in own) == pytest.approx(1e6 * m.busy_s.sum(), rel=1e-6)
    assert sum(row["r723crcp"] for row in found["smf72_3_period"]) == m.ended.sum()
    buckets = [row["r723trdb"] for row in found["smf72_3_response_distribution"] if row["section_seq"] == 1]
    assert np.sum(buckets) == m.ended.sum()
    cpu_s = sum(row["smf30cpt"] + row["smf30cps"] + row["smf30iip"] for row in found["smf30_cpu"]) / 100
    assert cpu_s == pytest.approx(m.cp_s.sum(), abs=0.03 * len(m.starts))
    assert {row["r723dnde"] for row in found["smf72_3_delay_name"]} == {"MXT"}
    assert sum(row["smf74ssc"] for row in found["smf74_1_device"]) == pytest.approx(2 * m.ended.sum(), rel=0.01)


def test_states_stand_in_the_records_of_transaction_managers_alone(tmp_path: Path) -> None:
    more = """
[[classes]]
name = "browse"
arrivals = { rate_per_s = 10 }
route = [{ visit = "PRDA cp", service = { mean_ms = 2 } }]

[[classes]]
name = "edit"
arrivals = { rate_per_s = 10 }
route = [{ visit = "PRDA cp", service = { mean_ms = 2 } }]
"""
    content = {**tomllib.loads(made.TWIN), "ask": {}}
    content["classes"]["browse"] = {"service_class": "CICSLO", "workload": "CICS"}
    content["classes"]["edit"] = {"service_class": "TSO", "workload": "TSO"}
    after = live(Twin.of(content, Network.from_toml(made.NETWORK + more)))
    found = rows(write(after, tmp_path)[0])
    stated = {row["record_seq"] for row in found["smf72_3_resource_state"]}
    named = {row["record_seq"] for row in found["smf72_3_delay_name"]}
    classes = {row["record_seq"]: row["r723mcnm"] for row in found["smf72_3_control"]}
    assert {classes[record] for record in stated} == {classes[record] for record in named} == {"CICSHI", "CICSLO"}
    assert {classes[row["record_seq"]] for row in found["smf72_3_period"] if not row["r723cwmn"]} == {"TSO"}
    assert measured(after, after.lpars[0]).names[:, 0].tolist() == [True, True, False]


def test_a_question_without_changes_is_answered_with_what_was_recorded() -> None:
    answer = dict(truth(lived(), ("as-it-is",)))["as-it-is"]
    m = measured(lived(), lived().lpars[0])
    peak = int(m.busy_s.argmax())
    value = {(o["metric"], o["condition"]): o["value"] for o in answer["outputs"]}
    assert answer["at"]["when"] == lived().twin.local(m.starts[peak]).isoformat(timespec="minutes")
    assert value["cpu_busy_pct", ""] == pytest.approx(100 * m.busy_s[peak] / 3600 / 4, rel=0.01)
    assert value["etr_tps", "class=CICSHI"] == pytest.approx(m.ended[peak, 0] / 3600, rel=0.01)
    recorded_ms = 1000 * m.elapsed_s[peak, 0] / m.ended[peak, 0]
    assert value["response_ms", "class=CICSHI"] == pytest.approx(recorded_ms, rel=0.1)
    assert value["machine_busy_pct", ""] < 100


@pytest.mark.slow
def test_users_send_as_often_as_they_think_and_wait() -> None:
    users = """
[[classes]]
name = "terminals"
users = 60
think = { mean_s = 1 }
route = [{ visit = "PRDB cp", service = { mean_ms = 15 } }, { visit = "dasd", service = { mean_ms = 70 } }]
"""
    load = {"service_class": "TSO", "importance": 2, "workload": "TSO", "rate_per_s": 50, "growth_pct_per_week": 1}
    content = tomllib.loads(made.TWIN)
    content["classes"]["terminals"] = load
    content["classes"]["orders"]["rate_per_s"] = 3
    noon = {"when": "2026-09-07T12:00"}
    content["ask"] = {
        name: {"at": noon | more, "system": "PRDB"} for name, more in (("now", {}), ("more", {"growth_pct.TSO": 20}))
    }
    after = live(Twin.of(content, Network.from_toml(made.NETWORK + users)))
    m = measured(after, after.lpars[1])
    at_noon = [after.twin.local(start).isoformat() for start in m.starts].index("2026-09-07T12:00:00")
    tso = m.service_classes.index("TSO")
    assert m.ended[:, tso].mean() / 3600 == pytest.approx(50, rel=0.03)
    assert (m.idle_s + m.elapsed_s)[:, tso] / 3600 == pytest.approx(60, rel=0.01)
    assert not m.idle_s[:, :tso].any()
    now, more = ({(o["metric"], o["condition"]): o["value"] for o in one["outputs"]} for _, one in truth(after))
    assert now["etr_tps", "class=TSO"] == pytest.approx(m.ended[at_noon, tso] / 3600, rel=0.01)
    assert now["cpu_busy_pct", ""] == pytest.approx(100 * m.busy_s[at_noon] / 3600 / 2, rel=0.02)
    assert more["users", "class=TSO"] == 72 and now["users", "class=TSO"] == 60
    assert more["etr_tps", "class=TSO"] == pytest.approx(1.2 * now["etr_tps", "class=TSO"], rel=0.05)
    sent = m.ended[at_noon, tso] / 3600
    response_s = m.elapsed_s[at_noon, tso] / m.ended[at_noon, tso]
    # A fortieth of the users is one and a half of them: the two there are think longer.
    few, _ = network_of(after, [m], Question("few", "PRDB", noon | {"growth_pct.TSO": -97.5}))
    terminals = next(c for c in few.classes if c.name == "terminals")
    assert terminals.users == 2
    assert 2 / (terminals.think.mean + response_s) == pytest.approx(0.025 * sent, rel=1e-3)


@pytest.mark.slow
def test_an_overloaded_lpar_is_full_is_asked_for_more_and_has_no_response() -> None:
    content = {"at": {"growth_pct": 400, "when": "2026-09-07T12:00"}, "system": "PRDB"}
    answer = dict(truth(replace(lived(), twin=made.twin(ask={"over": content}))))["over"]
    value = {(o["metric"], o["condition"]): o["value"] for o in answer["outputs"]}
    assert value["cpu_busy_pct", ""] == pytest.approx(75, abs=1)
    assert value["response_ms", "class=ORDERS"] is None and ("itr_tps", "") not in value
    assert value["etr_tps", "class=ORDERS"] == pytest.approx(5 * 30, rel=0.05)
    assert answer["bottleneck"]["resource"] == "share of the machine by weight or cap"
    assert answer["bottleneck"]["utilization_pct"] > 110


def asked_of(system: str, **at: object) -> dict[tuple[str, str], float]:
    """Figures of the truth of one question about the small twin."""
    changed = made.twin(ask={"one": {"at": at, "system": system}})
    answer = json.loads(json.dumps(dict(truth(replace(lived(), twin=changed)))))["one"]
    return {(o["metric"], o["condition"]): o["value"] for o in answer["outputs"]}


def test_the_words_of_a_cap_are_those_of_a_prediction() -> None:
    free = asked_of("PRDB", cap="off", growth_pct=300, when="2026-09-07T03:00")
    assert free["cpu_busy_pct", ""] == pytest.approx(50 * (0.1 + 120 * 0.012 * 1.06), rel=0.05)


def test_use_of_an_lpar_is_its_work_without_the_chance_of_a_simulation() -> None:
    found = asked_of("PRDB", growth_pct=30, when="2026-09-07T03:00")
    rate = found["etr_tps", "class=ORDERS"]
    assert rate == pytest.approx(1.3 * 30, rel=0.05)
    assert found["cpu_busy_pct", ""] == pytest.approx(50 * (0.1 + rate * 0.012 * 1.06), rel=1e-3)


def test_no_more_than_all_engines_are_used_where_users_take_what_others_leave() -> None:
    network = Network.from_toml("""
name = "full"
stations = [{ name = "cp", component = "cp", servers = 1, scheduling = "ps" }]
classes = [
  { name = "open", arrivals = { rate_per_s = 0.09 }, route = [{ visit = "cp", service = { mean_s = 10 } }] },
  { name = "users", users = 50, think = { mean_s = 1 }, route = [{ visit = "cp", service = { mean_ms = 10 } }] },
]
""")
    simulated = simulate(network, seed=1, precision=0.5, horizon=20_000, most=20_000)
    assert 0.9 + simulated.stations["cp"].utilization_by_class["users"] > 1.2 and not simulated.overloaded
    assert with_expected_use(network, simulated).stations["cp"].utilization.value == pytest.approx(1.0)


def test_engines_that_wait_for_a_coupling_facility_are_used() -> None:
    facility = '[[stations]]\nname = "cf"\ncomponent = "cf"\nservers = 1\n\n[[resources]]'
    request = (
        'service = { mean_ms = 12 } }, { cf = "cf", engine = "PRDB cp", service = { mean_us = 100 }, '
        'issue = { mean_us = 10 }, mode = "sync", count = 20 }]'
    )
    described = made.NETWORK.replace("[[resources]]", facility, 1).replace("service = { mean_ms = 12 } }]", request)
    asked = {"now": {"at": {"when": "2026-09-07T12:00"}, "system": "PRDB"}}
    content = {**tomllib.loads(made.TWIN), "ask": asked}
    now = dict(truth(live(Twin.of(content, Network.from_toml(described)))))["now"]
    [busy] = [o["value"] for o in now["outputs"] if o["metric"] == "cpu_busy_pct"]
    [rate] = [o["value"] for o in now["outputs"] if o["metric"] == "etr_tps" and o["condition"]]
    issued, spun = rate * (0.012 + 20 * 1e-5), rate * 20 * 1e-4
    assert busy == pytest.approx(50 * (0.1 + issued * 1.06 + spun), rel=0.03)


def test_changes_reach_the_classes_and_limits_they_name() -> None:
    answer = dict(truth(lived(), ("more",)))["more"]
    m = measured(lived(), lived().lpars[0])
    noon = [lived().twin.local(start).isoformat() for start in m.starts].index("2026-09-07T12:00:00")
    value = {(o["metric"], o["condition"]): o["value"] for o in answer["outputs"]}
    assert value["etr_tps", ""] == pytest.approx(1.2 * m.ended[noon, 0] / 3600, rel=0.01)
    assert value["cpu_busy_pct", ""] == pytest.approx(1.2 * 20 * m.busy_s[noon] / 3600, rel=0.05)
    assert answer["bottleneck"]["resource"] in ("zIIPs of the LPAR", "machine machine")


def test_a_question_that_cannot_be_asked_is_refused_before_any_is_simulated() -> None:
    changed = made.twin(ask={"fine": {"at": {}}, "odd": {"at": {"limit.THREADS": 8}}})
    with pytest.raises(LabError, match="no limit 'THREADS'"):
        next(truth(replace(lived(), twin=changed)))


def test_hours_have_a_mean_of_one() -> None:
    for shape in ("office", "flat", "night", [1.0] * 100 + [2.0] * 68):
        assert hour_factors(shape).mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clases": {}}, "no key clases"),
        ({"classes": {"inquiry": {"service_class": "CICSHI"}}}, "orders must stand both here and in the network"),
        ({"ask": {"x": {"at": {"engine": 3}}}}, "ask.x: no change engine"),
        ({"ask": {"x": {"at": {"when": "2026-09-08T12:00"}}}}, "ask.x: when: .* is neither peak nor the local start"),
        ({"ask": {"x": {"at": {"when": "2026-09-07T12:00+02:00"}}}}, "ask.x: when: .*, such as 2026-09-07T02:00"),
        ({"ask": {"x": {"at": {"cap": "half"}}}}, "ask.x: cap: takes on"),
        ({"start_utc": "today"}, "write it as 2026-09-07T00:00:00Z"),
    ],
)
def test_what_is_wrong_in_a_description_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(LabError, match=message):
        made.twin(**change)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "shop.network.toml").write_text(made.NETWORK)
    (tmp_path / "shop.toml").write_text(made.TWIN)
    assert Twin.load(tmp_path / "shop.toml").classes["orders"].rate_per_s == 30
    (tmp_path / "bad.toml").write_text(made.TWIN.replace("importance = 2", "importance = 9"))
    with pytest.raises(LabError, match=r"bad.toml: classes.orders: importance is 1 to 5"):
        Twin.load(tmp_path / "bad.toml")
