"""Commands that keep an installation running: nightly, backup, restore, migrate, retain."""

import datetime as dt
import json
from pathlib import Path
from typing import Annotated

import typer

from pipelines import text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (nightly, retain, backup, restore, migrate):
        app.command()(command)


def nightly(
    day: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Day whose records should be there; yesterday without it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Load what has landed, build what it touches, check, publish, calibrate, report and tell. For cron or systemd."""
    from pipelines.nights import run

    home = Home.from_environment()
    night = run.run(home, _day(day))
    if as_json:
        typer.echo(json.dumps(night.to_dict(), indent=2, default=str))
    else:
        for lack in night.lacks:
            typer.echo(f"missing: {lack['text']}")
        typer.echo(f"{night.verdict}\nreport: {home.nights / 'index.html'}")
    for line in (*night.errors, *night.notes):
        typer.echo(f"etalon: {line}", err=True)
    if night.code:
        raise typer.Exit(night.code)


def retain() -> None:
    """Drop what is older than `retain` in etalon.toml says, and give its space back. A night does the same."""
    from pipelines import settings
    from pipelines.nights import retention

    home = Home.from_environment()
    dropped = retention.retain(home, settings.read(home).retain, dt.datetime.now(dt.UTC).date())
    typer.echo(text.table([{"table": name, "rows dropped": rows} for name, rows in dropped.items()] or []))


def backup(
    folder: Annotated[Path, typer.Argument(file_okay=False, help="Folder to make the copy in, anew or empty.")],
) -> None:
    """Copy the state that cannot be made again: warehouse, models, settings, nights."""
    from pipelines.nights import copies

    typer.echo(str(copies.backup(Home.from_environment(), folder)))


def restore(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A copy that `etalon backup` made.")],
) -> None:
    """Make the state of an empty ETALON_HOME from a copy, and check that it opens."""
    from pipelines.nights import copies

    typer.echo(str(copies.restore(Home.from_environment(), folder)))


def migrate() -> None:
    """Bring a warehouse that an earlier version made to this version."""
    from pipelines.nights import copies

    typer.echo(copies.migrate(Home.from_environment()))


def _day(given: str | None) -> dt.date | None:
    try:
        return None if given is None else dt.date.fromisoformat(given)
    except ValueError:
        raise EtalonError(f"--day {given}: write it as 2026-11-21", Exit.USAGE) from None
