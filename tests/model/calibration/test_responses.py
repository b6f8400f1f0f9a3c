"""Factors of delays fitted to samples and responses that an independent formula made."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.responses import responses
from tests.cases.histories import DEMAND_S, ENGINES, SECONDS, history, mmm_slowdown

FACTORS, REST_MS, SAMPLING_S = np.array([0.6, 1.3]), np.array([2.0, 9.0]), 0.25


def sampled(with_samples: bool = True):
    """Two classes of one importance whose delay for CPs is a part, or a multiple, of that in M/M/4."""
    random = np.random.default_rng(11)
    given = history()
    service_s = given.cp_s / np.maximum(given.ended, 1.0)
    busy = given.cp_s.sum(axis=1)
    queueing = mmm_slowdown(busy / SECONDS, ENGINES)[:, None] - 1.0
    delay_s = FACTORS * queueing * DEMAND_S
    response_ms = (1e3 * (service_s + delay_s) + REST_MS) * random.normal(1.0, 0.01, service_s.shape)
    samples = {
        "cp using": random.poisson(given.cp_s / SAMPLING_S) * SAMPLING_S,
        "cp delay": random.poisson(given.ended * delay_s / SAMPLING_S) * SAMPLING_S,
    }
    return replace(given, busy_s=busy, response_ms=response_ms, samples=samples if with_samples else {})


@pytest.fixture(scope="module")
def fitted():
    return responses(sampled(), [0, 1], None, {}, "PRDA")["responses"]


def test_factors_of_delays_are_those_of_the_samples(fitted):
    for name, factor, rest in zip(("HIGH", "LOW"), FACTORS, REST_MS, strict=True):
        assert fitted[name].short[0] == pytest.approx(factor, rel=0.02), name
        assert fitted[name].rest_ms[0] == pytest.approx(rest, rel=0.02), name
        lo, hi = np.quantile(fitted[name].short[1:], [0.005, 0.995])
        assert lo <= factor <= hi, name
        assert fitted[name].evidence == "samples of delays, and responses"


def test_responses_alone_tell_the_factors_less_surely(fitted):
    alone = responses(sampled(with_samples=False), [0, 1], None, {}, "PRDA")["responses"]
    for name, factor in zip(("HIGH", "LOW"), FACTORS, strict=True):
        assert alone[name].evidence == "responses"
        assert alone[name].short[0] == pytest.approx(factor, rel=0.3), name
        assert np.std(alone[name].short[1:]) > np.std(fitted[name].short[1:])
