"""Bars, stacked bars and lines through runs, and their drawing as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.drawing import COLOURS, drawing, label, svg

REST = "#cccccc"
LONGEST_NAME = 26

Layers = Mapping[str, Sequence[tuple[float | None, str]]]
Marks = Sequence[tuple[float, float] | None]


@dataclass(frozen=True)
class Bars:
    """Bars of layers, from the bottom up.

    Attributes
    ----------
    title : str
    runs : sequence of str
        Names below the bars.
    layers : mapping of str to sequence of (value, colour)
        For every run; None leaves a gap. A layer without a name is not in the legend.
    """

    title: str
    runs: Sequence[str]
    layers: Layers

    def svg(self) -> str:
        """The drawing."""
        figure, axes = drawing("", title=self.title)
        places, reached = np.arange(len(self.runs)), np.zeros(len(self.runs))
        for layer, cells in self.layers.items():
            heights = np.array([value or 0.0 for value, _ in cells])
            name = label(layer) if layer else None
            axes.bar(places, heights, 0.6, reached, color=[colour for _, colour in cells], label=name)
            reached += heights
        for place, total in zip(places, reached, strict=True):
            if total:
                axes.annotate(f"{total:,.4g}", (place, total), (0, 2), textcoords="offset points", ha="center")
        axes.set_xticks(places, list(map(_short, self.runs)), rotation=20 if len(self.runs) > 5 else 0)
        return svg(figure)


@dataclass(frozen=True)
class Lines:
    """A mark for each run of a series; a line joins runs whose x rises or falls in order.

    Attributes
    ----------
    title, across, up : str
        Names of the drawing and of its axes.
    runs : sequence of str
        Names beside the marks.
    series : mapping of str to sequence of (x, y)
        For every run; None where it has no mark.
    """

    title: str
    across: str
    up: str
    runs: Sequence[str]
    series: Mapping[str, Marks]

    def svg(self) -> str:
        """The drawing."""
        figure, axes = drawing(self.up, self.across, self.title)
        for name, marks in self.series.items():
            xs, ys = zip(*[mark for mark in marks if mark], strict=True)
            joined = list(xs) in (sorted(xs), sorted(xs, reverse=True))
            axes.plot(xs, ys, "o-" if joined else "o", label=label(name) if len(self.series) > 1 else None)
            for run, mark in zip(self.runs, marks, strict=True):
                if mark:
                    axes.annotate(_short(run), mark, (5, 4), textcoords="offset points", fontsize=7)
        axes.set_xlim(0, 1.1 * max(mark[0] for marks in self.series.values() for mark in marks if mark))
        axes.set_ylim(bottom=0)
        return svg(figure)


def bars(title: str, runs: Sequence[str], values: Sequence[float | None]) -> Bars:
    """One bar for each run."""
    return Bars(title, runs, {"": [(value, COLOURS[0]) for value in values]})


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
