"""Commands over networks described in TOML: solve and simulate."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
    """Solve a network analytically; say whether it is exact."""
    from model.network import Network
    from model.solvers import report
    from model.solvers import solve as analytic

    found = analytic(Network.load(model), method.value)
    typer.echo(json.dumps(report.as_dict(found), indent=2) if as_json else report.as_text(found))


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
    """Simulate a network; measures with confidence intervals."""
    from model.network import Network
    from model.simulator import report
    from model.simulator import simulate as run

    network = Network.load(model)
    with Reporter().step(f"simulating {network.name}"):
        found = run(network, seed=seed, replications=replications, precision=precision, horizon=horizon)
    typer.echo(json.dumps(report.as_dict(found), indent=2) if as_json else report.as_text(found))
