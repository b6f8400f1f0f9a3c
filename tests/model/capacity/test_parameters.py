"""Parameters of a system: their JSON form, what is refused of it, and samples of all of them at once."""

import json
from dataclasses import replace

import numpy as np
import pytest

from model.capacity import bundle as bundles
from model.capacity.parameters import Limit, from_plain
from model.capacity.samples import ParametersError, joined, map_samples, to_plain
from tests.cases.histories import bundle_of, history
from tests.cases.systems import DRAWS, RECORDED, SYSTEM


def written(parameters):
    return json.loads(json.dumps(to_plain(parameters), allow_nan=False))


def test_parameters_are_the_same_after_json():
    calibrated = bundle_of(history())["systems"]["PRDA"]
    again = from_plain(written(calibrated))
    assert to_plain(again) == to_plain(calibrated)
    np.testing.assert_array_equal(again.demands["HIGH"].coef, calibrated.demands["HIGH"].coef)
    np.testing.assert_array_equal(again.recorded.response_ms["LOW"], calibrated.recorded.response_ms["LOW"])


def test_intervals_without_a_record_have_none_after_json():
    recorded = replace(RECORDED.recorded, response_ms={"online": np.append(np.nan, np.ones(7))})
    again = from_plain(written(replace(RECORDED, recorded=recorded)))
    assert np.isnan(again.recorded.response_ms["online"]).tolist() == [True] + [False] * 7


def test_a_number_in_place_of_samples_is_the_same_in_every_sample():
    limit = Limit("regions", ("online",), servers=8.0, hold_s=2e-3)
    limited = replace(SYSTEM, support_tps=(1.0, 2.0), limits=(limit,))
    assert limited.limits[0].servers.tolist() == [8.0] * (1 + DRAWS)
    assert written(limited)["limits"][0]["servers"] == {"centre": 8.0, "draws": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plain: plain.pop("engines"), "parameters: engines is missing"),
        (lambda plain: plain.update(cores=4), "cores is no field of SystemParameters"),
        (lambda plain: plain.update(engines="four"), r"parameters\.engines: 'four' is no number"),
        (lambda plain: plain["classes"][0].pop("name"), r"parameters\.classes\[0\]: name is missing"),
        (lambda plain: plain["demands"]["online"].update(noise={"centre": 0.0}), r"demands\.online\.noise"),
        (lambda plain: plain["demands"].pop("batch"), "demands: batch has no demand"),
    ],
)
def test_what_is_wrong_in_a_document_is_named_with_its_place_and_the_remedy(change, message):
    plain = written(replace(SYSTEM, support_tps=(1.0, 2.0)))
    change(plain)
    with pytest.raises(ParametersError, match=message):
        from_plain(plain)
    bundle = bundles.typed({"schema": bundles.SCHEMA, "model_version": "1", "systems": {"PRDA": plain}})
    with pytest.raises(bundles.BundleError, match=r"system PRDA: .*run `etalon fit`"):
        bundle["systems"]["PRDA"]


def test_a_bundle_of_another_version_is_refused_with_the_remedy():
    with pytest.raises(bundles.BundleError, match=r"etalon-bundle/14.*expected 'etalon-bundle/15'; run `etalon fit`"):
        bundles.loads('{"schema": "etalon-bundle/14", "model_version": "1", "systems": {}}')


def test_joined_parameters_have_the_samples_of_all_one_after_the_other():
    twice = map_samples(SYSTEM, lambda one: 2.0 * one)
    both = joined([SYSTEM, twice])
    assert both.samples == 2 * DRAWS
    rest = SYSTEM.responses["online"].rest_ms
    np.testing.assert_array_equal(both.responses["online"].rest_ms, [*rest, *(2.0 * rest[1:])])
