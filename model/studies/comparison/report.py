"""A comparison for readers: a document, CSV, and plain values for JSON."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from model.names import csv_row
from model.studies.comparison.pictures import labels
from model.studies.comparison.runs import Figure, Metric, Run
from model.studies.comparison.verdicts import SAME_LOAD_POINTS, Comparison, Row
from model.studies.document import Document, Table

_DECIMALS = {"ms": 3, "s": 3, "ratio": 4}
_WLM = "wlm_"
_MOST_IN_TITLE = 6


def number(value: float | None, unit: str) -> str:
    """A value as papers print it: to two decimals, times to three, ratios to four; a dash for none."""
    if value is None:
        return "–"
    text = f"{value:,.{_DECIMALS.get(unit, 2)}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text


def heads(comparison: Comparison) -> list[str]:
    """Column headings of the side-by-side table; runs without what their names have in common."""
    first, *others = labels(comparison.runs)
    if len(others) == 1:
        return ["metric", "unit", first, others[0], "delta", "delta %", "verdict"]
    columns = ["metric", "unit", first]
    for name in others:
        columns += [name, "delta %", "verdict"]
    return columns


def cells(comparison: Comparison, row: Row) -> list[str]:
    """A row of the side-by-side table as text, under `heads`."""
    unit = row.about.unit
    name = (
        f"{row.about.label} ({row.metric.workload})" if _several_workloads(comparison) and row.metric.workload else None
    )
    subject = f" [{row.metric.subject}]" if row.metric.subject else ""
    line = [(name or row.about.label) + subject, unit, _value(row.sides[0].figure, unit)]
    for side in row.sides[1:]:
        line.append(_value(side.figure, unit))
        if len(comparison.runs) == 2:
            line.append(number(side.delta, unit))
        line += ["–" if side.delta_pct is None else number(side.delta_pct, "pct"), side.verdict or "–"]
    return line


def _value(figure: Any, unit: str) -> str:
    return "–" if figure is None else number(figure.value, unit)


def _several_workloads(comparison: Comparison) -> bool:
    return len({row.metric.workload for row in comparison.rows} - {None}) > 1


def shown(rows: Sequence[Row]) -> list[Row]:
    """The rows worth a line in a table: what is zero in every run, and single WLM classes, are left to the CSV.

    Where there is nothing but WLM classes, they are shown, without workloads and policies that repeat one of them.
    """
    kept = [row for row in rows if any(side.figure and side.figure.value for side in row.sides)]
    others = [row for row in kept if not row.metric.name.startswith(_WLM)]
    if others:
        return others
    classes = {(row.metric.name, _values(row)) for row in kept if not _is_sum_of_classes(row)}
    return [row for row in kept if not _is_sum_of_classes(row) or (row.metric.name, _values(row)) not in classes]


def _is_sum_of_classes(row: Row) -> bool:
    return (row.metric.subject or "").startswith(("policy ", "workload "))


def _values(row: Row) -> tuple[float | None, ...]:
    return tuple(side.figure.value if side.figure else None for side in row.sides)


def alone(comparison: Comparison) -> list[tuple[Run, Metric, Figure]]:
    """Figures that only one of the runs has, and that therefore nothing is compared with."""
    runs_with = Counter(key for run in comparison.runs for key in {(each.name, each.subject) for each in run.figures})
    return [
        (run, metric, figure)
        for run in comparison.runs
        for metric, figure in run.figures.items()
        if runs_with[metric.name, metric.subject] == 1 and figure.value and not metric.name.startswith(_WLM)
    ]


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know beside the figures."""
    notes = [
        "A metric of a run is the ratio of sums over its intervals. Differences are from the first run.",
        comparison.band.words[:1].upper() + comparison.band.words[1:] + ". A metric without a better direction "
        "can only be different. The same holds for a metric that follows the load, if CPU busy differs by more than "
        f"{SAME_LOAD_POINTS:g} point.",
    ]
    if comparison.equal_busy:
        notes.append(
            f"At equal busy: rates and shares of engines are scaled in proportion to {comparison.equal_busy_pct:.2f} "
            "% CPU "
            "busy, as ITR scales to 100 %. Costs and storage stay as measured."
        )
    single = alone(comparison)
    if single:
        notes.append(
            f"{len(single)} {'figure is' if len(single) == 1 else 'figures are'} known of one run only and compared "
            "with nothing; the page and the Markdown list them."
        )
    hidden = len(comparison.rows) - len(shown(comparison.rows))
    if hidden:
        notes.append(
            f"{hidden} {'figure is' if hidden == 1 else 'figures are'} left out of the tables, being zero in every run "
            "or of single WLM classes; the CSV has them."
        )
    return notes


def document(comparison: Comparison) -> Document:
    """The comparison as tables and notes."""
    single = alone(comparison)
    sections: dict[str, Table | Sequence[str]] = {
        "": Table(_RUN_HEADS, [_run_cells(run) for run in comparison.runs]),
        "Side by side": _side_by_side(comparison, comparison.rows),
    }
    if comparison.equal_busy:
        heading = f"At equal busy of {comparison.equal_busy_pct:.2f} %"
        sections[heading] = _side_by_side(comparison, comparison.equal_busy)
    if single:
        sections["Metrics of one run only"] = Table(_ALONE_HEADS, _alone_cells(comparison, single))
    return Document(title(comparison), "", {**sections, "Notes": notes(comparison)})


def _side_by_side(comparison: Comparison, rows: Sequence[Row]) -> Table:
    """The rows worth a line, each with the name of its metric at the end."""
    lines = [[*cells(comparison, row), row.metric.name] for row in shown(rows)]
    return Table([*heads(comparison), "name"], lines)


def title(comparison: Comparison) -> str:
    """The runs by name; a series as its system and what tells its runs apart."""
    names = labels(comparison.runs)
    if len(names) == 2:
        return " against ".join(run.name for run in comparison.runs)
    systems = list(dict.fromkeys(run.system for run in comparison.runs))
    if len(names) > _MOST_IN_TITLE:
        return f"{' and '.join(systems)}: {len(names)} runs"
    return f"{systems[0]}: {', '.join(names)}" if len(systems) == 1 else f"{', '.join(names[1:])} against {names[0]}"


_ALONE_HEADS = ["run", "metric", "unit", "subject", "value"]


def _alone_cells(comparison: Comparison, single: Sequence[tuple[Run, Metric, Figure]]) -> list[list[str]]:
    cells = []
    for run, metric, figure in single:
        about = comparison.catalogue.get(metric.name)
        label, unit = (about.label, about.unit) if about else (metric.name, "")
        cells.append([run.name, label, unit, metric.subject or metric.workload or "", number(figure.value, "ms")])
    return cells


def run_line(run: Run) -> str:
    """A run, how its intervals were chosen, and how many they are."""
    count = len(run.intervals)
    length = f", {run.seconds:,.0f} s" if run.seconds else ""
    return f"{run.name}: {run.chosen}; {count} {'interval' if count == 1 else 'intervals'}{length}"


_RUN_HEADS = ["run", "chosen", "intervals", "seconds", "from", "to", "clock"]


def _run_cells(run: Run) -> list[str]:
    end = max(interval.start + timedelta(seconds=interval.seconds) for interval in run.intervals)
    times = [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in (run.start, end)]
    if not run.seconds:
        times[1] = "–"
    return [
        run.name,
        run.chosen,
        str(len(run.intervals)),
        f"{run.seconds:,.0f}" if run.seconds else "–",
        *times,
        run.clock,
    ]


_CSV_HEADS = (
    *("basis", "workload", "metric", "label", "unit", "run", "value", "standard_error", "intervals"),
    *("delta", "delta_pct", "confidence_half_width", "verdict"),
)


def as_csv(comparison: Comparison) -> str:
    """One line for each metric and run, in full precision; `basis` is `measured` or `equal busy`."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(_CSV_HEADS)
    for basis, rows in (("measured", comparison.rows), ("equal busy", comparison.equal_busy)):
        for row in rows:
            for run, side in zip(comparison.runs, row.sides, strict=True):
                if side.figure is None:
                    continue
                about = [basis, row.metric.workload or "", row.metric.name, row.about.label, row.about.unit, run.name]
                figure = [side.figure.value, side.figure.se, side.figure.intervals]
                compared = [side.delta, side.delta_pct, side.half_width, side.verdict]
                writer.writerow(csv_row([*about, *figure, *compared]))
    return sink.getvalue()


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Plain values for JSON."""
    return {
        "runs": [
            {
                "run": run.name,
                "system": run.system,
                "chosen": run.chosen,
                "intervals": len(run.intervals),
                "seconds": run.seconds,
                "start": run.start.isoformat(),
                "clock": run.clock,
            }
            for run in comparison.runs
        ],
        "band": {
            "pct": None if comparison.band.confidence is not None else comparison.band.pct,
            "confidence": comparison.band.confidence,
            "meaning": comparison.band.words,
        },
        "metrics": [_row_dict(comparison, row) for row in comparison.rows],
        "equal_busy": {
            "cpu_busy_pct": comparison.equal_busy_pct,
            "metrics": [_row_dict(comparison, row) for row in comparison.equal_busy],
        },
        "notes": notes(comparison),
    }


def _row_dict(comparison: Comparison, row: Row) -> dict[str, Any]:
    sides = []
    for run, side in zip(comparison.runs, row.sides, strict=True):
        figure: dict[str, float | None] = {"value": None, "standard_error": None, "intervals": 0}
        if side.figure is not None:
            figure = {
                "value": side.figure.value,
                "standard_error": side.figure.se,
                "intervals": side.figure.intervals,
            }
        compared = {"delta": side.delta, "delta_pct": side.delta_pct, "half_width": side.half_width}
        sides.append({"run": run.name, **figure, **compared, "verdict": side.verdict})
    about = {"label": row.about.label, "unit": row.about.unit, "better": row.about.better}
    keys = {"metric": row.metric.name, "workload": row.metric.workload, "subject": row.metric.subject}
    return {**keys, **about, "values": sides}
