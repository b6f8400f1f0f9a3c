"""The zIIP pool as records show it."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.ziips import ziip_pool
from model.capacity.queues import bounded_pool
from tests.model.calibration.test_production import history


@pytest.mark.parametrize("packing", ["dense", "spread"])
def test_busy_cores_tell_which_threads_are_filled_first(packing: str):
    given = history()
    cores, gain = 4, 1.3
    work = np.linspace(0.4, 3.6, len(given.seconds))
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
