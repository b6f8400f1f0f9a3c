"""The zIIP pool as records show it."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.ziips import waited_for_cps, ziip_pool
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


@pytest.mark.parametrize("behind", [0.3, -0.3])
def test_work_that_waited_for_cps_comes_no_less_in_batches(behind: float):
    """Records that ask for that are off in another way: how it comes beyond them is as unsure as without any."""
    given = history()
    given = replace(given, busy_s=given.seconds * given.engines * np.linspace(0.1, 0.7, len(given.seconds)))
    work = 3.0 * np.linspace(0.1, 0.9, len(given.seconds))
    one = np.eye(given.cp_s.shape[1])[0]
    eligible = replace(given, ziip_s=work[:, None] * one, ziip_on_cp_s=0.0 * given.cp_s)
    batches = 0.35 + behind * waited_for_cps(eligible)
    full = bounded_pool(work, 3, bound=(2, batches), dense=True)[0]
    seen = replace(
        eligible,
        ziips=np.full(len(work), 3.0),
        ziip_busy_s=work * (1.0 - full) * given.seconds,
        ziip_s=(work * (1.0 - full) * given.seconds)[:, None] * one,
        ziip_on_cp_s=(work * full * given.seconds)[:, None] * one,
    )
    found = ziip_pool(seen, [0], {"class": {"engine": "ziip"}})["overflow"]["bunched_behind_cps"]
    assert found["centre"] == pytest.approx(max(behind, 0.0), abs=0.01)
    assert min(found["draws"]) >= 0.0
    assert (np.std(found["draws"]) > 0.05) == (behind < 0.0)
