"""Runs from the published snapshot, compared and reported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.names import file_name
from pipelines import pages
from pipelines.exits import EtalonError
from pipelines.home import Home


@dataclass(frozen=True)
class Report:
    """The files written of a comparison."""

    html: Path
    markdown: Path
    csv: Path


def compare(
    home: Home,
    runs: Sequence[str],
    *,
    band_pct: float,
    confidence: float | None = None,
    equal_busy_pct: float | None = None,
    steady_points: float,
) -> Any:
    """The requested runs, side by side, as a `model.studies.comparison.Comparison`.

    Raises ComparisonError, naming what there is, for a system, point or window that is not published.
    """
    from ingest import warehouse
    from model.studies import comparison
    from model.studies.comparison.runs import from_rows
    from model.studies.comparison.selection import unknown_system
    from model.studies.comparison.verdicts import About

    selections = [comparison.parse(text) for text in runs]
    catalogue = {
        row["metric"]: About(row["label"], row["unit"], row["better"], row["follows_load"], row["subject"])
        for row in warehouse.query(home.snapshot, "SELECT * FROM marts.dim_metric ORDER BY place").to_pylist()
    }
    histories: dict[str, Any] = {}
    chosen: list[Any] = []
    for one in selections:
        if one.system not in histories:
            rows = _intervals(home, one.system)
            if not rows:
                raise unknown_system(one.system, _systems(home))
            histories[one.system] = from_rows(rows)
        intervals, measures = histories[one.system]
        chosen += comparison.choose(one, intervals, measures, band_points=steady_points)
    band = comparison.Band(band_pct, confidence)
    return comparison.compare(chosen, catalogue, band, equal_busy_pct=equal_busy_pct)


def _intervals(home: Home, system: str) -> list[dict[str, Any]]:
    """Parts of metrics by interval; an interval is as long as the longest recording in it."""
    from ingest import warehouse

    query = """
        SELECT * REPLACE (max(seconds) OVER (PARTITION BY point, condition, position) AS seconds)
        FROM marts.fct_interval_metric
        WHERE system_id = ? AND denominator IS NOT NULL
        ORDER BY point, condition, position, workload, metric, subject
    """
    return list(warehouse.query(home.snapshot, query, [system]).to_pylist())


def _systems(home: Home) -> list[str]:
    from ingest import warehouse

    query = "SELECT DISTINCT system_id FROM marts.fct_interval_metric ORDER BY system_id"
    return [str(row["system_id"]) for row in warehouse.query(home.snapshot, query).to_pylist()]


def write(comparison: Any, folder: Path) -> Report:
    """The comparison as a page, Markdown and CSV in `folder`."""
    from model.studies import document
    from model.studies.comparison import report
    from model.studies.comparison.pictures import figures

    described = report.document(comparison)
    drawn = figures(comparison)
    shown: Mapping[str, pages.Part] = described.sections
    if drawn:
        shown = {**shown, "Pictures": pages.figures(drawn.values())}
    folder.mkdir(parents=True, exist_ok=True)
    written = Report(folder / "comparison.html", folder / "comparison.md", folder / "comparison.csv")
    written.html.write_text(pages.document(described.title, described.lead, shown), encoding="utf-8")
    written.markdown.write_text(document.markdown(described), encoding="utf-8")
    written.csv.write_text(report.as_csv(comparison), encoding="utf-8")
    return written


def save_figures(comparison: Any, folder: Path) -> list[Path]:
    """Every picture of the comparison as an SVG file. Raises EtalonError where there is nothing to draw."""
    from model.studies.comparison.pictures import figures

    drawn = figures(comparison)
    if not drawn:
        raise EtalonError(
            "these runs share no figure that is drawn: ITR, CPU busy, response time, CPU per transaction, elapsed "
            "time, storage"
        )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in drawn.items():
        path = folder / f"{name}.svg"
        path.write_text(picture, encoding="utf-8")
        written.append(path)
    return written


def folder_name(runs: Sequence[str]) -> str:
    """A folder name for runs, other runs having another one."""
    return file_name("-vs-".join(runs))
