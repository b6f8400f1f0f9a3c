"""The pictures benchmark papers print, as SVG that stands alone: bars, stacked bars, and a line through runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from model.comparison.judging import Comparison
from model.comparison.runs import Metric, Run

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 20, 44, 64
#: Distinguishable without colour vision (Okabe and Ito).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
_REST = "#cccccc"
_LONGEST_LABEL = 26
_STYLE = (
    "<style>text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:15px;font-weight:600}"
    ".small{font-size:11px}.grid{stroke:#ddd}.axis{stroke:#444}</style>"
)


def figures(comparison: Comparison) -> dict[str, str]:
    """Every picture the figures allow, by file name without ending."""
    labels = _labels(comparison.runs)
    drawn: dict[str, str] = {}
    for name, metric, title in (
        ("itr", "itr_tps", "Internal transaction rate, transactions/s"),
        ("cpu-busy", "cpu_busy_pct", "CPU busy, %"),
    ):
        row = comparison.row(metric)
        if row is not None:
            drawn[name] = bars(title, labels, [side.figure.value if side.figure else None for side in row.sides])
    responses = _responses(comparison)
    if responses:
        drawn["response"] = lines("Response against rate", "transactions/s", "ms", labels, responses)
    stacks = _components(comparison)
    if stacks:
        drawn["cpu-per-transaction"] = stacked("CPU per transaction by component, µs", labels, stacks)
    return drawn


def bars(title: str, labels: Sequence[str], values: Sequence[float | None]) -> str:
    """One bar for each label, its value above it."""
    return stacked(title, labels, {"": [(value, _COLOURS[0]) for value in values]})


def stacked(title: str, labels: Sequence[str], layers: Mapping[str, Sequence[tuple[float | None, str]]]) -> str:
    """Bars of layers, from the bottom up; each layer has a value and a colour for every label. None leaves a gap."""
    totals = [math.fsum(cells[place][0] or 0.0 for cells in layers.values()) for place in range(len(labels))]
    top = _ceiling(max([*totals, 0.0]))
    parts = [*_head(title), *_scale(top)]
    step = (_WIDTH - _LEFT - _RIGHT) / len(labels)
    width = min(0.6 * step, 110.0)
    for place, label in enumerate(labels):
        x, reached = _LEFT + (place + 0.5) * step, 0.0
        for layer, cells in layers.items():
            value, colour = cells[place]
            if not value:
                continue
            upper, lower = _y(reached + value, top), _y(reached, top)
            reached += value
            tip = escape(f"{label} {layer}: {_number(value)}".replace("  ", " "))
            parts.append(
                f'<rect x="{x - width / 2:.1f}" y="{upper:.1f}" width="{width:.1f}" height="{lower - upper:.1f}" '
                f'fill="{colour}"><title>{tip}</title></rect>'
            )
        if reached:
            parts.append(
                f'<text x="{x:.1f}" y="{_y(reached, top) - 6:.1f}" text-anchor="middle">{_number(reached)}</text>'
            )
        parts.append(_below(label, x, place, step))
    return "".join([*parts, *_legend({layer: cells[0][1] for layer, cells in layers.items() if layer}), "</svg>"])


def lines(
    title: str,
    across: str,
    up: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float] | None]],
) -> str:
    """A line through the runs of each series, in the order of x; every mark named after its run."""
    points = [point for marks in series.values() for point in marks if point]
    right, top = _ceiling(max(x for x, _ in points)), _ceiling(max(y for _, y in points))
    parts = [*_head(title), *_scale(top)]

    def at(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / right

    for tick in range(6):
        value = right * tick / 5
        parts.append(
            f'<text x="{at(value):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_number(value)}</text>'
        )
    parts.append(
        f'<text class="small" x="{_WIDTH - _RIGHT}" y="{_HEIGHT - _BOTTOM + 34}" text-anchor="end">{across}</text>'
    )
    parts.append(f'<text class="small" x="{_LEFT}" y="{_TOP - 6}" text-anchor="end">{up}</text>')
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(series)}
    for name, marks in series.items():
        seen = sorted((point, label) for point, label in zip(marks, labels, strict=True) if point)
        path = " ".join(f"{at(x):.1f},{_y(y, top):.1f}" for (x, y), _ in seen)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>')
        for (x, y), label in seen:
            tip = escape(f"{label} {name}: {_number(y)} {up} at {_number(x)} {across}")
            parts.append(
                f'<circle cx="{at(x):.1f}" cy="{_y(y, top):.1f}" r="4" fill="{colours[name]}">'
                f"<title>{tip}</title></circle>"
            )
            anchor = "end" if at(x) > _WIDTH * 0.75 else "start"
            shift = -8 if anchor == "end" else 8
            parts.append(
                f'<text class="small" x="{at(x) + shift:.1f}" y="{_y(y, top) - 7:.1f}" text-anchor="{anchor}">'
                f"{escape(_short(label))}</text>"
            )
    return "".join([*parts, *_legend(colours if len(colours) > 1 else {}), "</svg>"])


def _responses(comparison: Comparison) -> dict[str, list[tuple[float, float] | None]]:
    """Rate and response of every run, for every response in ms that has a rate of the same workload."""
    found: dict[str, list[tuple[float, float] | None]] = {}
    for row in comparison.rows:
        if not row.metric.name.endswith("_response_ms"):
            continue
        marks: list[tuple[float, float] | None] = []
        for run, side in zip(comparison.runs, row.sides, strict=True):
            rate = _rate(run, row.metric)
            marks.append((rate, side.figure.value) if rate is not None and side.figure else None)
        if any(marks):
            found[row.about.label] = marks
    return found


def _rate(run: Run, metric: Metric) -> float | None:
    rates = {each.workload: figure.value for each, figure in run.figures.items() if each.name == "etr_tps"}
    if metric.workload in rates:
        return rates[metric.workload]
    return next(iter(rates.values())) if len(rates) == 1 else None


def _components(comparison: Comparison) -> dict[str, list[tuple[float | None, str]]]:
    """CPU per transaction of every address-space group, and the rest of the whole system's."""
    whole = comparison.row("cpu_us_per_tran")
    if whole is None:
        return {}
    rows = [
        row
        for row in comparison.rows
        if row.about.subject
        and row.metric.name == f"{row.about.subject}_cpu_us_per_tran"
        and row.metric.workload == whole.metric.workload
    ]
    layers: dict[str, list[tuple[float | None, str]]] = {}
    for place, row in enumerate(rows):
        colour = _COLOURS[place % len(_COLOURS)]
        name = (row.about.subject or "").replace("_", " ")
        layers[name] = [(side.figure.value if side.figure else None, colour) for side in row.sides]
    rest: list[tuple[float | None, str]] = []
    for place, side in enumerate(whole.sides):
        named = math.fsum(cells[place][0] or 0.0 for cells in layers.values())
        rest.append((max(side.figure.value - named, 0.0) if side.figure else None, _REST if layers else _COLOURS[0]))
    return {**layers, "rest of the system" if layers else "": rest}


def _labels(runs: Sequence[Run]) -> list[str]:
    """Names of runs without what all have in common."""
    systems = {run.system for run in runs}
    if len(systems) == 1:
        return [run.name.partition("@")[2] or run.name for run in runs]
    return [run.system if len(systems) == len(runs) else run.name for run in runs]


def _head(title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">',
        _STYLE,
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{_LEFT}" y="20">{escape(title)}</text>',
    ]


def _scale(top: float) -> list[str]:
    parts = []
    for tick in range(6):
        value = top * tick / 5
        y = _y(value, top)
        kind = "axis" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    return parts


def _legend(colours: Mapping[str, str]) -> list[str]:
    parts, x = [], float(_LEFT)
    for name, colour in colours.items():
        parts.append(f'<rect x="{x:.1f}" y="{_HEIGHT - 20}" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text class="small" x="{x + 16:.1f}" y="{_HEIGHT - 10}">{escape(name)}</text>')
        x += 36 + 6.2 * len(name)
    return parts


def _below(label: str, x: float, place: int, step: float) -> str:
    """A label under a bar; every second one lower where they would run into each other."""
    lower = 16 if place % 2 and 6.5 * len(_short(label)) > step else 0
    y = _HEIGHT - _BOTTOM + 18 + lower
    return f'<text class="small" x="{x:.1f}" y="{y}" text-anchor="middle">{escape(_short(label))}</text>'


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)


def _ceiling(value: float) -> float:
    """The next round number at or above a value."""
    if value <= 0:
        return 1.0
    magnitude = 10 ** math.floor(math.log10(value))
    return next(step * magnitude for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * magnitude >= value * 1.0001)


def _number(value: float) -> str:
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
