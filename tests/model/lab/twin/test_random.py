"""Drawn twins are the same each time, and stay within what their networks can serve."""

import numpy as np
import pytest

from model.lab import LabError
from model.lab.twin import Twin
from model.lab.twin.activity import described_rates
from model.lab.twin.network import partitions
from model.lab.twin.random import FAMILIES, random_twin
from model.network import demands
from pipelines.home import ROOT


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_twin_is_the_same_each_time_and_not_overloaded(family: str) -> None:
    twin = random_twin(family, 3)
    assert twin.network == random_twin(family, 3).network != random_twin(family, 4).network
    work = described_rates(twin.network) @ demands(twin.network).demand_s
    assert np.all(work < 0.7 * np.array([s.servers for s in twin.network.stations]))
    assert twin.questions and partitions(twin.network, twin.system_id)


@pytest.mark.parametrize("name", ["lpars-weights", "production"])
def test_the_twins_that_come_with_etalon_can_be_read(name: str) -> None:
    assert Twin.load(ROOT / "model" / "lab" / "twin" / "twins" / f"{name}.toml").questions


def test_a_family_that_does_not_exist_is_refused() -> None:
    with pytest.raises(LabError, match="no family 'vsam' of twins; known: cics"):
        random_twin("vsam", 1)
