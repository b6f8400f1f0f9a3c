"""Commands over networks described in TOML: solve and simulate."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines import text
from pipelines.progress import Reporter

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
ModelFile = Annotated[Path, typer.Argument(help="A network description; docs/network.md says how to write one.")]


class Method(StrEnum):
    """How to solve."""

    AUTO = "auto"
    EXACT = "exact"
    APPROXIMATE = "approximate"


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (solve, simulate):
        app.command()(command)


def solve(
    model: ModelFile,
    method: Annotated[
        Method, typer.Option(help="Exact where possible, exact only, or approximate only.")
    ] = Method.AUTO,
    as_json: Json = False,
) -> None:
    """Solve a network analytically and say whether the answer is exact."""
    from model.network import Network
    from model.solvers import solve as analytic

    found = analytic(Network.load(model), method.value)
    if as_json:
        typer.echo(json.dumps(plain(asdict(found)), indent=2))
        return
    rows = [
        {"class": name, "throughput/s": float(rate), "response ms": 1e3 * float(response), "inside": float(inside)}
        for name, rate, response, inside in zip(
            found.classes, found.throughput_per_s, found.response_s, found.population, strict=True
        )
    ]
    typer.echo(text.table(rows))
    kind = "exact" if found.exact else f"approximate, known error {found.known_error} ({found.error_note})"
    limits = [limit._asdict() for limit in found.limits]
    typer.echo("\n" + text.table(limits) + f"\n\nmethod: {found.method}; {kind}")
    for note in found.notes:
        typer.echo(f"note: {note}")


def simulate(
    model: ModelFile,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers; the same seed gives the same answer.")] = 1,
    precision: Annotated[
        float | None,
        typer.Option(help="Go on until half-widths are within this share of the mean response (0.01 = 1 %)."),
    ] = None,
    replications: Annotated[int, typer.Option(help="Independent replications.", min=1)] = 8,
    horizon: Annotated[int, typer.Option(help="Transactions in all, at least.", min=1)] = 400_000,
    as_json: Json = False,
) -> None:
    """Simulate a network and estimate its measures with confidence intervals."""
    from model.network import Network
    from model.simulator import simulate as run

    network = Network.load(model)
    with Reporter().step(f"simulating {network.name}"):
        found = run(network, seed=seed, replications=replications, precision=precision, horizon=horizon)
    if as_json:
        typer.echo(json.dumps(plain(asdict(found)), indent=2))
        return
    level = f"{100 * found.level:g} % interval"
    rows = [
        {
            "class": name,
            "throughput/s": result.throughput_per_s.value,
            "response ms": 1e3 * result.response_s.value,
            level: f"± {text.figure(1e3 * result.response_s.half_width)}",
        }
        for name, result in found.classes.items()
    ]
    typer.echo(text.table(rows))
    typer.echo("\n" + text.table([{"limit": name, "utilization": value} for name, value in found.limits]))
    if not found.settled:
        typer.echo("note: the warm-up could not be told from the run; do not rely on the intervals")


def plain(value: Any) -> Any:
    """Arrays, tuples and non-finite numbers in JSON's terms."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
