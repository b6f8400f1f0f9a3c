"""Questions saved under a name: over HTTP, by command, and answered by nights with their history."""

import json

import pytest

import state.saved
from pipelines import answer_text
from pipelines.home import Home
from pipelines.nights import work
from pipelines.nights.night import Night, Step
from pipelines.settings import Settings
from serve.saved_answers import FIGURES, answer
from state.saved import SavedAnswer, SavedError, SavedQuestion
from tests.pipelines.conftest import run_etalon

HEADROOM = {"kind": "size", "question": {"system": "shop", "at": {"growth_pct": 20}, "max_busy_pct": 90}}


def test_every_kind_that_can_be_saved_has_figures_and_words():
    assert set(FIGURES) == set(answer_text.BY_KIND) == set(state.saved.KINDS)


def put(client, name, body):
    return client("PUT", f"/v1/saved/{name}", json=body)


def test_a_question_is_saved_answered_and_forgotten(client, home):
    saved = put(client, "Growth%20of%20shop", HEADROOM).json()
    assert (saved["name"], saved["kind"], saved["answers"]) == ("Growth of shop", "size", [])
    found = client("GET", "/v1/saved/Growth of shop/answer").json()
    assert found["engines"]["value"] == client.ask("/v1/size", HEADROOM["question"]).json()["engines"]["value"]
    assert [one["name"] for one in client("GET", "/v1/saved").json()["questions"]] == ["Growth of shop"]
    assert client("DELETE", "/v1/saved/Growth of shop").json() == {"questions": []}
    assert client("GET", "/v1/saved/Growth of shop/answer").status_code == 404


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("a", {"kind": "size", "question": {"system": "shop", "growth_pct": 3}}, "belong in `at`"),
        ("a", {"kind": "sweep", "question": {}}, "kind"),
        ("-a", HEADROOM, "takes letters"),
        ("a", {"kind": "predict", "question": {"system": 3}}, "system: should be"),
    ],
)
def test_a_question_that_cannot_be_asked_is_not_saved(client, home, name, body, expected):
    refused = put(client, name, body)
    assert refused.status_code == 422
    assert expected in refused.json()["detail"]
    assert client("GET", "/v1/saved").json() == {"questions": []}


def night(home):
    step = Step(Home(home), Settings(), Night("2026-11-20", "2026-11-21T01:00:00Z"))
    work.answer_saved(step)
    for keep in step.memories:
        keep()
    return step.night


def test_every_night_adds_an_answer_and_notes_one_that_is_refused(client, home):
    put(client, "size", HEADROOM)
    put(client, "gone", {"kind": "predict", "question": {"system": "sold"}})
    for _ in range(2):
        notes = night(home).notes
    assert [note.split(":")[0] for note in notes] == ["saved question gone"]
    by_name = {one["name"]: one["answers"] for one in client("GET", "/v1/saved").json()["questions"]}
    engines = client("GET", "/v1/saved/size/answer").json()["engines"]["value"]
    assert [one["figures"] for one in by_name["size"]] == [{"engines": engines}] * 2
    assert by_name["gone"][0]["figures"] == {} and by_name["gone"][0]["refused"]
    put(client, "size", HEADROOM)
    assert len(state.saved.peek(home)["size"].answers) == 2, "the same question keeps its history"
    put(client, "size", {**HEADROOM, "question": {**HEADROOM["question"], "max_busy_pct": 80}})
    assert state.saved.peek(home)["size"].answers == ()


@pytest.mark.parametrize(
    ("kind", "question", "names"),
    [
        ("predict", {"system": "shop"}, {"etr_tps", "cpu_busy_pct", "bottleneck"}),
        ("max-rate", {"system": "shop", "max_busy_pct": 90.0}, {"etr_tps", "growth_pct"}),
        ("compare", {"system": "shop", "a": {}, "b": {"growth_pct": 10}}, {"etr_tps", "cpu_busy_pct"}),
    ],
)
def test_the_main_figures_of_every_kind_are_kept(bundle, kind, question, names):
    found = answer(bundle, SavedQuestion("x", kind, question, ""))
    assert found.refused == ""
    assert names <= found.figures.keys()
    json.dumps(found.figures, allow_nan=False)


def test_questions_are_saved_and_shown_by_command(home):
    done = run_etalon(home, "saved", "add", "plan", "predict", "shop", "--at", "growth_pct=20")
    assert done.returncode == 0, done.stderr
    assert "cpu_busy_pct" in done.stdout
    assert "growth_pct=20" in run_etalon(home, "saved").stdout
    shown = json.loads(run_etalon(home, "saved", "history", "plan", "--json").stdout)
    assert shown["question"] == {"system": "shop", "at": {"growth_pct": 20}}
    assert len(shown["answers"]) == 1
    assert run_etalon(home, "saved", "ask", "plan").stdout.startswith("shop at growth_pct = 20")
    unknown = run_etalon(home, "saved", "ask", "plann")
    assert (unknown.returncode, "there are: plan" in unknown.stderr) == (6, True)
    assert run_etalon(home, "saved", "remove", "plan").returncode == 0
    assert "no question is saved" in run_etalon(home, "saved").stdout


def test_no_more_questions_are_kept_than_can_be_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(state.saved, "MOST", 2)
    for name in ("a", "b"):
        state.saved.save(tmp_path, SavedQuestion(name, "predict", {}, ""))
    with pytest.raises(SavedError, match="2 questions are saved already"):
        state.saved.save(tmp_path, SavedQuestion("c", "predict", {}, ""))
    state.saved.record(tmp_path, {"a": SavedAnswer("now", "1", {"x": 1.0}), "z": SavedAnswer("now", "1", {})})
    assert {name: len(one.answers) for name, one in state.saved.read(tmp_path).items()} == {"a": 1, "b": 0}
