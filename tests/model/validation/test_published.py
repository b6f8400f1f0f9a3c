"""The published systems: how well left-out rates are predicted, and what is answered for them."""

import pytest

from model.calibration.points import CapacityModel
from model.calibration.pooling import Priors
from model.calibration.related_systems import load_descriptions
from model.capacity import ask
from model.capacity import bundle as bundles
from model.validation import error_table, validate
from tests.model.points import published_points

TOTAL = "total_cics_cpu_pct"


@pytest.fixture(scope="module")
def points():
    return published_points()


@pytest.fixture(scope="module")
def validation(points):
    return validate(points, load_descriptions())


@pytest.fixture(scope="module")
def bundle(points):
    return bundles.build(CapacityModel(load_descriptions()).fit(points).systems_, data={}, validation={})


def predict(*question):
    return ask.predict(*question).to_dict()


def totals(validation, system):
    table = validation.table
    return table[(table["system"] == system) & (table["metric"] == TOTAL)].set_index("point")


def outputs(answer):
    return {output["metric"]: output for output in answer["outputs"]}


def test_left_out_rates_of_the_newer_release_are_within_six_tenths_of_a_percent(validation):
    rows = totals(validation, "cics53-18cp")
    assert len(rows) == 4
    assert (rows["error_pct"].abs() <= 0.6).all()


def test_left_out_rates_of_the_older_release_follow_the_newer(validation):
    errors = totals(validation, "cics52-18cp")["error_pct"].abs()
    assert (errors[["1", "2"]] <= 0.5).all()
    assert errors["4"] <= 1.5


def test_intervals_hold_the_left_out_totals_and_are_no_wider_than_three_mean_errors(validation):
    table = validation.table[validation.table["metric"] == TOTAL]
    assert table["covered"].all()
    assert table["half_width_pct"].mean() <= 3 * table["error_pct"].abs().mean()


def test_nine_in_ten_left_out_groups_are_held(validation):
    parts = validation.table[validation.table["role"] == "part"]
    assert len(parts) == 21
    assert parts["covered"].mean() >= 0.9
    assert parts["error_pct"].abs().mean() < 2.5


def test_the_model_passes_its_gate(validation):
    assert validation.failed == ()
    assert set(validation.gates) == {"cics52-18cp", "cics53-18cp"}


@pytest.mark.parametrize(
    "priors", [Priors(fixed_system_sd=0.011), Priors(fixed_system_sd=0.02), Priors(bend=0.003), Priors(scatter=0.004)]
)
def test_errors_do_not_hang_on_a_prior(points, priors):
    cics = points[points["system_id"].str.startswith("cics")]
    table = error_table(cics, model=CapacityModel(load_descriptions(), priors=priors))
    table = table[table["metric"] == TOTAL]
    assert table["error_pct"].abs().max() < 1.6
    assert table["covered"].all()


def test_groups_add_up_to_the_total_between_the_measured_rates(bundle):
    answer = outputs(predict(bundle, "cics53-18cp", {"etr_tps": 110560.9}))
    parts = sum(answer[f"{name}_cpu_pct"]["value"] for name in ("tor", "aor", "for"))
    assert parts == pytest.approx(answer[TOTAL]["value"], rel=1e-9)
    assert answer[TOTAL]["condition"] == "etr_tps=110560.9"
    assert 599 < answer[TOTAL]["lo"] < answer[TOTAL]["hi"] < 1499
    assert predict(bundle, "cics53-18cp", {"etr_tps": 110560.9})["extrapolated"] is False


def test_operating_points_are_answered_under_the_published_conditions(bundle):
    answer = outputs(predict(bundle, "ims14-ff-haldb-z13"))
    assert answer["itr_tps"]["value"] == pytest.approx(7504.83, rel=1e-4)
    assert answer["cpu_us_per_tran"]["value"] == pytest.approx(532.99, rel=1e-4)
    assert answer["total_ims_response_ms"]["value"] == pytest.approx(11.275, rel=1e-4)
    assert answer["itr_tps"]["condition"] == "group=rate; machine=z13; quantity=value"
    assert answer["ims_cpu_us_per_tran"]["condition"] == "group=CPU; machine=z13; quantity=value"
    assert outputs(predict(bundle, "cics53-18cp"))[TOTAL]["condition"] == "point=5"


def test_the_faster_machine_borrows_what_was_not_measured_on_it(bundle):
    answer = predict(bundle, "ims14-ff-haldb-z14")
    found = outputs(answer)
    assert found["itr_tps"]["value"] == pytest.approx(8017.71, rel=1e-4)
    assert found["dependent_regions_cpu_us_per_tran"]["condition"] == "group=CPU; machine=z14; quantity=value"
    assert found["total_ims_response_ms"]["condition"] == "group=response; machine=z14; quantity=value"
    ratio = found["ims_cpu_us_per_tran"]["value"] / 35.95
    assert ratio == pytest.approx(498.90 / 532.99, rel=0.01)
    assert any(note.startswith("CPU of ims: not measured; from ims14-ff-haldb-z13") for note in answer["notes"])
    wider = [
        found[m]["hi"] / found[m]["value"]
        for m in ("ims_cpu_us_per_tran", "dependent_regions_cpu_us_per_tran", "cpu_us_per_tran")
    ]
    assert wider == sorted(wider, reverse=True)


def test_far_beyond_the_measured_rates_the_interval_is_wider(bundle):
    near, far = (outputs(predict(bundle, "cics52-18cp", {"etr_tps": rate}))[TOTAL] for rate in (57805.34, 132781.79))
    assert (far["hi"] - far["lo"]) / far["value"] > 1.5 * (near["hi"] - near["lo"]) / near["value"]
