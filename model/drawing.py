"""Charts as SVG, drawn alike in reports and validations: the same for the same figures, text as text.

Text is no mathematics: a name such as ``A$B$`` stands as it is. Names of what is drawn are given as :func:`label`.
"""

from __future__ import annotations

import io
import re

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

COLOURS = ("#0b6bab", "#c4560c", "#0a7d5a", "#9a4c86", "#8a6d00", "#b03a48", "#2b3a45", "#6b7a86")
WIDTH, HEIGHT = 8.6, 3.3
ACROSS, BESIDE = 136, 12
"""Characters that a line of the legend has room for, and those of a label's mark and of the space around it."""

_LABEL = "\0"


def label(name: str) -> str:
    """A name as the label of what is drawn: matplotlib leaves labels that begin with ``_`` out of legends."""
    return _LABEL + name


def drawing(up: str, across: str = "", title: str = "", height: float = HEIGHT) -> tuple[Figure, Axes]:
    """A figure with empty axes; names of the axes have their units."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=COLOURS)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def svg(figure: Figure) -> str:
    """The drawing with its legend below, to stand in a page or in a file of its own."""
    entries = [entry for axes in figure.axes for entry in zip(*axes.get_legend_handles_labels(), strict=True)]
    names = [str(name).removeprefix(_LABEL) for _, name in entries]
    if names:
        columns = max(min(ACROSS // (max(map(len, names)) + BESIDE), 4), 1)
        handles = [handle for handle, _ in entries]
        figure.legend(handles, names, fontsize=8, ncols=columns, loc="outside lower center", frameon=False)
    # Tick labels alone are written by matplotlib itself, powers of ten as mathematics.
    texts = [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
    for text in texts:
        text.set_parse_math(False)
    sink = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "etalon", "svg.fonttype": "none", "font.family": "sans-serif"}):
        FigureCanvasSVG(figure).print_svg(sink, metadata={"Date": None})
    drawn = re.sub(r"<metadata>.*?</metadata>", "", sink.getvalue(), flags=re.DOTALL)
    return drawn[drawn.index("<svg") :].replace("<svg ", '<svg role="img" aria-hidden="true" ', 1)
