"""The benchmarks measure what they say: their peers and oracles give the right answers on small runs."""

import numpy as np
import pytest

from benchmarks import coverage, simulator
from model.network import demands
from model.network.simulator.randoms import stream


def test_the_bare_loops_are_an_erlang_queue():
    for loop, rng in (
        (simulator._BARE, stream(np.random.SeedSequence(2))),
        (simulator._BARE_NUMPY, np.random.default_rng(2)),
    ):
        assert loop(400_000, simulator.LOAD, simulator.SERVERS, rng) == pytest.approx(1.0775, rel=0.02)


def test_the_transaction_of_ten_visits_has_ten_visits():
    for scheduling in ("fcfs", "ps"):
        network = simulator.ten_visits(scheduling)
        visits = demands(network).visits.sum()
        assert visits == 10 and demands(network).acquires.sum() == 1


def test_most_intervals_of_a_small_coverage_study_hold_the_truth():
    counts = coverage.measure(seeds=2, horizon=40_000)
    assert counts["intervals"] == 20 and counts["held"] >= 15
