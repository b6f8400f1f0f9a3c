"""Commands that answer ready questions: questions."""

import sys
from typing import Annotated

import typer

from model import documents
from pipelines import text
from pipelines.home import Home


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(questions)


def questions(
    name: Annotated[str | None, typer.Argument(help="Name of a question. Default: list all questions.")] = None,
    as_sql: Annotated[bool, typer.Option("--sql", help="Print the SQL instead of the answer.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of rows.")] = False,
) -> None:
    """Answer a planner's question, or list all questions."""
    from pipelines import questions as catalogue

    if name is None:
        rows = [{"name": each.name, "question": each.title} for each in catalogue.questions().values()]
        typer.echo(text.table(rows))
        return
    question = catalogue.question(name)
    if as_sql:
        typer.echo(question.sql.strip())
        return
    answer = catalogue.answer(Home.from_environment().snapshot, question)
    if as_json:
        typer.echo(documents.dumps(answer.to_pylist(), indent=2))
    elif as_csv:
        from pipelines import csv_rows

        sys.stdout.flush()
        csv_rows.write(answer, sys.stdout.buffer)
    else:
        typer.echo(f"{question.title} {question.remark}\n")
        typer.echo(catalogue.shown(question, answer))
