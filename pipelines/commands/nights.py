"""Commands that keep an installation running: nightly, acknowledge, retain, backup, restore, migrate."""

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from model import documents
from pipelines import text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (nightly, acknowledge, retain, backup, restore, migrate):
        app.command()(command)


def nightly(
    day: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Day whose records should be there; yesterday without it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Do one night, from landing folder to champion.

    For cron or systemd: loads what has landed, builds what it touches, checks, publishes, calibrates and reports.
    """
    from pipelines.nights import run

    home = Home.from_environment()
    night = run.run(home, _day(day))
    if as_json:
        typer.echo(documents.dumps(night.to_dict(), indent=2))
    else:
        for finding in (one for one in night.unacknowledged if one.text not in night.errors):
            typer.echo(f"{finding.severity}: {finding.text}" + (f"\n    {finding.advice}" if finding.advice else ""))
        typer.echo(f"{night.verdict}\nreport: {home.nights / 'index.html'}")
    for line in (*night.errors, *night.notes):
        typer.echo(f"etalon: {line}", err=True)
    if night.code:
        raise typer.Exit(night.code)


def acknowledge(
    finding: Annotated[str, typer.Argument(help="Words of findings of the latest night.")],
    note: Annotated[str, typer.Option(help="What is known of them; without it their note is dropped.")] = "",
) -> None:
    """Keep a note with what a night found.

    The note shows until a night finds them no more. What is missing and acknowledged is not sent.
    """
    from pipelines.nights import acknowledged

    for line in acknowledged.acknowledge(Home.from_environment(), finding, note):
        typer.echo(line)


def retain() -> None:
    """Drop what is too old.

    Days to keep are under `retain` in etalon.toml; the space is given back. A night does the same.
    """
    from pipelines import settings
    from pipelines.nights import retention

    home = Home.from_environment()
    dropped = retention.retain(home, settings.read(home).retain, dt.datetime.now(dt.UTC).date())
    rows = [{"table": name, "rows dropped": gone} for name, gone in dropped.items()]
    typer.echo(text.table(rows) if rows else "nothing is older than it has to be kept")


def backup(
    folder: Annotated[Path, typer.Argument(file_okay=False, help="Folder to make the copy in, anew or empty.")],
) -> None:
    """Copy the state that cannot be made again."""
    from pipelines.nights import copies

    typer.echo(str(copies.backup(Home.from_environment(), folder)))


def restore(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A copy that `etalon backup` made.")],
) -> None:
    """Make an empty state folder from a copy."""
    from pipelines.nights import copies

    typer.echo(str(copies.restore(Home.from_environment(), folder)))


def migrate() -> None:
    """Bring an older warehouse to this version."""
    from pipelines.nights import copies

    typer.echo(copies.migrate(Home.from_environment()))


def _day(given: str | None) -> dt.date | None:
    try:
        return None if given is None else dt.date.fromisoformat(given)
    except ValueError:
        raise EtalonError(f"--day {given}: write it as 2026-11-21", Exit.USAGE) from None
