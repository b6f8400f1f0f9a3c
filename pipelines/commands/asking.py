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
    from pipelines import questions as known

    if name is None:
        rows = [{"name": each.name, "question": each.title} for each in known.questions().values()]
        typer.echo(text.table(rows))
        return
    asked = known.question(name)
    if as_sql:
        typer.echo(asked.sql.strip())
        return
    found = known.answer(Home.from_environment().snapshot, asked)
    if as_json:
        typer.echo(documents.dumps(found.to_pylist(), indent=2))
    elif as_csv:
        from pipelines import csv_rows

        sys.stdout.flush()
        csv_rows.write(found, sys.stdout.buffer)
    else:
        typer.echo(f"{asked.title} {asked.remark}\n")
        typer.echo(known.shown(asked, found))
