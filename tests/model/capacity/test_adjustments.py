"""Published claims as what-ifs on top of any answer."""

import pytest

from model.calibration.systems import read_adjustments
from model.capacity.adjustments import adjusted, choose_adjustments, factor, quantity_of
from model.capacity.values import QuestionError


@pytest.fixture(scope="module")
def known():
    return read_adjustments()


def test_every_adjustment_has_a_range_and_a_source(known):
    for adjustment in known.values():
        assert adjustment.quantities and (adjustment.moved is None or adjustment.moved[0] < adjustment.moved[1])
        assert adjustment.sources and adjustment.title
        assert all(result.log_sd > 0 for result in adjustment.factors.values())


def test_encryption_costs_engine_time_between_what_two_machines_showed(known):
    rest, chosen = choose_adjustments({"etr_tps": 100, "adjust.encryption": "on"}, known)
    assert rest == {"etr_tps": 100}
    value, lo, hi = adjusted(100.0, 100.0, 100.0, factor(chosen, "cpu"))
    assert lo == pytest.approx(103.0, rel=1e-3) and hi == pytest.approx(117.0, rel=1e-3)
    assert lo < value < hi
    assert "encryption" in chosen[0].note and "ims14_z14" in chosen[0].note


def test_a_better_itr_is_a_lower_cost(known):
    _, chosen = choose_adjustments({"adjust.z13_to_z14": "on"}, known)
    assert factor(chosen, "cpu").value * factor(chosen, "itr").value == pytest.approx(1.0)
    assert factor(chosen, "cpu").value < 1.0


def test_off_changes_nothing(known):
    _, chosen = choose_adjustments({"adjust.encryption": "off"}, known)
    assert adjusted(5.0, 4.0, 6.0, factor(chosen, "cpu")) == pytest.approx((5.0, 4.0, 6.0))


def test_limits_that_reach_zero_or_below_keep_their_place_beside_the_value(known):
    _, chosen = choose_adjustments({"adjust.encryption": "on"}, known)
    by = factor(chosen, "cpu")
    for limits in ((5.0, 0.0, 6.0), (5.0, -1.0, 6.0), (0.0, 0.0, 6.0)):
        assert adjusted(*limits, by) == pytest.approx([by.value * limit for limit in limits])


def test_adjustments_multiply(known):
    _, both = choose_adjustments({"adjust.encryption": "on", "adjust.attls": "on"}, known, ["TN3270 server"])
    parts = [factor([adjustment], "cpu").value for adjustment in both]
    assert factor(both, "cpu").value == pytest.approx(parts[0] * parts[1])


def test_a_claim_about_other_traffic_may_hold_for_none_of_the_work(known):
    _, used = choose_adjustments({"adjust.attls": "on"}, known, ["TN3270 server"])
    _, other = choose_adjustments({"adjust.attls": "on"}, known, ["aor", "cics-3270-http"])
    assert adjusted(1.0, 1.0, 1.0, factor(used, "cpu"))[1:] == pytest.approx((1.154, 1.353))
    assert adjusted(1.0, 1.0, 1.0, factor(other, "cpu"))[1:] == pytest.approx((1.0, 1.353))
    assert "TN3270" in other[0].note and "adjust.attls=0.3" in other[0].note


@pytest.mark.parametrize("parts", [["TN3270 server"], ["aor"]])
def test_a_share_says_of_how_much_of_the_work_a_claim_is(known, parts):
    _, chosen = choose_adjustments({"adjust.attls": 0.5, "adjust.z13_to_z14": "0"}, known, parts)
    assert [one.name for one in chosen] == ["attls"]
    assert adjusted(1.0, 1.0, 1.0, factor(chosen, "cpu"))[1:] == pytest.approx((1.077, 1.1765))
    assert "of 50 % of the work" in chosen[0].note


def test_time_on_ziips_is_no_time_on_cps(known):
    _, chosen = choose_adjustments({"adjust.ipsec_ziip": "on"}, known, ["tn3270"])
    least, most = chosen[0].moved
    # IPSec with and without zIIPs beside AT-TLS: -12.8 and -8.4 %, -23.8 and -12.7 %.
    assert (least, most) == pytest.approx((1 - 0.872 / 0.916, 1 - 0.762 / 0.873))
    _, lo, hi = adjusted(1.0, 1.0, 1.0, factor(chosen, "cpu"))
    assert (lo, hi) == pytest.approx((1.0 - most, 1.0 - least))
    assert factor(chosen, "itr").value == pytest.approx(1.0 / factor(chosen, "cpu").value)


@pytest.mark.parametrize(
    "at",
    [{"adjust.rain": "on"}, {"adjust.encryption": "maybe"}, {"adjust.encryption": 1.5}, {"adjust.encryption": -0.1}],
)
def test_what_is_unknown_is_refused(known, at):
    with pytest.raises(QuestionError):
        choose_adjustments(at, known)


@pytest.mark.parametrize(
    ("metric", "unit", "quantity"),
    [
        ("cpu_busy_pct", "pct", "cpu"),
        ("aor_cpu_pct", "pct of one CP", "cpu"),
        ("cpu_us_per_tran", "us/tran", "cpu"),
        ("itr_tps", "tran/s", "itr"),
        ("elapsed_s", "s", "elapsed"),
        ("send_s", "s", "message_time"),
        ("excps", "count", "io"),
        ("storage_kb", "KB", None),
        ("etr_tps", "tran/s", None),
    ],
)
def test_quantities_are_told_by_metric_and_unit(metric, unit, quantity):
    assert quantity_of(metric, unit) == quantity
