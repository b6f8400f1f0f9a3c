"""Champion and snapshot are replaced under a running service; tokens and limits guard it."""

import json
from dataclasses import replace

import duckdb
import pytest

from model.capacity import bundle as bundles
from serve import champion
from serve.pages import POLICY
from serve.settings import SettingsError, settings
from serve.snapshot import Snapshot
from tests.serve.conftest import Client, examples, publish, rows


def version(client) -> str:
    return client.ask("/v1/predict", {"system": "shop"}).json()["model_version"]


def test_a_new_champion_is_in_force_with_the_next_request(client, home, bundle):
    assert version(client) == "test/1"
    bundles.write({**bundle, "model_version": "test/2"}, home / "models" / "champion.json")
    assert version(client) == "test/2"


def test_an_answer_says_when_the_marts_published_since_are_defined_otherwise(client, home, bundle):
    systems = {name: replace(one, definition="first") for name, one in bundle["systems"].items()}
    bundles.write({**bundle, "systems": systems}, home / "models" / "champion.json")
    digests, said = home / "published" / "definitions.json", []
    for now in ('{"": "first"}', '{"": "then"}', '{"": ', "[1]", '{"": "then", "shop": "first"}', '{"shop": "then"}'):
        digests.write_text(now)
        said.append(client.ask("/v1/predict", {"system": "shop"}).json()["evidence"]["definitions_changed"])
    assert said == [False, True, False, False, False, True]


def test_ratings_of_machines_are_in_force_with_the_next_request(client, home):
    table, said = home / "machines.csv", []
    for row in ("", "NEW-705,5,90000\n", "NEW-705,5,fast\n", "NEW-710,5,90000\n"):
        table.write_text("machine,engines,su_per_s\n" + row)
        refused = client.ask("/v1/predict", {"system": "shop", "at": {"machine": "no such machine"}}).json()
        said.append([name for name in refused["allowed"] if name.startswith("NEW")])
    assert said == [[], ["NEW-705"], [], ["NEW-710"]]


def test_a_broken_champion_does_not_displace_the_one_in_force(client, home, bundle):
    assert version(client) == "test/1"
    (home / "models" / "champion.json").write_text("{")
    assert version(client) == "test/1"
    ready = client("GET", "/readyz")
    assert ready.status_code == 200
    assert "cannot be used" in ready.json()["checks"]["champion"]
    assert str(home) not in ready.text
    bundles.write({**bundle, "model_version": "test/3"}, home / "models" / "champion.json")
    assert version(client) == "test/3"


def test_a_champion_that_could_not_be_read_is_tried_again(home, monkeypatch):
    client = Client(home)

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(champion, "contents", refused)
    assert client.ask("/v1/predict", {"system": "shop"}).status_code == 503
    monkeypatch.undo()
    assert version(client) == "test/1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ETALON_TOKEN", ""),
        ("ETALON_TOKEN", "   "),
        ("ETALON_TOKEN", "schlüssel"),
        ("ETALON_PORT", "many"),
        ("ETALON_PORT", "0"),
        ("ETALON_HOST", "0.0.0.0"),
        ("ETALON_HOST", "capacity.example"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"^{name}: "):
        settings()


def test_without_a_champion_the_service_lives_but_is_not_ready(tmp_path):
    client = Client(tmp_path)
    assert client("GET", "/healthz").status_code == 200
    ready = client("GET", "/readyz")
    assert ready.status_code == 503
    assert "etalon" in ready.json()["checks"]["champion"]
    refused = client.ask("/v1/predict", {"system": "shop"})
    assert refused.status_code == 503
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_new_snapshot_is_read_while_a_request_finishes_on_the_old_one(home):
    snapshot = Snapshot(home / "published" / "etalon.duckdb")
    count = "SELECT count(*) FROM marts.fct_point"
    with snapshot.cursor() as old:
        publish(home, rows()[:2])
        assert snapshot.rows(count) == [{"count_star()": 2}]
        assert old.execute(count).fetchone() == (4,)


def test_a_snapshot_is_opened_anew_after_many_requests_while_one_finishes_on_the_old_opening(home, monkeypatch):
    monkeypatch.setattr("serve.snapshot.MAX_CURSORS", 2)
    snapshot = Snapshot(home / "published" / "etalon.duckdb")
    with snapshot.cursor() as old:
        opened = snapshot._connection
        for _ in range(2):
            assert snapshot.rows("SELECT 1 AS one") == [{"one": 1}]
        assert snapshot._connection is not opened
        assert old.execute("SELECT count(*) FROM marts.fct_point").fetchone() == (4,)


def test_the_snapshot_cannot_be_written_nor_reach_other_files(home):
    snapshot = Snapshot(home / "published" / "etalon.duckdb")
    with snapshot.cursor() as cursor:
        for sql in ("DROP TABLE marts.fct_point", "SELECT * FROM read_text('/etc/hostname')"):
            with pytest.raises(duckdb.Error):
                cursor.execute(sql)


def test_without_a_snapshot_questions_are_answered_and_points_are_refused(home):
    (home / "published" / "etalon.duckdb").unlink()
    client = Client(home)
    assert version(client) == "test/1"
    assert client("GET", "/v1/systems/shop/points").status_code == 503
    assert "etalon publish" in client("GET", "/readyz").json()["checks"]["snapshot"]


def damaged(path):
    path.write_bytes(path.read_bytes()[:5000])


def of_another_version(path):
    with duckdb.connect(str(path)) as con:
        con.execute("ALTER TABLE marts.fct_point DROP COLUMN is_run")


@pytest.mark.parametrize("spoil", [damaged, of_another_version])
def test_a_snapshot_that_cannot_be_used_is_told_and_not_a_fault(home, spoil):
    spoil(home / "published" / "etalon.duckdb")
    response = Client(home)("GET", "/v1/systems/shop/points")
    assert response.status_code == 503
    assert "etalon publish" in response.json()["detail"]
    assert str(home) not in response.text


def test_a_token_guards_questions_metrics_and_report_but_not_health(home):
    client = Client(home, token="open-sesame")
    for method, path in (
        ("POST", "/v1/predict"),
        ("GET", "/v1/systems"),
        ("GET", "/metrics"),
        ("GET", "/quality/index.html"),
    ):
        refused = client(method, path, headers={"Authorization": "Bearer wrong"})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
    assert client("GET", "/healthz").status_code == 200
    right = {"Authorization": "Bearer open-sesame"}
    assert client.ask("/v1/predict", {"system": "shop"}, headers=right).status_code == 200
    assert client("GET", "/metrics", headers=right).status_code == 200


def test_a_browser_trades_the_token_for_a_cookie_that_opens_the_report_only_for_reading(home):
    client = Client(home, token="open-sesame")
    assert client("POST", "/session").status_code == 401
    granted = client("POST", "/session", headers={"Authorization": "Bearer open-sesame"})
    cookie = granted.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "open-sesame" not in cookie
    carried = {"Cookie": cookie.split(";")[0]}
    assert client("GET", "/quality/index.html", headers=carried).status_code == 200
    assert client.ask("/v1/predict", {"system": "shop"}, headers=carried).status_code == 401


def test_pages_of_nights_and_models_open_in_a_browser_and_no_other_file_beside_them_does(home):
    for folder, page in (("nights", "index.html"), ("reports/validation", "etalon-capacity-1.html")):
        (home / folder).mkdir(parents=True)
        (home / folder / page).write_text("<!doctype html><style>p {}</style><title>Night</title>")
        (home / folder / "night.json").write_text("{}")
    client = Client(home, token="open-sesame")
    right = {"Authorization": "Bearer open-sesame"}
    cookie = client("POST", "/session", headers=right).headers["set-cookie"].split(";")[0]
    for path in ("/nights/", "/nights/index.html", "/reports/validation/etalon-capacity-1.html"):
        assert client("GET", path).status_code == 401
        response = client("GET", path, headers={"Cookie": cookie})
        assert response.status_code == 200
        assert "Night" in response.text
        assert response.headers.get_list("content-security-policy") == [POLICY]
    for path in ("/nights/night.json", "/nights/%2e%2e/models/champion.json", "/nights/none.html", "/reports/"):
        assert client("GET", path, headers=right).status_code == 404


def test_before_the_first_check_the_report_is_the_pages_view_of_the_data(tmp_path):
    response = Client(tmp_path)("GET", "/quality/index.html")
    assert (response.status_code, response.headers["location"]) == (307, "/#/data")


@pytest.mark.parametrize("path", ["/nights/", "/reports/", "/nights/index.html"])
def test_before_the_first_night_there_is_no_page_of_one(tmp_path, path):
    assert Client(tmp_path)("GET", path).status_code == 404


def test_a_body_larger_than_the_limit_is_refused(client):
    response = client("POST", "/v1/predict", content=b" " * 70_000)
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path", ["/quality/../models/champion.json", "/quality/%2e%2e/models/champion.json", "/static/%2e%2e/app.py"]
)
def test_no_file_outside_its_folder_is_served(client, path):
    assert client("GET", path).status_code == 404


def test_metrics_count_requests_by_route_and_name_the_model(client):
    client.ask("/v1/predict", {"system": "shop", "at": {"etr_tps": 99_000}})
    text = client("GET", "/metrics").text
    assert 'etalon_http_requests_total{method="POST",route="/v1/predict",status="200"} 1.0' in text
    assert 'etalon_champion_info{model_version="test/1"} 1.0' in text
    assert 'etalon_extrapolated_answers_total{system="shop"} 1.0' in text


def test_pages_may_load_nothing_from_elsewhere(client):
    for path in ("/", "/api"):
        policy = client("GET", path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy


def test_every_response_is_valid_json_even_where_an_interval_has_no_end(client):
    response = client.ask("/v1/predict", {"system": "shop", "at": {"etr_tps": 1e7}})
    answer = json.loads(response.text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert answer["extrapolated"] is True


def test_the_description_is_made_once_for_a_champion(client, home, bundle):
    client("GET", "/readyz")
    before = client.app.openapi()
    assert client("GET", "/openapi.json").json() == before
    assert client.app.openapi() is before
    bundles.write({**bundle, "systems": {"store": bundle["systems"]["shop"]}}, home / "models" / "champion.json")
    client("GET", "/readyz")
    assert {
        example["system"] for _, example in examples(client("GET", "/openapi.json").json()) if "system" in example
    } == {"store"}


@pytest.mark.parametrize(("state", "least"), [("recorded_home", 10), ("home", 7)])
def test_examples_of_the_description_are_answered_as_they_stand(state, least, request):
    client = Client(request.getfixturevalue(state))
    assert client("GET", "/readyz").json()["ready"]
    described = client("GET", "/openapi.json").json()
    # An example of a path with a name in it, such as that of an alert, needs one that is there.
    asked = [one for one in examples(described) if one[0] not in ("/v1/simulate", "/v1/replay") and "{" not in one[0]]
    assert len(asked) >= least
    for path, example in asked:
        found = client.ask(path, example)
        assert found.status_code == 200, (path, example, found.text)
        assert not [one for one in found.json().get("answers", []) if one["status"] != 200]
