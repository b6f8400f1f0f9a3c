"""Requests made up from the description: whatever is sent, the reply is one that the description lists."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from model.calibration.systems import read_adjustments
from model.capacity import ask
from model.capacity.samples import to_plain
from model.capacity.values import CPC, PREFIXES
from model.published.model import fit
from model.published.observations import Observation
from serve.batch import BatchAnswer
from serve.questions import ABOUT_SYSTEMS
from serve.schemas import ProblemDocument
from tests.serve.conftest import Client, publish, rows
from tests.serve.recorded import modelled

numbers = st.one_of(st.floats(), st.integers(), st.floats(0, 1e4), st.integers(0, 64))
scalars = st.one_of(numbers, st.text(max_size=8), st.booleans(), st.none(), st.sampled_from(["peak", "on", "off"]))
values = st.one_of(scalars, scalars, st.lists(scalars, max_size=2), st.dictionaries(st.text(max_size=3), scalars))
STUDY = "ims10-msc-ctc"
systems = st.one_of(
    st.sampled_from(["shop", "PRDA", STUDY]), st.sampled_from(["shop", "PRDA", STUDY]), st.text(max_size=12)
)
known = st.sampled_from(
    ["etr_tps", "cpu_busy_pct", "growth_pct", "engines", "ziip_engines", *CPC, "machine", "smt", "point"]
)
NAMES = ("shop", "web", "HIGH", "MXT", "ziip_offload", "eas_fpt", "encryption", "buffer_kb")
prefixed = st.builds("{}{}".format, st.sampled_from(PREFIXES), st.one_of(st.sampled_from(NAMES), st.text(max_size=9)))
conditions = st.sampled_from(["when", "buffer_kb", "bandwidth_mode", "think_time", "users"])
keys = st.one_of(known, known, prefixed, prefixed, conditions, st.text(max_size=9))
KINDS = {body.kind: body for body in ABOUT_SYSTEMS}
points = st.one_of(st.none(), st.dictionaries(keys, scalars, max_size=3), values)
plain = st.dictionaries(st.sampled_from(["etr_tps", "engines"]), st.floats(1, 6000), max_size=1)
few = st.dictionaries(keys, st.one_of(st.floats(0, 1), st.integers(0, 64), st.sampled_from(["on", "off"])), max_size=2)
EXAMPLES = {
    kind: {name: value for name, value in body.model_config["json_schema_extra"]["examples"][0].items()
           if name not in ("system", "at", "a", "b")}
    for kind, body in KINDS.items()
}  # fmt: skip
"""What the example of each question gives beside system and load."""


def bodies(kind: str) -> st.SearchStrategy:
    """Bodies of a question, most of them nearly right."""
    fields = {}
    for name, field in KINDS[kind].model_fields.items():
        alias = field.alias or name
        if name == "system":
            continue
        fields[alias] = points if alias in ("at", "a", "b") else keys if alias == "key" else values
    whole = st.fixed_dictionaries({"system": systems}, optional=fields)
    right = st.fixed_dictionaries(
        {"system": st.sampled_from(["shop", "PRDA", STUDY])}, optional={"at": plain, "max_busy_pct": st.floats(1, 100)}
    )
    one_key = st.fixed_dictionaries(
        {"system": st.sampled_from(["shop", "PRDA", STUDY])}
        | {
            name: keys if name == "key" else st.just(2 if name == "steps" else value)
            for name, value in EXAMPLES[kind].items()
        },
        optional=dict.fromkeys(("a", "b") if kind == "compare" else ("at",), few),
    )
    return st.one_of(whole, right, one_key, one_key, values)


def with_adjustments(bundle: dict) -> dict:
    """A system with a network and studies, one with laws alone, and an LPAR; adjustments for all of them."""
    found = [
        Observation(STUDY, "send_s", {"buffer_kb": size, "bandwidth_mode": mode}, value * by, "s", "link")
        for size, value in (("4", 12.0), ("8", 10.0), ("32", 9.0))
        for mode, by in (("no", 2.0), ("yes", 1.0))
    ]
    found += [
        Observation("shop", "csa_kb", {"users": users}, 70.0 * int(users), "KB", "storage") for users in ("1", "2", "4")
    ]
    published = read_adjustments()
    systems = {**bundle["systems"], "PRDA": modelled()}
    systems = {name: replace(one, adjustments=published) for name, one in systems.items()}
    plain = {name: to_plain(one) for name, one in published.items()}
    return {**bundle, "systems": systems, "conditions": {**fit(found, {}), "adjustments": plain}}


@pytest.fixture(scope="module")
def client(tmp_path_factory, bundle) -> Client:
    from model.capacity import bundle as bundles

    home = tmp_path_factory.mktemp("generated")
    bundles.write(with_adjustments(bundle), home / "models" / "champion.json")
    publish(home, rows())
    return Client(home)


def undocumented(value: Any, path: str = "") -> list[str]:
    """Fields of an answer that its type does not name."""
    if isinstance(value, BaseModel):
        found = [f"{path}.{name}" for name in value.model_extra or {}]
        for name in type(value).model_fields:
            found += undocumented(getattr(value, name), f"{path}.{name}")
        return found
    if isinstance(value, list):
        return [one for item in value for one in undocumented(item, f"{path}[]")]
    return []


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_body_is_answered_as_described(client, kind, data):
    body = data.draw(bodies(kind))
    content = json.dumps(body).encode()
    response = client("POST", f"/v1/{kind}", content=content, headers={"Content-Type": "application/json"})
    listed = client.app.openapi()["paths"][f"/v1/{kind}"]["post"]["responses"]
    assert str(response.status_code) in listed, (body, response.text)
    if response.status_code == 200:
        assert undocumented(KINDS[kind].answer.model_validate_json(response.content)) == []
    else:
        assert response.headers["content-type"] == "application/problem+json"
        ProblemDocument.model_validate_json(response.content)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("predict", {}),
        ("size", {"at": {"etr_tps": 4000}, "max_busy_pct": 70}),
        ("max-rate", {}),
        ("sweep", {"key": "engines", "from": 4, "to": 6}),
        ("compare", {"b": {"engines": 16}}),
        ("explain", {}),
    ],
)
def test_every_part_of_an_answer_is_in_the_description(client, kind, more):
    found = client.ask(f"/v1/{kind}", {"system": "shop", **more})
    assert undocumented(KINDS[kind].answer.model_validate_json(found.content)) == []
    batch = client.ask("/v1/batch", {"questions": [{"kind": kind, "question": {"system": "shop", **more}}]})
    assert BatchAnswer.model_validate_json(batch.content).answers[0].answer is not None


def test_answers_of_condition_laws_are_as_described():
    rows = [
        Observation("shop", "csa_kb", {"users": users}, 70.0 * int(users), "KB", "storage") for users in ("1", "2", "4")
    ]
    bundle = {"conditions": fit(rows, {}), "systems": {}, "model_version": "1"}
    answers = {
        "predict": ask.predict(bundle, "shop", {"users": 3}).to_dict(),
        "sweep": ask.sweep(bundle, "shop", "users", [1, 3, 8]),
        "compare": ask.compare(bundle, "shop", {"users": 1}, {"users": 3}),
    }
    for kind, answer in answers.items():
        assert undocumented(KINDS[kind].answer.model_validate(answer)) == [], kind
    beyond = ask.predict(bundle, "shop", {"users": 8}).notes
    assert beyond and set(beyond) <= set(answers["sweep"]["notes"])


@pytest.mark.parametrize("kind", [*KINDS, "simulate"])
@pytest.mark.parametrize("system", ["shop", STUDY])
def test_an_adjustment_that_is_not_known_is_refused_with_those_that_are(client, kind, system):
    body = {"system": system, "a" if kind == "compare" else "at": {"adjust.eas_fpt": 0.5}}
    body |= {} if kind == "simulate" else EXAMPLES[kind]
    refused = client.ask(f"/v1/{kind}", body)
    assert refused.status_code == 422, refused.text
    if refused.json()["field"] != "system":
        assert refused.json()["nearest"] == "adjust.eas_ftp"
        assert {"adjust.eas_ftp", "adjust.ziip_offload"} <= {*refused.json()["allowed"]}


@pytest.mark.parametrize("path", ["/v1/batch", "/v1/forecast-msu", "/v1/simulate", "/v1/replay"])
@given(body=st.one_of(values, st.dictionaries(st.sampled_from(["questions", "system", "at", "weeks"]), values)))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_other_body_is_refused_as_described(client, path, body):
    content = json.dumps(body).encode()
    response = client("POST", path, content=content, headers={"Content-Type": "application/json"})
    assert str(response.status_code) in client.app.openapi()["paths"][path]["post"]["responses"], response.text


@given(name=st.text(max_size=20))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_address_is_answered(client, name):
    from urllib.parse import quote

    for path in ("/v1/systems/{}/points", "/v1/jobs/{}", "/quality/{}", "/{}"):
        assert client("GET", path.format(quote(name, safe=""))).status_code < 500
