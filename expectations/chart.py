"""Busy of the engines over the intervals of a system, as a small inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 720, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 8, 10, 22
_MOST_MARKS = 80


@dataclass(frozen=True)
class Interval:
    """Busy of one interval; `adjoins` says whether it follows the one before without a hole."""

    label: str
    busy_pct: float
    adjoins: bool
    suspect: bool = False


def busy_chart(intervals: Sequence[Interval], title: str) -> str:
    """SVG of busy by interval, in their order: a line broken at holes, suspect intervals marked."""
    if not intervals:
        return ""
    top = _ceiling(max(interval.busy_pct for interval in intervals))
    span = max(len(intervals) - 1, 1)

    def x(position: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (position / span if len(intervals) > 1 else 0.5)

    def y(busy: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - busy / top)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">']
    for step in range(3):
        value = top * step / 2
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        )
        parts.append(f'<text class="axis" x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}%</text>')
    pieces: list[list[str]] = []
    for position, interval in enumerate(intervals):
        if not pieces or not interval.adjoins:
            pieces.append([])
        pieces[-1].append(f"{x(position):.1f},{y(interval.busy_pct):.1f}")
    parts += [f'<polyline class="busy" points="{" ".join(piece)}"/>' for piece in pieces]
    for position, interval in enumerate(intervals):
        if interval.suspect or len(intervals) <= _MOST_MARKS:
            kind = "suspect" if interval.suspect else "mark"
            tip = escape(f"{interval.label}: {interval.busy_pct:.2f} %")
            at = f'cx="{x(position):.1f}" cy="{y(interval.busy_pct):.1f}"'
            parts.append(
                f'<circle class="{kind}" {at} r="{4 if interval.suspect else 2.5}"><title>{tip}</title></circle>'
            )
    ends = ((intervals[0].label, _LEFT, "start"), (intervals[-1].label, _WIDTH - _RIGHT, "end"))
    for label, at_x, anchor in ends if len(intervals) > 1 else ends[:1]:
        parts.append(f'<text class="axis" x="{at_x}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{escape(label)}</text>')
    return "".join([*parts, "</svg>"])


def _ceiling(value: float) -> float:
    """Top of the scale: 100 for busy systems, a round number just above the peak for idle ones."""
    if value > 50:
        return max(100.0, value)
    magnitude = 10 ** math.floor(math.log10(max(value, 0.1)))
    return next(step * magnitude for step in (1, 2, 5, 10) if step * magnitude >= value)
