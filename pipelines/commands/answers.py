"""Commands over the model: systems, fit, validate, predict, size."""

import json
from typing import Annotated, Any

import typer

from pipelines import steps, text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
SystemName = Annotated[str, typer.Argument(help="A system the champion was calibrated on.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (systems, fit, validate, predict, size):
        app.command()(command)


def systems(as_json: Json = False) -> None:
    """List the reference systems. What is known of each, what can be reproduced, what can be predicted."""
    from model.lab import renderable
    from model.systems.overview import overview

    home = Home.from_environment()
    calibrated = set(steps.champion(home)["systems"]) if home.champion.exists() else set()
    known, rendered = {about.system: about for about in overview()}, set(renderable())
    rows: list[dict[str, Any]] = []
    for name in sorted({*known, *calibrated}):
        about = known.get(name)
        rows.append(
            {
                "system": name,
                "class": about.class_ if about else "own",
                "title": about.title if about else "",
                "values": about.values if about else 0,
                "reproducible": about.reproducible if about else 0,
                "statements": about.statements if about else 0,
                "lab": name in rendered,
                "predict": name in calibrated,
            }
        )
    if as_json:
        typer.echo(json.dumps({"systems": rows}, indent=2))
    else:
        typer.echo(text.table(rows))


def fit(as_json: Json = False) -> None:
    """Calibrate, validate and register the model. It is exported if it becomes champion."""
    home, reporter = Home.from_environment(), Reporter()
    with reporter.step("calibrating, validating, registering"):
        fitted = steps.fit(home)
        reporter.note(fitted.line)
    for reason in fitted.left_out.values():
        typer.echo(f"etalon: not calibrated: {reason}", err=True)
    if as_json:
        typer.echo(json.dumps(fitted.to_dict(), indent=2, default=str))
    else:
        typer.echo(f"{fitted.line}\nbundle: {fitted.bundle}")
    if not fitted.promoted:
        raise EtalonError(fitted.line, Exit.GATE)


def validate(as_json: Json = False) -> None:
    """Predict each measured point from the others; show errors."""
    with Reporter().step("leaving one rate out at a time"):
        found = steps.validate(Home.from_environment())
    plain = found.to_dict()
    if as_json:
        typer.echo(json.dumps(plain, indent=2))
    else:
        columns = ("system", "point", "etr_tps", "metric", "measured", "predicted", "error_pct", "lo", "hi", "covered")
        typer.echo(text.table(plain["rows"], {name: name for name in columns}))
        columns_of_gate = {"name": "gate", "value": "seen", "limit": "limit", "passed": "passed"}
        typer.echo("\n" + text.table(plain["gate"]["checks"], columns_of_gate))
    if not found.passed:
        raise EtalonError("the model does not pass its validation gate", Exit.GATE)


def predict(
    system: SystemName,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Operating point: etr_tps=…, cpu_busy_pct=… or point=…, and engines=…; repeat or join with commas. "
            "Without it, the published operating point.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict a system at a point, with intervals and bottleneck."""
    from model.capacity import ask

    asked = operating_point(at or [])
    found = ask.predict(steps.champion(Home.from_environment()), system, asked).to_dict()
    typer.echo(json.dumps(found, indent=2) if as_json else text.answer(found))


def operating_point(given: list[str]) -> dict[str, float | str] | None:
    """`["etr_tps=5,engines=4"]` as a mapping; None for nothing given."""
    point: dict[str, float | str] = {}
    for pair in (part for item in given for part in item.replace(";", ",").split(",")):
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not key or not value:
            raise typer.BadParameter(f"--at takes KEY=VALUE, not {pair!r}")
        if key in point:
            raise typer.BadParameter(f"--at says {key} twice")
        try:
            point[key] = value if key == "point" else float(value)
        except ValueError:
            raise typer.BadParameter(f"--at {key}: {value!r} is no number") from None
    return point or None


def size(
    system: SystemName,
    etr_tps: Annotated[float, typer.Option("--etr-tps", help="Transactions per second to be carried.")],
    max_busy_pct: Annotated[
        float | None, typer.Option("--max-busy-pct", help="Highest mean busy of the engines.")
    ] = None,
    max_response_ms: Annotated[float | None, typer.Option("--max-response-ms", help="Highest mean response.")] = None,
    as_json: Json = False,
) -> None:
    """Find the fewest engines for a rate. Within a busy and/or a response target."""
    if max_busy_pct is None and max_response_ms is None:
        raise typer.BadParameter("name a target: --max-busy-pct, --max-response-ms or both")
    from model.capacity import ask

    bundle = steps.champion(Home.from_environment())
    found = ask.size(bundle, system, etr_tps, max_busy_pct=max_busy_pct, max_response_ms=max_response_ms)
    typer.echo(json.dumps(found, indent=2) if as_json else text.sizing(found))
    if found["engines"]["value"] is None:
        raise typer.Exit(Exit.QUESTION)
