"""What a caller gets for a question, and what for one that cannot be answered."""

import asyncio
import json
import math
from urllib.parse import quote

import numpy as np
import pytest

from model.calibration.points import CapacityModel
from model.capacity import ask
from model.capacity import bundle as bundles
from model.published.model import fit
from model.published.observations import Observation
from pipelines import answer_text
from serve.answers import HeadroomAnswer
from serve.app import create_app
from serve.catalogue import describe
from serve.questions import PredictQuestion
from serve.settings import Settings
from tests.cases.systems import RECORDED, grown
from tests.serve.conftest import Client, publish, rows, version

PROBLEM = "application/problem+json"


def test_a_prediction_carries_value_interval_bottleneck_version_and_evidence(client):
    answer = client.ask("/v1/predict", {"system": "shop", "at": {"etr_tps": 2500}}).json()
    busy = next(output for output in answer["outputs"] if output["metric"] == "cpu_busy_pct")
    assert busy["value"] == pytest.approx(100 * (0.4 + 2500 * 1500e-6) / 8, rel=0.01)
    assert busy["lo"] < busy["value"] < busy["hi"]
    assert busy["condition"] == "etr_tps=2500"
    assert answer["model_version"] == "test/1"
    assert answer["bottleneck"]["utilization_pct"] == busy["value"]
    assert answer["interval_pct"] == 90
    assert answer["evidence"]["points"] == 4
    assert answer["extrapolated"] is False


def test_the_service_and_the_model_give_the_same_answer(client, bundle):
    from model.capacity import ask

    asked = {"etr_tps": 3210.5, "engines": 8}
    answer = client.ask("/v1/predict", {"system": "shop", "at": asked}).json()
    assert answer == ask.predict(bundle, "shop", asked).to_dict()


def test_without_an_operating_point_the_highest_measured_one_is_answered(client):
    answer = client.ask("/v1/predict", {"system": "shop"}).json()
    assert answer["at"]["etr_tps"] == pytest.approx(4000)


def test_sizing_gives_the_smallest_number_of_engines_within_the_target(client):
    answer = client.ask("/v1/size", {"system": "shop", "at": {"etr_tps": 4000}, "max_busy_pct": 70}).json()
    chosen = answer["engines"]["value"]
    by_engines = {row["engines"]: row for row in answer["table"]}
    assert by_engines[chosen]["cpu_busy_pct"]["value"] <= 70 < by_engines[chosen - 1]["cpu_busy_pct"]["value"]
    assert answer["model_version"] == "test/1"
    assert answer["interval_pct"] == 90


@pytest.mark.parametrize("kind", ["predict", "size", "max-rate", "headroom", "explain"])
@pytest.mark.parametrize("key", ["etr_tps", "growth_pct", "growth_pct.web", "engines"])
def test_a_load_outside_of_at_is_refused_with_its_place(client, kind, key):
    refused = client.ask(f"/v1/{kind}", {"system": "shop", key: 5})
    assert refused.status_code == 422 and refused.json()["field"] == key
    assert f'"at": {{"{key}": …}}' in refused.json()["detail"]


def test_machines_without_a_rating_are_refused_by_name(client):
    asked = {"system": "shop", "at": {"etr_tps": 4000}, "max_busy_pct": 70}
    assert client.ask("/v1/size", asked).json()["machines"] == []
    refused = client.ask("/v1/size", asked | {"machines": ["z99"]})
    assert refused.status_code == 422 and "z99" in refused.json()["detail"]
    only = {"system": "shop", "at": {"etr_tps": 4000}, "machines": ["z14"]}
    assert "name at least one target" in client.ask("/v1/size", only).json()["detail"]


def test_a_sweep_follows_the_predictions_on_the_engines_that_are_asked(client):
    question = {"system": "shop", "key": "etr_tps", "from": 1000, "to": 5000, "steps": 5, "metrics": ["cpu_busy_pct"]}
    steps = client.ask("/v1/sweep", question | {"at": {"engines": 16}}).json()["steps"]
    assert [step["value"] for step in steps] == [1000, 2000, 3000, 4000, 5000]
    single = client.ask("/v1/predict", {"system": "shop", "at": {"etr_tps": 3000, "engines": 16}}).json()
    busy = next(output for output in single["outputs"] if output["metric"] == "cpu_busy_pct")
    assert steps[2]["outputs"][0]["value"] == pytest.approx(busy["value"])
    here = client.ask("/v1/sweep", question).json()["steps"]
    assert here[2]["outputs"][0]["value"] > 1.9 * busy["value"]
    assert [step["extrapolated"] for step in here] == [False, False, False, False, True]


def test_a_maximum_rate_names_what_limits(client):
    answer = client.ask("/v1/max-rate", {"system": "shop", "max_busy_pct": 90}).json()
    assert answer["etr_tps"]["value"] == pytest.approx((0.9 * 8 - 0.4) / 1500e-6, rel=0.02)
    assert answer["limits"][0]["resource"] == "general-purpose CPs of the LPAR"
    assert answer["model_version"] == "test/1"


def test_a_response_target_is_that_of_every_class_or_of_those_named(tmp_path):
    fitted = CapacityModel().fit([{**row, "total_shop_response_ms": 8.0 + row["etr_tps"] / 4000} for row in rows()])
    (tmp_path / "models").mkdir()
    bundles.write(bundles.build(fitted.systems_, data={}, validation={}), tmp_path / "models" / "champion.json")
    client = Client(tmp_path)
    for kind in ("size", "max-rate"):
        asked = {"system": "shop", "at": {"etr_tps": 3000}}
        both = [client.ask(f"/v1/{kind}", asked | {"max_response_ms": most}).json() for most in (20, {"shop": 20})]
        assert [one.pop("targets")["max_response_ms"] for one in both] == [20, {"shop": 20}]
        assert both[0] == both[1]
        refused = client.ask(f"/v1/{kind}", asked | {"max_response_ms": {"shpo": 20}})
        assert refused.status_code == 422 and refused.json()["field"] == "max_response_ms.shpo"
        assert refused.json()["nearest"] == "shop"


def test_a_comparison_has_both_answers_and_the_changes(client):
    question = {"system": "shop", "a": {"etr_tps": 3000}, "b": {"etr_tps": 3000, "engines": 16}}
    answer = client.ask("/v1/compare", question).json()
    busy = next(change for change in answer["changes"] if change["metric"] == "cpu_busy_pct")
    assert busy["change_pct"]["lo"] <= busy["change_pct"]["value"] <= busy["change_pct"]["hi"] < 0
    assert answer["b"]["at"]["engines"] == 16


def test_an_explanation_names_components_and_assumptions(client):
    answer = client.ask("/v1/explain", {"system": "shop", "at": {"engines": 16}}).json()
    assert {row["component"] for row in answer["demand"]} == {"lpar", "web"}
    assert answer["sensitivity"][0]["shares"][0]["assumption"] == "n-way effect"


def test_headroom_is_dates_with_a_range():
    growth = np.append(0.1, [0.09, 0.11] * 20)
    bundle = {"model_version": "test/1", "systems": {"PRDA": grown(RECORDED, growth)}}
    found = HeadroomAnswer(**ask.headroom(bundle, "PRDA", max_busy_pct=30))
    cps = next(row for row in found.crossings if row.resource.startswith("general-purpose"))
    assert "2026-11-03" < cps.lo <= cps.value <= cps.hi
    # The trend of a day of records fades: it is followed for four weeks, then with a time constant of thirteen.
    effective = 4 + 13 * (1 - math.exp(-(365.2425 / 7 - 4) / 13))
    assert found.growth[0].growth_pct_per_year.value == pytest.approx(100 * math.expm1(0.1 * effective), rel=1e-3)
    plain = found.model_dump(by_alias=True)
    assert "reaches its target" in answer_text.headroom(plain)
    plain["crossings"][0]["already"] = True
    assert "already" in answer_text.headroom(plain)


def test_a_cap_is_a_word_or_a_number_with_its_unit():
    for cap in ({"cap": "on"}, {"cap_engines": 2.5}, {"cap_msu": 400.0}):
        assert json.loads(PredictQuestion(system="PRDA", at=cap).arguments())["at"] == cap


def test_a_class_grows_by_a_key_of_its_own(client):
    grown = client.ask("/v1/predict", {"system": "shop", "at": {"growth_pct.shop": 10}}).json()
    assert grown["at"]["etr_tps"] == pytest.approx(4400)


def test_systems_models_and_measured_points_are_listed(client):
    listed = client("GET", "/v1/systems").json()
    systems = listed["systems"]
    assert len(listed["reference_systems"]) == 68
    assert not any(about["predictable"] for about in listed["reference_systems"])
    assert [(system["system"], system["engines"]) for system in systems] == [("shop", 8)]
    assert systems[0]["rates"] == [1000, 2000, 3000, 4000]
    assert systems[0]["operating_tps"] == 4000
    assert systems[0]["classes"] == ["shop"]
    models = client("GET", "/v1/models").json()["models"]
    assert models[0]["role"] == "champion"
    assert models[0]["model_version"] == "test/1"
    points = client("GET", "/v1/systems/shop/points").json()["points"]
    assert [point["etr_tps"] for point in points] == [1000, 2000, 3000, 4000]
    assert points[0]["metrics"]["cpu_busy_pct"] == pytest.approx(100 * 1.9 * 1.002 / 8)


def test_versions_that_were_registered_are_listed_and_a_damaged_list_is_left_out(home):
    assert Client(home)("GET", "/v1/models").json()["versions"] == []
    (home / "models" / "versions.json").write_text(json.dumps({"versions": [version("test/1", 1.0)]}))
    (found,) = Client(home)("GET", "/v1/models").json()["versions"]
    assert found == version("test/1", 1.0)
    (home / "models" / "versions.json").write_text("[1")
    assert Client(home)("GET", "/v1/models").json()["versions"] == []


def test_a_system_known_by_condition_laws_answers_and_is_listed(home, bundle):
    rows = [
        Observation("ims14-ff-haldb-z14", "csa_kb", {"release": release}, 700.0, "KB", "runs")
        for release in ("V1", "V2")
    ]
    bundles.write({**bundle, "conditions": fit(rows, {})}, home / "models" / "champion.json")
    client = Client(home)
    answer = client.ask("/v1/predict", {"system": "ims14-ff-haldb-z14", "at": {"release": "V2"}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["outputs"][0]["value"] == pytest.approx(700, rel=0.01)
    listed = client("GET", "/v1/systems").json()["reference_systems"]
    assert [about["system"] for about in listed if about["predictable"]] == ["ims14-ff-haldb-z14"]
    (model,) = client("GET", "/v1/models").json()["models"]
    assert model["systems"] == ["ims14-ff-haldb-z14", "shop"]
    assert "conditions" not in model


@pytest.mark.parametrize(
    ("path", "question", "status", "field"),
    [
        ("/v1/predict", {"system": "shop", "rate": 5}, 422, "rate"),
        ("/v1/predict", {"at": {"etr_tps": 5}}, 422, "system"),
        ("/v1/predict", {"system": "shpo"}, 422, "system"),
        ("/v1/predict", {"system": "shop", "at": {"etr_tsp": 5}}, 422, "at.etr_tsp"),
        ("/v1/predict", {"system": "shop", "at": {"ims_version": "V10"}}, 422, "at.ims_version"),
        ("/v1/predict", {"system": "shop", "at": {"etr_tps": -5}}, 422, "at.etr_tps"),
        ("/v1/predict", {"system": "shop", "at": {"etr_tps": "5"}}, 422, "at.etr_tps"),
        ("/v1/predict", {"system": "shop", "at": {"point": [5]}}, 422, "at.point"),
        ("/v1/predict", {"system": "shop", "at": {"etr_tps": [5]}}, 422, "at.etr_tps"),
        ("/v1/predict", {"system": "shop", "at": {"etr_tps": True}}, 422, "at.etr_tps"),
        ("/v1/predict", {"system": "shop", "at": {"etr_tps": 5, "cpu_busy_pct": 50}}, 422, "at.cpu_busy_pct"),
        ("/v1/size", {"system": "shop", "at": {"etr_tps": "many"}, "max_busy_pct": 50}, 422, "at.etr_tps"),
        ("/v1/size", {"system": "shop", "at": {"etr_tps": 0}, "max_busy_pct": 50}, 422, "at.etr_tps"),
        ("/v1/size", {"system": "shop", "at": {"etr_tps": 5}}, 422, "max_busy_pct"),
        ("/v1/size", {"system": "shop", "at": {"etr_tps": 5}, "max_response_ms": 5}, 422, "max_response_ms"),
        ("/v1/predict", {"system": "shop", "at": {"growth_pct.nobody": 5}}, 422, "at.growth_pct.nobody"),
        ("/v1/predict", {"system": "shop", "at": {"growth_pct.web": "5"}}, 422, "at.growth_pct.web"),
        ("/v1/predict", {"system": "shop", "at": {"when": "peak"}}, 422, "at.when"),
        ("/v1/sweep", {"system": "shop", "key": "etr_tps", "from": 5, "to": 5}, 422, "to"),
        ("/v1/sweep", {"system": "shop", "key": "etr_tps", "to": 5}, 422, "from"),
        ("/v1/sweep", {"system": "shop", "key": "heat", "from": 5, "to": 6}, 422, "at.heat"),
        ("/v1/sweep", {"system": "shop", "key": "engines", "from": 1, "to": 2, "steps": 3}, 422, "at.engines"),
        ("/v1/sweep", {"system": "shop", "key": "engines", "from": 1, "to": 1e116}, 422, "steps"),
        ("/v1/sweep", {"system": "shop", "key": "engines", "from": -1e308, "to": 1e308}, 422, "to"),
        (
            "/v1/sweep",
            {"system": "shop", "key": "etr_tps", "from": 5, "to": 6, "metrics": ["heat"]},
            422,
            "metrics",
        ),
        ("/v1/max-rate", {"system": "shop", "max_busy_pct": 101}, 422, "max_busy_pct"),
        ("/v1/max-rate", {"system": "shop", "max_response_ms": "40"}, 422, "max_response_ms"),
        ("/v1/max-rate", {"system": "shop", "max_response_ms": {"web": 0}}, 422, "max_response_ms.web"),
        ("/v1/max-rate", {"system": "shop", "max_response_ms": {}}, 422, "max_response_ms"),
        ("/v1/headroom", {"system": "shop"}, 422, "system"),
        ("/v1/compare", {"system": "shop", "b": {"engines": 0.5}}, 422, "b.engines"),
    ],
)
def test_a_refusal_names_the_field_and_what_to_do(client, path, question, status, field):
    response = client.ask(path, question)
    assert response.status_code == status
    assert response.headers["content-type"] == PROBLEM
    problem = response.json()
    assert problem["field"] == field
    assert field.rpartition(".")[2] in problem["detail"]
    assert problem["type"].startswith("urn:etalon:problem:")


def test_a_system_known_by_its_history_is_listed_with_the_rate_of_its_peak():
    listed = describe("PRDA", RECORDED)
    assert listed.operating_tps == 227
    assert listed.rates == [150, 227]
    assert listed.classes == ["online", "batch"]
    assert {"metric": "cpu_busy_pct", "unit": "pct"} in listed.metrics
    assert listed.main_metric == "cpu_busy_pct"


def test_a_misspelt_system_is_told_the_nearest(client):
    problem = client.ask("/v1/predict", {"system": "shpo"}).json()
    assert problem["nearest"] == "shop"
    assert problem["allowed"] == ["shop"]


def test_a_question_of_a_batch_without_a_known_kind_is_told_the_kinds(client):
    unknown = client.ask("/v1/batch", {"questions": [{"kind": "predcit", "question": {"system": "shop"}}]}).json()
    assert "unknown kind 'predcit'; allowed: 'predict', 'size'" in unknown["detail"]
    lacking = client.ask("/v1/batch", {"questions": [{"question": {"system": "shop"}}]}).json()
    assert lacking["detail"] == "questions.0: the field `kind` is missing"


def test_a_batch_ends_where_its_client_has_gone(home):
    asked = {"questions": [{"kind": "predict", "question": {"system": "shop"}}] * 50}
    received = [{"type": "http.disconnect"}, {"type": "http.request", "body": json.dumps(asked).encode()}]
    sent = []

    async def receive():
        return received.pop() if len(received) > 1 else received[0]

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/batch", "headers": headers, "query_string": b""}
    asyncio.run(create_app(Settings(home=home))(scope, receive, send))
    assert json.loads(sent[-1]["body"])["answers"] == []


def test_a_batch_is_answered_until_its_answers_are_too_much_for_one_call(client, monkeypatch):
    monkeypatch.setattr("serve.routes.MAX_BYTES", 1)
    asked = {"questions": [{"kind": "predict", "question": {"system": "shop"}}] * 2}
    first, second = client.ask("/v1/batch", asked).json()["answers"]
    assert (first["status"], second["status"]) == (200, 413)
    assert "send the remaining questions in another call" in second["problem"]["detail"]


@pytest.mark.parametrize("value", [True, {"a": 1}, None])
def test_a_change_that_is_no_number_is_told_by_its_own_name(client, value):
    problem = client.ask("/v1/predict", {"system": "shop", "at": {"growth_pct.shop": value}}).json()
    assert problem["detail"] == "at.growth_pct.shop: must be a number or a string"
    assert [error["field"] for error in problem["errors"]] == ["at.growth_pct.shop"]


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[]", b'{"system": "shop", "at": {"etr_tps": NaN}}'])
def test_a_body_that_is_no_question_is_a_problem_and_not_a_fault(client, body):
    response = client("POST", "/v1/predict", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.headers["content-type"] == PROBLEM


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"null", 422, "the body must be a JSON object (got null)"),
        (b"[1]", 422, "the body must be a JSON object (got a list)"),
        (b"5", 422, "the body must be a JSON object (got a number)"),
        (b"true", 422, "the body must be a JSON object (got true)"),
        (b'"shop"', 422, "the body must be a JSON object (got a string)"),
        (b'{"system": "shop", "at": "5"}', 422, "at: must be a JSON object (got a string)"),
        (b"", 422, "a JSON body is required"),
        (b'{"system": "\xff"}', 400, "the body is not JSON ("),
        (b'{"system": "\\ud800"}', 400, "the body is not JSON (no low surrogate"),
        (b'{"system": "shop", "at": {"etr_tps": NaN}}', 400, "the body is not JSON ("),
        (b"[" * 30000, 400, "the body is not JSON ("),
        (b"{", 400, "the body is not JSON ("),
    ],
)
def test_a_body_that_is_no_object_is_refused_in_words_of_json(client, body, status, detail):
    response = client("POST", "/v1/predict", content=body, headers={"Content-Type": "application/json"})
    problem = response.json()
    assert (response.status_code, problem["status"]) == (status, status)
    assert problem["detail"].startswith(detail)
    assert problem["type"] == f"urn:etalon:problem:{'malformed-json' if status == 400 else 'invalid-request'}"


def test_a_list_too_short_is_refused_in_words_of_json(client):
    refused = client.ask("/v1/batch", {"questions": []}).json()
    assert refused["detail"] == "questions: should have at least 1 item, not 0"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_question_that_is_not_declared_json_is_refused_for_that(client, kind):
    response = client("POST", "/v1/predict", content=b'{"system": "shop"}', headers={"Content-Type": kind})
    assert response.status_code == 415
    assert response.headers["accept"] == "application/json"
    assert response.headers["content-type"] == PROBLEM
    assert "application/json" in response.json()["detail"]


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/metrics", "/v1/systems", "/quality/index.html", "/static/page.css"]
)
def test_head_is_answered_as_get_without_the_body(client, path):
    head, get = client("HEAD", path), client("GET", path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"]
    if path != "/metrics":
        assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/predict", "POST"),
        ("HEAD", "/v1/predict", "POST"),
        ("OPTIONS", "/v1/size", "POST"),
        ("DELETE", "/v1/systems", "GET, HEAD"),
        ("OPTIONS", "/v1/jobs/one", "GET, DELETE, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("POST", "/static/page.css", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(client, method, path, allowed):
    response = client(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == allowed
    if method != "HEAD":
        assert response.json()["detail"].endswith(f"use {allowed.replace(', ', ' or ')}")


def test_every_error_is_a_problem_document(client):
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("GET", "/v1/predict", 405),
        ("POST", "/v1/predict/", 404),
        ("GET", "/v1/systems/x/points", 404),
        ("GET", "/quality/%00", 404),
        ("GET", "/quality/quality.json", 404),
        ("GET", "/quality/..%2fmodels/champion.json", 404),
    ):
        response = client(method, path)
        assert response.status_code == status
        assert response.headers["content-type"] == PROBLEM
        assert response.json()["status"] == status


def test_openapi_describes_every_question(client):
    paths = client("GET", "/openapi.json").json()["paths"]
    assert {"/v1/max-rate", "/v1/sweep", "/v1/compare", "/v1/explain"} <= set(paths)
    assert {"/v1/predict", "/v1/size", "/v1/systems", "/v1/models", "/healthz", "/readyz", "/metrics"} <= set(paths)


@pytest.mark.parametrize("system", ["PLEX/SY#A", "$@_/1$"])
def test_an_lpar_of_a_system_is_asked_by_its_whole_name_in_addresses(home, bundle, system):
    bundles.write({**bundle, "systems": {system: bundle["systems"]["shop"]}}, home / "models" / "champion.json")
    publish(home, rows(system))
    found = Client(home)("GET", f"/v1/systems/{quote(system, safe='')}/points")
    assert found.status_code == 200 and len(found.json()["points"]) == len(rows())
    routes = [line for line in Client(home)("GET", "/openapi.json").json()["paths"] if line.endswith("/points")]
    assert routes == ["/v1/systems/{system}/points"]
