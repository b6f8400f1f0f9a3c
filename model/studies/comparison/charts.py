"""Bars, stacked bars and lines through runs, as SVG that stands alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 20, 44, 64
#: Distinguishable without colour vision (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
REST = "#cccccc"
_LONGEST_LABEL = 26
_STYLE = (
    "<style>text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:15px;font-weight:600}"
    ".small{font-size:11px}.grid{stroke:#ddd}.axis{stroke:#444}</style>"
)

Layers = Mapping[str, Sequence[tuple[float | None, str]]]
Marks = Sequence[tuple[float, float] | None]


def bars(title: str, labels: Sequence[str], values: Sequence[float | None]) -> str:
    """One bar for each label, its value above it."""
    return stacked(title, labels, {"": [(value, COLOURS[0]) for value in values]})


def stacked(title: str, labels: Sequence[str], layers: Layers) -> str:
    """Bars of layers, from the bottom up; each layer has a value and a colour for every label. None leaves a gap."""
    totals = [math.fsum(cells[place][0] or 0.0 for cells in layers.values()) for place in range(len(labels))]
    top = _ceiling(max([*totals, 0.0]))
    parts = _scale(top)
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
    return _picture(title, parts, {layer: cells[0][1] for layer, cells in layers.items() if layer})


def lines(title: str, across: str, up: str, labels: Sequence[str], series: Mapping[str, Marks]) -> str:
    """A mark for each run of a series, named where there is room; a line joins runs whose x rises or falls in order."""
    points = [point for marks in series.values() for point in marks if point]
    right, top = _ceiling(max(x for x, _ in points)), _ceiling(max(y for _, y in points))
    parts = _scale(top)

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
    parts.append(f'<text class="small" x="{_LEFT}" y="{_TOP - 8}" text-anchor="end">{up}</text>')
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(series)}
    taken: list[tuple[float, float, float, float]] = []
    for name, marks in series.items():
        seen = [(point, label) for point, label in zip(marks, labels, strict=True) if point]
        xs = [x for (x, _), _ in seen]
        if xs in (sorted(xs), sorted(xs, reverse=True)):
            path = " ".join(f"{at(x):.1f},{_y(y, top):.1f}" for (x, y), _ in seen)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>')
        for (x, y), label in seen:
            tip = escape(f"{label} {name}: {_number(y)} {up} at {_number(x)} {across}")
            parts.append(
                f'<circle cx="{at(x):.1f}" cy="{_y(y, top):.1f}" r="4" fill="{colours[name]}">'
                f"<title>{tip}</title></circle>"
            )
            parts += _beside(label, at(x), _y(y, top), taken)
    return _picture(title, parts, colours if len(colours) > 1 else {})


def _beside(label: str, x: float, y: float, taken: list[tuple[float, float, float, float]]) -> list[str]:
    """A label above or below a mark, or none where it would cover one in `taken`, to which it is added."""
    shown = _short(label)
    width = 6.2 * len(shown)
    left = x - 8 - width if x > _WIDTH * 0.75 else x + 8
    for base in (y - 7, y + 15):
        box = (left, base - 10, left + width, base + 2)
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            return [f'<text class="small" x="{left:.1f}" y="{base:.1f}">{escape(shown)}</text>']
    return []


def _picture(title: str, parts: Sequence[str], colours: Mapping[str, str]) -> str:
    """The drawing below its title, and below it the legend in as many lines as it needs."""
    legend, lines_used = _legend(colours)
    height = _HEIGHT + 17 * max(lines_used - 1, 0)
    return "".join([*_head(title, height), *parts, *legend, "</svg>"])


def _head(title: str, height: int) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">',
        _STYLE,
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
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


def _legend(colours: Mapping[str, str]) -> tuple[list[str], int]:
    """The legend, and how many lines it takes."""
    parts, x, line = [], float(_LEFT), 0
    for name, colour in colours.items():
        width = 36 + 6.2 * len(name)
        if x > _LEFT and x + width > _WIDTH:
            x, line = float(_LEFT), line + 1
        y = _HEIGHT - 20 + 17 * line
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text class="small" x="{x + 16:.1f}" y="{y + 10}">{escape(name)}</text>')
        x += width
    return parts, line + 1 if colours else 0


def _below(label: str, x: float, place: int, step: float) -> str:
    """A label under a bar; every second one lower where they would run into each other."""
    lower = 16 if place % 2 and 6.5 * len(_short(label)) > step else 0
    y = _HEIGHT - _BOTTOM + 18 + lower
    end = x + 3.1 * len(_short(label)) > _WIDTH
    place_x, anchor = (_WIDTH - 2.0, "end") if end else (x, "middle")
    return f'<text class="small" x="{place_x:.1f}" y="{y}" text-anchor="{anchor}">{escape(_short(label))}</text>'


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)


def _ceiling(value: float) -> float:
    """The next round number at or above a value."""
    if value <= 0:
        return 1.0
    magnitude = 10 ** math.floor(math.log10(value))
    return next(step * magnitude for step in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if step * magnitude >= value * 1.0001)


def _number(value: float) -> str:
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
