"""Capacity tables from CSV and XML."""

import pytest

from model.network import NetworkError, Station
from model.network.capacity_tables import read_capacity_table

WIDE = "Processor,#CP,Low,Average,High\nA01,1,1.0,1.0,1.0\nA04,4,3.8,3.6,3.3\n"
XML = """<study><machine name="x"/>
<host machine="A01" engines="1"><capacity>1.0</capacity><workload>average</workload></host>
<host machine="A04" engines="4"><capacity>3.6</capacity><workload>average</workload></host></study>"""


@pytest.mark.parametrize("text", [WIDE, XML])
def test_speed_of_an_engine_comes_from_the_ratio_of_capacities(text):
    effect = read_capacity_table(text, "table t").effect("A01", "A04", "average")
    assert (effect.engines, effect.capacity_ratio) == (4, 3.6) and effect.speed_per_engine == pytest.approx(0.9)
    moved = effect.applied(Station(name="cp", servers=1))
    assert moved.servers == 4 and moved.speeds == (pytest.approx(0.9),) and "table t, line" in moved.source


def test_an_unknown_machine_is_named_with_those_known():
    with pytest.raises(NetworkError, match="known: A01 average"):
        read_capacity_table(WIDE, "t").row("Z99", "average")


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "machine,engines,workload,capacity\nA01,x,AVG,1\n", "<a><b</a>", "<a/>",
             "machine,engines,workload,capacity\nA01,1,AVG,-1\n"]
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_refused(text):
    with pytest.raises(NetworkError):
        read_capacity_table(text, "t")


def test_xml_entities_are_not_expanded():
    entities = '<!DOCTYPE a [<!ENTITY x "9"><!ENTITY y "&x;&x;&x;">]>'
    bomb = entities + '<a><r machine="m" engines="1"><capacity>&y;</capacity></r></a>'
    with pytest.raises(NetworkError):
        read_capacity_table(bomb, "t")
