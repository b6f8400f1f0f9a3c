"""Commands that set measurements side by side: compare."""

import datetime as dt
from pathlib import Path
from typing import Annotated, Any

import typer

from model import documents
from pipelines import text
from pipelines.exits import EtalonError, Exit
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
            "80 % busy). SYSTEM@*: every point. SYSTEM: its only point. A single LPAR: its last two weeks.",
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
    change: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Of one LPAR: compare before and from this date on.")
    ] = None,
    shift: Annotated[str, typer.Option(help="Of one LPAR: count the intervals of this shift only.")] = "",
    as_json: Json = False,
) -> None:
    """Compare measured runs. Reports values, differences and a verdict: better, worse or equivalent.

    Of one LPAR with a history it compares the last seven days with the seven before, by service class.
    """
    if len(runs) == 1 and _has_history(runs[0]):
        _weeks(runs[0], change, shift, as_json)
        return
    if change or shift:
        raise typer.BadParameter("--change and --shift go with one LPAR that has a history")
    if band is not None and confidence is not None:
        raise typer.BadParameter("choose one of --band and --confidence")
    from model.studies.comparison import report
    from pipelines import comparing

    band = 1.0 if band is None else band
    home = Home.from_environment()
    comparison = comparing.compare(
        home, runs, band_pct=band, confidence=confidence, equal_busy_pct=equal_busy, steady_points=steady_band
    )
    written = comparing.write(comparison, out or home.root / "comparisons" / comparing.folder_name(runs))
    if as_json:
        typer.echo(documents.dumps(report.as_dict(comparison), indent=2))
    else:
        for run in comparison.runs:
            typer.echo(report.run_line(run))
        typer.echo(
            "\n"
            + text.columns(
                report.heads(comparison), [report.cells(comparison, row) for row in report.shown(comparison.rows)]
            )
        )
        if comparison.equal_busy:
            typer.echo(f"\nat equal busy of {comparison.equal_busy_pct:.2f} %")
            typer.echo(
                text.columns(
                    report.heads(comparison),
                    [report.cells(comparison, row) for row in report.shown(comparison.equal_busy)],
                )
            )
        typer.echo("\n" + "\n".join(report.notes(comparison)))
    for path in (written.html, written.markdown, written.csv):
        typer.echo(str(path), err=True)
    for path in comparing.save_figures(comparison, save_figures) if save_figures is not None else ():
        typer.echo(str(path), err=True)


def _has_history(name: str) -> bool:
    """Whether a system of that name has recorded intervals that belong to no measured point."""
    from ingest import warehouse
    from pipelines import steps

    home = Home.from_environment()
    steps.require_snapshot(home)
    sql = "SELECT system_id FROM marts.dim_system WHERE run_intervals < intervals"
    return name in {row["system_id"] for row in warehouse.query(home.snapshot, sql).to_pylist()}


def _weeks(system: str, change: str | None, shift: str, as_json: bool) -> None:
    """Print two periods of an LPAR side by side."""
    from pipelines import steps
    from serve import history, periods
    from serve.snapshot import Snapshot

    home = Home.from_environment()
    snapshot = Snapshot(home.snapshot)
    recorded = history.span(snapshot, system)
    assert recorded is not None
    try:
        day = None if change is None else dt.date.fromisoformat(change)
        a, b = periods.usual(recorded[0].date(), recorded[1].date(), day)
    except ValueError as refused:
        raise EtalonError(f"{system}: {refused}", Exit.QUESTION) from None
    during = steps.calendar(home).condition(shift)
    changes = periods.compared(snapshot, system, a, b, during=during)
    spans = {"a_from": a[0], "a_to": a[1], "b_from": b[0], "b_to": b[1]}
    if as_json:
        document: dict[str, Any] = {"system": system, **{key: one.isoformat() for key, one in spans.items()}}
        document["changes"] = [one.model_dump() for one in changes]
        typer.echo(documents.dumps(document, indent=2))
        return
    typer.echo(f"{system}: {a[0]} to {a[1]} against {b[0]} to {b[1]}" + (f", shift {shift}" if shift else ""))
    typer.echo(text.table([_row(one) for one in changes]) if changes else "no hour of the week is in both periods")


def _row(one: Any) -> dict[str, Any]:
    has_interval = one.lo_pct is not None
    return {
        "metric": one.metric,
        "of": one.class_name,
        "before": one.a,
        "after": one.b,
        "unit": text.unit_sign(one.unit),
        "change": f"{one.change_pct:+.1f} %",
        "90 % interval": f"{one.lo_pct:.1f} … {one.hi_pct:.1f} %" if has_interval else "–",
        "significant": {True: "yes", False: "no", None: "too few days"}[one.significant],
    }
