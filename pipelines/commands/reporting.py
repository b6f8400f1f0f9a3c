"""Commands that write what others read: report, export."""

from enum import StrEnum
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


class Form(StrEnum):
    """Forms of a report."""

    HTML = "html"
    PDF = "pdf"
    XLSX = "xlsx"


def report(
    name: Annotated[str, typer.Argument(metavar="LPAR|MACHINE|all", help="LPAR, machine or all.")],
    out: Annotated[Path | None, typer.Option("--out", help="The file. Default: NAME.FORM here.")] = None,
    form: Annotated[
        Form | None, typer.Option("--to", help="Format of the file. Default: by the ending of --out.")
    ] = None,
    max_busy_pct: Annotated[float, typer.Option("--max-busy-pct", help="Highest busy of any engine pool.")] = 90.0,
    shift: Annotated[str, typer.Option(help="Recorded figures and peak of this shift only.")] = "",
) -> None:
    """Write a report for those who decide.

    Of an LPAR, a machine, or all: last week against the week before, alerts, forecast, R4HA, classes. The first page is
    for management. A page in HTML stands alone.
    """
    from model.names import file_name
    from pipelines import reports
    from pipelines.reports.sources import Sources

    ending = (out.suffix.lstrip(".").lower() if out else "") or Form.HTML
    if form is None and ending not in list(Form):
        raise typer.BadParameter(
            f"{out}: unknown format of a report; choose one of {', '.join(Form)}", param_hint="--to"
        )
    chosen = form or Form(ending)
    target = out or Path(f"{file_name(name)}.{chosen}")
    document = reports.report(Sources.of(Home.from_environment(), shift, max_busy_pct), name)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(reports.written(document, chosen))
    typer.echo(str(target))


@export.command()
def marts(
    folder: Annotated[Path, typer.Argument(help="Where to write: a file for each mart, or marts.xlsx with all.")],
    form: Annotated[str, typer.Option("--to", metavar="parquet|csv|xlsx", help="Format of the files.")] = "parquet",
) -> None:
    """Write every mart of the published snapshot as a file, for BI tools and notebooks."""
    if form not in ("parquet", "csv", "xlsx"):
        raise typer.BadParameter(f"must be parquet, csv or xlsx (got {form!r})", param_hint="--to")
    from ingest import warehouse
    from model.names import csv_cell_sql

    home = Home.from_environment()
    steps.require_snapshot(home)
    if form == "xlsx":
        from pipelines.reports import tables

        for name, rows, kept in tables.write(home.snapshot, folder / "marts.xlsx"):
            cut = "" if kept == rows else f"; a sheet has room for {kept:,}: use --to parquet for all"
            typer.echo(f"{folder / 'marts.xlsx'} {name}  {rows:,} rows{cut}")
        return
    text = csv_cell_sql if form == "csv" else str
    for path, rows in warehouse.export_schema(home.snapshot, "marts", folder, form, text):
        typer.echo(f"{path}  {rows:,} rows")
