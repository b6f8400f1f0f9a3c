"""Commands that set measurements side by side: compare."""

from pathlib import Path
from typing import Annotated

import typer

from model import documents
from pipelines import text
from pipelines.home import Home

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(compare)


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN…",
            help="Runs to compare; the first is the baseline. SYSTEM@POINT: a measured point. "
            "SYSTEM@START/END: intervals of a time window (ISO 8601, UTC unless it has an "
            "offset). SYSTEM@steady: the longest period of steady load (SYSTEM@steady:80: around "
            "80 % busy). SYSTEM@*: every point. SYSTEM: its only point.",
        ),
    ],
    band: Annotated[
        float | None,
        typer.Option(
            help="Differences up to this many percent are equivalent. Default: 1; 1 and 3 are customary.", min=0
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Decide by the variation between intervals at this confidence, such as 0.95, instead of a band."
        ),
    ] = None,
    equal_busy: Annotated[
        float | None, typer.Option(help="CPU busy (%) to which rates are normalized. Default: that of the baseline.")
    ] = None,
    steady_band: Annotated[
        float, typer.Option(help="Width of the steady state in percentage points of CPU busy.", min=0)
    ] = 1.0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for HTML, Markdown and CSV. Default: a folder in ETALON_HOME/comparisons."),
    ] = None,
    save_figures: Annotated[Path | None, typer.Option(help="Folder for the charts as SVG.")] = None,
    as_json: Json = False,
) -> None:
    """Compare measured runs. Reports values, differences and a verdict: better, worse or equivalent."""
    if band is not None and confidence is not None:
        raise typer.BadParameter("choose one of --band and --confidence")
    from model.studies.comparison import report
    from pipelines import comparing

    band = 1.0 if band is None else band
    home = Home.from_environment()
    found = comparing.compare(
        home, runs, band_pct=band, confidence=confidence, equal_busy_pct=equal_busy, steady_points=steady_band
    )
    written = comparing.write(found, out or home.root / "comparisons" / comparing.folder_name(runs))
    if as_json:
        typer.echo(documents.dumps(report.as_dict(found), indent=2))
    else:
        for run in found.runs:
            typer.echo(report.run_line(run))
        typer.echo(
            "\n" + text.columns(report.heads(found), [report.cells(found, row) for row in report.shown(found.rows)])
        )
        if found.equal_busy:
            typer.echo(f"\nat equal busy of {found.equal_busy_pct:.2f} %")
            typer.echo(
                text.columns(report.heads(found), [report.cells(found, row) for row in report.shown(found.equal_busy)])
            )
        typer.echo("\n" + "\n".join(report.notes(found)))
    for path in (written.html, written.markdown, written.csv):
        typer.echo(str(path), err=True)
    for path in comparing.save_figures(found, save_figures) if save_figures is not None else ():
        typer.echo(str(path), err=True)
