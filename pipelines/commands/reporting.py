"""Commands that write what others read: report, export."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines import steps
from pipelines.home import Home

export = typer.Typer(help="Export tables for other tools.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(report)
    app.add_typer(export, name="export")


def report(
    system: Annotated[str, typer.Argument(help="Calibrated system with a history; see `etalon systems`.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Output file. Default: SYSTEM.html in the current folder.")
    ] = None,
    max_busy_pct: Annotated[
        float, typer.Option("--max-busy-pct", help="Highest utilization of any engine pool, in percent.")
    ] = 90.0,
) -> None:
    """Write a one-page report on a system. The HTML file contains its charts."""
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
    folder: Annotated[Path, typer.Argument(help="Output folder; one file per mart.")],
    form: Annotated[str, typer.Option("--to", metavar="parquet|csv", help="Format of the files.")] = "parquet",
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
