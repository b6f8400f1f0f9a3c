"""The network description: what it accepts, what it refuses, and its TOML form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.network import (
    Acquire,
    Arrivals,
    Call,
    Cec,
    CfRequest,
    Distribution,
    Fork,
    Go,
    LparShare,
    Network,
    NetworkError,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    Switch,
    TransactionClass,
    Visit,
    demands,
)

times = st.floats(min_value=1e-9, max_value=1e6, allow_nan=False)
distributions = st.one_of(
    times.map(Distribution.exponential),
    times.map(Distribution.deterministic),
    st.builds(Distribution.erlang, times, st.integers(1, 50)),
    st.builds(Distribution.lognormal, times, st.floats(0.01, 50)),
    st.builds(lambda a, b, p: Distribution.hyperexponential((a, b), (p, 1 - p)), times, times, st.floats(0, 1)),
    st.lists(times, min_size=1, max_size=6).map(lambda v: Distribution.empirical(tuple(v))),
    st.lists(times, min_size=2, max_size=6).map(lambda v: Distribution.quantiles(tuple(sorted(v)))),
    st.builds(lambda m, plus: Distribution.exponential(m).shifted(plus), times, times),
)
labels = st.sampled_from(["", "a", "b"])
plain_steps = st.one_of(
    st.builds(
        Visit,
        station=st.sampled_from(["cp", "disk"]),
        service=distributions,
        count=st.floats(0.1, 20),
        holding=st.sampled_from([(), ("mxt",), ("mxt", "qr")]),
    ),
    st.builds(
        CfRequest,
        station=st.just("disk"),
        engine=st.just("cp"),
        service=distributions,
        issue=distributions,
        mode=st.sampled_from(["sync", "async", "heuristic"]),
        threshold_s=st.floats(0, 1),
    ),
    st.builds(Call, procedure=st.just("read"), times=st.integers(1, 3)),
    st.builds(Go, to=st.just((("end", 0.25),))),
    st.lists(st.builds(Visit, station=st.just("disk"), service=distributions), min_size=1, max_size=2).map(
        lambda b: Fork(branches=(tuple(b), tuple(b)))
    ),
)
networks = st.builds(
    lambda name, route, users, think, interarrival: Network(
        name=name,
        stations=(
            Station(name="cp", servers=4, scheduling="fcfs", overflow=Overflow(to="disk", waiting=2)),
            Station(name="disk", scheduling="ps", smt=Smt(gain=1.3), source="a table"),
            Station(name="lp", scheduling="ps", servers=2, lpar=LparShare(cec="m", weight=3.0, cap=1.5)),
        ),
        cecs=(Cec(name="m", engines=3.0),),
        resources=(Resource(name="mxt", capacity=9, kind="mxt"), Resource(name="qr", capacity=1, queue_limit=4)),
        procedures=(("read", (Visit(station="disk", service=think),)),),
        classes=(
            TransactionClass(name="open one", route=tuple(route), arrivals=Arrivals(interarrival=interarrival)),
            TransactionClass(name="closed", route=(Visit(station="cp", service=think),), users=users, think=think),
        ),
    ),
    st.text(max_size=12),
    st.lists(plain_steps, min_size=1, max_size=5),
    st.integers(1, 1000),
    distributions,
    distributions,
)


@given(networks)
def test_toml_text_gives_back_an_equal_network(network):
    assert Network.from_toml(network.to_toml()) == network


def test_numbers_of_numpy_are_written_as_numbers():
    cp = Visit(station="cp", service=Distribution.exponential(np.float64(0.25)))
    network = Network(name="n", stations=(Station(name="cp"),), classes=(TransactionClass(name="c", route=(cp,)),))
    assert Network.from_toml(network.to_toml()) == network


@given(distributions)
def test_moments_are_those_of_many_quantiles(d):
    assert d.mean >= 0 and d.scv >= 0
    assert math.isclose(d.second_moment, d.mean**2 * (1 + d.scv), rel_tol=1e-6)


def test_two_moment_fit_keeps_mean_and_variation():
    for scv in (0.0, 0.25, 1.0, 2.0, 30.0):
        d = Distribution.with_scv(0.4, scv)
        assert d.mean == pytest.approx(0.4) and d.scv == pytest.approx(scv, abs=1e-9)


def one_class(route, **extra):
    stations = (Station(name="cp"), Station(name="disk"))
    resources = (Resource(name="mxt", capacity=2),)
    cls = TransactionClass(name="t", route=tuple(route), arrivals=Arrivals.poisson(1.0))
    return Network(name="n", **({"stations": stations, "classes": (cls,), "resources": resources} | extra))


def visit(name="cp", mean=0.1, **extra):
    return Visit(station=name, service=Distribution.exponential(mean), **extra)


def test_visit_ratios_follow_loops_branches_forks_and_calls():
    route = [visit(label="again"), visit("disk", 0.2, count=2.5), Go(to=(("again", 0.75),))]
    d = demands(one_class(route))
    np.testing.assert_allclose(d.visits, [[4.0, 10.0]])
    np.testing.assert_allclose(d.demand_s, [[0.4, 2.0]])
    forked = [Fork(branches=((visit(),), (visit("disk"), visit("disk")))), Call(procedure="p", times=3)]
    d = demands(one_class(forked, procedures=(("p", (visit(),)),)))
    np.testing.assert_allclose(d.visits, [[4.0, 2.0]])


def test_overheads_and_bytes_of_a_station_are_part_of_its_service():
    link = Station(name="disk", overhead_s=0.01, cost_s_per_byte=1e-6, source="made up for the test")
    d = demands(one_class([visit("disk", 0.2, size_bytes=5e4)], stations=(Station(name="cp"), link)))
    np.testing.assert_allclose(d.demand_s[0, 1], 0.26)
    np.testing.assert_allclose(d.scv[0, 1], (0.2 / 0.26) ** 2)


def test_switching_class_adds_the_other_route():
    first = TransactionClass(name="a", route=(visit(), Switch(to="b")), arrivals=Arrivals.poisson(1.0))
    second = TransactionClass(name="b", route=(visit("disk"),))
    d = demands(one_class([], classes=(first, second)))
    np.testing.assert_allclose(d.visits, [[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ([visit("tape")], "unknown station 'tape'"),
        ([Acquire(resource="mxt"), visit()], "step 2: end while still holding mxt"),
        ([Release(resource="mxt")], "not held"),
        (
            [Go(to=(("x", 0.5),)), Acquire(resource="mxt"), visit(label="x"), Release(resource="mxt")],
            "holding and not|not held",
        ),
        ([Go(to=(("nowhere", 1.0),))], "unknown label 'nowhere'"),
        ([Acquire(resource="mxt", units=3), Release(resource="mxt", units=3)], "takes 3 of 'mxt', which has 2"),
        (
            [Acquire(resource="mxt", units=2), visit(holding=("mxt",)), Release(resource="mxt", units=2)],
            "step 2 takes 1 of 'mxt' while holding 2 of its 2: it would wait for itself",
        ),
        (
            [
                Acquire(resource="mxt", units=2),
                Fork(branches=((visit(holding=("mxt",)),),)),
                Release(resource="mxt", units=2),
            ],
            "step 2 takes 1 of 'mxt' while holding 2 of its 2: it would wait for itself",
        ),
        ([Call(procedure="p")], "unknown procedure"),
        ([Fork(branches=((visit(), Switch(to="t")),))], "cannot become another class"),
    ],
)
def test_a_route_that_cannot_be_followed_is_refused(route, message):
    with pytest.raises(NetworkError, match=message):
        one_class(route)


def test_a_hardware_figure_without_source_is_refused():
    with pytest.raises(NetworkError, match="need a source"):
        one_class([visit()], stations=(Station(name="cp", speeds=(1.2,)),))


def test_a_route_that_never_ends_is_refused_by_the_flow_equations():
    with pytest.raises(NetworkError, match="never ends"):
        demands(one_class([visit(label="a"), Go(to=(("a", 1.0),))]))


def test_toml_errors_name_the_place():
    with pytest.raises(NetworkError, match=r"station 'cp'.*unknown key 'engines'"):
        Network.from_toml('[[stations]]\nname = "cp"\nengines = 3\n')
    with pytest.raises(NetworkError, match=r"class 'a' step 1.*service is missing"):
        Network.from_toml('[[classes]]\nname = "a"\nroute = [{ visit = "cp" }]\n')


def test_times_may_be_given_in_smaller_units():
    text = '[[stations]]\nname="cp"\n[[classes]]\nname="a"\nroute=[{visit="cp", service={mean_us=250}}]\nusers=1\n'
    assert demands(Network.from_toml(text)).demand_s[0, 0] == pytest.approx(250e-6)
