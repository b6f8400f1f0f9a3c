"""The zIIP pool as records show it: what overflows, and with which zIIPs."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.demands import ziip_pool
from tests.cases.histories import history
from tests.cases.systems import demand

PATIENCE, TAKEN, FLOOR = 1.5, 0.8, 0.01
ELIGIBLE = replace(demand("class", 1e-3, 0, 3), engine="ziip")



def leaving(load: np.ndarray, servers: int) -> np.ndarray:
    """Part that would wait longer than the patience in M/M/1+D and M/M/2+D, by their balance equations."""
    room = servers - load
    beyond = np.exp(-room * PATIENCE)
    alone = np.ones_like(load) if servers == 1 else 1.0 + 1.0 / load
    gone = load * beyond / servers
    return gone / (alone + load * (1.0 - beyond) / room + gone)


@pytest.mark.parametrize("servers", [1, 2])
def test_overflow_is_what_would_wait_long_for_zIIPs(servers: int):
    given = history()
    given = replace(given, busy_s=given.seconds * 0.2 * given.engines)
    eligible = servers * np.linspace(0.1, 0.9, len(given.seconds))
    share = FLOOR + TAKEN * leaving(eligible, servers)
    on_ziips = eligible * (1.0 - share)
    one = np.eye(given.cp_s.shape[1])[0]
    seen = replace(
        given,
        ziips=np.full(len(on_ziips), float(servers)),
        ziip_busy_s=on_ziips * given.seconds,
        ziip_s=(on_ziips * given.seconds)[:, None] * one,
        ziip_on_cp_s=(eligible * share * given.seconds)[:, None] * one,
    )
    overflow = ziip_pool(seen, [0], {"class": ELIGIBLE}).overflow
    assert overflow.patience[0] == PATIENCE
    assert overflow.taken[0] == pytest.approx(TAKEN, rel=0.05)
    assert overflow.floor[0] == pytest.approx(FLOOR, abs=0.003)


def test_gain_of_the_second_thread_follows_from_thread_density():
    given = history()
    busy, density, gain = np.linspace(0.2, 1.8, len(given.seconds)), np.linspace(1.1, 1.9, len(given.seconds)), 1.3
    work = busy * (1.0 + (gain - 1.0) * (density - 1.0))
    on_zip = np.zeros_like(given.cp_s)
    on_zip[:, 0] = work * given.seconds
    seen = replace(
        given,
        ziips=np.full(len(busy), 2.0),
        ziip_busy_s=busy * given.seconds,
        density=density,
        ziip_s=on_zip,
    )
    pool = ziip_pool(seen, [0], {"class": ELIGIBLE})
    assert pool.threads == 2.0
    assert pool.gain[0] == pytest.approx(gain, abs=0.01)
