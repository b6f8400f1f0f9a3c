"""The typed client against the process: every question, and simulations as jobs."""

import json

import pytest

from pipelines import asking
from pipelines.home import Home
from serve.client import Client, Refused
from serve.questions import ABOUT_SYSTEMS
from tests.serve.conftest import examples, publish, rows

JOBS = ("/v1/simulate", "/v1/replay")
NETWORK = """
name = "one engine"

[[stations]]
name = "cp"
servers = 1

[[classes]]
name = "web"
arrivals = { rate_per_s = 500 }
route = [{ visit = "cp", service = { mean_us = 1000 } }]
"""


@pytest.fixture(scope="module")
def etalon(tmp_path_factory, bundle):
    from model.capacity import bundle as bundles

    home = Home(tmp_path_factory.mktemp("client"))
    bundles.write(bundle, home.champion)
    publish(home.root, rows())
    with asking.service(home) as address, Client(address) as client:
        yield client


def test_every_question_has_a_method_and_a_typed_answer(etalon):
    assert etalon.predict("shop", {"etr_tps": 2000}).outputs[0].metric
    assert etalon.size("shop", {"etr_tps": 4000}, max_busy_pct=70).engines.value >= 9
    assert etalon.max_rate("shop", max_busy_pct=90).limits[0].resource == "general-purpose CPs of the LPAR"
    assert len(etalon.sweep("shop", "etr_tps", 1000, 4000, 4, metrics=["cpu_busy_pct"]).steps) == 4
    assert etalon.compare("shop", {}, {"engines": 16}).changes[0].change_pct.value is not None
    assert {part.component for part in etalon.explain("shop").demand} == {"lpar", "web"}
    assert etalon.systems().systems[0].system == "shop"
    assert len(etalon.points("shop").points) == 4
    assert etalon.conditions("shop").options == []
    assert etalon.models().models[0]["model_version"] == "test/1"


@pytest.mark.parametrize("body", ABOUT_SYSTEMS, ids=lambda body: body.kind)
def test_a_question_of_any_kind_is_asked_by_its_type(etalon, body):
    example = body.model_config["json_schema_extra"]["examples"][0]
    try:
        answer = etalon.ask(body.model_validate({**example, "system": "shop"}))
    except Refused as refused:
        assert (body.kind, refused.problem.field) == ("headroom", "system")
    else:
        assert type(answer) is body.answer


def test_a_refusal_is_an_error_with_the_problem(etalon):
    with pytest.raises(Refused, match="did you mean shop") as refused:
        etalon.predict("shpo")
    assert refused.value.problem.field == "system"
    with pytest.raises(Refused, match="no history"):
        etalon.headroom("shop")


def test_a_batch_answers_each_question_as_it_would_be_alone(etalon):
    found = etalon.batch(
        [
            ("predict", {"system": "shop", "at": {"etr_tps": 2000}}),
            ("predict", {"system": "shpo"}),
            ("size", {"system": "shop", "at": {"etr_tps": 1}}),
        ]
    )
    assert [item.status for item in found.answers] == [200, 422, 422]
    assert found.answers[0].answer == etalon.predict("shop", {"etr_tps": 2000})
    assert found.answers[1].problem.nearest == "shop"
    assert "name at least one target" in found.answers[2].problem.detail


def test_a_simulation_is_a_job_with_progress_and_result(etalon):
    job = etalon.simulate("shop", {"etr_tps": 3000}, horizon=20_000)
    assert job.state in ("queued", "running")
    ended = etalon.wait(job)
    assert (ended.state, ended.progress) == ("done", 1.0), ended.problem
    busy = next(output for output in ended.result.outputs if output.metric == "cpu_busy_pct")
    assert busy.value == pytest.approx(100 * (0.4 + 3000 * 1500e-6) / 8, rel=0.1)
    assert any(listed.job == job.job and listed.result is None for listed in etalon.jobs().jobs)


def test_a_simulation_can_be_cancelled(etalon):
    job = etalon.simulate("shop", {"etr_tps": 3000}, horizon=20_000_000)
    assert etalon.cancel(job.job).state == "cancelled"
    with pytest.raises(Refused, match="no such job"):
        etalon.job(job.job)


def test_a_replay_sets_responses_beside_the_recorded_ones(etalon):
    columns = {
        "arrival": [0.1 * i for i in range(100)],
        "cp_us": [1000.0 + i for i in range(100)],
        "response_us": [2000.0] * 100,
    }
    ended = etalon.wait(etalon.replay(columns, network=NETWORK))
    assert ended.state == "done", ended.problem
    assert ended.result.replayed[0].transactions == 100
    refused = etalon.wait(etalon.replay(columns, network="name = 1"))
    assert refused.state == "refused"


def test_transactions_are_replayed_through_a_calibrated_system(etalon):
    columns = {"arrival": [0.001 * i for i in range(500)], "cp_us": [1500.0] * 500, "response_us": [1600.0] * 500}
    ended = etalon.wait(etalon.replay(columns, system="shop", at={"etr_tps": 1000}))
    assert ended.state == "done", ended.problem
    assert ended.result.replayed[0].transactions == 500
    assert ended.result.replayed[0].replayed_s.mean == pytest.approx(1.5e-3, rel=0.2)
    with pytest.raises(Refused, match="not in model"):
        etalon.replay(columns, system="nothing")
    with pytest.raises(Refused, match="either a network or a system"):
        etalon.replay(columns)


def test_an_unknown_job_and_a_question_without_steady_state_are_refused(etalon):
    with pytest.raises(Refused, match="no such job"):
        etalon.job("nothing")
    ended = etalon.wait(etalon.simulate("shop", {"etr_tps": 1e6}))
    assert (ended.state, ended.problem.field) == ("refused", "at")


def test_examples_of_simulations_are_taken_as_they_stand(etalon):
    assert etalon.predict("shop")
    taken = [one for one in examples(json.loads(etalon._send("GET", "/openapi.json"))) if one[0] in JOBS]
    assert len(taken) >= 3
    for path, example in taken:
        assert etalon.cancel(etalon.post(path, example)["job"]).state in ("cancelled", "done")


def test_the_description_names_every_method_s_address(etalon):
    described = etalon._send("GET", "/openapi.json")
    paths = json.loads(described)["paths"]
    assert {"/v1/batch", "/v1/forecast-msu", "/v1/simulate", "/v1/replay", "/v1/jobs/{job}"} <= set(paths)
