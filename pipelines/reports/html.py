"""A report as one page that stands alone, with its charts in it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pipelines import pages
from pipelines.reports.content import Chart, Part, Report, printable

LIMIT = "#a3201a"
EVEN_FROM = timedelta(days=14)


def written(report: Report) -> bytes:
    """The page."""
    sections: dict[str, pages.Part] = {}
    for part in (*report.summary, *report.parts):
        sections |= _sections(part)
    return pages.document(report.title, report.lead, sections).encode()


def _sections(part: Part) -> dict[str, pages.Part]:
    """A part under its heading; a chart, a table and lines of one heading are a section each."""
    sections: list[pages.Part] = []
    if part.chart is not None:
        sections.append(pages.figures([drawn(part.chart)]))
    if part.rows:
        sections.append(pages.table(part.rows))
    if part.lines:
        sections.append(list(part.lines))
    return {part.heading + " " * number: one for number, one in enumerate(sections)}


def drawn(chart: Chart) -> str:
    """A chart as SVG."""
    import numpy as np
    from matplotlib.dates import AutoDateLocator

    from model.drawing import COLOURS, drawing, label, svg

    figure, axes = drawing(chart.y, chart.across)
    x: Any = np.array(chart.x, "datetime64[s]") if chart.is_over_time else chart.x
    areas = [series for series in chart.series if series.kind == "area"]
    if areas:
        stacked = [numbers(series.values) for series in areas]
        names = [label(printable(one.name)) for one in areas]
        axes.stackplot(x, *stacked, labels=names, colors=COLOURS, alpha=0.6, linewidth=0)
    for number, series in enumerate(one for one in chart.series if one.kind != "area"):
        colour = COLOURS[(number + len(areas)) % len(COLOURS)]
        name, values = label(printable(series.name)), numbers(series.values)
        if series.kind == "limit":
            axes.plot(x, values, color=LIMIT, linestyle="--", linewidth=1, label=name)
        elif series.kind == "points":
            axes.plot(x, values, "o", color="#6b7a86", markersize=2.5, label=name)
        else:
            mask = [value is not None for value in series.values]
            if series.lo:
                low, high = (_chosen(numbers(side), mask) for side in (series.lo, series.hi))
                axes.fill_between(_chosen(x, mask), low, high, color=colour, alpha=0.2, linewidth=0, label="90 % band")
            axes.plot(_chosen(x, mask), _chosen(values, mask), color=colour, linewidth=1.4, label=name)
    if chart.mark is not None:
        axes.axvline(chart.mark, color=COLOURS[3], linestyle=":", linewidth=1.2, label=label(chart.mark_name))
    if chart.is_over_time:
        # From month to month in even steps: the first of a month would stand on the last days of the one before.
        long = chart.x[-1] - chart.x[0] > EVEN_FROM  # type: ignore[operator]
        locator = AutoDateLocator(maxticks=7, interval_multiples=False) if long else AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        figure.autofmt_xdate(rotation=0, ha="center")
    axes.set_ylim(bottom=0, top=ceiling(chart))
    return svg(figure)


def ceiling(chart: Chart) -> float | None:
    """Where the axis of a chart ends, so that the band of a far forecast does not squeeze it; None for no end."""
    most = [max((v for v in series.values if v is not None), default=0.0) for series in chart.series if not series.lo]
    return max(150.0, 1.2 * max(most, default=0.0)) if chart.y.endswith("%") else None


def numbers(values: Sequence[float | None]) -> list[float]:
    """Values, NaN where there is none."""
    return [float("nan") if value is None else float(value) for value in values]


def _chosen(values: Sequence[float | datetime], mask: Sequence[bool]) -> list[Any]:
    return [value for value, is_chosen in zip(values, mask, strict=True) if is_chosen]
