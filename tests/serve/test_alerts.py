"""Alerts over HTTP, and the gauges of the last recorded intervals."""

import pytest

import state.alerts
from serve import tokens
from state.alerts import Alert
from tests.serve.conftest import Client
from tests.serve.recorded import record

NOW = "2026-11-20T01:00:00Z"


@pytest.fixture
def alerted(home):
    """The home with two open alerts."""
    found = [
        Alert("CPU busy of CPC CEC1", "cpu-busy", "warning", "CPC CEC1: CPU busy above 95 %", ("PRDA: busy",)),
        Alert("R4HA of PRDA", "r4ha", "failure", "PRDA: R4HA above 95 % of its limit"),
    ]
    state.alerts.record(home, found, NOW, lambda _: True)
    return home


def test_an_alert_is_acknowledged_with_a_note_and_opened_again(client, alerted):
    listed = client("GET", "/v1/alerts?state=open").json()["alerts"]
    assert {alert["text"] for alert in listed} == {
        "CPC CEC1: CPU busy above 95 %",
        "PRDA: R4HA above 95 % of its limit",
    }
    one = next(alert for alert in listed if alert["details"])
    changed = client.ask(f"/v1/alerts/{one['id']}", {"state": "acknowledged", "note": "planned"}).json()
    assert (changed["state"], changed["note"], changed["opened"]) == ("acknowledged", "planned", NOW)
    assert [alert["id"] for alert in client("GET", "/v1/alerts?state=acknowledged").json()["alerts"]] == [one["id"]]
    assert state.alerts.notes(alerted) == {"CPU busy of CPC CEC1": "planned"}
    assert client.ask(f"/v1/alerts/{one['id']}", {"state": "open"}).json()["note"] == ""


def test_who_acknowledges_is_known_by_the_name_of_the_token(home, alerted):
    token = tokens.granted(home / "tokens.json", "ops", ["ask"], None)
    [one, _] = state.alerts.read(home)
    reply = Client(home).ask(f"/v1/alerts/{one.id}", {"state": "closed"}, headers={"Authorization": f"Bearer {token}"})
    assert reply.json()["by"] == "ops"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/alerts/00000000", {"state": "closed"}, 404),
        ("/v1/alerts/zz", {"state": "closed"}, 422),
        ("/v1/alerts/00000000", {"state": "gone"}, 422),
        ("/v1/alerts/00000000", {"state": "closed", "nota": "x"}, 422),
    ],
)
def test_a_change_that_is_not_possible_is_refused(client, alerted, path, body, status):
    assert client.ask(path, body).status_code == status


def test_a_damaged_file_of_alerts_is_said_and_left_alone(client, alerted):
    path = alerted / "nights" / "alerts.json"
    path.write_text("{")
    refused = client("GET", "/v1/alerts")
    assert refused.status_code == 503
    assert "etalon doctor" in refused.json()["detail"]
    assert path.read_text() == "{"


def samples(client):
    lines = client("GET", "/metrics").text.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if line.startswith("etalon_"))


def test_the_last_interval_of_every_lpar_and_cpc_is_exported_as_gauges(client, alerted):
    record(alerted)
    found = samples(client)
    busy = float(found['etalon_lpar_busy_percent{cpc="CEC1",engine="CP",lpar="PRDA"}'])
    assert busy == pytest.approx(48.958, abs=0.01)
    assert float(found['etalon_cpc_busy_percent{cpc="CEC1",engine="CP"}']) == pytest.approx(36.98, abs=0.01)
    assert found['etalon_lpar_r4ha_msu{cpc="CEC1",lpar="PRDA"}'] == "90.0"
    assert found['etalon_lpar_limit_msu{cpc="CEC1",lpar="PRDA"}'] == "95.0"
    assert found['etalon_cpc_msu{cpc="CEC1"}'] == "200.0"
    index = 'etalon_class_performance_index{importance="2",lpar="PRDA",period="1",service_class="HIGH"}'
    assert found[index] == "0.4"
    assert found['etalon_alerts{severity="failure",state="open"}'] == "1.0"


def test_gauges_whose_tables_are_missing_are_left_out_and_the_rest_is_there(client, home):
    found = samples(client)
    assert not [name for name in found if name.startswith("etalon_lpar")]
    assert "etalon_snapshot_age_seconds" in found
