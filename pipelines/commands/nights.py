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
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Day whose records are expected. Default: yesterday.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the nightly job, from landing folder to champion.

    For cron or systemd: loads new files, builds the marts they touch, checks, publishes, calibrates and reports.
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
    finding: Annotated[str, typer.Argument(help="Text that the findings of the latest night contain.")],
    note: Annotated[str, typer.Option(help="Text of the note. Default: delete the note.")] = "",
) -> None:
    """Attach a note to findings of the latest night.

    The note stays until a night no longer reports these findings. No message is sent for acknowledged missing records.
    """
    from pipelines.nights import acknowledged

    for line in acknowledged.acknowledge(Home.from_environment(), finding, note):
        typer.echo(line)


def retain() -> None:
    """Delete data older than its retention.

    Section `retain` of etalon.toml sets the days to keep. The file shrinks accordingly. The nightly job does the same.
    """
    from pipelines import settings
    from pipelines.nights import retention

    home = Home.from_environment()
    dropped = retention.retain(home, settings.read(home).retain, dt.datetime.now(dt.UTC).date())
    rows = [{"table": name, "rows dropped": gone} for name, gone in dropped.items()]
    typer.echo(text.table(rows) if rows else "nothing is older than it has to be kept")


def backup(
    folder: Annotated[Path, typer.Argument(file_okay=False, help="Folder for the backup; must be new or empty.")],
) -> None:
    """Back up the state that cannot be rebuilt."""
    from pipelines.nights import copies

    typer.echo(str(copies.backup(Home.from_environment(), folder)))


def restore(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Backup made by `etalon backup`.")],
) -> None:
    """Restore a backup into an empty state folder."""
    from pipelines.nights import copies

    typer.echo(str(copies.restore(Home.from_environment(), folder)))


def migrate() -> None:
    """Upgrade the warehouse of an earlier version."""
    from pipelines.nights import copies

    typer.echo(copies.migrate(Home.from_environment()))


def _day(given: str | None) -> dt.date | None:
    try:
        return None if given is None else dt.date.fromisoformat(given)
    except ValueError:
        raise EtalonError(f"--day {given}: write it as 2026-11-21", Exit.USAGE) from None
