"""`etalon reproduce`: published figures and the results of their rendered records, through the whole pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines import pages, steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter

QUERY = "SELECT system_id, point, subject, metric, value FROM marts.fct_point_metric WHERE is_run ORDER BY workload"


@dataclass(frozen=True)
class Report:
    """Where the comparison was written."""

    html: Path
    markdown: Path
    csv: Path


def chosen(system: str) -> list[str]:
    """The systems to reproduce: `all` numeric ones, or the one named. CatalogueError for an unknown one."""
    from model.published import catalogue

    if system != "all":
        return [catalogue.system(system).id]
    return [name for name in catalogue.systems() if catalogue.system(name).class_ == "numeric"]


def run(home: Home, systems: Sequence[str], reporter: Reporter) -> Mapping[str, Sequence[Any]]:
    """Render, ingest, build and compare in a separate state folder below `home`; results by system.

    Systems that others follow from are rendered too. Raises EtalonError when a file cannot be loaded.
    """
    from model.lab.targets import renderable
    from model.studies.reproduction.verdicts import Marts, compare, with_references

    scratch = Home(home.root / "reproduce")
    _clear(scratch)
    wanted = [name for name in with_references(systems) if name in renderable()]
    with reporter.step(f"rendering {len(wanted)} systems") as advance:
        written: list[Path] = []
        for done, name in enumerate(wanted):
            advance(done, len(wanted))
            written += steps.render([name], scratch.lab)
    rows: list[dict[str, Any]] = []
    if written:
        with reporter.step("ingesting them"):
            reports = steps.ingest(scratch, [path for path in written if not path.name.endswith(".lab.json")])
            failed = [f"{report.path}: {report.message}" for report in reports if report.exit_code]
            if failed:
                raise EtalonError("; ".join(failed), Exit(int(max(report.exit_code for report in reports))))
        with reporter.step("building the marts"):
            steps.build(scratch)
        with reporter.step("publishing the snapshot"):
            steps.publish(scratch)
        rows = _metrics(scratch)
    marts = Marts(rows)
    return {name: compare(name, marts) for name in systems}


def write(results: Mapping[str, Sequence[Any]], folder: Path) -> Report:
    """The comparison as a page, Markdown and CSV in `folder`."""
    from model.studies import document
    from model.studies.reproduction import report

    described = report.document(results)
    folder.mkdir(parents=True, exist_ok=True)
    written = Report(folder / "reproduce.html", folder / "reproduce.md", folder / "reproduce.csv")
    page = pages.document(described.title, described.lead, described.sections)
    written.html.write_text(page, encoding="utf-8")
    written.markdown.write_text(document.markdown(described), encoding="utf-8")
    written.csv.write_text(report.as_csv(results), encoding="utf-8")
    return written


def _metrics(home: Home) -> list[dict[str, Any]]:
    from ingest import warehouse

    return list(warehouse.query(home.snapshot, QUERY).to_pylist())


def _clear(home: Home) -> None:
    """Remove what an earlier run left, so that nothing of it is compared."""
    for folder in (home.lab, home.warehouse.parent, home.snapshot.parent):
        for path in sorted(folder.glob("*")) if folder.is_dir() else ():
            path.unlink()
