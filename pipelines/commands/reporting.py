"""Commands that write what others read: report, export."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines import steps
from pipelines.home import Home

export = typer.Typer(help="Write tables for other tools.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(report)
    app.add_typer(export, name="export")


def report(
    system: Annotated[str, typer.Argument(help="A system with a history that the champion was calibrated on.")],
    out: Annotated[Path | None, typer.Option("--out", help="The file; SYSTEM.html here without it.")] = None,
    max_busy_pct: Annotated[float, typer.Option("--max-busy-pct", help="Highest busy of any engine pool.")] = 90.0,
) -> None:
    """Write a page on a system for those who decide. It stands alone, charts included."""
    from model.names import file_name
    from pipelines import system_report

    home = Home.from_environment()
    steps.require_snapshot(home)
    page = system_report.report(steps.champion(home), home.snapshot, home.quality, system, max_busy_pct)
    target = out or Path(f"{file_name(system)}.html")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    typer.echo(str(target))


@export.command()
def marts(
    folder: Annotated[Path, typer.Argument(help="Where to write; one file a mart.")],
    form: Annotated[str, typer.Option("--to", metavar="parquet|csv", help="The form of the files.")] = "parquet",
) -> None:
    """Write every mart of the published snapshot as a file, for BI tools and notebooks."""
    if form not in ("parquet", "csv"):
        raise typer.BadParameter(f"{form!r} is neither parquet nor csv", param_hint="--to")
    from ingest import warehouse
    from model.names import csv_cell_sql

    home = Home.from_environment()
    steps.require_snapshot(home)
    text = csv_cell_sql if form == "csv" else str
    for path, rows in warehouse.export_schema(home.snapshot, "marts", folder, form, text):
        typer.echo(f"{path}  {rows:,} rows")
