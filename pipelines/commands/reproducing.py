"""The command that holds Etalon against what was published: reproduce."""

from pathlib import Path
from typing import Annotated

import typer

from model import documents
from pipelines import text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    app.command()(reproduce)


def reproduce(
    system: Annotated[str, typer.Argument(help="Reference system, or `all` numeric ones.")] = "all",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the reports. Default: ETALON_HOME/reports/reproduce."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare published figures with Etalon's results."""
    from model.studies.reproduction import report
    from model.studies.reproduction.verdicts import FAILING
    from pipelines import reproduction

    home = Home.from_environment()
    by_system = reproduction.run(home, reproduction.chosen(system), Reporter())
    written = reproduction.write(by_system, out or home.root / "reports" / "reproduce")
    if as_json:
        typer.echo(documents.dumps(report.as_dict(by_system), indent=2))
    else:
        rows = [{"system": name, **report.summary(results)} for name, results in by_system.items()]
        typer.echo(text.table([*rows, {"system": "all", **report.total(by_system)}]))
        for name, results in by_system.items():
            for result in results:
                if result.verdict == FAILING:
                    typer.echo(f"{name}: {report.named(result)}, printed {result.figure.value}: {report.why(result)}")
    for path in (written.html, written.markdown, written.csv):
        typer.echo(str(path), err=True)
    failing = report.total(by_system)["failing"]
    if failing:
        raise EtalonError(f"{failing} published values were not reproduced from the records", Exit.MISSED)
