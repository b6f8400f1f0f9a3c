"""A report as PDF: the first page is for management, charts are drawn by ReportLab. Names are text, never markup."""

import datetime as dt
import io
from html import escape
from typing import Any

from pipelines import text
from pipelines.reports.content import Chart, Part, Report, printable
from pipelines.reports.html import ceiling

_MARGIN, _CHART_HEIGHT = 42, 190
_MOST_ROWS = 200


def written(report: Report) -> bytes:
    """The document."""
    from reportlab.lib.pagesizes import A4, landscape
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    size = landscape(A4)
    width = size[0] - 2 * _MARGIN
    styles = _styles()
    head = (("title", report.title), ("lead", report.lead))
    story: list[Any] = [Paragraph(_text(words), styles[style]) for style, words in head]
    for part in report.summary:
        story += _flowables(part, width, styles)
    if report.parts:
        story.append(PageBreak())
    for part in report.parts:
        story += _flowables(part, width, styles)
    sink = io.BytesIO()
    document = SimpleDocTemplate(
        sink,
        pagesize=size,
        leftMargin=_MARGIN,
        rightMargin=_MARGIN,
        topMargin=_MARGIN,
        bottomMargin=_MARGIN,
        title=printable(report.title),
        author="Etalon",
        invariant=1,
    )
    document.build(story, onFirstPage=_numbered, onLaterPages=_numbered)
    return sink.getvalue()


def _text(words: str) -> str:
    """A text as the markup of a paragraph, which shows it as it is."""
    return escape(printable(words))


def _numbered(canvas: Any, document: Any) -> None:
    canvas.setFont(_fonts()[0], 8)
    canvas.drawRightString(document.pagesize[0] - _MARGIN, _MARGIN / 2, f"{document.page}")


def _fonts() -> tuple[str, str]:
    """The names of a font and its bold form that have more than Latin letters; they come with matplotlib."""
    from pathlib import Path

    import matplotlib
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in ("DejaVuSans", "DejaVuSans-Bold"):
        if name not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(TTFont(name, str(folder / f"{name}.ttf")))
    return "DejaVuSans", "DejaVuSans-Bold"


def _styles() -> dict[str, Any]:
    from reportlab.lib.styles import ParagraphStyle

    plain, bold = _fonts()
    return {
        "title": ParagraphStyle("title", fontName=bold, fontSize=17, leading=22, spaceAfter=6),
        "lead": ParagraphStyle("lead", fontName=plain, fontSize=10.5, leading=15, spaceAfter=10),
        "heading": ParagraphStyle("heading", fontName=bold, fontSize=11.5, leading=15, spaceBefore=8, spaceAfter=4),
        "line": ParagraphStyle("line", fontName=plain, fontSize=9, leading=12, leftIndent=10, bulletIndent=0),
        "cell": ParagraphStyle("cell", fontName=plain, fontSize=8, leading=10, splitLongWords=1),
        "number": ParagraphStyle("number", fontName=plain, fontSize=8, leading=10, alignment=2),
        "head": ParagraphStyle("head", fontName=bold, fontSize=8, leading=10),
    }


def _flowables(part: Part, width: float, styles: dict[str, Any]) -> list[Any]:
    from reportlab.platypus import KeepTogether, Paragraph, Spacer

    heading = Paragraph(_text(part.heading), styles["heading"])
    flowables: list[Any] = []
    if part.chart is not None:
        flowables.append(drawn(part.chart, width))
    if part.rows:
        flowables.append(_table(part, width, styles))
    flowables += [Paragraph(_text(line), styles["line"], bulletText="•") for line in part.lines]
    if not flowables:
        return []
    return [KeepTogether([heading, flowables[0]]), *flowables[1:], Spacer(1, 6)]


def _table(part: Part, width: float, styles: dict[str, Any]) -> Any:
    from reportlab.lib import colors
    from reportlab.platypus import Paragraph, Table

    heads = list(part.rows[0])

    def cell(value: Any) -> Any:
        number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        shown = text.figure(value) if number else str(value)
        return Paragraph(_text(shown), styles["number" if number else "cell"])

    rows = [[cell(value) for value in row.values()] for row in part.rows[:_MOST_ROWS]]
    table = Table(
        [[Paragraph(_text(head), styles["head"]) for head in heads], *rows],
        colWidths=[width / len(heads)] * len(heads),
        repeatRows=1,
    )
    grey = colors.HexColor("#c8d0d6")
    table.setStyle([("LINEBELOW", (0, 0), (-1, -1), 0.4, grey), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    return table


def drawn(chart: Chart, width: float) -> Any:
    """A chart as a ReportLab drawing: areas as the lines of their sums, bands as thin lines."""
    from reportlab.graphics.charts.legends import Legend
    from reportlab.graphics.charts.lineplots import LinePlot
    from reportlab.graphics.shapes import Drawing
    from reportlab.lib import colors

    from model.drawing import COLOURS

    plain, _ = _fonts()
    x = [_epoch(value) for value in chart.x]
    lines: list[tuple[str, list[float | None], str, bool]] = []
    below = [0.0] * len(x)
    for number, series in enumerate(chart.series):
        colour = "#a3201a" if series.kind == "limit" else COLOURS[number % len(COLOURS)]
        values = list(series.values)
        if series.kind == "area":
            below = [under + (value or 0.0) for under, value in zip(below, values, strict=True)]
            values = list(below)
        lines.append((series.name, values, colour, False))
        lines += [("", list(side), colour, True) for side in (series.lo, series.hi) if side]
    shown = [line for line in lines if any(value is not None for value in line[1])]
    drawing = Drawing(width, _CHART_HEIGHT + 30)
    plot = LinePlot()
    plot.x, plot.y, plot.width, plot.height = 45, 45, width - 70, _CHART_HEIGHT - 30
    plot.data = [[(at, value) for at, value in zip(x, line[1], strict=True) if value is not None] for line in shown]
    plot.joinedLines = 1
    for number, (_, _, colour, thin) in enumerate(shown):
        plot.lines[number].strokeColor = colors.HexColor(colour)
        plot.lines[number].strokeWidth = 0.4 if thin else 1.3
    top = ceiling(chart)
    plot.yValueAxis.valueMin = 0
    highest = max((value for line in plot.data for _, value in line), default=0.0)
    plot.yValueAxis.valueMax = top if top is not None else 1.1 * highest or 1.0
    if top is not None:
        plot.data = [[(at, min(value, top)) for at, value in line] for line in plot.data]
    for axis in (plot.xValueAxis, plot.yValueAxis):
        axis.labels.fontName, axis.labels.fontSize = plain, 7
    if chart.is_over_time:
        plot.xValueAxis.labelTextFormat = lambda at: f"{dt.datetime.fromtimestamp(at, dt.UTC):%d %b %Y}"
        plot.xValueAxis.maximumTicks = 7
    drawing.add(plot)
    legend = Legend()
    legend.x, legend.y, legend.fontName, legend.fontSize = 45, 18, plain, 7
    legend.alignment, legend.columnMaximum, legend.deltax, legend.dxTextSpace = "right", 2, 110, 4
    legend.dx, legend.dy, legend.strokeWidth = 6, 6, 0
    legend.colorNamePairs = [(colors.HexColor(colour), printable(name)) for name, _, colour, thin in shown if not thin]
    drawing.add(legend)
    return drawing


def _epoch(value: Any) -> float:
    return value.replace(tzinfo=dt.UTC).timestamp() if isinstance(value, dt.datetime) else float(value)
