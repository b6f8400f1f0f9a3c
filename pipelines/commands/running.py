"""Commands that run something: demo, serve, doctor."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines import demonstration, diagnosis
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (demo, serve, doctor):
        app.command()(command)


def demo() -> None:
    """Run everything once: published records in, an answer out."""
    home = Home.from_environment()
    summary = demonstration.run(home, Reporter())
    typer.echo(summary)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (ETALON_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (ETALON_PORT).", min=1, max=65535)] = None,
) -> None:
    """Answer questions over HTTP and show the planner's page. ETALON_TOKEN, when set, is asked of every caller."""
    import socket

    from serve.server import run
    from serve.settings import settings as configured

    given: dict[str, Any] = {"home": Home.from_environment().root}
    given |= {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = configured(**given)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise EtalonError(
                f"cannot listen on {where} ({error.strerror}): choose another --port", Exit.LOCKED
            ) from error
    typer.echo(f"etalon: http://{settings.host}:{settings.port}/", err=True)
    for lack in lacking(Home.from_environment()):
        typer.echo(f"etalon: {lack}", err=True)
    run(settings)


def lacking(home: Home) -> list[str]:
    """What the service has to do without for now, and what to run for it."""
    needs = {
        home.snapshot: "no snapshot is published yet, so measurements cannot be shown: run `etalon build` on ingested "
        "data, or `etalon demo`",
        home.champion: "there is no champion yet, so questions cannot be answered: run `etalon fit` on published data, "
        "or `etalon demo`",
    }
    return [said for path, said in needs.items() if not path.exists()]


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> None:
    """Check what Etalon needs; say what is wrong and what to do."""
    findings = diagnosis.examine(Home.from_environment(), Path.cwd())
    if as_json:
        typer.echo(json.dumps({"checks": [finding.to_dict() for finding in findings]}, indent=2))
    else:
        for finding in findings:
            typer.echo(finding.line)
    if any(finding.status == "bad" for finding in findings):
        raise typer.Exit(int(Exit.FAILED))
