"""Commands over records and tables: lab, ingest, forget, build, check, publish, sql, decode."""

import sys
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from model import documents
from pipelines import forms, runners, steps, text
from pipelines import layouts as record_layouts
from pipelines.commands import twins
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.layouts import Layouts
from pipelines.progress import Reporter

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


DOING = {"hash": "checking the ledger", "batch": "reading", "commit": "committing"}


class Reload(StrEnum):
    """When content that the ledger already has is loaded again."""

    NEVER = "never"
    OUTDATED = "outdated"
    ALWAYS = "always"


class ReadAs(StrEnum):
    """Kinds of file that `ingest --kind` accepts: those of `ingest.formats.identify.Kind` that contain records."""

    SMF = "smf"
    IMS_LOG = "ims_log"
    DCOLLECT = "dcollect"
    RMF_XML = "rmf_xml"
    RMF_JSON = "rmf_json"
    RMF_TEXT = "rmf_text"
    CICS_STATISTICS = "cics_statistics"
    CICS_DICTIONARY = "cics_dictionary"
    TABLE = "table"
    RUNS = "runs"
    GROUPS = "groups"


class Form(StrEnum):
    """Formats that `decode` writes."""

    ARROW = "arrow"
    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (lab, ingest, forget, build, check, publish, decode):
        app.command()(command)
    # A query may begin with a comment, which looks like an option.
    app.command(context_settings={"ignore_unknown_options": True})(sql)


def lab(
    system: Annotated[
        str | None,
        typer.Argument(
            help="Reference system (see `etalon systems`), or `all`. `subsystems`: an invented night "
            "of MQ, Db2, web requests and data sets."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(file_okay=False, help="Output folder. Default: ETALON_HOME/lab.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random variation between intervals.", min=0)] = None,
    twin: Annotated[
        Path | None,
        typer.Option(help="Description of a twin (TOML): simulate its days and write its records."),
    ] = None,
    truth: Annotated[
        bool,
        typer.Option("--truth", help="Simulate the twin's questions and print their true answers; write no records."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write published measurements or a twin's days as records."""
    from model.lab.targets import renderable

    if (system is None) == (twin is None):
        raise typer.BadParameter("name a reference system, or a twin's description with --twin")
    if (truth or as_json) and twin is None:
        raise typer.BadParameter("--truth and --json are for twins")
    home = Home.from_environment()
    folder = out or home.lab
    if out is None and not truth:
        home.require_writable()
    if twin is not None and truth:
        twins.print_truth(twin, seed, as_json)
        return
    names = list(renderable()) if system == "all" else [system or ""]
    if twin is not None:
        written = twins.render(twin, folder, seed)
    else:
        steps.require_renderable(names)
        with Reporter().step(f"rendering {', '.join(names) if len(names) < 3 else f'{len(names)} systems'}"):
            written = steps.render(names, folder, seed)
        for left in steps.not_rendered(names):
            typer.echo(left, err=True)
    typer.echo(documents.dumps([str(path) for path in written]) if as_json else "\n".join(map(str, written)))


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders or patterns, packed (gzip, zstd, bzip2, zip, AMATERSE, XMIT) or not; "
            "`-` reads standard input. Etalon recognises SMF dumps, IMS logs, RMF reports, "
            "listings and tables by their content."
        ),
    ],
    as_json: Json = False,
    reload: Annotated[
        Reload, typer.Option(help="When to load a known content again: never, if its layouts changed, or always.")
    ] = Reload.NEVER,
    kind: Annotated[
        ReadAs | None, typer.Option(help="Read all files as this kind. Default: recognise the kind by content.")
    ] = None,
    runner: Annotated[str | None, typer.Option(help=f"{runners.HELP} Decodes dumps of 4 MB or more.")] = None,
    layouts: Layouts = None,
) -> None:
    """Load files into the warehouse. Each content is loaded once, and every byte is accounted for."""
    from ingest.files.outcome import exit_code

    home, reporter = Home.from_environment(), Reporter()

    def report_progress(path: str, step: str, records: int) -> None:
        done = f", {text.counted(records, 'record')}" if records else ""
        reporter.show(f"{short(path)}: {DOING.get(step, step)}{done}")

    with reporter.step("ingesting"), runners.open_runner(runner) as engine:
        reports = steps.ingest(
            home,
            paths,
            reload=reload.value,
            progress=report_progress,
            layout_folders=layouts,
            kind=kind.value if kind else None,
            runner=engine,
        )
        reporter.note(text.counted(len(reports), "file"))
    if as_json:
        typer.echo(documents.dumps({"files": [report.to_dict() for report in reports]}, indent=2))
    else:
        typer.echo(loaded(reports))
    for report in reports:
        if report.message:
            typer.echo(f"etalon: {report.message}", err=True)
        if report.overlap:
            typer.echo(f"etalon: {overlap(report)}", err=True)
    for line in outdated(reports, record_layouts.registry(home, layouts)):
        typer.echo(f"etalon: {line}", err=True)
    code = exit_code(reports)
    if code:
        raise typer.Exit(int(code))


def forget(
    files: Annotated[list[str], typer.Argument(help="Loaded files: paths from the ledger, or unique file names.")],
) -> None:
    """Remove loaded files from the warehouse. The next `etalon build` rebuilds the marts without them."""
    with Reporter().step("forgetting"):
        paths = steps.forget(Home.from_environment(), files)
    typer.echo("\n".join(paths))


def overlap(report: Any) -> str:
    """The records that a file shares with files loaded before it."""
    others = ", ".join(report.overlap_with)
    return (
        f"{report.path}: {report.overlap:,} of its {report.records:,} records are also in {others}; "
        "they are kept in both and counted once"
    )


def outdated(reports: list[Any], registry: Any) -> list[str]:
    """Files that were loaded when there was no layout yet for some of their records, and how to load them anew."""
    lines = []
    for report in reports:
        now = [kind for kind in report.skipped if report.status == "unchanged" and described(kind, registry)]
        if now:
            count = text.counted(sum(report.skipped[kind] for kind in now), "record")
            lines.append(
                f"{report.path}: was loaded without layouts for {count} of type "
                f"{', '.join(now)}; to load it with the present layouts, add --reload outdated"
            )
    return lines


def described(kind: str, registry: Any) -> bool:
    """Whether there is a layout for records skipped as `type`, `type.subtype`, `ims.code` or `dcollect.kind`."""
    first, _, second = kind.partition(".")
    if first == "ims":
        # The ledger counts by code only: a layout with subcodes may be in force and still leave records out.
        return (int(second, 16), None) in registry.logged("ims")
    if first == "dcollect":
        return (int.from_bytes(second.ljust(2).encode("cp037")), None) in registry.logged("dcollect")
    return first.isdecimal() and registry.layout_for(int(first), int(second or 0)) is not None


def loaded(reports: list[Any]) -> str:
    """Ingest reports as a table."""
    named = Counter(Path(report.path).name for report in reports)
    rows = [
        {
            "file": report.path if named[Path(report.path).name] > 1 else short(report.path),
            "status": report.status,
            "bytes": f"{report.bytes:,}",
            "records": report.records,
            "decoded": report.decoded,
            "skipped": sum(report.skipped.values()),
            "quarantined": report.quarantined,
        }
        for report in reports
    ]
    return text.table(rows)


def short(path: str) -> str:
    """The name of a file; of a file in an archive, that of the archive and the whole name inside."""
    outer, mark, inner = path.partition("!")
    return Path(outer).name + mark + inner if mark and not Path(path).exists() else Path(path).name


def build(
    select: Annotated[
        str | None,
        typer.Option(
            help="Models to build, together with the models they depend on. Default: all that new files touch."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Build the whole history, not only the time that new or changed files touch.")
    ] = False,
    window: Annotated[
        str | None, typer.Option(help="Build by windows of this length (1h … 12h, 1d …), apart from one another.")
    ] = None,
    runner: Annotated[str | None, typer.Option(help=f"{runners.HELP} Windows are of a day, unless given.")] = None,
    to_publish: Annotated[bool, typer.Option("--publish/--no-publish", help="Check and publish the result.")] = True,
    layouts: Layouts = None,
) -> None:
    """Build, check and publish the marts. If a critical expectation fails, nothing is published."""
    from pipelines.building import held_back

    home, reporter = Home.from_environment(), Reporter()
    length = runners.window_length(window, runner)
    with reporter.step("building the marts"), runners.open_runner(runner) as engine:
        built = steps.build(
            home, select=select, everything=everything, window=length, runner=engine, progress=reporter.note
        )
        reporter.note(built or "up to date")
    if not to_publish:
        return
    verdict = judged(home, reporter, steps.judge)
    for finding in verdict.problems:
        typer.echo(f"etalon: {problem(finding)}", err=True)
    if verdict.verdict == "fail":
        raise EtalonError(f"not published: a critical expectation failed; see {verdict.report}", Exit.QUALITY)
    withheld = held_back.unpublished(home)
    with reporter.step("publishing the snapshot"):
        path = steps.publish(home, layouts)
    typer.echo(str(path))
    if withheld:
        raise EtalonError("\n".join(("published without the records that are held back", *withheld)), Exit.HELD_BACK)


def problem(finding: Any) -> str:
    """An expectation that is not met, in one line: what was expected, where it is not so, what to do."""
    first = f", such as {finding.first}" if finding.first else ""
    amount = f"{finding.unexpected:,} of {finding.checked:,}"
    return f"{finding.severity}: not met for {amount}{first}: {finding.expected}. {finding.advice}"


def judged(home: Home, reporter: Reporter, check: Callable[[Home], Any]) -> Any:
    """Run the expectations as a step of a longer command."""
    with reporter.step("checking data quality"):
        verdict = check(home)
        reporter.note(steps.quality_line(verdict))
    return verdict


def check(as_json: Json = False) -> None:
    """Check data quality of the last build and write a report.

    `etalon build --all` builds and checks the whole history.
    """
    verdict = judged(Home.from_environment(), Reporter(), steps.check)
    if as_json:
        typer.echo(documents.dumps(verdict.as_dict(), indent=2))
    else:
        rows = [
            {
                "status": finding.status,
                "rule": finding.rule,
                "subject": finding.subject,
                "rows": finding.unexpected,
                "what to do": finding.advice,
            }
            for finding in verdict.problems
        ]
        if rows:
            typer.echo(text.table(rows) + "\n")
        typer.echo(f"{steps.quality_line(verdict)}\nchecked: {verdict.extent}\nreport: {verdict.report}")
    if verdict.verdict == "fail":
        raise EtalonError(f"a critical expectation failed; see {verdict.report}", Exit.QUALITY)


def publish(
    force: Annotated[
        bool, typer.Option("--force", help="Publish even if the warehouse lacks data of the published snapshot.")
    ] = False,
    layouts: Layouts = None,
) -> None:
    """Publish the warehouse as the snapshot. Analysts and the service read the snapshot."""
    with Reporter().step("publishing the snapshot"):
        path = steps.publish(Home.from_environment(), layouts, force=force)
    typer.echo(str(path))


def sql(
    query: Annotated[
        str, typer.Argument(help="One SQL statement over the published snapshot; `-` reads it from standard input.")
    ],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of rows.")] = False,
) -> None:
    """Query the published snapshot.

    `show tables` lists the marts and the ledger; `show all tables` lists every table with its schema. On the terminal,
    bytes, lists, maps and structures are shortened. CSV has them in full, as hexadecimal digits and JSON. In JSON, maps
    are objects, times are ISO 8601, decimals are numbers, and NaN and infinity are null. A query can neither read nor
    write other files: redirect the output.
    """
    if as_csv and as_json:
        raise typer.BadParameter("choose one of --csv and --json")
    from ingest import snapshot

    statement = sys.stdin.read() if query == "-" else query
    published = Home.from_environment().snapshot
    if as_csv:
        from pipelines import csv_rows

        csv_rows.write(snapshot.query(published, statement), sys.stdout.buffer)
    elif as_json:
        typer.echo(forms.dumps(list(forms.records(snapshot.query(published, statement))), indent=2))
    else:
        with snapshot.query_relation(published, statement) as relation:
            # Its truth is whether it has rows, for which DuckDB runs the query once more.
            names = [] if relation is None else forms.distinct(relation.columns)
            rows = [] if relation is None else forms.shown(relation)
        typer.echo(text.table(rows, {name: name for name in names}, number=text.exact))
        typer.echo(f"({text.counted(len(rows), 'row')})", err=True)


def decode(
    file: Annotated[
        Path,
        typer.Argument(help="Dump, packed or not, or any other file that `ingest` accepts; `-` reads standard input."),
    ],
    to: Annotated[Form, typer.Option(help="Format of the output.")] = Form.JSON,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for one file per table. Default: standard output for JSON and for --table; "
            "else a folder named after dump and format, such as DUMP.csv.",
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Write only this table. One table goes to standard output in any format (Arrow as a "
            "stream). May be repeated with JSON and with --out.",
        ),
    ] = None,
    dictionaries: Annotated[
        list[Path] | None,
        typer.Option(
            "--dictionary",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="CICS dictionary for monitoring records of regions whose dictionary is not in the "
            "dump: a *.dictionary.csv file or another dump; may be repeated.",
        ),
    ] = None,
    layouts: Layouts = None,
) -> None:
    """Decode a dump to files, without a database. Writes one file per table, or rows to standard output."""
    from ingest.files.outcome import exit_code
    from pipelines import decoding

    wanted = list(dict.fromkeys(tables or ()))
    if out is None and to is not Form.JSON:
        if len(wanted) > 1:
            raise typer.BadParameter(
                f"{len(wanted)} tables need a folder: add --out DIR, or choose one table with --table"
            )
        if not wanted:
            out = Path(f"{'input' if str(file) == '-' else file.name}.{to.value}")
        elif to is not Form.CSV and sys.stdout.isatty():
            raise typer.BadParameter(
                f"{to.value} is not text and cannot go to a terminal: redirect it, or add --out DIR"
            )
    home = Home.from_environment()
    registry, limits = record_layouts.registry(home, layouts), partial(steps.unpacking, home)
    reports = decoding.decode_file(
        file, to.value, out, registry, tables=wanted, dictionaries=dictionaries or (), limits=limits
    )
    counts = sum((Counter(report.rows) for report in reports), Counter())
    shown = {name: count for name, count in sorted(counts.items()) if not wanted or name in wanted}
    if shown:
        rows = [{"table": name, "rows": count} for name, count in shown.items()]
        typer.echo(text.table(rows, {"table": "table", "rows": "rows"}), err=True)
    if shown and out is not None:
        typer.echo(str(out))
    for report in reports:
        if report.message:
            typer.echo(f"etalon: {report.message}", err=True)
    code = exit_code(reports)
    if code:
        raise typer.Exit(int(code))
