"""The pictures benchmark papers print of runs side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.drawing import COLOURS, drawing, label, svg
from model.studies.comparison.runs import Figure, Metric, Run
from model.studies.comparison.verdicts import SAME_LOAD_POINTS, Comparison, Row

REST = "#cccccc"
LONGEST_NAME = 26

Layers = Mapping[str, Sequence[tuple[float | None, str]]]
Marks = Sequence[tuple[float, float] | None]
_WHOLE, _PART = "cpu_us_per_tran", "_cpu_us_per_tran"
_SERVICE, _UNCAPTURED = "service_cpu_us_per_tran", "uncaptured_us_per_tran"
_UNKNOWN = "#aaaaaa"
#: Areas drawn apart; the smallest beyond them are taken together.
_MOST_AREAS = len(COLOURS) - 1


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


def figures(comparison: Comparison) -> dict[str, str]:
    """Every picture the figures allow as SVG, by file name without ending."""
    return {name: picture.svg() for name, picture in pictures(comparison).items()}


def pictures(comparison: Comparison) -> dict[str, Bars | Lines]:
    """What can be drawn of the figures, by file name without ending."""
    names = labels(comparison.runs)
    drawn: dict[str, Bars | Lines] = {}
    for name, metric, title in (
        ("itr", "itr_tps", "Internal transaction rate, transactions/s"),
        ("cpu-busy", "cpu_busy_pct", "CPU busy, %"),
    ):
        row = comparison.row(metric)
        if row is not None:
            drawn[name] = bars(title, names, _values(row))
    busy = _busy_against_rate(comparison.runs)
    if busy:
        drawn["cpu-busy-against-rate"] = Lines("CPU busy against rate", "transactions/s", "%", names, busy)
    for unit, name in (("ms", "response"), ("s", "response-s")):
        responses = _responses(comparison.runs, unit)
        if responses:
            drawn[name] = Lines("Response against rate", "transactions/s", unit, names, responses)
    parts = _components(comparison.runs)
    if parts:
        drawn["cpu-per-transaction"] = Bars("CPU per transaction by component, µs", names, parts)
    for row in comparison.rows:
        if _is_duration(row):
            title = f"{row.about.label}, {row.about.unit}"
            drawn[row.metric.name.replace("_", "-")] = bars(title, names, _values(row))
    areas = _areas(comparison)
    if areas:
        drawn["storage"] = Bars("Storage in use by area, MB (1,024 KB)", names, areas)
    return drawn


def labels(runs: Sequence[Run]) -> list[str]:
    """Names of runs without what all have in common."""
    systems = {run.system for run in runs}
    if len(systems) == 1:
        return [run.name.partition("@")[2] or run.name for run in runs]
    return [run.system if len(systems) == len(runs) else run.name for run in runs]


def _values(row: Row) -> list[float | None]:
    return [side.figure.value if side.figure else None for side in row.sides]


def _busy_against_rate(runs: Sequence[Run]) -> dict[str, Marks]:
    """Rate and busy of every run, a series for each system; nothing unless some system was measured at two loads."""
    busy = Metric(None, "cpu_busy_pct")
    series = _by_system(runs, [_mark(run, None, run.figures.get(busy)) for run in runs])
    loads = [[mark[1] for mark in marks if mark] for marks in series.values()]
    return series if any(max(each) - min(each) > SAME_LOAD_POINTS for each in loads) else {}


def _responses(runs: Sequence[Run], unit: str) -> dict[str, Marks]:
    """Rate and response of every run, a series for each response and system; nothing for one mark alone.

    Responses of WLM classes and devices are left out, and those that are zero, as nobody recorded them.
    """
    metrics = dict.fromkeys(metric for run in runs for metric in run.figures if _is_response(metric.name, unit))
    several = len({run.system for run in runs}) > 1
    series: dict[str, Marks] = {}
    for metric in metrics:
        of_runs = [run.figures.get(metric) for run in runs]
        marks = [
            _mark(run, metric.workload, figure) if figure and figure.value else None
            for run, figure in zip(runs, of_runs, strict=True)
        ]
        for system, of_system in _by_system(runs, marks).items():
            name = _plain(metric.name.removesuffix(f"_{unit}")) + (f" {metric.subject}" if metric.subject else "")
            series[f"{name}, {system}" if several else name] = of_system
    drawn = sum(mark is not None for marks in series.values() for mark in marks)
    return series if drawn > 1 else {}


def _is_response(name: str, unit: str) -> bool:
    if name.startswith(("wlm_", "dasd_")):
        return False
    return name in (f"transit_{unit}", f"response_avg_{unit}") or name.endswith(f"_response_{unit}")


def _by_system(runs: Sequence[Run], marks: Marks) -> dict[str, Marks]:
    systems = dict.fromkeys(run.system for run in runs)
    series: dict[str, Marks] = {}
    for system in systems:
        of_system = [mark if run.system == system else None for run, mark in zip(runs, marks, strict=True)]
        if any(of_system):
            series[system] = of_system
    return series


def _mark(run: Run, workload: str | None, figure: Figure | None) -> tuple[float, float] | None:
    """The rate of the workload, or of the only one there is, and a figure."""
    rates = {each.workload: rate.value for each, rate in run.figures.items() if each.name == "etr_tps"}
    rate = rates.get(workload) if workload in rates else next(iter(rates.values())) if len(rates) == 1 else None
    return None if rate is None or figure is None else (rate, figure.value)


def _components(runs: Sequence[Run]) -> Layers:
    """CPU per transaction of every address-space group, and the rest of the whole system's.

    A run without groups is one bar. Of several workloads in a run the first is taken, with its share of uncaptured CPU
    in place of the rest: what the whole system does is not the cost of one of them.
    """
    wholes = [_whole(run) for run in runs]
    if sum(whole is not None for whole in wholes) < 2:
        return {}
    by_run = [dict(_groups(run, whole.workload)) if whole else {} for run, whole in zip(runs, wholes, strict=True)]
    names = list(dict.fromkeys(name for groups in by_run for name in groups))
    if not names:
        return {"": [(whole.us if whole else None, COLOURS[0]) for whole in wholes]}
    layers: dict[str, Sequence[tuple[float | None, str]]] = {}
    for place, name in enumerate(names):
        layers[_plain(name)] = [(groups.get(name), COLOURS[place % len(COLOURS)]) for groups in by_run]
    paired = list(zip(wholes, by_run, strict=True))
    for rest in dict.fromkeys(whole.rest for whole in wholes if whole):
        layers[rest] = [
            (
                max(whole.us - math.fsum(groups.values()), 0.0) if whole and groups and whole.rest == rest else None,
                REST,
            )
            for whole, groups in paired
        ]
    unknown = [(whole.us if whole and not groups else None, _UNKNOWN) for whole, groups in paired]
    if any(value is not None for value, _ in unknown):
        layers["whole system, components not known"] = unknown
    return layers


@dataclass(frozen=True)
class _Whole:
    """CPU per transaction of a workload, and what of it no group of the workload used."""

    workload: str | None
    us: float
    rest: str


def _whole(run: Run) -> _Whole | None:
    """The whole system's CPU per transaction, or own CPU and share of uncaptured of the first of several workloads."""
    values = {(metric.workload, metric.name): figure.value for metric, figure in run.figures.items()}
    for (workload, name), value in values.items():
        if name == _WHOLE:
            return _Whole(workload, value, "rest of the system")
    for (workload, name), value in values.items():
        if name == _SERVICE:
            return _Whole(workload, value + values.get((workload, _UNCAPTURED), 0.0), "share of uncaptured")
    return None


def _groups(run: Run, workload: str | None) -> Iterator[tuple[str, float]]:
    for metric, figure in run.figures.items():
        if metric.workload == workload and metric.name.endswith(_PART) and metric.name != _SERVICE and figure.value:
            yield metric.name.removesuffix(_PART), figure.value


def _is_duration(row: Row) -> bool:
    """Whether a row is the time something took, as a whole."""
    name, subject = row.metric.name, row.metric.subject
    timed = name.endswith("elapsed_s") or (name.startswith("msc_") and name.endswith("_s"))
    return timed and subject in (None, "total") and any(_values(row))


def _areas(comparison: Comparison) -> Layers:
    """Mean storage by area in MB, below and above 16 MB together, of the areas that every run with storage has.

    Totals and figures without a location are left out: they are made of the others or overlap them.
    """
    rows = [row for row in comparison.rows if row.metric.name == "storage_kb" and _is_area(row)]
    with_storage = [any(row.sides[place].figure for row in rows) for place in range(len(comparison.runs))]
    sums: dict[str, list[float]] = {}
    for row in rows:
        values = _values(row)
        if all(value is not None for value, has_storage in zip(values, with_storage, strict=True) if has_storage):
            name = _plain((row.metric.subject or "").removesuffix(" below").removesuffix(" above"))
            added = sums.setdefault(name, [0.0] * len(values))
            sums[name] = [before + (value or 0.0) / 1024 for before, value in zip(added, values, strict=True)]
    large = sorted(sums, key=lambda name: -max(sums[name]))[:_MOST_AREAS]
    layers: dict[str, Sequence[tuple[float | None, str]]] = {
        name: [(value, COLOURS[place]) for value in sums[name]] for place, name in enumerate(large)
    }
    small = [values for name, values in sums.items() if name not in large]
    if small:
        layers["other areas"] = [(math.fsum(values), REST) for values in zip(*small, strict=True)]
    return layers


def _is_area(row: Row) -> bool:
    words = (row.metric.subject or "").split()
    return len(words) > 1 and words[-1] in ("below", "above") and "total" not in words


def _plain(name: str) -> str:
    return name.replace("_", " ")
