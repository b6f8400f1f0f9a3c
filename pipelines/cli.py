"""The `etalon` command: parses, calls a step, says what came of it. `main` is the entry point."""

import gc
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO, cast

import click
import typer

from ingest.allocation import take_jemalloc
from pipelines.exits import MEANINGS, EtalonError, Exit, code_of
from pipelines.home import Home

# click keeps the lines of a paragraph that begins with \b.
EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {int(code):3}  {meaning}" for code, meaning in MEANINGS.items())

ROLES: dict[str, dict[str, tuple[str, ...]]] = {
    "Start": {"running": ("demo", "doctor")},
    "Load records and build tables": {"data": ("ingest", "decode", "forget", "build", "check", "publish")},
    "Ask tables and model": {
        "data": ("sql",),
        "asking": ("questions",),
        "models": ("systems",),
        "answers": ("predict", "size", "max-rate", "headroom", "sweep", "what-if", "explain", "forecast-msu", "batch"),
        "comparing": ("compare",),
        "billing": ("r4ha",),
        "saving": ("saved",),
        "reporting": ("report", "export"),
    },
    "Operate": {
        "nights": ("nightly", "alerts", "retain", "backup", "restore", "migrate"),
        "models": ("fit", "champion", "validate"),
        "machines": ("machines",),
        "running": ("serve", "token"),
    },
    "Extend and experiment": {
        "layouts": ("layout",),
        "data": ("lab",),
        "twins": ("twin",),
        "reproducing": ("reproduce",),
        "networks": ("solve", "simulate", "replay", "export-network"),
    },
}
"""Commands by the role of their user, and by the module of `pipelines.commands` that defines them."""

MODULES = {name: module for modules in ROLES.values() for module, names in modules.items() for name in names}
"""The module of each command."""


class _Commands(typer.core.TyperGroup):
    """All commands, each loaded on demand: importing a module of commands takes longer than some of them run."""

    def list_commands(self, context: click.Context) -> list[str]:
        del context
        return list(MODULES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        del context
        if name not in self.commands:
            # An unknown name loads all modules, so that click can suggest the most similar command.
            for module in [MODULES[name]] if name in MODULES else dict.fromkeys(MODULES.values()):
                part = typer.Typer(rich_markup_mode=None)
                import_module(f"pipelines.commands.{module}").register(part)
                self.commands.update(typer.main.get_group(part).commands)
        return self.commands.get(name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their roles, with one column width for all."""
        width = max(map(len, MODULES))
        for role, modules in ROLES.items():
            commands = ((name, self.get_command(context, name)) for names in modules.values() for name in names)
            with formatter.section(role):
                limit = formatter.width - formatter.current_indent - width - 2
                rows = [(name.ljust(width), command.get_short_help_str(limit)) for name, command in commands if command]
                formatter.write_dl(rows)


app = typer.Typer(
    name="etalon",
    cls=_Commands,
    help="A capacity laboratory for IBM Z: SMF and RMF records in, calibrated capacity answers out.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    suggest_commands=False,  # click does
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"etalon {version('etalon-z')}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option(help="State folder. Default: ETALON_HOME, or .etalon in the current folder.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Put the state folder in force before any command runs."""
    del show_version
    if debug:
        os.environ["ETALON_DEBUG"] = "1"
    if home is not None:
        os.environ["ETALON_HOME"] = str(home.expanduser().absolute())
    try:
        Home.from_environment().activate()
    except EtalonError:
        # Help needs no state, and the doctor reports what is wrong with it.
        if context.invoked_subcommand != "doctor" and not {"-h", "--help"} & set(sys.argv):
            raise


class _Watched:
    """Standard output that knows whether anything was written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.written = False

    def write(self, text: str) -> int:
        self.written = self.written or bool(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; a fault is one message, with --debug also where it was.

    With `--json`, standard output is one JSON document at every exit code: the error, where a command printed none.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if "--json" not in words:
        sys.exit(_run(arguments)[0])
    plain, watched = sys.stdout, _Watched(sys.stdout)
    sys.stdout = cast("TextIO", watched)
    try:
        code, message = _run(arguments)
        if code and not watched.written and not isinstance(sys.stdout, click.utils.PacifyFlushWrapper):
            error = {"code": code, "name": Exit(code).name.lower(), "message": message or Exit(code).meaning}
            typer.echo(json.dumps({"error": error}, indent=2))
    finally:
        if sys.stdout is watched:
            sys.stdout = plain
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """The exit code of a command, and the message of what went wrong, which is on standard error by then."""
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    message = ""
    take_jemalloc()
    # The lowest that OpenBLAS takes: by default its threads spin for some 30 ms each when NumPy is loaded.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        code = typer.main.get_command(app).main(args=arguments, prog_name="etalon", standalone_mode=False)
    except click.exceptions.Abort:
        code = Exit.INTERRUPTED
    except KeyboardInterrupt:
        code, message = Exit.INTERRUPTED, "stopped"
        _say(message)
    except SystemExit as left:
        # Typer wraps the streams and leaves with 1 when whoever read them has gone, as in `etalon decode … | head`.
        code = Exit.OK if isinstance(sys.stdout, click.utils.PacifyFlushWrapper) else left.code
    except click.ClickException as error:
        refused = _with_remedy(error)
        code, message = Exit.USAGE, refused.format_message()
        refused.show()
    except Exception as error:
        if debug:
            raise
        message, code = explain(error)
        _say(message)
    # At its end the interpreter looks for cycles among all that was loaded, for a seventh of a prediction's time.
    # DuckDB would report what is not looked through as leaks, also where a program that calls this loads it later.
    if arguments is None and "duckdb" not in sys.modules:
        gc.freeze()
    return int(code or 0), message


def _with_remedy(error: click.ClickException) -> click.ClickException:
    """The error; where a key of the question was taken for an option, with how it is given."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    from model.capacity.values import KEYS, PREFIXES

    # The name of a class or limit stays as it is written.
    kind, dot, name = error.option_name.lstrip("-").partition(".")
    key = f"{kind.replace('-', '_')}{dot}{name}"
    asks = any("--at" in option.opts for option in error.ctx.command.params)
    if asks and (key in KEYS or key.startswith(PREFIXES)):
        return click.UsageError(f"{error.option_name} is a key of the question: --at {key}=…", error.ctx)
    return error


def explain(error: Exception) -> tuple[str, Exit]:
    """The message and the exit code for an error of any room.

    Rooms are not imported for it: an error of theirs can only have come from a module that is loaded.
    """
    codes: dict[str, Exit] = {
        "model.capacity.values.QuestionError": Exit.QUESTION,
        "model.capacity.bundle.BundleError": Exit.NOT_READY,
        "model.registry.store.NoVersionError": Exit.QUESTION,
        "model.lab.errors.LabError": Exit.QUESTION,
        "model.studies.comparison.runs.ComparisonError": Exit.QUESTION,
        "model.published.catalogue.CatalogueError": Exit.QUESTION,
        "model.network.errors.NetworkError": Exit.QUESTION,
    }
    for kind in type(error).__mro__:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in codes:
            return str(error), codes[name]
    home, code = Home.from_environment(), code_of(error)
    fault = home.fault(error) if home.root.exists() else None
    if fault is not None:
        return fault, Exit.FAILED
    if code is not None:
        return str(error), code
    if isinstance(error, OSError) and error.filename and Path(str(error.filename)).is_relative_to(home.root):
        return home.refusal(error), Exit.FAILED
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError):
        return f"{error.filename}: {error.strerror}", Exit.NO_INPUT
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", Exit.FAILED
    return f"{type(error).__name__}: {error} (run again with --debug to see where)", Exit.FAILED


def _say(message: str) -> None:
    print(f"etalon: {message}", file=sys.stderr)
