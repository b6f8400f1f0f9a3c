"""Drawn twins are the same each time, load as files, and stay within what their networks can serve."""

from pathlib import Path

import numpy as np
import pytest

from model.lab import LabError
from model.lab.twin import Twin
from model.lab.twin.activity import described_rates
from model.lab.twin.files import NAMED, save
from model.lab.twin.partitions import partitions
from model.lab.twin.random import FAMILIES, draw, random_twin
from model.network import demands


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_twin_is_the_same_from_its_file_and_from_its_seed(family: str, tmp_path: Path) -> None:
    twin = Twin.load(save(*draw(family, 3), tmp_path))
    again = random_twin(family, 3)
    assert twin.network == again.network
    assert twin.questions == again.questions
    assert {c: load.rate_per_s for c, load in twin.classes.items()} == {
        c: load.rate_per_s for c, load in again.classes.items()
    }
    assert random_twin(family, 4).network != twin.network


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_twin_is_not_overloaded(family: str) -> None:
    network = random_twin(family, 5).network
    work = described_rates(network) @ demands(network).demand_s
    assert np.all(work < 0.7 * np.array([s.servers for s in network.stations]))


def test_a_twin_of_each_family_comes_with_etalon() -> None:
    found = {path.stem: Twin.load(path) for path in NAMED.glob("*.toml") if ".network" not in path.name}
    assert set(found) == set(FAMILIES)
    assert all(twin.questions and partitions(twin.network, twin.system_id) for twin in found.values())


def test_a_family_that_does_not_exist_is_refused() -> None:
    with pytest.raises(LabError, match="no family 'vsam' of twins; known: cics"):
        draw("vsam", 1)
