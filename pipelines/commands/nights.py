"""Commands that keep an installation running: nightly, alerts, retain, backup, restore, migrate."""

import datetime as dt
import getpass
from typing import Annotated

import typer

import state.alerts
from model import documents
from pipelines import text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (nightly, retain, backup, restore, migrate):
        app.command()(command)
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(alerts)
    for change in (acknowledge, reopen, close):
        group.command()(change)
    app.add_typer(group, name="alerts")


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


def alerts(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Include closed alerts.")] = False,
    as_json: Json = False,
) -> None:
    """List the alerts, or change their state.

    A night opens an alert for each cause that it finds, and closes it when the cause is gone. The rules are in
    alerts.toml.
    """
    if context.invoked_subcommand is not None:
        return
    recorded = state.alerts.read(Home.from_environment().root)
    alerts = [alert for alert in recorded if everything or alert.state != "closed"]
    if as_json:
        typer.echo(documents.dumps({"alerts": [alert.to_dict() for alert in alerts]}, indent=2))
        return
    rows = [
        {
            "id": alert.id,
            "state": alert.state,
            "severity": alert.severity,
            "since": alert.opened[:16].replace("T", " "),
            "alert": alert.text,
            "note": alert.note,
        }
        for alert in alerts
    ]
    typer.echo(text.table(rows) if rows else "no alert is open")
    for alert in alerts:
        for line in alert.details:
            typer.echo(f"  {alert.id}  {line}")


Alerts = Annotated[str, typer.Argument(help="Id of an alert, or words from open alerts.", metavar="ID|WORDS")]


def acknowledge(
    alert: Alerts,
    note: Annotated[str, typer.Option(help="Note on the cause.")] = "",
) -> None:
    """Acknowledge alerts, with a note.

    The note shows with them until they are closed. Acknowledged alerts are not sent.
    """
    _change(alert, "acknowledged", note)


def reopen(alert: Alerts) -> None:
    """Open alerts again, and drop their notes."""
    _change(alert, "open")


def close(alert: Alerts) -> None:
    """Close alerts. A night that finds their cause again opens them anew."""
    _change(alert, "closed")


def _change(words: str, to: str, note: str = "") -> None:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for alert in state.alerts.change(Home.from_environment().root, words, to, now, note, by=getpass.getuser()):
        typer.echo(f"{alert.id} {alert.state}: {alert.text}")


def retain() -> None:
    """Delete data older than its retention.

    Section `retain` of etalon.toml sets the days to keep. The file shrinks accordingly. The nightly job does the same.
    """
    from pipelines import settings
    from pipelines.nights import retention

    home = Home.from_environment()
    dropped = retention.retain(home, settings.read(home).retain, dt.datetime.now(dt.UTC).date())
    rows = [{"table": name, "rows dropped": rows_dropped} for name, rows_dropped in dropped.items()]
    typer.echo(text.table(rows) if rows else "no data are older than their retention")


def backup(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|ADDRESS",
            help="Folder, or address such as s3://bucket/etalon: new, empty, or with an earlier backup to update.",
        ),
    ],
) -> None:
    """Back up the state that cannot be rebuilt.

    A backup to the same place copies what is new, and replaces the earlier backup when it is complete.
    """
    from pipelines.nights import copies

    typer.echo(copies.backup(Home.from_environment(), folder))


def restore(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER|ADDRESS", help="Folder or address of a backup made by `etalon backup`.")
    ],
) -> None:
    """Restore a backup into an empty state folder."""
    from pipelines.nights import copies

    typer.echo(str(copies.restore(Home.from_environment(), folder)))


def migrate() -> None:
    """Upgrade the warehouse of an earlier version."""
    from pipelines.nights import copies

    typer.echo(copies.migrate(Home.from_environment()))


def _day(day: str | None) -> dt.date | None:
    try:
        return None if day is None else dt.date.fromisoformat(day)
    except ValueError:
        raise EtalonError(f"--day {day}: write it as 2026-11-21", Exit.USAGE) from None
