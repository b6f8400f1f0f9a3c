"""Evaluating laws: Erlang C against known values, responses against M/M/c, limits where there is no steady state."""

import json
import math

import pytest

from model import laws
from model.laws import Estimate
from model.network.solvers.stations import mmc_response
from tests.shared import shared

RESPONSE = {
    "other_ms": 10.0,
    "other_sd_ms": 0.3,
    "load_sd": 0.25,
    "measured_stretch": 1.75,
    "noise_rel": 0.03,
    "quantile": 2.0,
}


@pytest.mark.parametrize(
    ("offered", "servers", "expected"), [(0.5, 1, 0.5), (3.2, 4, 0.5964), (2.0, 2, 1.0), (0.0, 3, 0.0)]
)
def test_erlang_c_matches_the_tables(offered, servers, expected):
    assert laws.erlang_c(offered, servers) == pytest.approx(expected, abs=1e-4)


def test_stretch_agrees_with_a_published_case():
    case = json.loads(shared("cases/mmc18-80.json").read_text(encoding="utf-8"))
    model, expected = case["model"], case["expected"]
    offered = model["arrival_rate"] / model["service_rate"]
    assert laws.erlang_c(offered, model["servers"]) == pytest.approx(expected["Pw"], rel=1e-9)
    assert laws.stretch(offered, model["servers"]) / model["service_rate"] == pytest.approx(expected["R"], rel=1e-9)


@pytest.mark.parametrize(("rate", "service", "servers"), [(5.0, 0.5, 4), (17.0, 1.0, 18), (0.1, 1.0, 1)])
def test_stretch_is_the_multi_server_response_over_its_service(rate, service, servers):
    assert service * laws.stretch(rate * service, servers) == pytest.approx(
        mmc_response(rate, service, servers), rel=1e-12
    )


def test_response_grows_with_busy_and_its_interval_holds_the_centre():
    found = [laws.response(RESPONSE, 0.5, Estimate(used, 0.98 * used, 1.02 * used), 4) for used in (1.0, 2.0, 3.0, 3.7)]
    assert [f.value for f in found] == sorted(f.value for f in found)
    assert all(f.lo < f.value < f.hi for f in found)
    assert found[3].hi - found[3].lo > 2 * (found[2].hi - found[2].lo)


def test_response_has_no_limit_when_saturation_is_within_reach():
    near = laws.response(RESPONSE, 0.5, Estimate(3.9, 3.7, 4.1), 4)
    assert math.isfinite(near.value)
    assert math.isinf(near.hi)
    over = laws.response(RESPONSE, 0.5, Estimate(4.2, 4.1, 4.3), 4)
    assert math.isinf(over.value)
    assert math.isinf(over.lo)


def test_distance_is_nil_inside_the_measured_rates_and_logarithmic_outside():
    assert laws.rate_distance([10.0, 20.0], 15.0) == 0.0
    assert laws.rate_distance([10.0, 20.0], 40.0) == pytest.approx(math.log(2))
    assert laws.rate_distance([10.0, 20.0], 5.0) == pytest.approx(math.log(2))
