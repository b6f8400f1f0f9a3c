"""Differences between runs, and whether they are better, worse or within the band that counts as equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from model.studies.comparison.runs import ComparisonError, Figure, Metric, Run

#: Loads whose busy differs by no more than this, in percent points, are the same load.
SAME_LOAD_POINTS = 1.0
#: A difference of a CPU metric within ± 1 % counts as equal in the IMS 14 study, ± 3 % in the IMS V10 study.
BAND_PCT = 1.0


@dataclass(frozen=True)
class About:
    """What the catalogue of metrics says of one."""

    label: str
    unit: str
    better: str | None
    follows_load: bool
    subject: str | None


@dataclass(frozen=True)
class Band:
    """What counts as equal: within `pct` of the first run, or indistinguishable at `confidence`."""

    pct: float | None = BAND_PCT
    confidence: float | None = None

    def __post_init__(self) -> None:
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise ComparisonError(f"confidence {self.confidence:g} is not between 0 and 1")
        if self.confidence is None and (self.pct is None or self.pct < 0):
            raise ComparisonError("the band is a percentage of at least 0")

    @property
    def words(self) -> str:
        """How verdicts are reached."""
        if self.confidence is not None:
            return (
                f"equivalent: the difference lies within its {100 * self.confidence:g} % confidence interval around "
                "zero, from the variation between intervals (Welch); undecided: a run has one interval only"
            )
        return f"equivalent: within ± {self.pct:g} % of the first run"


@dataclass(frozen=True)
class Side:
    """One run's figure in a row; differences are from the first run, `half_width` that of their confidence interval."""

    figure: Figure | None
    delta: float | None = None
    delta_pct: float | None = None
    half_width: float | None = None
    verdict: str | None = None


@dataclass(frozen=True)
class Row:
    """A metric of every run."""

    metric: Metric
    about: About
    sides: Sequence[Side]


@dataclass(frozen=True)
class Comparison:
    """Runs side by side. `equal_busy` holds the rates that follow the load, put to one busy by linear scaling."""

    runs: Sequence[Run]
    band: Band
    rows: Sequence[Row]
    equal_busy_pct: float | None
    equal_busy: Sequence[Row]
    catalogue: Mapping[str, About]

    def row(self, name: str) -> Row | None:
        """The row of a metric, of the first workload that has it."""
        return next((row for row in self.rows if row.metric.name == name), None)


def compare(
    runs: Sequence[Run],
    catalogue: Mapping[str, About],
    band: Band | None = None,
    *,
    equal_busy_pct: float | None = None,
) -> Comparison:
    """Every metric that at least two runs share, each against the first run that has it.

    Args:
        runs: two or more; the first is what the others are compared with.
        catalogue: what is known of each metric, by name, in the order to show.
        band: what counts as equal.
        equal_busy_pct: the busy to which rates are put; that of the first run if None.

    Raises ComparisonError for fewer than two runs, and where no metric is shared.
    """
    if len(runs) < 2:
        raise ComparisonError("a comparison needs two runs at least: name another, or all points of a system with @*")
    if equal_busy_pct is not None and not 0 < equal_busy_pct <= 100:
        raise ComparisonError(f"equal busy of {equal_busy_pct:g} % is not between 0 and 100")
    chosen = band or Band()
    columns = _alike([run.figures for run in runs])
    busy = [figures.get(Metric(None, "cpu_busy_pct")) for figures in columns]
    loads = [_same_load(busy[0], other) for other in busy]
    order = {name: place for place, name in enumerate(catalogue)}
    metrics = sorted(
        {metric for figures in columns for metric in figures},
        key=lambda each: (order.get(each.name, len(order)), each.workload or "", each.subject or "", each.name),
    )
    rows = [
        _row(
            metric, catalogue, [figures.get(metric) for figures in columns], chosen, loads, _same_parts(metric, columns)
        )
        for metric in metrics
        if sum(metric in figures for figures in columns) > 1
    ]
    if not rows:
        raise ComparisonError(f"{' and '.join(run.name for run in runs)} have no metric in common")
    level = equal_busy_pct if equal_busy_pct is not None else (busy[0].value if busy[0] else None)
    scaled = [_at_equal_busy(row, busy, level, chosen) for row in rows if _is_rate(row.about)] if level else []
    at_equal_busy = tuple(row for row in scaled if row is not None)
    return Comparison(tuple(runs), chosen, tuple(rows), level, at_equal_busy, catalogue)


def _alike(columns: Sequence[Mapping[Metric, Figure]]) -> list[Mapping[Metric, Figure]]:
    """Metrics by name alone where every run has one workload, however each calls it."""
    if any(len({metric.workload for metric in figures} - {None}) > 1 for figures in columns):
        return list(columns)
    names = {metric.workload for figures in columns for metric in figures} - {None}
    if len(names) < 2:
        return list(columns)
    return [
        {Metric(None, metric.name, metric.subject): figure for metric, figure in figures.items()} for figures in columns
    ]


def _row(
    metric: Metric,
    catalogue: Mapping[str, About],
    figures: Sequence[Figure | None],
    band: Band,
    same_load: Sequence[bool],
    comparable: Sequence[bool],
) -> Row:
    """A row against its first figure. What follows the load is better or worse under the same load only."""
    about = catalogue.get(metric.name) or About(metric.name.replace("_", " "), "", None, False, None)
    base = figures[0]
    sides = [Side(base)]
    for figure, same, alike in zip(figures[1:], same_load[1:], comparable[1:], strict=True):
        better = about.better if same or not about.follows_load else None
        sides.append(_side(base, figure, better, band) if alike else Side(figure))
    return Row(metric, about, tuple(sides))


def _same_parts(metric: Metric, columns: Sequence[Mapping[Metric, Figure]]) -> list[bool]:
    """Whether each run's total adds up the same parts as the first run's; what is no total always compares.

    The subject of a total is `total`, with the job or the place that its parts have in common.
    """
    words = set((metric.subject or "").split())
    if "total" not in words:
        return [True] * len(columns)
    parts = [
        {
            other
            for other in figures
            if (other.workload, other.name) == (metric.workload, metric.name)
            and words - {"total"} <= (named := set((other.subject or "").split()))
            and "total" not in named
        }
        for figures in columns
    ]
    return [each == parts[0] for each in parts]


def _is_rate(about: About) -> bool:
    """Whether a metric is in proportion to the busy at constant cost: rates, and shares of engines."""
    return about.follows_load and (about.unit.endswith("/s") or about.unit.startswith("pct of one"))


def _same_load(base: Figure | None, other: Figure | None) -> bool:
    return base is not None and other is not None and abs(base.value - other.value) <= SAME_LOAD_POINTS


def _side(base: Figure | None, figure: Figure | None, better: str | None, band: Band) -> Side:
    if base is None or figure is None:
        return Side(figure)
    delta = figure.value - base.value
    delta_pct = 100 * delta / abs(base.value) if base.value else (0.0 if delta == 0 else None)
    half_width = _half_width(base, figure, band.confidence) if band.confidence is not None else None
    if band.confidence is not None:
        verdict = "undecided" if half_width is None else _verdict(delta, abs(delta) <= half_width, better)
    else:
        verdict = _verdict(delta, delta_pct is not None and abs(delta_pct) <= (band.pct or 0.0), better)
    return Side(figure, delta, delta_pct, half_width, verdict)


def _verdict(delta: float, within: bool, better: str | None) -> str:
    if within or delta == 0:
        return "equivalent"
    if better is None:
        return "different"
    return "better" if (delta > 0) == (better == "higher") else "worse"


def _half_width(a: Figure, b: Figure, confidence: float) -> float | None:
    """Half the width of Welch's confidence interval of the difference; None for a run of one interval."""
    if a.se is None or b.se is None:
        return None
    variance = a.se**2 + b.se**2
    if variance == 0:
        return 0.0
    freedom = variance**2 / (a.se**4 / (a.intervals - 1) + b.se**4 / (b.intervals - 1))
    return float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(variance)


def _scaled(figure: Figure, factor: float) -> Figure:
    return Figure(figure.value * factor, _times(figure.se, factor), figure.intervals)


def _at_equal_busy(row: Row, busy: Sequence[Figure | None], level: float, band: Band) -> Row | None:
    """The row with every figure scaled by `level` / busy of its run; the scatter of the busy itself is left out."""
    scaled = [
        _scaled(side.figure, level / each.value)
        if side.figure and each and each.value
        else None
        for side, each in zip(row.sides, busy, strict=True)
    ]
    if sum(figure is not None for figure in scaled) < 2:
        return None
    always = [True] * len(scaled)
    return _row(row.metric, {row.metric.name: row.about}, scaled, band, always, always)


def _times(se: float | None, factor: float) -> float | None:
    return None if se is None else se * factor
