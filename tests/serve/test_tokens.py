"""Tokens: kept as digests, good for some things, so many times a minute."""

import json

import pytest

from serve import tokens
from tests.serve.conftest import Client


def bearer(token: str) -> dict:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def test_a_token_is_not_found_in_the_file_that_keeps_it(home):
    token = tokens.granted(home / "tokens.json", "nightly", ["read"], 600)
    assert token not in (home / "tokens.json").read_text()
    assert (home / "tokens.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("scopes", "reading", "asking"), [(["read"], 200, 403), (["ask"], 403, 200), (["admin"], 200, 200)]
)
def test_a_token_is_good_for_its_scopes(home, scopes, reading, asking):
    token = tokens.granted(home / "tokens.json", "one", scopes, None)
    client = Client(home)
    assert client("GET", "/v1/systems", **bearer(token)).status_code == reading
    assert client.ask("/v1/predict", {"system": "shop"}, **bearer(token)).status_code == asking
    assert client("GET", "/v1/systems").status_code == 401


def test_a_token_that_has_had_its_requests_is_told_when_there_are_more(home):
    token = tokens.granted(home / "tokens.json", "eager", ["read"], 2)
    client = Client(home)
    statuses = [client("GET", "/v1/models", **bearer(token)) for _ in range(3)]
    assert [response.status_code for response in statuses] == [200, 200, 429]
    assert 1 <= int(statuses[-1].headers["retry-after"]) <= 31


def test_a_token_withdrawn_while_the_service_runs_is_refused_at_once(home):
    token = tokens.granted(home / "tokens.json", "one", ["read"], None)
    client = Client(home)
    assert client("GET", "/v1/models", **bearer(token)).status_code == 200
    assert tokens.withdrawn(home / "tokens.json", "one")
    assert client("GET", "/v1/models", **bearer(token)).status_code == 401


def test_without_its_file_nobody_new_is_let_in(home):
    tokens.granted(home / "tokens.json", "one", ["read"], None)
    client = Client(home)
    (home / "tokens.json").unlink()
    assert client("GET", "/v1/models").status_code == 401


@pytest.mark.parametrize("wrong", [{"scopes": ["all"]}, {"sha256": "00" * 31}, {"sha256": "x"}, {"per_minute": 0}])
def test_a_file_of_tokens_that_cannot_be_read_is_told(home, wrong):
    entry = {"name": "x", "sha256": "00" * 32, "scopes": ["ask"], "per_minute": None}
    (home / "tokens.json").write_text(json.dumps({"tokens": [entry]}))
    Client(home)
    (home / "tokens.json").write_text(json.dumps({"tokens": [entry | wrong]}))
    with pytest.raises(tokens.TokensError, match="etalon token"):
        Client(home)


def test_the_token_is_looked_at_before_the_body(home):
    client = Client(home, token="open-sesame")
    for body in (b"{", b" " * 70_000):
        assert client("POST", "/v1/predict", content=body).status_code == 401


def test_when_the_last_token_is_withdrawn_nobody_may_ask_and_is_told_so(home):
    token = tokens.granted(home / "tokens.json", "nightly", ["ask"], 600)
    client = Client(home)
    assert tokens.withdrawn(home / "tokens.json", "nightly")
    for given in ({}, bearer(token)):
        refused = client.ask("/v1/predict", {"system": "shop"}, **given)
        assert (refused.status_code, "etalon token" in refused.json()["detail"]) == (401, True)
    again = tokens.granted(home / "tokens.json", "nightly", ["ask"], 600)
    assert client.ask("/v1/predict", {"system": "shop"}, **bearer(again)).status_code == 200
