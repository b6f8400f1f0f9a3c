"""Waits for dispatching inside regions, whatever state of the transactions contains their regions' waits for CPs."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.responses import responses
from model.queueing.multiserver import limit_wait
from tests.cases.histories import SECONDS, history

QR_S, CP_SHARE = 0.0016, 0.5


def in_region(active_has_waits: bool):
    """The made history with a region class whose work waits for CPs half as long as it uses them; class HIGH waits for
    its TCB, which it holds on CPs, as M/M/1 does."""
    given, random = history(), np.random.default_rng(6)
    cpu_s = given.cp_s[:, 0]
    rate = given.ended[:, 0] / SECONDS
    hold_s = QR_S * (1.0 + CP_SHARE)
    used = hold_s * rate
    qr_s = given.ended[:, 0] * hold_s * used / (1.0 - used)
    cp_wait_s = CP_SHARE * cpu_s
    none = np.zeros(len(cpu_s))

    def sampled(*columns):
        return 0.25 * random.poisson(4.0 * np.column_stack(columns))

    active = cpu_s + cp_wait_s * active_has_waits
    ready = qr_s + cp_wait_s * (not active_has_waits)
    samples = {
        "cp using": sampled(none, none, cpu_s), "cp delay": sampled(none, none, cp_wait_s),
        "active": sampled(active, none, none), "ready": sampled(ready, none, none),
    }  # fmt: skip
    wait_ms = 1e3 * (qr_s + cp_wait_s) / given.ended[:, 0]
    response = given.response_ms.copy()
    response[:, 0] = 1e3 * cpu_s / given.ended[:, 0] + wait_ms + 2.0

    def wider(values, last):
        return np.column_stack([values, last])

    return replace(
        given, classes=("HIGH", "LOW", "REGION"), importance=np.array([2, 2, 2]), workloads=("CICS", "BATCH", "CICS"),
        samples=samples, response_ms=wider(response, np.full(len(none), np.nan)),
        p90_ms=wider(2.2 * response, np.full(len(none), np.nan)),
        **{name: wider(getattr(given, name), none) for name in ("ended", "idle_s", "cp_s", "ziip_s", "ziip_on_cp_s")},
    ), qr_s / given.ended[:, 0]  # fmt: skip


@pytest.mark.parametrize("active_has_waits", [False, True], ids=["waits for CPs are ready", "waits for CPs are active"])
def test_waits_of_regions_for_cps_are_no_waits_for_dispatching(active_has_waits):
    given, true_wait_s = in_region(active_has_waits)
    found = responses(given, [0, 1], None, {0: 2}, "PRDA")
    [limit] = found["limits"]
    servers, queues, hold_s, factor = (one[0] for one in (limit.servers, limit.queues, limit.hold_s, limit.variability))
    top = int(given.ended[:, 0].argmax())
    wait_s = factor * limit_wait(given.ended[top, 0] / SECONDS, hold_s * (1.0 + CP_SHARE), servers, queues)
    assert wait_s == pytest.approx(true_wait_s[top], rel=0.3)
