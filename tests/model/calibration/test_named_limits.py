"""Limits that records name: places and holding time are found from measured waits, and asked for by name."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from model.calibration import named_limits
from model.calibration.devices import with_device_waits
from model.calibration.history import Devices, History, SharedMachine
from model.calibration.limits import Candidates, Sharers
from model.calibration.neighbours import beside
from model.calibration.production import entry
from model.capacity import queues
from model.capacity.ask import predict
from model.capacity.bundle import build
from model.capacity.network import described
from model.capacity.places import queue_for_places
from model.capacity.questions import QuestionError
from model.capacity.sharing import Sharer
from model.network import Acquire, Visit
from tests.model.calibration.test_production import DEMAND_S, REST_MS, history

SAMPLING_S = 0.25
PLACES = 8


def limited(places: int = PLACES, seed: int = 1, outside_s: float = 0.0) -> History:
    """The two classes of one workload, all of which hold one of a few tasks as long as they are inside, or but for a
    time at the beginning."""
    plain = history(seed=seed)
    total = plain.ended.sum(axis=1)
    rest_s, work_s, queued_s = (
        (plain.ended * each).sum(axis=1) / total / 1e3
        for each in (np.array(REST_MS), 1e3 * DEMAND_S, plain.response_ms - REST_MS - 1e3 * DEMAND_S)
    )
    used, busy = plain.cp_s.sum(axis=1) / plain.seconds, plain.busy_s / plain.seconds
    alone, filled = queues.of_others(used, busy, plain.engines)
    first_s = work_s + alone * queued_s
    found, _, saved = queue_for_places(total / plain.seconds, rest_s - outside_s, places, first_s, filled)
    wait_s, shorter = found[:, None], (saved * (1.0 - alone))[:, None]
    random = np.random.default_rng(seed)
    waited = SAMPLING_S * random.poisson(wait_s * plain.ended / SAMPLING_S)
    nobody = np.zeros_like(waited)
    response = plain.response_ms - shorter * (plain.response_ms - REST_MS - 1e3 * DEMAND_S) + 1e3 * wait_s
    return replace(plain, response_ms=response, waited_s={"MAXTASK": waited, "FREE": nobody}, sampling_s=SAMPLING_S)


@pytest.fixture(scope="module")
def bundle():
    return build({"PRDA": entry(limited())}, data={}, validation={})


VOLUMES, IOS, IO_S = 2, 3.0, 0.001


def on_volumes(seed: int = 1, fullest: float = 0.0) -> History:
    """The two classes, the first of which reads from two volumes that share a queue; where it is said how full these
    are at most, requests take a little longer at lower rates."""
    plain = history(seed=seed)
    rate = plain.ended[:, 0] / plain.seconds
    io_s = fullest * VOLUMES / (IOS * rate.max()) * (rate.max() / rate) ** 0.15 if fullest else IO_S + 0.0 * rate
    wait_s = IOS * queue_for_places(IOS * rate, io_s, VOLUMES)[0]
    requests = IOS * plain.ended[:, 0]
    group = Devices(float(VOLUMES), requests, requests * io_s, wait_s * plain.ended[:, 0])
    response = plain.response_ms + 1e3 * np.column_stack([wait_s, 0.0 * wait_s])
    found = replace(plain, response_ms=response, devices={"FAST": group})
    return with_device_waits(found, np.column_stack([requests, 0.0 * requests]))


def test_a_group_of_volumes_is_a_station_whose_wait_is_in_the_response():
    model = build({"PRDA": entry(on_volumes())}, data={}, validation={})
    [group] = model["systems"]["PRDA"]["limits"]
    assert (group["name"], group["members"], group["servers"]["centre"]) == ("FAST", ["HIGH"], VOLUMES)
    assert group["hold_s"]["centre"] == pytest.approx(IOS * IO_S, rel=1e-6)
    assert group["factor"]["centre"] == pytest.approx(1.0, abs=0.02)
    grown = predict(model, "PRDA", {"growth_pct.HIGH": 40})
    rate = by_name(grown, "etr_tps")["class=HIGH"].value
    used = next(station for station in grown.bottleneck.stations if station.resource == "FAST")
    assert used.utilization_pct == pytest.approx(100.0 * rate * IOS * IO_S / VOLUMES, rel=0.01)
    with pytest.raises(QuestionError, match=r"limit\.FAST.*their number is as recorded"):
        predict(model, "PRDA", {"limit.FAST": 4})


def test_volumes_that_were_nearly_full_are_a_station_too():
    [group] = entry(on_volumes(fullest=0.95))["limits"]
    assert group["servers"]["centre"] == VOLUMES
    assert group["factor"]["centre"] == pytest.approx(1.0, abs=0.05)


def test_requests_of_one_class_may_take_longer_than_those_of_another():
    plain = history()
    requests, seconds = plain.ended * [3.0, 1.0], plain.ended @ [0.003, 0.006]
    group = Devices(12.0, requests.sum(axis=1), seconds, 0.0 * seconds)
    found = build(
        {"PRDA": entry(with_device_waits(replace(plain, devices={"FAST": group}), requests))}, data={}, validation={}
    )
    for at in ({}, {"growth_pct.HIGH": 40}, {"growth_pct.LOW": 40}):
        answer = predict(found, "PRDA", at)
        high, low = (by_name(answer, "etr_tps")[f"class={name}"].value for name in ("HIGH", "LOW"))
        used = by_name(answer, "utilization_pct")["station=FAST"]
        assert used.value == pytest.approx(100.0 * (0.003 * high + 0.006 * low) / 12.0, rel=2e-3)
        assert used.lo <= used.value <= used.hi


def test_an_lpar_that_shares_its_machine_says_whose_use_of_volumes_it_shows():
    alone = on_volumes()
    none = np.zeros(len(alone.seconds))
    other = Sharer(2.0, 300.0, name="PRDB")
    machine = SharedMachine("M1", 8.0, 700.0, 1000.0, False, none + 900.0, none, (other,))
    assert not any("own requests" in note for note in entry(alone)["notes"])
    assert any(note.startswith("FAST: use is") for note in entry(replace(alone, machine=machine))["notes"])


def test_volumes_work_for_the_lpars_of_the_machine_that_name_them_alike():
    plain = history()
    rate, requests = plain.ended[:, 0] / plain.seconds, IOS * plain.ended[:, 0]
    wait_s = IOS * queue_for_places(IOS * rate + 1.0 / IO_S, IO_S, VOLUMES)[0]
    group = Devices(float(VOLUMES), requests, requests * IO_S, wait_s * plain.ended[:, 0])
    response = plain.response_ms + 1e3 * np.column_stack([wait_s, 0.0 * wait_s])
    none = np.zeros(len(plain.seconds))
    machine = SharedMachine("M1", 20.0, 700.0, 1000.0, False, none, none)
    own = replace(plain, response_ms=response, devices={"FAST": group}, machine=machine)
    own = with_device_waits(own, np.column_stack([requests, 0.0 * requests]))
    theirs = Devices(float(VOLUMES), requests, plain.seconds * 1.0, wait_s)
    far = SharedMachine("M2", 20.0, 700.0, 1000.0, False, none, none)
    found = {
        "PRDA": own,
        "PRDB": replace(plain, devices={"FAST": theirs, "SLOW": theirs}, machine=machine),
        "PRDC": replace(plain, devices={"FAST": theirs}, machine=far),
    }
    model = build({"PRDA": entry(beside(own, found))}, data={}, validation={})
    [group] = model["systems"]["PRDA"]["limits"]
    assert group["factor"]["centre"] == pytest.approx(1.0, abs=0.03)
    grown = predict(model, "PRDA", {"growth_pct.HIGH": 40})
    used = next(station for station in grown.bottleneck.stations if station.resource == "FAST")
    high = by_name(grown, "etr_tps")["class=HIGH"].value
    assert used.utilization_pct == pytest.approx(100.0 * (high * IOS * IO_S + 1.0) / VOLUMES, rel=0.01)
    network = described(model, "PRDA").network
    assert "FAST beside" in network.class_names


@pytest.mark.parametrize(("parts", "late_s", "missing"), [(1, 0, 0), (3, 0, 0), (3, 600, 2)])
def test_work_of_others_on_volumes_counts_by_overlap_in_time(parts, late_s, missing):
    plain = history()
    each_s = plain.seconds[0] / parts
    start = np.repeat(plain.start_utc, parts) + np.tile(np.arange(parts), len(plain.seconds)) * np.timedelta64(300, "s")
    many = len(start)
    theirs = Devices(4.0, np.ones(many), np.full(many, 0.4 * each_s), np.ones(many))
    machine = SharedMachine("M1", 20.0, 700.0, 1000.0, False, 0.0 * plain.seconds, 0.0 * plain.seconds)
    own = replace(plain, devices={"FAST": Devices(4.0, plain.seconds, plain.seconds, plain.seconds)}, machine=machine)
    other = replace(
        plain,
        start_utc=start + np.timedelta64(late_s, "s"),
        seconds=np.full(many, each_s),
        busy_s=np.repeat(plain.busy_s, parts) / parts,
        ended=np.repeat(plain.ended, parts, axis=0) / parts,
        cp_s=np.repeat(plain.cp_s, parts, axis=0) / parts,
        devices={"FAST": theirs},
        machine=machine,
    )
    found = beside(own, {"PRDA": own, "PRDB": other}).devices["FAST"].others_s
    assert found[0] == pytest.approx(0.4 * each_s * (parts - missing))
    assert found[1:] == pytest.approx(0.4 * plain.seconds[1:])
    group = replace(own.devices["FAST"], waited_s=0.0 * plain.seconds)
    quiet = beside(replace(own, devices={"FAST": group}), {"PRDA": own, "PRDB": other}).devices["FAST"]
    assert np.any(quiet.others_s), "volumes nobody waited for are shared"


@pytest.mark.parametrize(
    ("as_busy", "late_s", "part"),
    [
        ((1.0, 1.0), 0, 0.25),
        ((1.2, 1.2), 0, 1.0),
        ((0.5, 1.5), 0, 1.0),
        ((1.0, 1.0), 300, 0.25),
        ((1.2, 1.2), 300, 1.0),
    ],
    ids=["the same", "another", "another as busy", "the same out of phase", "another out of phase"],
)
def test_a_coupling_facility_works_for_each_lpar_as_far_as_its_requests_come_from_it(as_busy, late_s, part):
    plain = history()
    count = len(plain.seconds)
    rate = 10.0 + 5.0 * np.sin(np.arange(count) / 96.0 * 2.0 * np.pi)
    requests, busy_s = rate * plain.seconds, 1e-2 * rate * plain.seconds
    own = replace(plain, devices={"CF1": Devices(2.0, requests, busy_s, None)})
    own = with_device_waits(own, 0.0 * plain.ended)
    theirs_s = busy_s * np.resize(as_busy, count)
    theirs_s[[3, 40]] = 0.0, 3.0 * theirs_s[40]
    later = plain.start_utc + np.timedelta64(late_s, "s")
    other = replace(plain, start_utc=later, devices={"CF1": Devices(2.0, 3.0 * requests, theirs_s, None)})
    found = beside(own, {"PRDA": own, "PRDB": other})
    group = found.devices["CF1"]
    assert group.busy_s[1:] == pytest.approx(part * busy_s[1:], rel=0.1)
    assert group.busy_s + group.others_s == pytest.approx(busy_s)
    assert found.waited_s["CF1"].sum() == pytest.approx(part * own.waited_s["CF1"].sum(), rel=0.01)


def test_a_limit_keeps_as_much_from_others_whether_its_members_are_one_class_or_two():
    """Engines of one pool, of which those who wait outside save the others their turns."""
    count, rate = 3, np.array([0.2, 0.3, 0.4, 0.1])
    plain = replace(history(), seconds=np.full(count, 900.0))
    queued_s, pool = np.array([2.0, 2.0, 3.0, 3.0]), np.full(count, 2.0)

    def left(of: list[int], members: list[int]) -> dict[int, np.ndarray]:
        ended = np.tile(np.add.reduceat(rate, of), (count, 1)) * 900.0
        queued = np.add.reduceat(rate * queued_s, of) / np.add.reduceat(rate, of)
        engines = {c: np.column_stack([pool, pool * 0.0 + queued[c], pool * 0.5, pool]) for c in range(len(of))}
        limit = SimpleNamespace(members=members, of_inside=1.0, eased=np.array([1.0, 0.8, 0.5]))
        return named_limits.left_to_others(replace(plain, ended=ended, cp_s=ended), engines, limit)

    one, two = left([0, 2, 3], [0]), left([0, 1, 2, 3], [0, 1])
    assert one[1] == pytest.approx(two[2])
    assert one[1][0] == 1.0 > one[1][1] > one[1][2] > 0.0


def test_volumes_may_have_a_queue_each():
    plain, volumes = history(), 4.0
    rate, requests = plain.ended[:, 0] / plain.seconds, IOS * plain.ended[:, 0]
    wait_s = IOS * queue_for_places(IOS * rate / volumes, 2 * IO_S, 1)[0]
    group = Devices(volumes, requests, 2 * requests * IO_S, wait_s * plain.ended[:, 0])
    given = replace(plain, devices={"FAST": group})
    given = replace(given, response_ms=given.response_ms + 1e3 * np.column_stack([wait_s, 0.0 * wait_s]))
    [limit] = entry(with_device_waits(given, np.column_stack([requests, 0.0 * requests])))["limits"]
    assert limit["servers"]["centre"] == 1.0
    assert limit["factor"]["centre"] == pytest.approx(volumes, rel=0.02)


def test_regions_may_have_a_place_each_that_is_held_while_on_the_engines():
    plain, regions = history(), 3
    rate, on_engines_s = plain.ended[:, 0] / plain.seconds, (plain.response_ms[:, 0] - REST_MS[0]) / 1e3
    wait_s = queue_for_places(rate / regions, on_engines_s, 1)[0]
    waited = SAMPLING_S * np.random.default_rng(1).poisson(wait_s * plain.ended[:, 0] / SAMPLING_S)
    response = plain.response_ms + 1e3 * np.column_stack([wait_s, 0.0 * wait_s])
    named = {"QR": np.column_stack([waited, 0.0 * waited])}
    found = entry(replace(plain, response_ms=response, waited_s=named, sampling_s=SAMPLING_S))["limits"]
    [limit] = [one for one in found if one["name"] == "QR"]
    assert limit["servers"]["centre"] == 1.0
    assert limit["of_engines"]["centre"] == pytest.approx(1.0 / regions)
    assert limit["factor"]["centre"] == pytest.approx(regions, rel=0.1)


def by_name(answer, metric):
    """Outputs of a metric by class or station."""
    found = [output for output in answer.outputs if output.metric == metric]
    return {part: one for one in found for part in one.condition.split("; ") if part.startswith(("class=", "station="))}


def test_places_and_holding_time_are_those_that_made_the_waits(bundle):
    [limit] = [one for one in bundle["systems"]["PRDA"]["limits"] if one["name"] == "MAXTASK"]
    assert limit["members"] == ["HIGH", "LOW"]
    assert limit["servers"]["centre"] == PLACES
    assert limit["of_inside"]["centre"] == 1.0
    assert limit["factor"]["centre"] == pytest.approx(1.0, abs=0.05)


def test_a_limit_that_no_record_names_keeps_its_classes_out_of_the_queue_for_engines():
    found = entry(replace(limited(6), waited_s={}))
    [limit] = found["limits"]
    assert (limit["members"], limit["servers"]["centre"]) == (["HIGH", "LOW"], 6)
    assert [law["factor"]["centre"] for law in found["response"].values()] == pytest.approx([1.0, 1.0], abs=0.06)


@pytest.mark.parametrize(("engines", "places"), [(1, 2), (2, 3), (4, 8)])
def test_a_limit_in_front_of_engines_of_its_own_moves_their_queue_and_makes_none(engines, places):
    rate, service_s = np.linspace(30.0, 90.0, 5) * engines, 0.01
    used = rate * service_s
    queued_s = service_s * (queues.stretch(used, engines) - 1.0)
    inside_s = service_s + queued_s
    shared = Sharers(rate, inside_s, inside_s, queued_s, used, used, np.full(5, float(engines)))
    zero, one = np.zeros(1), np.ones(1)
    wait_ms, left = Candidates(one * places, zero, one, zero, one).effect(shared)
    assert wait_ms[0] / 1e3 + left[0] * queued_s == pytest.approx(queued_s, rel=1e-6)


def test_a_limit_may_be_held_for_all_but_a_fixed_part_of_the_time_inside():
    outside_s = 0.004
    given = limited(5, outside_s=outside_s)
    model = build({"PRDA": entry(given)}, data={}, validation={})
    [limit] = [one for one in model["systems"]["PRDA"]["limits"] if one["name"] == "MAXTASK"]
    assert limit["servers"]["centre"] == 5
    assert limit["hold_s"]["centre"] == pytest.approx(-outside_s, rel=0.1)
    route = described(model, "PRDA").network.classes[0].route
    assert isinstance(route[0], Visit) and isinstance(route[1], Acquire)


def test_the_rest_of_a_response_has_no_wait_for_the_limit_in_it(bundle):
    laws = bundle["systems"]["PRDA"]["response"]
    assert [laws[name]["rest_ms"]["centre"] for name in ("HIGH", "LOW")] == pytest.approx(list(REST_MS), rel=0.005)


def test_more_places_take_the_wait_away_and_use_of_the_limit_is_told(bundle):
    now, more = (predict(bundle, "PRDA", at) for at in ({}, {"limit.maxtask": 20}))
    before, after = by_name(now, "utilization_pct"), by_name(more, "utilization_pct")
    inside = [places * used["station=MAXTASK"].value for places, used in ((PLACES, before), (20, after))]
    assert inside[0] < inside[1] < 1.2 * inside[0]
    assert more.outputs[0].value == now.outputs[0].value
    waits = [[row["waiting_ms"]["MAXTASK"] for row in answer.times] for answer in (now, more)]
    assert min(waits[0]) > 0.5 and max(waits[1]) < 0.01


def test_a_limit_nobody_waited_for_holds_back_only_where_places_are_asked_for(bundle):
    now, few = (predict(bundle, "PRDA", at) for at in ({}, {"limit.FREE": 10}))
    assert "station=FREE" not in by_name(now, "utilization_pct")
    assert any("nobody waited for FREE" in note and "not known" in note for note in now.notes)
    assert any("nobody waited for FREE" in note and note.endswith("HIGH, LOW") for note in few.notes)
    assert by_name(few, "response_ms")["class=HIGH"].value > by_name(now, "response_ms")["class=HIGH"].value


@pytest.mark.parametrize(
    ("found", "members"),
    [([0.0, np.nan], ["HIGH"]), ([30.0, 0.0], ["HIGH"]), ([1.0, 0.0], ["HIGH", "LOW"])],
    ids=["named by one class", "one was found waiting", "too few to tell"],
)
def test_a_limit_nobody_reached_is_that_of_the_classes_whose_records_say_they_may_wait(found, members):
    plain = history()
    waited = 0.0 * plain.ended + np.where(np.isnan(found), np.nan, 0.0)
    waited[0] += SAMPLING_S * np.array(found)
    [limit] = entry(replace(plain, waited_s={"FREE": waited}, sampling_s=SAMPLING_S))["limits"]
    assert limit == {"name": "FREE", "members": members}


def test_a_limit_that_no_record_names_is_refused_with_those_that_are_known(bundle):
    with pytest.raises(QuestionError, match="no such limit") as refused:
        predict(bundle, "PRDA", {"limit.MXT": 10})
    assert set(refused.value.allowed) == {"MAXTASK", "FREE"}


def test_classes_that_are_never_usable_at_the_same_time_leave_a_limit_without_places():
    plain = limited()
    early = np.arange(len(plain.seconds)) < len(plain.seconds) // 2
    response = np.where(np.column_stack([early, ~early]), plain.response_ms, np.nan)
    found = entry(replace(plain, response_ms=response))["limits"]
    assert {"name": "MAXTASK", "members": ["HIGH", "LOW"]} in found


def test_a_class_of_busy_hours_waits_no_longer_beside_one_of_the_night():
    random = np.random.default_rng(4)
    busy = np.linspace(0.0, 1.0, 200)
    ended = np.column_stack([1000.0 * busy, 1000.0 * (1.0 - busy), np.full(200, 300.0)])
    level = 0.01 + busy**4
    waited = 0.25 * random.poisson(4.0 * ended * [1.0, 2.0, 0.5] * level[:, None])
    found = named_limits._weights(waited, ended)
    assert found / found[0] == pytest.approx([1.0, 2.0, 0.5], rel=0.02)
    assert found @ ended.sum(axis=0) == pytest.approx(ended.sum())
