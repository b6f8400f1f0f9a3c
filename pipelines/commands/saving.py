"""Commands about saved questions: saved."""

import datetime as dt
import getpass
import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from model import documents
from pipelines import steps, text
from pipelines.commands.answers import At, MaxResponse, keys, response_target
from pipelines.home import Home
from state import saved as store

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Name = Annotated[str, typer.Argument(help="Name of a saved question.")]


Kind = StrEnum("Kind", list(store.KINDS))  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    """Add the command with its subcommands to the application."""
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(saved)
    for command in (add, ask, history, remove):
        group.command()(command)
    app.add_typer(group, name="saved")


def saved(context: typer.Context, as_json: Json = False) -> None:
    """List saved questions and scenarios.

    Every night answers them with the champion in force, and keeps the main figures.
    """
    if context.invoked_subcommand is not None:
        return
    questions = store.read(Home.from_environment().root)
    if as_json:
        typer.echo(documents.dumps({"questions": [one.to_dict() for one in questions.values()]}, indent=2))
        return
    rows = [
        {
            "name": one.name,
            "question": f"{one.kind} {described(one.question)}",
            "nights": str(len(one.answers)),
            "latest answer": _figures(one.answers[-1]) if one.answers else "–",
        }
        for one in questions.values()
    ]
    typer.echo(
        text.table(rows) if rows else "no question is saved; use `etalon saved add NAME KIND SYSTEM --at KEY=VALUE`"
    )


def add(
    name: Name,
    kind: Annotated[Kind, typer.Argument(help="Kind of the question.")],
    system: Annotated[str, typer.Argument(help="Calibrated system.")],
    at: At = None,
    changed: Annotated[
        list[str] | None, typer.Option("--with", metavar="KEY=VALUE", help="compare: the change, in keys of --at.")
    ] = None,
    max_busy_pct: Annotated[float | None, typer.Option("--max-busy-pct", help="Highest utilization.")] = None,
    max_response_ms: MaxResponse = None,
) -> None:
    """Save a question under a name, and answer it."""
    from serve.questions import ABOUT_SYSTEMS

    load = keys(at) or {}
    question: dict[str, Any] = {"system": system}
    if kind == "compare":
        question |= {"a": load, "b": {**load, **(keys(changed) or {})}}
    else:
        question |= {"at": load} if load else {}
    targets = {"max_busy_pct": max_busy_pct, "max_response_ms": response_target(max_response_ms)}
    question |= {key: value for key, value in targets.items() if value is not None}
    body = next(one for one in ABOUT_SYSTEMS if one.kind == kind)
    try:
        arguments = json.loads(body.model_validate(question).arguments())
    except ValueError as error:
        raise typer.BadParameter(_first(error)) from None
    home = Home.from_environment()
    one = store.SavedQuestion(name, str(kind), arguments, _now(), getpass.getuser())
    answer = _answer(home, one)
    store.save(home.root, one)
    store.record(home.root, {name: answer})
    typer.echo(f"{name}: {answer.refused or _figures(answer)}")


def ask(name: Name, as_json: Json = False) -> None:
    """Answer a saved question with the champion in force."""
    home = Home.from_environment()
    one = store.question(store.read(home.root), name)
    from serve.answering import function_of

    answer = function_of(one.kind)(steps.champion(home), **one.question)
    answer = answer if isinstance(answer, dict) else answer.to_dict()
    if as_json:
        typer.echo(documents.dumps(answer, indent=2))
        return
    from pipelines import answer_text

    typer.echo(answer_text.BY_KIND[one.kind](answer))


def history(name: Name, as_json: Json = False) -> None:
    """Show the answers to a saved question, night by night."""
    one = store.question(store.read(Home.from_environment().root), name)
    if as_json:
        typer.echo(documents.dumps(one.to_dict(), indent=2))
        return
    heads = dict.fromkeys(key for answer in one.answers for key in answer.figures)
    rows = [
        {"at": answer.at[:16].replace("T", " "), "model": answer.model_version}
        | {head: answer.figures.get(head) for head in heads}
        | {"refused": answer.refused}
        for answer in one.answers
    ]
    typer.echo(f"{one.name}: {one.kind} {described(one.question)}")
    typer.echo(text.table(rows) if rows else "not yet answered by a nightly job")


def remove(name: Name) -> None:
    """Forget a saved question and its answers."""
    store.remove(Home.from_environment().root, name)
    typer.echo(f"{name}: removed")


def described(question: Any) -> str:
    """A question in one line: the system, then its keys."""
    rest = {key: value for key, value in question.items() if key != "system"}
    at = rest.pop("at", {})
    shown = {**at, **rest}
    return " ".join([str(question["system"]), *(f"{key}={value}" for key, value in shown.items())])


def _answer(home: Home, one: store.SavedQuestion) -> store.SavedAnswer:
    from serve.saved_answers import answer

    return answer(steps.champion(home), one)


def _figures(answer: store.SavedAnswer) -> str:
    if answer.refused:
        return answer.refused
    return ", ".join(
        f"{name} {text.figure(value) if isinstance(value, int | float) else value or 'none'}"
        for name, value in answer.figures.items()
        if "class=" not in name
    )


def _first(error: ValueError) -> str:
    from pydantic import ValidationError

    from serve.problems import said

    return said(error.errors()[0]) if isinstance(error, ValidationError) else str(error)


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
