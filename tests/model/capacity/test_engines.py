"""What an LPAR gets of a shared machine: against the simulator, and as weights and caps would have it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.network import Arrivals, Cec, Distribution, LparShare, Network, Station, TransactionClass, Visit
from model.network.simulator import simulate
from model.network.simulator.result import SimulationResult
from model.queueing.lpar_share import Sharer, Sharing
from model.queueing.multiserver import number_in_system


def shared(machine: float, lpars: list[tuple[float, Sharer]]) -> tuple[Sharing, float, float]:
    """The first LPAR among the others, its use and theirs."""
    (own_work, first), *rest = lpars
    theirs = sum(used for used, _ in rest)
    others = tuple(Sharer(one.engines, one.weight, one.capped, used / theirs) for used, one in rest)
    return Sharing.of(machine, 0.0, first, others), own_work, theirs


def simulated(machine: float, lpars: list[tuple[float, Sharer]]) -> SimulationResult:
    """LPARs with work of pieces of one second."""
    shares = [LparShare(cec="m", weight=one.weight, cap="share" if one.capped else "none") for _, one in lpars]
    network = Network(
        name="shared",
        cecs=(Cec(name="m", engines=machine),),
        stations=tuple(
            Station(name=f"lpar{i}", servers=int(one.engines), scheduling="ps", lpar=share)
            for i, ((_, one), share) in enumerate(zip(lpars, shares, strict=True))
        ),
        classes=tuple(
            TransactionClass(
                name=f"work{i}",
                arrivals=Arrivals.poisson(used),
                route=(Visit(station=f"lpar{i}", service=Distribution.exponential(1.0)),),
            )
            for i, (used, _) in enumerate(lpars)
        ),
    )
    return simulate(network, seed=1, horizon=150_000, precision=0.015, most=900_000)


@pytest.mark.parametrize(
    ("lpars", "within"),
    [
        ([(3.6, Sharer(7, 500.0)), (3.6, Sharer(7, 500.0))], 0.04),
        ([(3.3, Sharer(7, 300.0)), (3.6, Sharer(7, 700.0))], 0.04),
        ([(2.9, Sharer(7, 450.0, capped=True)), (3.6, Sharer(7, 550.0))], 0.04),
        ([(2.0, Sharer(6, 200.0)), (2.4, Sharer(5, 300.0)), (2.8, Sharer(4, 500.0))], 0.08),
        ([(3.4, Sharer(7, 500.0)), (0.8, Sharer(2, 200.0)), (3.0, Sharer(5, 300.0))], 0.08),
    ],
)
def test_a_pool_of_its_own_makes_work_wait_as_long_as_on_the_machine(lpars, within):
    sharing, own_work, theirs = shared(8.0, lpars)
    predicted = float(number_in_system(own_work, sharing.pool(own_work, theirs)))
    inside = simulated(8.0, lpars).classes["work0"].response_s.value * own_work
    assert predicted == pytest.approx(inside, rel=within)


@given(own_work=st.floats(0.1, 3.5), theirs=st.floats(0.1, 4.0), weight=st.floats(50.0, 900.0))
def test_more_weight_never_makes_work_wait_longer(own_work, theirs, weight):
    def inside(weight: float) -> float:
        sharing = Sharing.of(8.0, 0.0, Sharer(6, weight), (Sharer(6, 1000.0 - weight),))
        return float(number_in_system(own_work, sharing.pool(own_work, theirs)))

    assert inside(weight) >= inside(weight + 50.0) * 0.99


def test_what_nobody_else_asks_for_is_the_lpars():
    other = Sharer(6, 500.0)
    assert Sharing.of(8.0, 0.0, Sharer(6, 500.0), (other,)).pool(3.0, 0.0) == 6.0
    assert Sharing.of(12.0, 0.0, Sharer(6, 500.0), (other,)).pool(3.0, 5.0) == 6.0


def test_the_share_is_left_where_others_ask_for_more():
    sharing = Sharing.of(8.0, 0.0, Sharer(6, 250.0), (Sharer(8, 500.0, part=0.9), Sharer(8, 250.0, part=0.1)))
    assert sharing.limit(np.array([0.0, 7.5])) == pytest.approx([6.0, (8.0 - 0.75) / 3.0])


@pytest.mark.parametrize(
    "lpars",
    [
        [Sharer(6, 400.0), (5.49, Sharer(6, 600.0))],
        [Sharer(6, 700.0), (4.29, Sharer(6, 600.0))],
        [Sharer(6, 700.0), (5.6, Sharer(6, 600.0))],
        [Sharer(6, 200.0), (2.0, Sharer(4, 400.0)), (2.0, Sharer(5, 400.0))],
    ],
)
def test_an_lpar_that_wants_more_gets_what_the_others_leave_at_each_moment(lpars):
    own_work, *others = lpars
    question = [(1.2 * own_work.engines, own_work), *others]
    sharing, _, theirs = shared(10.0, question)
    got = simulated(10.0, question).stations["lpar0"].utilization.value * own_work.engines
    assert float(sharing.limit(theirs)) == pytest.approx(got, rel=0.01)


def test_others_who_take_more_from_moment_to_moment_leave_less_and_never_more_than_on_average():
    sharing, _, theirs = shared(10.0, [(6.0, Sharer(6, 400.0)), (5.49, Sharer(6, 600.0))])
    most, got = sharing.steadily_left(np.array(theirs)), sharing.limit(theirs)
    assert got < most - 0.1
    assert sharing.limit(theirs, [-2.0, -1.0, 0.0, 0.5]) == pytest.approx([most, most, got, got - 0.5 * (most - got)])
    assert np.all(np.diff(sharing.pool(3.0, theirs, sharing.limit(theirs, [-0.5, 0.0, 0.5]))) < 0)


def test_many_lpars_are_taken_together_with_all_their_weight_and_use():
    others = tuple(Sharer(4, 100.0, part=0.1) for _ in range(10))
    sharing = Sharing.of(10.0, 0.2, Sharer(6, 500.0), others)
    assert len(sharing.others) == 3
    assert sum(one.weight for one in sharing.others) == pytest.approx(1000.0)
    assert sum(one.part for one in sharing.others) == pytest.approx(1.0)
    assert 2.0 < float(sharing.pool(2.0, 7.0)) < 6.0


def test_who_is_held_to_a_share_uses_no_more_than_that():
    others = (Sharer(8, 300.0, capped=True, part=0.6), Sharer(8, 200.0, part=0.4))
    sharing = Sharing.of(8.0, 0.0, Sharer(8, 500.0), others)
    assert sharing.used(np.array([2.0, 6.0])) == pytest.approx([2.0, 8.0 * 0.3 + 0.4 * 6.0])
