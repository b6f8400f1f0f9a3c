"""Billing months: peaks by hours within limits, their highest hours and classes, and what they cost."""

import pytest

from tests.serve.recorded import record


@pytest.fixture
def month(home):
    """The home with an LPAR's history in its snapshot: 80 MSU and one more each hour of the day, limited to 95."""
    record(home)
    return home


def peak(found, scope):
    return next(one for one in found["peaks"] if one["scope"] == scope)


def test_the_peak_of_a_month_lies_within_the_limit_and_is_its_first_hour(client, month):
    found = client("GET", "/v1/billing").json()
    assert found["month"] == "2026-09-02"
    assert "SCRT decides the bill" in found["note"]
    lpar = peak(found, "lpar")
    assert (lpar["peak_msu"], lpar["peak_at"], lpar["r4ha_msu"]) == (95.0, "2026-09-07T15:00:00", 103.0)
    assert (lpar["hours_above_limit"], lpar["hours_capped"]) == (16 * 8, 16 * 8)
    cpc = peak(found, "cpc")
    assert (cpc["name"], cpc["cpc"], cpc["peak_msu"]) == ("3906-704 CEC1", "3906-704 CEC1", 203.0)
    assert client("GET", "/v1/billing?month=2026-09-30").json()["month"] == "2026-09-02"
    assert client("GET", "/v1/billing?month=2026-10-02").json()["peaks"] == []


def test_hours_of_a_shift_alone_make_its_peak(client, month):
    found = client("GET", "/v1/billing?shift=prime").json()
    assert peak(found, "cpc")["peak_msu"] == 197.0
    path = "/v1/billing/hours?scope=cpc&name=3906-704 CEC1&cpc=3906-704 CEC1&month=2026-09-02"
    hours = client("GET", f"{path}&shift=prime").json()
    assert {hour["hour_local"][11:13] for hour in hours["hours"]} == {f"{hour:02}" for hour in range(8, 18)}
    assert len(hours["highest"]) == 20
    assert hours["highest"][0]["billable_msu"] == 197.0


def test_an_hour_is_divided_among_classes_and_what_none_is_charged(client, month):
    path = "/v1/billing/classes?scope=cpc&name=CEC1&cpc=CEC1&hour=2026-09-10T12:00:00"
    parts = client("GET", path).json()["classes"]
    assert [(part["class_name"], part["msu"]) for part in parts] == [("HIGH", 70.0), ("", 30.0)]


def test_costs_are_shown_only_where_the_installation_gives_prices(client, month):
    without = client("GET", "/v1/billing").json()
    assert without["currency"] == ""
    assert peak(without, "lpar")["msu_cost"] is None
    (month / "prices.csv").write_text("per,price,currency,name\nmsu,1000,EUR,\nmsu,900,EUR,prda\ncpu_hour,20,EUR,\n")
    found = client("GET", "/v1/billing").json()
    lpar = peak(found, "lpar")
    assert found["currency"] == "EUR"
    assert lpar["msu_cost"] == pytest.approx(900 * 95.0)
    assert lpar["cpu_cost"] == pytest.approx(20 * lpar["cpu_hours"])
    assert peak(found, "cpc")["msu_cost"] == pytest.approx(1000 * 203.0)


def test_a_transaction_and_the_overflow_of_ziips_have_a_cost_where_there_is_a_price(client, month):
    path = "/v1/systems/PRDA/classes"
    [without] = client("GET", path).json()["workloads"]
    assert without["cost_per_1000"] is None
    (month / "prices.csv").write_text("per,price,currency,name\ncpu_hour,36,EUR,3906-704 CEC1\n")
    found = client("GET", path).json()
    [cics] = found["workloads"]
    assert found["currency"] == "EUR"
    assert cics["cost_per_1000"] == pytest.approx(36 * cics["cpu_us_per_tran"] / 3.6e6)
    assert cics["ziip_on_cp_cost_per_hour"] == pytest.approx(36 * 0.05)


@pytest.mark.parametrize(
    ("path", "status", "expected"),
    [
        ("hours?scope=lpar&name=NONE&month=2026-09-02", 404, "see /v1/billing"),
        ("hours?scope=system&name=PRDA&month=2026-09-02", 422, "scope"),
        ("classes?scope=lpar&name=PRDA&hour=2030-01-01T00:00:00", 404, "no records of"),
        ("classes?scope=lpar&name=PRDA&hour=2026-09-10T12:00:00Z", 422, "without an offset"),
    ],
)
def test_what_there_is_not_is_refused(client, month, path, status, expected):
    refused = client("GET", f"/v1/billing/{path}")
    assert refused.status_code == status
    assert expected in refused.json()["detail"]
