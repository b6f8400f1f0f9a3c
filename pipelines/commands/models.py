"""Commands over the model: systems, fit, champion, validate."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from model import documents
from pipelines import provenance, steps, text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter

if TYPE_CHECKING:
    from model.capacity.parameters import SystemParameters

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (systems, fit, champion, validate):
        app.command()(command)


def systems(
    reference: Annotated[bool, typer.Option("--reference", help="List the reference systems, too.")] = False,
    as_json: Json = False,
) -> None:
    """List your own systems, and the reference systems.

    Of your own systems the list shows CPC, engines, records, and whether the model can be asked about them. If it
    cannot, the system was loaded but not calibrated: `etalon fit` reports the reason. Of a reference system it shows
    what is known, what can be reproduced and what can be predicted.
    """
    from model.capacity.bundle import askable
    from model.lab.targets import renderable
    from model.published import catalogue
    from state.files import StateDamaged

    home = Home.from_environment()
    bundle: Mapping[str, Any] = {"systems": {}}
    if home.champion.exists():
        try:
            bundle = steps.champion(home)
        except StateDamaged as error:
            typer.echo(f"etalon: without predictions: {error}", err=True)
    answerable = askable(bundle)
    references, rendered = {name: catalogue.system(name) for name in catalogue.systems()}, set(renderable())
    installed = sorted({*answerable, *provenance.published(home)} - {"", *references})
    rows: list[dict[str, Any]] = []
    for name in (*installed, *sorted(references)):
        about = references.get(name)
        rows.append(
            {
                "system": name,
                "class": about.class_ if about else "own",
                "title": about.title if about else "",
                "values": len(about.values) if about else 0,
                "reproducible": about.reproducible if about else 0,
                "statements": len(about.figures) - len(about.values) if about else 0,
                "lab": name in rendered,
                "predict": name in answerable,
            }
        )
    if as_json:
        gates = {name: one.gate for name, one in bundle["systems"].items()}
        typer.echo(documents.dumps({"systems": [row | {"gate": gates.get(row["system"])} for row in rows]}, indent=2))
        return
    if installed:
        typer.echo(
            text.table([_system_line(name, bundle["systems"].get(name), name in answerable) for name in installed])
        )
    if installed and not reference:
        typer.echo(f"\nand {len(references)} reference systems, which `etalon systems --reference` lists")
    else:
        typer.echo(("\n" if installed else "") + text.table(rows[len(installed) :]))


def _system_line(name: str, parameters: "SystemParameters | None", predict: bool) -> dict[str, Any]:
    """A line about a system of the installation: `parameters` are its part of the bundle, None where it has none."""
    if parameters is None:
        blank = dict.fromkeys(("CPC", "CPs", "zIIPs", "records", "gate"))
        return {"system": name, **blank, "predict": predict}
    period, gate = parameters.period, (parameters.gate or {}).get("passed")
    return {
        "system": name,
        "CPC": parameters.machine.name if parameters.machine else None,
        "CPs": parameters.engines,
        "zIIPs": parameters.ziip.engines if parameters.ziip else None,
        "records": f"{period[0][:10]} to {period[1][:10]}" if period else None,
        "gate": None if gate is None else "passes" if gate else "does not pass",
        "predict": predict,
    }


def fit(as_json: Json = False) -> None:
    """Calibrate, validate and register the model. If it passes the gate, it becomes the champion."""
    home, reporter = Home.from_environment(), Reporter()
    with reporter.step("calibrating, validating, registering"):
        fitted = steps.fit(home)
        reporter.note(fitted.line)
    for name, reason in fitted.left_out.items():
        typer.echo(f"etalon: {name} is not calibrated: {reason}", err=True)
    for name, kept in fitted.kept.items():
        typer.echo(f"etalon: {name} stays at {kept['model_version']}: {kept['reason']}", err=True)
    for remark in fitted.drifted:
        typer.echo(f"etalon: the former champion has drifted: {remark}", err=True)
    if as_json:
        typer.echo(documents.dumps(fitted.to_dict(), indent=2))
    else:
        typer.echo(f"{fitted.line}\nbundle: {fitted.bundle}")
    if not fitted.promoted:
        raise EtalonError(fitted.line, Exit.GATE)


def champion(
    version: Annotated[
        str | None, typer.Argument(help="Version to put in service. Default: list all versions.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the model versions, or put one in service."""
    home = Home.from_environment()
    if version is not None:
        steps.make_champion(home, version)
    in_service = (steps.standing(home) or {}).get("model_version")
    rows = [
        {
            "version": one["model_version"],
            "registered": one["registered_at"],
            "gate": "passed" if one["promoted"] else "missed",
            "data until": max((system["period"][1] for system in one["systems"] if system["period"]), default=None),
            "systems": len(one["systems"]),
            "in service": one["model_version"] == in_service,
        }
        for one in steps.versions(home)
    ]
    typer.echo(documents.dumps({"versions": rows}, indent=2) if as_json else text.table(rows))


def validate(
    studies: Annotated[
        bool,
        typer.Option("--studies", help="Leave out levels of conditions, such as sessions or releases; takes a minute."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict each measured point from the others; print errors."""
    if studies:
        with Reporter().step("predicting left-out levels of conditions"):
            levels = steps.validate_studies(Home.from_environment())
        typer.echo(documents.dumps(levels.to_dict(), indent=2) if as_json else levels.to_text())
        return
    with Reporter().step("predicting held-out data"):
        validation = steps.validate(Home.from_environment())
    plain = validation.to_dict()
    if as_json:
        typer.echo(documents.dumps(plain, indent=2))
    else:
        columns = ("system", "point", "etr_tps", "metric", "measured", "predicted", "error_pct", "lo", "hi", "covered")
        columns_of_gate = {"system": "system", "name": "gate", "value": "seen", "limit": "limit", "passed": "passed"}
        tables = (
            (plain["rows"], {name: name for name in columns}),
            (plain["histories"], None),
            (plain["checks"], columns_of_gate),
        )
        shown = [text.table([*map(documents.for_readers, rows)], heads) for rows, heads in tables if rows]
        typer.echo("\n\n".join(shown))
    if not validation.passed:
        raise EtalonError("no system passes its validation gate", Exit.GATE)
