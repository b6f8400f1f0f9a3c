"""The ratings of machines, and their import from the machine description that a Linux LPAR prints."""

from pathlib import Path
from typing import Annotated, Any

import typer

from model import documents
from pipelines import steps, text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

ENGINES = (1, 4, 8, 16, 32)
"""Numbers of engines whose ratings the list shows."""


def register(app: typer.Typer) -> None:
    """Add the command with its subcommand to the application."""
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(machines)
    group.command(name="import")(import_)
    app.add_typer(group, name="machines")


def machines(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> None:
    """List the machine ratings, or import them.

    A rating is the service units per second of one engine in an LPAR with 1, 4, … engines. It applies to full capacity
    unless the name includes a capacity level. Ratings in ETALON_HOME/machines.csv replace those shipped with Etalon.
    """
    if context.invoked_subcommand is not None:
        return
    from model.hardware.ratings import rated_machines

    rows: list[dict[str, Any]] = []
    catalogue = rated_machines(steps.imported_ratings(Home.from_environment()))
    for one in catalogue:
        by_engines = {f"SU/s of {n}": round(one.su_per_s(n)) for n in ENGINES}
        about = {"confidence": one.ratings[0].confidence, "source": one.ratings[0].source}
        rows.append(
            {"machine": one.id, "type": one.machine_type, **by_engines, **about, "n-way factors": one.n_way.source}
        )
    if not as_json:
        typer.echo(text.table(rows))
        return
    entries = [
        {"machine": one.id, "title": one.title, "machine_type": one.machine_type, "n_way_source": one.n_way.source}
        | {
            "ratings": [
                {"engines": n, "su_per_s": one.su_per_s(n), "source": rating.source, "confidence": rating.confidence}
                for rating in one.ratings
                for n in (ENGINES if len(one.ratings) == 1 else (rating.engines,))
            ]
        }
        for one in catalogue
    ]
    typer.echo(documents.dumps({"machines": entries}, indent=2))


def import_(
    file: Annotated[Path, typer.Argument(help="Text of /proc/sysinfo from a Linux LPAR on the machine.")],
    name: Annotated[str | None, typer.Option(help="Name of the machine. Default: its type and capacity level.")] = None,
) -> None:
    """Import the exact ratings of a machine into `machines.csv`.

    Any Linux LPAR on the machine prints them: `cat /proc/sysinfo`. The import replaces ratings of the same name. The
    next question uses them without a new `etalon fit`.
    """
    from model.hardware.imported import read_sysinfo
    from model.hardware.machines import MachineError

    home = Home.from_environment()
    try:
        info = read_sysinfo(file.read_text(encoding="utf-8", errors="replace"), file.name)
    except (MachineError, OSError) as error:
        raise EtalonError(str(error), Exit.NO_INPUT) from error
    rows = info.ratings(name or info.name, file.name)
    steps.add_ratings(home, rows)
    full = f", {info.full_capability:g} of zIIPs and IFLs" if info.full_capability != info.capability else ""
    msu = f"; {info.msu:,} MSU as {info.model}" if info.msu else ""
    typer.echo(
        f"{rows[0]['machine']}: {len(rows)} ratings, {rows[0]['su_per_s']:,.0f} SU/s on 1 engine to "
        f"{rows[-1]['su_per_s']:,.0f} on {len(rows)} (capability {info.capability:g}{full}){msu}\n{home.machines}"
    )
