"""How a simulation runs: reproducible, as precise as asked, bounded, and clear about what is wrong."""

import dataclasses
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.network import (
    Acquire,
    CfRequest,
    Distribution,
    NetworkError,
    Release,
    Resource,
    Station,
    TransactionClass,
    Visit,
)
from model.network.simulator import SimulationError, replay, simulate
from model.network.simulator.program import compile_network
from model.network.simulator.randoms import alias_table
from model.network.simulator.replication import Replication
from model.network.simulator.statistics import bucket_edges, merge, mser5, percentile, ratio
from tests.model.network.simulator.build import EXP, closed_class, network, open_class, visit
from tests.shared import ROOT

MM3 = network(Station(name="cp", servers=3), open_class(2.0, visit("cp", 1.0)))


def test_the_same_seed_gives_the_same_answer_on_any_number_of_workers():
    one = simulate(MM3, seed=11, horizon=20_000, workers=1)
    two = simulate(MM3, seed=11, horizon=20_000, workers=2)
    assert dataclasses.asdict(one) == dataclasses.asdict(two)
    assert simulate(MM3, seed=12, horizon=20_000).classes["a"].response_s != one.classes["a"].response_s


def test_replications_use_different_random_numbers():
    program = compile_network(MM3)
    streams = [Replication(program, s, 1000).tables.rng for s in np.random.SeedSequence(1).spawn(20)]
    assert len({bytes(s) for s in streams}) == 20


def test_a_run_goes_on_until_it_is_as_precise_as_asked():
    result = simulate(MM3, seed=1, horizon=10_000, precision=0.01)
    response = result.classes["a"].response_s
    assert result.precise and response.half_width <= 0.01 * response.value and result.transactions > 10_000


def test_a_run_that_may_not_go_on_says_it_is_not_precise():
    result = simulate(MM3, seed=1, horizon=10_000, precision=1e-4, most=20_000)
    assert not result.precise and result.transactions < 60_000


def test_stopping_and_going_on_changes_nothing():
    program = compile_network(MM3)
    whole, parts = (Replication(program, np.random.SeedSequence(3), 10**6) for _ in range(2))
    whole.advance(5000.0)
    for until in np.linspace(1.0, 5000.0, 77):
        parts.advance(float(until))
    np.testing.assert_array_equal(whole.tables.acc_t, parts.tables.acc_t)


def test_memory_does_not_grow_with_the_length_of_the_run():
    sizes = []
    for transactions in (5_000, 500_000):
        run = Replication(compile_network(MM3), np.random.SeedSequence(1), 10**6)
        run.warm_up(1000)
        run.measure(transactions)
        sizes.append((sum(a.nbytes for a in run.tables), len(run.batches) <= 128))
    assert sizes[0] == sizes[1] and sizes[0][1]


def test_batches_that_merge_still_cover_the_time_measured():
    run = Replication(compile_network(MM3), np.random.SeedSequence(1), 10**6)
    run.warm_up(1000)
    began = None
    for _ in range(6):
        run.measure(10_000)
        began = run.now - run.batch_s * len(run.batches) if began is None else began
    assert run.now - run.batch_s * len(run.batches) == pytest.approx(began)


def test_an_overloaded_station_is_named():
    overloaded = network(
        [Station(name="cp"), Station(name="dasd")], open_class(1.0, visit("dasd", 0.1), visit("cp", 2.0))
    )
    with pytest.raises(SimulationError, match="'cp', which cannot keep up"):
        simulate(overloaded, seed=1, most_inside=20_000)


def test_open_work_that_users_leave_no_room_is_named_with_what_all_ask_for():
    cp = Station(name="cp", servers=4, scheduling="priority_ps")
    users = closed_class(30, 1.0, visit("cp", 0.1), name="users", priority=2)
    work = open_class(3.0, visit("cp", 0.5), name="open", priority=1)
    result = simulate(network(cp, users, work), seed=1, horizon=40_000)
    sent = result.classes["users"].throughput_per_s.value
    assert result.overloaded == {"cp": pytest.approx((0.1 * sent + 1.5) / 4, rel=0.02)} and result.bottleneck == "cp"
    assert result.overloaded["cp"] > 1.04 and not result.settled


def test_a_load_that_is_slightly_too_high_is_said():
    result = simulate(network(Station(name="cp"), open_class(1.05, visit("cp", 1.0))), seed=1, horizon=40_000)
    assert not result.settled and any("more arrives than cp" in remark for remark in result.remarks)
    assert (result.limits[0].utilisation, result.limits[0].rate_per_s) == pytest.approx((1.05, 1.0))
    assert simulate(MM3, seed=1, horizon=40_000).remarks == ()


def test_a_deadlock_is_named():
    route_one = (
        Acquire(resource="x"),
        visit("d", 1.0),
        Acquire(resource="y"),
        Release(resource="y"),
        Release(resource="x"),
    )
    route_two = (
        Acquire(resource="y"),
        visit("d", 1.0),
        Acquire(resource="x"),
        Release(resource="x"),
        Release(resource="y"),
    )
    locks = (Resource(name="x", capacity=1), Resource(name="y", capacity=1))
    net = network(
        Station(name="d", scheduling="delay"),
        closed_class(1, 0, *route_one, name="one"),
        closed_class(1, 0, *route_two, name="two"),
        resources=locks,
    )
    with pytest.raises(SimulationError, match=r"every transaction waits for another, .* in one order"):
        simulate(net, seed=1)


def test_a_deadlock_is_named_though_more_transactions_come():
    twice = (Acquire(resource="x"), visit("d", 1.0), Acquire(resource="x"), Release(resource="x", units=2))
    net = network(
        Station(name="d", scheduling="delay"), open_class(1.0, *twice), resources=(Resource(name="x", capacity=3),)
    )
    with pytest.raises(SimulationError, match=r"every transaction waits for another, .* 'x'"):
        simulate(net, seed=1)


def test_a_network_without_arrivals_is_refused():
    with pytest.raises(NetworkError, match="nothing would happen"):
        simulate(network(Station(name="cp"), TransactionClass(name="a", route=(visit("cp", 1.0),))), seed=1)


def test_users_who_would_go_round_in_no_time_are_refused():
    net = network(Station(name="cp"), closed_class(2, 0, visit("cp", Distribution.deterministic(0.0))))
    with pytest.raises(NetworkError, match="never let time pass"):
        simulate(net, seed=1)


def test_bottleneck_and_second_bottleneck_are_the_busiest_limits():
    route = (Acquire(resource="mxt"), visit("cp", 0.3), visit("dasd", 0.5), Release(resource="mxt"))
    result = simulate(
        network(
            [Station(name="cp"), Station(name="dasd"), Station(name="net", scheduling="delay")],
            open_class(1.0, *route),
            resources=(Resource(name="mxt", capacity=100),),
        ),
        seed=1,
        horizon=40_000,
    )
    assert (result.bottleneck, result.second_bottleneck) == ("dasd", "cp")


def test_response_is_the_sum_of_its_parts():
    route = (
        Acquire(resource="mxt"),
        visit("cp", 0.3, count=2.0),
        CfRequest(station="cf", engine="cp", service=EXP(0.1), issue=EXP(0.05)),
        visit("disk", 0.5, holding=("lock",)),
        Release(resource="mxt"),
    )
    result = simulate(
        network(
            [Station(name="cp"), Station(name="disk", scheduling="ps"), Station(name="cf")],
            closed_class(6, 3.0, *route),
            resources=(Resource(name="mxt", capacity=4), Resource(name="lock", capacity=1)),
        ),
        seed=1,
        horizon=60_000,
    )
    answer = result.classes["a"]
    parts = sum(p.using_s + p.waiting_s for p in answer.parts.values())
    assert parts == pytest.approx(answer.response_s.value, rel=0.005)
    assert answer.parts["mxt"].waiting_s > 0 and answer.parts["lock"].waiting_s > 0


def reference_fcfs(arrivals, work, servers):
    """Departures of a FCFS queue with ``servers``, by Kiefer and Wolfowitz."""
    free = [0.0] * servers
    out = []
    for a, w in zip(arrivals, work, strict=True):
        free.sort()
        free[0] = max(free[0], a) + w
        out.append(free[0])
    return np.array(out)


def reference_sharing(arrivals, work, servers):
    """Departures under processor sharing, stepping from event to event."""
    left: dict[int, float] = {}
    out = np.zeros(len(arrivals))
    now, i = 0.0, 0
    while i < len(arrivals) or left:
        rate = min(1.0, servers / len(left)) if left else 0.0
        finish = now + min(left.values()) / rate if left else math.inf
        then = min(finish, arrivals[i] if i < len(arrivals) else math.inf)
        left = {k: v - rate * (then - now) for k, v in left.items()}
        now = then
        if left and finish <= now:
            k = min(left, key=lambda key: left[key])
            del left[k]
            out[k] = now
        else:
            left[i] = work[i]
            i += 1
    return out


traces = st.lists(st.tuples(st.floats(0.001, 3.0), st.floats(0.001, 4.0)), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(traces, st.integers(1, 4), st.booleans())
def test_a_replay_leaves_exactly_when_theory_says(trace, servers, sharing):
    arrivals = np.cumsum([gap for gap, _ in trace])
    work = np.array([w for _, w in trace])
    station = Station(name="cp", servers=servers, scheduling="ps" if sharing else "fcfs")
    net = network(station, TransactionClass(name="a", route=(visit("cp", 1.0),)))
    result, left = replay(net, arrivals, np.zeros(len(arrivals), int), {"cp": work})
    expected = (reference_sharing if sharing else reference_fcfs)(arrivals, work, servers)
    np.testing.assert_allclose(left, expected, rtol=0, atol=1e-9)
    assert result.classes["a"].response_s.value == pytest.approx((expected - arrivals).mean(), abs=1e-9)


def test_a_replay_divides_recorded_work_over_visits_and_honours_labels():
    route = (
        visit("cp", 0.1),
        Visit(station="cp", service=EXP(0.3)),
        Visit(station="disk", service=EXP(9.0), label="read"),
        Visit(station="disk", service=Distribution.deterministic(0.5)),
    )
    net = network(
        [Station(name="cp"), Station(name="disk", scheduling="delay")], TransactionClass(name="a", route=route)
    )
    result, left = replay(net, np.array([0.0, 100.0]), np.array([0, 0]), {"cp": [4.0, 8.0], "read": [1.0, 2.0]})
    np.testing.assert_allclose(left, [5.5, 110.5])
    assert result.classes["a"].parts["cp"].using_s == pytest.approx(6.0)


def test_classes_beside_a_trace_arrive_as_described():
    traced, other = (open_class(rate, visit("cp", 1.0), name=n) for n, rate in (("traced", 0.1), ("other", 0.5)))
    net = network(Station(name="cp", scheduling="ps"), traced, other)
    random = np.random.default_rng(4)
    arrivals = np.cumsum(random.exponential(10.0, 20_000))
    trace = (arrivals, np.zeros(len(arrivals), int), {"cp": random.exponential(1.0, len(arrivals))})
    result, left = replay(net, *trace, random_classes=["other"], seed=3)
    assert (left - arrivals).mean() == pytest.approx(1.0 / (1.0 - 0.6), rel=0.06)
    assert result.classes["other"].throughput_per_s.value == pytest.approx(0.5, rel=0.03)
    _, alone = replay(net, *trace)
    assert (alone - arrivals).mean() == pytest.approx(1.0 / (1.0 - 0.1), rel=0.04)
    with pytest.raises(NetworkError, match="class 'traced' cannot run beside"):
        replay(net, *trace, random_classes=["traced"])


def test_a_replay_of_two_classes_under_a_limit_keeps_their_order():
    route = (Acquire(resource="mxt"), visit("d", 1.0), Release(resource="mxt"))
    classes = (TransactionClass(name="a", route=route), TransactionClass(name="b", route=(visit("d", 1.0),)))
    net = network(Station(name="d", scheduling="delay"), *classes, resources=(Resource(name="mxt", capacity=1),))
    _, left = replay(net, np.array([0.0, 0.1, 0.2]), np.array([0, 0, 1]), {"d": np.ones(3)})
    np.testing.assert_allclose(left, [1.0, 2.0, 1.2])


def test_users_of_closed_classes_run_beside_a_trace():
    recorded = TransactionClass(name="recorded", route=(visit("cp", 1.0),))
    net = network(
        Station(name="cp", scheduling="preemptive"), recorded, closed_class(5, 1.0, visit("cp", 9.0), name="u")
    )
    net = dataclasses.replace(net, classes=(dataclasses.replace(recorded, priority=1), net.classes[1]))
    result, left = replay(net, np.arange(10.0), np.zeros(10, int), {"cp": np.full(10, 0.5)})
    assert result.classes["recorded"].response_s.value == pytest.approx(0.5, abs=0.5)
    np.testing.assert_allclose(left[0], 0.5)
    assert not np.isnan(left).any()


def test_a_wrong_trace_is_refused():
    net = network(Station(name="cp"), TransactionClass(name="a", route=(visit("cp", 1.0),)))
    with pytest.raises(NetworkError, match="neither a station nor a label"):
        replay(net, np.array([0.0]), np.array([0]), {"tape": np.ones(1)})
    with pytest.raises(NetworkError, match="ascend"):
        replay(net, np.array([1.0, 0.5]), np.array([0, 0]), {"cp": np.ones(2)})
    with pytest.raises(NetworkError, match="class index"):
        replay(net, np.array([1.0]), np.array([3]), {"cp": np.ones(1)})


def test_warm_up_ends_where_the_series_has_settled():
    rng = np.random.default_rng(1)
    series = 10 + rng.normal(size=400)
    series[:60] += np.linspace(30, 0, 60)
    assert 30 <= mser5(series) <= 100
    assert mser5(np.arange(200.0)) == 200


def test_ratio_interval_and_merging():
    tops, bottoms = np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0])
    assert ratio(tops, bottoms, 0.95).value == 2.0 and ratio(tops, bottoms, 0.95).half_width == pytest.approx(0)
    np.testing.assert_array_equal(merge(np.arange(6.0)[:, None], 3)[:, 0], [1, 5, 9])


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=200), st.sampled_from([1.0, 50.0, 90.0, 99.0]))
def test_a_percentile_lies_in_the_bucket_of_the_order_statistic(values, p):
    edges = bucket_edges()
    counts, _ = np.histogram(values, edges)
    wanted = np.sort(values)[math.ceil(len(values) * p / 100) - 1]
    assert percentile(counts, p) == pytest.approx(wanted, rel=0.005)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30).filter(lambda w: sum(w) > 1e-3))
def test_an_alias_table_gives_back_its_weights(weights):
    w = np.array(weights) / sum(weights)
    accept, alias = alias_table(w)
    n = len(w)
    back = accept / n
    np.add.at(back, alias, (1 - accept) / n)
    np.testing.assert_allclose(back, w, atol=1e-9)


def test_compiled_code_is_thrown_away_when_a_neighbour_changes(tmp_path):
    """The engine holds what its neighbours say; a cache that looks at its own file alone would keep the old answer.

    What is kept names the types of its arguments, of which a later version may know nothing.
    """
    (tmp_path / "kernel.py").write_text(
        "import neighbour\n"
        "from model.network.kernel_cache import kernel as compiled\n"
        "@compiled()\n"
        "def kernel(pair):\n"
        "    return neighbour.FACTOR * pair.x\n"
    )
    said = []
    for factor in (2, 2, 3):
        (tmp_path / "neighbour.py").write_text(
            f"from collections import namedtuple\nFACTOR = {factor}\n"
            f"PAIR = Pair{factor} = namedtuple('Pair{factor}', 'x')\n"
        )
        said.append(kernel_says(tmp_path, "k.neighbour.PAIR(21)"))
    assert said == ["42 0", "42 1", "63 0"]


def test_damaged_compiled_code_is_compiled_anew(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "from model.network.kernel_cache import kernel as compiled\n@compiled()\ndef kernel(x):\n    return 2 * x\n"
    )
    assert kernel_says(tmp_path, "21") == "42 0"
    for kept in ("*.nbc", "*.nbi"):
        (damaged,) = (tmp_path / "cache").rglob(kept)
        damaged.write_bytes(damaged.read_bytes()[:-9])
        assert kernel_says(tmp_path, "21") == "42 0"
        assert kernel_says(tmp_path, "21") == "42 1"


def kernel_says(folder, argument):
    """What the function of kernel.py returns in a process of its own, and how often its code was kept from before."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "NUMBA_CACHE_DIR": str(folder / "cache")}
    # Bytecode of a file counts as fresh when a file of the same length has taken its place within a second.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    ask = f"import kernel as k; print(k.kernel({argument}), sum(k.kernel.stats.cache_hits.values()))"
    return subprocess.check_output([sys.executable, "-c", ask], env=environment, text=True, cwd=folder).strip()
