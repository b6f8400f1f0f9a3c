"""The zIIP pool as records show it."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.ziips import ziip_pool
from model.capacity.queues import bounded_pool
from tests.model.calibration.test_production import history


@pytest.mark.parametrize(("packing", "cores"), [("dense", 4), ("spread", 4), ("dense", 1)])
def test_busy_cores_tell_which_threads_are_filled_first(packing: str, cores: int):
    """One core tells nothing, and is taken to be filled as z/OS fills more of them."""
    given = history()
    gain = 1.3
    work = cores * np.linspace(0.1, 0.9, len(given.seconds))
    busy = bounded_pool(work, cores, gain, 2, dense=packing == "dense")[2]
    threads = busy + (work - busy) / (gain - 1.0)
    on_zip = np.zeros_like(given.cp_s)
    on_zip[:, 0] = work * given.seconds
    seen = replace(
        given,
        ziips=np.full(len(work), float(cores)),
        ziip_busy_s=busy * given.seconds,
        density=threads / busy,
        ziip_s=on_zip,
    )
    found = ziip_pool(seen, [0], {"class": {"engine": "ziip"}})
    assert (found["packing"], found["threads"]) == (packing, 2.0)
    assert found["gain"]["centre"] == pytest.approx(gain, abs=0.01)
