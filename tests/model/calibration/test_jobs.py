"""Long batch jobs: what an interval used of them is recorded, wherever they end."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import History, with_jobs_in_progress
from model.capacity.ask import predict
from tests.cases.histories import SECONDS, SHARE, bundle_of, history

JOB_S, LASTS = 120.0, 3


def with_batch() -> tuple[History, np.ndarray]:
    """The made history with jobs that use 120 s of CPU in three intervals and end in the last, and that CPU."""
    given, random = history(), np.random.default_rng(3)
    begun = random.poisson(2.0, len(given.seconds)).astype(float)
    ended = np.concatenate([np.zeros(LASTS - 1), begun[: 1 - LASTS]])
    cpu_s = JOB_S / LASTS * np.convolve(begun, np.ones(LASTS))[: len(begun)]
    added = np.column_stack([given.ended, ended])
    none = np.zeros_like(added)
    response = np.column_stack([given.response_ms, np.where(ended > 0, 1e3 * LASTS * SECONDS, np.nan)])
    whole = replace(
        given,
        classes=("HIGH", "LOW", "BATCH"),
        importance=np.array([2, 2, 5]),
        workloads=("CICS", "CICS", "BATCH"),
        ended=added,
        idle_s=none,
        cp_s=np.column_stack([given.cp_s, cpu_s]),
        busy_s=given.busy_s + (1.0 + SHARE) * cpu_s,
        ziip_s=none,
        ziip_on_cp_s=none,
        response_ms=response,
        p90_ms=response,
    )
    return with_jobs_in_progress(whole), cpu_s


def test_jobs_of_an_interval_are_those_whose_cpu_it_has_and_add_up_to_those_that_ended():
    given, cpu_s = with_batch()
    assert given.ended[:, 2].sum() == pytest.approx(given.jobs["BATCH"].sum())
    assert given.ended[:, 2] == pytest.approx(cpu_s * given.jobs["BATCH"].sum() / cpu_s.sum())
    assert set(given.jobs) == {"BATCH"}
    assert len(given.rows(np.arange(10)).jobs["BATCH"]) == 10


def test_growth_of_batch_adds_its_recorded_cpu_even_if_no_job_ended():
    given, cpu_s = with_batch()
    at = int(np.flatnonzero((given.jobs["BATCH"] == 0) & (cpu_s > JOB_S))[0])
    when = str(given.start_local[at])
    model = bundle_of(given)
    before, after = (
        predict(model, "PRDA", {"when": when, **more}).output("cpu_busy_pct") for more in ({}, {"growth_pct.BATCH": 50})
    )
    assert before.value == pytest.approx(100 * given.busy_s[at] / SECONDS / given.engines[at], rel=1e-5)
    added = 50 * (1.0 + SHARE) * cpu_s[at] / SECONDS / given.engines[at]
    assert after.value - before.value == pytest.approx(added, rel=0.03)
    # How many jobs end in an interval says nothing of how sure its recorded CPU is.
    assert (after.hi - after.lo) / 2 < 1.0
