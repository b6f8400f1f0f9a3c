"""Queues for arrays: Erlang's formulas against known values and sums, priorities against theory."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.capacity import fading, queues
from model.capacity.fading import held_off
from model.capacity.places import queue_for_places
from model.network import Network
from model.network.exact.mg1 import mg1_head_of_line
from model.network.simulator import simulate
from tests.oracles import erlang
from tests.oracles.hardware_chains import smt_birth_death
from tests.oracles.markov_chain import explore, stationary
from tests.shared import shared

LOADS = st.floats(0.01, 0.98)
SERVERS = st.integers(1, 64)


@pytest.mark.parametrize(
    ("offered", "servers", "expected"), [(0.5, 1, 0.5), (3.2, 4, 0.5964), (2.0, 2, 1.0), (0.0, 3, 0.0)]
)
def test_erlang_c_matches_the_tables(offered, servers, expected):
    assert queues.erlang_c(offered, servers) == pytest.approx(expected, abs=1e-4)


def test_stretch_agrees_with_a_published_case():
    case = json.loads(shared("cases/mmc18-80.json").read_text(encoding="utf-8"))
    model, expected = case["model"], case["expected"]
    offered = model["arrival_rate"] / model["service_rate"]
    assert queues.erlang_c(offered, model["servers"]) == pytest.approx(expected["Pw"], rel=1e-9)
    assert queues.stretch(offered, model["servers"]) / model["service_rate"] == pytest.approx(expected["R"], rel=1e-9)


@given(load=LOADS, servers=SERVERS, service=st.floats(1e-3, 10.0))
def test_one_priority_is_the_multi_server_queue(load, servers, service):
    offered = load * servers
    expected = erlang.mmc_response(offered / service, service, servers)
    assert service * queues.stretch(offered, servers) == pytest.approx(expected, rel=1e-9)
    assert service + queue_for_places(offered / service, service, servers)[0] == pytest.approx(expected, rel=1e-9)


@given(offered=st.floats(0.01, 100.0), servers=st.integers(1, 12))
def test_a_bounded_pool_loses_what_the_loss_system_loses(offered, servers):
    full, stretched, _ = queues.bounded_pool(offered, servers, bound=(0, 0.0))
    assert full == pytest.approx(erlang.erlang_b(offered, servers), rel=1e-9)
    assert stretched == pytest.approx(1.0)
    assert queues.bounded_pool(offered, servers, bound=(3, 0.0))[0] < full


@given(load=st.floats(0.05, 0.95), servers=st.integers(1, 12))
def test_a_pool_without_bound_is_the_multi_server_queue(load, servers):
    assert queues.bounded_pool(load * servers, servers)[1] == pytest.approx(queues.stretch(load * servers, servers))


@given(
    load=st.floats(0.05, 0.95),
    servers=st.integers(1, 12),
    bound=st.none() | st.integers(0, 5).map(lambda most: (most, 0.0)),
)
def test_cores_of_one_thread_are_busy_with_the_work_they_take(load, servers, bound):
    full, _, busy = queues.bounded_pool(load * servers, servers, bound=bound)
    assert busy == pytest.approx(load * servers * (1.0 - full), rel=1e-9)


@given(load=st.floats(0.05, 3.0), servers=st.integers(1, 12), waiting=st.integers(0, 5), bunched=st.floats(0.01, 0.9))
def test_batches_lose_more_and_the_cores_are_busy_with_what_is_left(load, servers, waiting, bunched):
    full, _, busy = queues.bounded_pool(load * servers, servers, bound=(waiting, bunched))
    assert full > queues.bounded_pool(load * servers, servers, bound=(waiting, 0.0))[0]
    assert busy == pytest.approx(load * servers * (1.0 - full), rel=1e-6)


def test_a_second_thread_gains_less_than_an_engine_and_more_than_none():
    one, two, engines = (
        queues.bounded_pool(1.7, cores, gain, threads)[1]
        for cores, gain, threads in ((2, 1.0, 1), (2, 1.3, 2), (4, 1.0, 1))
    )
    assert engines < two < one


@given(
    load=st.floats(0.05, 0.9),
    cores=st.integers(1, 6),
    gain=st.floats(1.05, 1.9),
    packing=st.sampled_from(["dense", "spread"]),
)
def test_threads_of_a_pool_queue_as_the_birth_death_chain_of_their_packing(load, cores, gain, packing):
    offered = load * cores * gain
    _, stretched, busy = queues.bounded_pool(offered, cores, gain, 2, dense=packing == "dense")
    known = smt_birth_death(offered, 1.0, cores, gain, packing)
    assert (float(stretched), float(busy)) == pytest.approx(
        (known.length / offered, cores * known.utilization), rel=1e-6
    )


@given(own=st.floats(0.01, 0.6), above=st.floats(0.01, 0.38))
def test_behind_short_pieces_one_engine_is_shared_as_theory_has_it(own, above):
    assert queues.stretch_below(own, 1, above) == pytest.approx(1 / (1 - above - own), rel=1e-9)


@given(own=st.floats(0.01, 0.45), above=st.floats(0.01, 0.45), servers=SERVERS)
def test_long_pieces_of_more_important_work_delay_more_than_short_ones(own, above, servers):
    own, above = own * servers, above * servers
    assert queues.stretch_below(own, servers, above) <= queues.stretch(own, servers, above) * (1 + 1e-9)


@given(own=st.floats(0.01, 0.6), above=st.floats(0.01, 0.38))
def test_preemptive_priorities_on_one_engine_follow_the_formula(own, above):
    # Preemptive resume with equal exponential services: T = S / ((1 - a) (1 - a - b)).
    assert queues.stretch(above, 1) == pytest.approx(1 / (1 - above), rel=1e-9)
    assert queues.stretch(own, 1, above) == pytest.approx(1 / ((1 - above) * (1 - above - own)), rel=1e-9)


@given(own=st.floats(0.01, 0.45), above=st.floats(0.01, 0.45))
def test_priorities_that_interrupt_nothing_follow_the_formula_on_one_engine(own, above):
    rates, ones = [above, own], np.ones(2)
    first, second = mg1_head_of_line(rates, ones, 2 * ones, [1, 0])
    assert queues.stretch_in_line(above, 1, 0.0, above + own) == pytest.approx(first, rel=1e-9)
    assert queues.stretch_in_line(own, 1, above, above + own) == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize(("places", "members", "load"), [(2, 0.5, 0.35), (4, 0.6, 0.3), (8, 0.7, 0.2)])
def test_others_wait_less_for_an_engine_that_a_limit_keeps_members_from(places, members, load):
    """One engine shared in equal parts by members, so many at a time, and by others: the chain of their numbers."""

    def moves(state: tuple[int, int]) -> Iterator[tuple[tuple[int, int], float]]:
        mine, theirs = state
        inside = min(mine, places)
        if mine + theirs < 150:
            yield (mine + 1, theirs), members
            yield (mine, theirs + 1), load
        if mine:
            yield (mine - 1, theirs), inside / (inside + theirs)
        if theirs:
            yield (mine, theirs - 1), theirs / (inside + theirs)

    chain = explore((0, 0), moves)
    chances = stationary(chain.rates)
    inside, others = (chain.mean(count, chances) for count in (lambda s: min(s[0], places), lambda s: s[1]))
    free = 1.0 - members - load
    queued = load / free - load
    left = queues.eased_beside(members / free - inside, load, queued, 1.0 - load)
    assert load + queued * left == pytest.approx(others, rel=0.03)
    assert queued * (1.0 - left) > 0.1 * others


@given(load=LOADS, servers=SERVERS)
def test_work_of_one_importance_in_line_waits_as_in_order_of_arrival(load, servers):
    work = load * servers
    assert queues.stretch_in_line(work, servers, 0.0, work) == pytest.approx(queues.stretch(work, servers), rel=1e-9)


@given(load=LOADS, servers=SERVERS, part=st.floats(0.05, 0.95))
def test_priorities_keep_the_number_inside_and_serve_the_important_first(load, servers, part):
    high, low = part * load * servers, (1 - part) * load * servers
    first, second = queues.stretch(high, servers), queues.stretch(low, servers, high)
    together = queues.stretch(high + low, servers)
    assert high * first + low * second == pytest.approx((high + low) * together, rel=1e-9)
    assert 1 <= first <= together * (1 + 1e-9)
    assert together <= second * (1 + 1e-9)


@given(offered=st.floats(0.05, 9.0), servers=st.floats(1.0, 10.0))
def test_between_whole_numbers_of_engines_waiting_lies_between_theirs(offered, servers):
    waiting = [queues.erlang_c(offered, n) for n in (np.floor(servers), servers, np.floor(servers) + 1)]
    assert waiting[0] >= waiting[1] - 1e-12
    assert waiting[1] >= waiting[2] - 1e-12


@pytest.mark.parametrize("load", [0.0, 0.6, 1.0, 1.3])
@pytest.mark.parametrize("services", [3.0, 200.0])
def test_a_queue_that_began_empty_is_as_long_as_its_chain_has_it(load, services):
    room = 1000
    up, down = np.full(room - 1, load), np.ones(room - 1)
    chain = np.diag(up, 1) + np.diag(down, -1)
    chain -= np.diag(chain.sum(axis=1))
    after = np.linalg.solve((np.eye(room) - services * chain).T, np.eye(room)[0])
    alike = queues.building_up(load, 1.0, services)
    assert alike / (1.0 - alike) == pytest.approx(float(after @ np.arange(room)), rel=1e-6)
    assert queues.building_up(0.7 * load, 5, 1e12) == pytest.approx(0.7 * load, rel=1e-6)


@pytest.mark.parametrize("offered", [4.0, 5.0])
def test_there_is_no_steady_state_at_or_above_the_engines(offered):
    assert np.isinf(queues.stretch(offered, 4))
    assert np.isinf(queue_for_places(offered, 1.0, 4)[0])
    assert np.isinf(queues.inside(offered, 4))


def test_arrays_of_draws_and_loads_broadcast():
    offered = np.linspace(0.1, 5.0, 12).reshape(3, 4)
    found = queues.stretch(offered, 4)
    assert found.shape == (3, 4)
    assert found[1, 2] == queues.stretch(offered[1, 2], 4)


def test_part_of_an_engine_and_no_steady_state_is_no_warning():
    assert np.isinf(queues.stretch_below([0.9, 9.0], [2.5, 2.5], [2.0, 2.0])).all()


@pytest.mark.parametrize(("inside", "places"), [(0.01, 80), (1.0, 200), (5.0, 500), (1900.0, 2000), (30.0, 100_000)])
def test_a_limit_of_many_places_is_the_multi_server_queue(inside, places):
    wait, taken, _ = queue_for_places(inside, 1.0, places)
    assert wait == pytest.approx(erlang.mmc_response(inside, 1.0, places) - 1.0, rel=1e-6, abs=1e-12)
    assert taken == pytest.approx(inside / places)


@pytest.mark.parametrize("first_s", [0.0, 3.0, 1e9])
def test_a_limit_asked_for_many_times_its_places_is_full_and_no_warning(first_s):
    wait, taken, saved = queue_for_places(5000.0, 1.0, [20, 500, 2000], first_s, 0.5)
    assert np.isinf(wait).all() and not saved.any()
    assert taken == pytest.approx(5000.0 * (1.0 + first_s) / np.array([20, 500, 2000]))


def test_a_limit_around_shared_engines_holds_back_as_in_the_simulator():
    rate, work_s, io_s, engines, places = 3.2, 1.0, 0.5, 4, 8
    network = Network.from_toml(f"""
name = "engines within a limit"
[[stations]]
name = "cp"
servers = {engines}
scheduling = "ps"
[[stations]]
name = "io"
scheduling = "delay"
[[resources]]
name = "MXT"
capacity = {places}
[[classes]]
name = "work"
arrivals = {{ rate_per_s = {rate} }}
route = [
  {{ acquire = "MXT" }},
  {{ visit = "cp", service = {work_s} }},
  {{ visit = "io", service = {io_s} }},
  {{ release = "MXT" }},
]
""")
    load = rate * work_s
    alone, filled = queues.of_others(load, load, engines)
    queued_s = (queues.stretch(load, engines) - 1.0) * work_s
    wait_s, taken, saved = queue_for_places(rate, io_s, places, work_s + alone * queued_s, filled)
    seen = simulate(network, seed=1, horizon=400_000)
    assert wait_s == pytest.approx(seen.resources["MXT"].wait_s.value, rel=0.1)
    assert taken == pytest.approx(seen.resources["MXT"].utilization.value, rel=0.02)
    response_s = work_s + io_s + queued_s * (1.0 - saved * (1.0 - alone)) + wait_s
    assert response_s == pytest.approx(seen.classes["work"].response_s.value, rel=0.03)


@given(load=st.floats(0.05, 3.0), servers=st.integers(1, 12), more=st.integers(9, 200))
def test_users_who_wait_instead_of_sending_more_wait_as_in_a_finite_source(load, servers, more):
    """M/M/m//N by its own chances: each of N users thinks, comes, and is not among those who may come until done."""
    users = servers + more
    think = users / (load * servers)
    inside = np.arange(users + 1)
    logs = np.cumsum(np.log(np.append(1.0, (users - inside[:-1]) / think / np.minimum(inside[1:], servers))))
    chance = np.exp(logs - logs.max())
    mean = float(chance @ inside / chance.sum())

    def waited(used: float) -> float:
        return float(queues.shortened(queues.stretch(used, servers), held_off(used, servers, 1 / (used * think))))

    low, high = 0.0, float(servers)
    for _ in range(60):
        used = (low + high) / 2.0
        enough = used * (think + waited(used)) < users
        low, high = (used, high) if enough else (low, used)
    assert users / high - think == pytest.approx(mean * think / (users - mean), rel=0.015)
    assert held_off(high / 2.0, servers, 0.0) == 1.0


def test_many_loads_of_users_who_wait_are_each_as_asked_alone():
    loads = np.linspace(1.0, 250.0, 400).reshape(2, 200)
    found = held_off(loads, 256.0, 0.01)
    assert loads.size * 256 > fading.AT_ONCE
    for row, column in ((0, 0), (1, 3), (1, 120), (1, 199)):
        alone = float(held_off(loads[row, column], 256.0, 0.01))
        assert found[row, column] == pytest.approx(alone, abs=1e-3)
    assert held_off([1.0, 1.0], [2.0, np.nan], 0.01)[0] == pytest.approx(held_off(1.0, 2.0, 0.01))


def test_places_that_are_never_taken_change_nothing_and_take_no_memory():
    rate, first_s = np.full((40, 200), 90.0), np.linspace(0.001, 0.01, 200)
    few, many = (queue_for_places(rate, 0.02, places, first_s, 0.8) for places in (400.0, 1e7))
    for found, same in zip((few[0], few[1] * 400.0, few[2]), (many[0], many[1] * 1e7, many[2]), strict=True):
        np.testing.assert_allclose(found, same, rtol=1e-9, atol=1e-12)
    alone = queue_for_places(90.0, 0.02, 12.0, first_s[7], 0.8)
    among = queue_for_places(rate, 0.02, 12.0, first_s, 0.8)
    for one, each in zip(alone, among, strict=True):
        assert each[3, 7] == pytest.approx(float(one), rel=1e-12)
