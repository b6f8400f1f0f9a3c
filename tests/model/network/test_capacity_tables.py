"""Capacity tables from CSV and XML."""

import pytest

from model.network import Cec, LparShare, NetworkError, Station
from model.network.capacity_tables import moved, read_capacity_table
from model.network.simulator import simulate
from tests.model.network.simulator.build import network, open_class, visit

WIDE = "Processor,#CP,Low,Average,High\nA01,1,1.0,1.0,1.0\nA04,4,3.8,3.6,3.3\n"
TALL = "machine,engines,workload,capacity\nA01,1,average,1.0\nA04,4,average,3.6\n"


@pytest.mark.parametrize("text", [WIDE, TALL])
def test_speed_of_an_engine_comes_from_the_ratio_of_capacities(text):
    effect = read_capacity_table(text, "table t").effect("A01", "A04", "average")
    assert (effect.engines, effect.capacity_ratio) == (4, 3.6) and effect.speed_per_engine == pytest.approx(0.9)
    moved = effect.applied(Station(name="cp", servers=1))
    assert moved.servers == 4 and moved.speeds == (pytest.approx(0.9),) and "table t, line" in moved.source


def test_a_shared_machine_moves_with_its_lpars():
    """5.2 engines of work are 65 % of eight engines and 87 % of six, whichever LPAR is named."""
    pools = (
        Station(name="A", servers=8, scheduling="ps", component="cp", lpar=LparShare(cec="m", weight=3)),
        Station(name="B", servers=3, scheduling="ps", lpar=LparShare(cec="m", weight=1, cap=2.5)),
    )
    net = network(
        pools, open_class(4.0, visit("A", 1.0), name="a"), open_class(1.2, visit("B", 1.0), name="b"),
        cecs=(Cec(name="m", engines=8),),
    )  # fmt: skip
    table = read_capacity_table("machine,engines,workload,capacity\nX8,8,AVG,8\nX6,6,AVG,6\nX2,2,AVG,3\n", "t")
    for stations in ((), ("A",), ("B",)):
        six = moved(net, table.effect("X8", "X6", "AVG"), stations)
        assert [c.engines for c in six.cecs] == [6.0] and [s.servers for s in six.stations] == [6, 3]
        machine = next(limit for limit in simulate(six, seed=1, horizon=20_000).limits if limit.name == "m")
        assert machine.utilisation == pytest.approx(5.2 / 6, rel=0.03)
    two = moved(net, table.effect("X8", "X2", "AVG"))
    assert [(s.servers, s.speeds) for s in two.stations] == [(2, (1.5,)), (2, (1.5,))]
    assert two.station("B").lpar.cap == 2.0


def test_an_unknown_machine_is_named_with_those_known():
    with pytest.raises(NetworkError, match="known: A01 average"):
        read_capacity_table(WIDE, "t").row("Z99", "average")


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "machine,engines,workload,capacity\nA01,x,AVG,1\n", "<a/>",
             "machine,engines,workload,capacity\nA01,1,AVG,-1\n"]
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_refused(text):
    with pytest.raises(NetworkError):
        read_capacity_table(text, "t")
