"""Commands that run something: demo, serve with its tokens, doctor."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from model import documents
from pipelines import demonstration, diagnosis, steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (demo, serve, token, doctor):
        app.command()(command)


def demo() -> None:
    """Run the whole way once, from published records to an answer."""
    home = Home.from_environment()
    summary = demonstration.run(home, Reporter())
    typer.echo(summary)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; also ETALON_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; also ETALON_PORT.", min=1, max=65535)] = None,
) -> None:
    """Start the HTTP service and the planner's page. Once a token exists, every caller needs one."""
    import socket

    from serve.server import run
    from serve.settings import settings as configured

    overrides: dict[str, Any] = {"home": Home.from_environment().root}
    overrides |= {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = configured(**overrides)
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


class Scope(StrEnum):
    """Permissions of a token."""

    READ = "read"
    ASK = "ask"
    ADMIN = "admin"


def token(
    name: Annotated[str, typer.Argument(help="Name of the person or program that uses the token.")],
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="read: catalogue and metrics; ask: questions; admin: everything. Repeat for several scopes."),
    ] = None,
    per_minute: Annotated[
        int, typer.Option(help="Highest number of requests per minute; 0 for no limit.", min=0)
    ] = 600,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Revoke the token.")] = False,
) -> None:
    """Create or revoke a token of the service. The token is printed once; only its digest is stored."""
    from serve import tokens

    path = Home.from_environment().root / "tokens.json"
    if withdraw:
        if not tokens.withdrawn(path, name):
            raise EtalonError(f"no token {name!r} in {path}", Exit.QUESTION)
        if not tokens.read(path):
            typer.echo(
                "etalon: that was the last token, so the service now refuses all requests. Create another with "
                "`etalon token NAME`. To allow requests without a token on this machine, remove {path} and restart "
                "the service",
                err=True,
            )
        return
    scopes = [one.value for one in scope or (Scope.READ, Scope.ASK)]
    typer.echo(tokens.granted(path, name, scopes, per_minute or None))


def lacking(home: Home) -> list[str]:
    """What the service lacks at present, each with the command that provides it."""
    needs = {
        home.snapshot: "no snapshot is published yet, so there are no measurements: run `etalon build` on loaded "
        "data, or `etalon demo`",
        home.champion: "there is no champion yet, so questions cannot be answered: run `etalon fit`, or `etalon demo`",
    }
    return [need for path, need in needs.items() if not path.exists()]


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
    coverage: Annotated[
        Path | None,
        typer.Option(
            metavar="DUMP", help="Report how many bytes of this dump are decoded, reach marts or are skipped."
        ),
    ] = None,
) -> None:
    """Check the installation and the state; name each remedy."""
    if coverage is not None:
        typer.echo(_covered(coverage, as_json))
        return
    findings = diagnosis.examine(Home.from_environment(), Path.cwd())
    if as_json:
        typer.echo(documents.dumps({"checks": [finding.to_dict() for finding in findings]}, indent=2))
    else:
        for finding in findings:
            typer.echo(finding.line)
    if any(finding.status == "bad" for finding in findings):
        raise typer.Exit(int(Exit.FAILED))


def _covered(dump: Path, as_json: bool) -> str:
    """What a dump holds by kind of record and where it goes, as text or JSON."""
    from pipelines import coverage, layouts, text

    try:
        home = Home.from_environment()
        kinds = coverage.measure(dump, layouts.registry(home), partial(steps.unpacking, home))
    except OSError as error:
        raise EtalonError(f"{dump}: cannot be read: {error.strerror}", Exit.NO_INPUT) from None
    shares = coverage.shares(kinds)
    if as_json:
        return documents.dumps({"bytes": shares, "records": [kind.to_dict() for kind in kinds]}, indent=2)
    total = sum(shares.values()) or 1
    rows = [
        {
            "record": kind.record,
            "what": kind.title.split(": ", 1)[-1],
            "records": f"{kind.records:,}",
            "bytes": f"{kind.bytes:,}",
            "share": f"{100 * kind.bytes / total:.1f} %",
            "goes to": ", ".join(kind.marts[:3]) + (f" and {len(kind.marts) - 3} more" if len(kind.marts) > 3 else "")
            if kind.marts
            else _REACHES[kind.reaches],
        }
        for kind in kinds
    ]
    parts = [f"{100 * size / total:.1f} % {_REACHES[where]}" for where, size in shares.items() if size]
    return text.table(rows) + "\n\n" + ", ".join(parts)


_REACHES = {
    "marts": "marts",
    "raw": "raw tables alone",
    "skipped": "skipped: no layout",
    "quarantined": "quarantined",
    "framing": "between records",
}
