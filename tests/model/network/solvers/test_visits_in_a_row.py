"""Visits that follow one another at a station: in turn with others, or in one go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from model.network import Distribution, Go, Station, TransactionClass, Visit
from model.network.solvers import Solution, solve
from tests.model.network.simulator.build import closed_class, network, open_class, visit
from tests.oracles.product_form import mmc


@pytest.mark.parametrize("scheduling", ["priority_ps", "dps"])
def test_visits_that_follow_each_other_where_servers_are_shared_are_one(scheduling: str) -> None:
    def responses(*low: Visit) -> np.ndarray:
        high = open_class(0.8, visit("q", 1.0), name="high", priority=1, weight=5.0)
        shared = Station(name="q", servers=2, scheduling=scheduling)
        return solve(network(shared, high, open_class(0.3, *low))).response_s

    short = visit("q", 0.4)
    together = visit("q", Distribution.erlang(2.0, 5))
    assert responses(replace(short, count=5.0)) == pytest.approx(responses(together), rel=1e-6)
    assert responses(*[short] * 5) == pytest.approx(responses(together), rel=1e-6)


@pytest.mark.parametrize(("long_s", "said", "bound"), [(0.1, (), 0.1), (0.25, ("visits at once",), 0.5),
    (1.0, ("visits at once beside longer work",), 2.0), (50.0, ("visits at once beside long work",), np.inf)],
    ids=["as short", "short", "long", "very long"])  # fmt: skip
def test_coming_back_at_once_beside_long_work_is_as_unsure_as_it_is(long_s, said, bound) -> None:
    back = open_class(0.5, visit("q", 0.1, count=5.0), name="back")
    long = open_class(0.5 / long_s, visit("q", long_s), name="long")
    found = solve(network((Station(name="q", scheduling="fcfs"), Station(name="r")), back, long))
    assert tuple(name for name in found.approximated if "at once" in name) == said
    assert found.known_error[1] <= bound and (np.isinf(bound) == np.isinf(found.known_error[1]))


@pytest.mark.parametrize(("servers", "visits"), [(1, 1), (2, 1), (2, 3)])
def test_visits_without_work_wait_in_turn_for_that_of_others(servers: int, visits: int) -> None:
    """Erlang: who brings nothing waits as long as who brings work; in product form it would pass at once."""
    none = visit("q", Distribution.deterministic(0.0), count=float(visits))
    work = open_class(0.5 * servers, visit("q", 1.0), name="work")
    stations = (Station(name="q", servers=servers, scheduling="fcfs"), Station(name="r", scheduling="fcfs"))
    found = solve(network(stations, open_class(1.0, none, visit("r", 0.1)), work))
    waited = mmc(0.5 * servers, 1.0, servers).wait
    assert not found.exact
    assert found.response_s[1] == pytest.approx(1.0 + waited, rel=0.15)
    if visits > 1:
        assert np.isinf(found.known_error[1])
    else:
        assert found.response_s[0] - 0.1 / 0.9 == pytest.approx(waited, rel=0.2)


@pytest.mark.parametrize(
    ("servers", "visits", "rate", "other"), [(1, 5, 0.1, 0.3), (3, 5, 0.3, 0.6), (1, 20, 0.02, 0.3)]
)
def test_visits_in_a_row_that_are_all_but_equal_have_product_form(servers, visits, rate, other):
    def times(other_s: float) -> Solution:
        often = open_class(rate, visit("q", 1.0, count=visits), name="often")
        once = open_class(other, visit("q", other_s), name="once")
        return solve(network(Station(name="q", servers=servers, scheduling="fcfs"), often, once))

    unequal, equal = times(1.0 + 1e-9), times(1.0)
    assert equal.exact
    assert not unequal.exact
    np.testing.assert_allclose(unequal.response_s, equal.response_s, rtol=1e-4)


@pytest.mark.parametrize("scheduling", ["fcfs", "hol"])
def test_visits_in_a_row_leave_as_much_work_as_any_order(scheduling):
    # Whatever the order, the mean work that is there is that of M/G/1.
    rate, visits, each_s = 0.4, 20, 0.05
    often = open_class(rate, visit("q", each_s, count=visits), name="often")
    once = open_class(rate, visit("q", 1.0), name="once", priority=1)
    answer = solve(network(Station(name="q", scheduling=scheduling), often, once))
    work = rate * ((visits * each_s) ** 2 + visits * each_s**2 + 2.0) / 2 / (1 - 2 * rate)
    # Not quite half of the visits in a row are done, as the first takes longest; of those who come once nothing.
    there = rate * answer.response_s @ [0.55 * visits * each_s, 1.0]
    assert there == pytest.approx(work, rel=0.2)


@pytest.mark.parametrize("rate", [0.6, 1.4])
def test_who_is_soon_back_in_order_finds_little_more_than_what_it_left(rate: float) -> None:
    """Short work in a loop with an I/O, beside long work at two servers: against the Markov chain."""
    loop = [visit("cp", 0.02, label="cp"), visit("disk", 0.02), Go(to=(("cp", 0.8),))]
    short = TransactionClass(name="short", route=tuple(loop), users=1, think=Distribution.exponential(5.0))
    stations = (Station(name="cp", servers=2, scheduling="fcfs"), Station(name="disk", scheduling="delay"))
    loops = network(stations, open_class(rate, visit("cp", 1.0), name="long"), short)
    exact, found = solve(loops, "exact"), solve(loops, "approximate")
    assert found.response_s == pytest.approx(exact.response_s, rel=0.08)


def test_many_users_in_order_do_as_much_as_their_servers_can() -> None:
    """Those who are always there keep four servers busy beside 500 who think."""
    always = closed_class(8, 0, visit("q", Distribution.erlang(0.09, 4)), visit("io", 0.009), name="always")
    often = closed_class(400, 2.0, visit("q", 0.002), name="often")
    seldom = closed_class(170, 2.0, visit("q", 0.02), name="seldom")
    stations = (Station(name="q", servers=4, scheduling="fcfs"), Station(name="io", scheduling="delay"))
    found = solve(network(stations, always, often, seldom))
    assert found.utilisation[:, 0].sum() > 0.97
