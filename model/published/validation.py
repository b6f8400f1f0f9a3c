"""Leave one level out: every level of every condition is predicted from the rest, with intervals scaled without it.

The baseline of each error is a naive answer: the mean of the neighbouring levels, the value at the system's other named
level, or that of a sibling at the same level. Levels within the measured ones are a family apart from the first and the
last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from model.capacity.adjustments import ITR, RATES
from model.published.hyperparameters import FIT_ITERATIONS, REFIT_ITERATIONS, fitted
from model.published.leave_one_out import Figure, LeftOut, left_out, scales
from model.published.observations import Study
from model.published.prediction import Predictor
from model.published.tables import PEAK, Tables, kind_of, spans

STRUCTURE = "structure"
"""The condition of the structure of a coupling facility, whose rates and service times are a family of their own."""
LEAST_CASES = 3
ROUNDING = 1e-6
FAMILIES = {
    "s": "time", "ms": "time", "us": "time", "SU": "CPU", "engine time": "CPU", "1/s": "rate", "tran/s": "rate",
    "buffers": "buffers", "storage": "storage",
}  # fmt: skip
HEADS = {
    "name": "family", "cases": "cases", "zeros": "zeros", "median_pct": "median %", "p95_pct": "95 %",
    "naive_median_pct": "naive %", "naive_p95_pct": "naive 95 %", "coverage_pct": "covered %",
    "half_width_pct": "half-width %", "as_printed_pct": "as printed %", "better_than_naive": "no worse",
}  # fmt: skip


@dataclass(frozen=True)
class StudyValidation:
    """The errors of predictions of figures that were left out.

    Attributes
    ----------
    cases : DataFrame
        A row for each figure: system, table, family, metric, condition, what was left out (`left_out`), `measured`,
        `predicted` with limits `lo` and `hi`, the `naive` answer, `rounding` (half a unit of the last printed digit),
        `error_pct`, `naive_error_pct` and `half_width_pct` (in per cent of the measured value, NaN where that is zero),
        whether it is `covered`, and whether the prediction is `as_printed`.
    families : DataFrame
        A row for each sort of metric over numeric or over named levels, see `summary`.
    unjudged : tuple of str
        Systems with too few figures to be judged.
    """

    cases: pd.DataFrame
    families: pd.DataFrame
    unjudged: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "families": _plain(self.families),
            "coverage_pct": 100.0 * float(self.cases.covered.mean()),
            "unjudged_systems": list(self.unjudged),
            "cases": _plain(self.cases.drop(columns=["half_width_pct", "covered", "as_printed"])),
        }

    def to_text(self) -> str:
        """A table by family, then what could not be judged."""
        better = self.families.better_than_naive
        table = self.families.assign(better_than_naive=np.where(better, "", "worse"))
        return "\n".join(
            (
                table.rename(columns=HEADS).to_string(index=False, float_format="{:.2f}".format),
                f"no worse than the naive answer, in the median or at 95 %, in {better.sum()} of {len(better)} "
                f"families; {100.0 * self.cases.covered.mean():.0f} % covered",
                "values measured as zero have no error in %: only coverage and `as printed` count them",
                f"too few points to be judged: {', '.join(self.unjudged) or 'none'}",
            )
        )


def validate(study: Study) -> StudyValidation:
    """Leave every level out once."""
    tables = Tables(study.rows)
    start = Predictor(tables, study.facts, choose=fitted(FIT_ITERATIONS)).hyperparameters()
    experiments = left_out(tables, study.facts, fitted(REFIT_ITERATIONS, start))
    figures = [figure for experiment in experiments for figure in experiment.figures()]
    rows = []
    for experiment in experiments:
        rescaled = experiment.rescaled(scales(figures, experiment.cells))
        rows += [_case(experiment, figure) for figure in rescaled.figures()]
    cases = judged(pd.DataFrame(rows))
    counts = {row.system: 0 for row in study.rows if row.judged}
    counts |= {} if cases.empty else cases.system.value_counts().to_dict()
    unjudged = tuple(sorted(system for system, count in counts.items() if count < LEAST_CASES))
    return StudyValidation(cases, summary(cases), unjudged)


def judged(cases: pd.DataFrame) -> pd.DataFrame:
    """Cases with their errors, half-widths and coverage, see `StudyValidation`."""
    if cases.empty:
        return cases.assign(family=[], measured=[], covered=[])
    size = cases.measured.abs().where(cases.measured != 0)
    slack = np.where(cases.measured != 0, ROUNDING * cases.measured.abs(), cases.rounding)
    return cases.assign(
        error_pct=100.0 * (cases.predicted - cases.measured).abs() / size,
        naive_error_pct=100.0 * (cases.naive - cases.measured).abs() / size,
        half_width_pct=50.0 * (cases.hi - cases.lo).abs() / size,
        covered=(cases.lo - slack <= cases.measured) & (cases.measured <= cases.hi + slack),
        as_printed=(cases.predicted - cases.measured).abs() <= cases.rounding + ROUNDING * cases.measured.abs(),
    )


def summary(cases: pd.DataFrame) -> pd.DataFrame:
    """Errors by family, in per cent.

    What is measured as zero has no error in per cent: such cases, `zeros` of all `cases`, count for the shares alone.
    A family is `better_than_naive` where it is at least as good in the median, or in the large errors; with zeros alone
    there is nothing to compare.
    """
    rows = []
    for name, group in cases.groupby("family"):
        row = {
            "name": name,
            "cases": len(group),
            "zeros": int((group.measured == 0).sum()),
            "median_pct": group.error_pct.median(),
            "p95_pct": group.error_pct.quantile(0.95),
            "naive_median_pct": group.naive_error_pct.median(),
            "naive_p95_pct": group.naive_error_pct.quantile(0.95),
            "coverage_pct": 100.0 * group.covered.mean(),
            "half_width_pct": group.half_width_pct.median(),
            "as_printed_pct": 100.0 * group.as_printed.mean(),
        }
        nearer = row["median_pct"] <= row["naive_median_pct"] + 1e-9 or row["p95_pct"] < row["naive_p95_pct"]
        rows.append({**row, "better_than_naive": nearer or row["zeros"] == row["cases"]})
    return pd.DataFrame(rows)


def _case(experiment: LeftOut, figure: Figure) -> dict[str, Any]:
    table, cell = experiment.table, figure.cell
    unit = table.unit(cell)
    family = FAMILIES.get(unit if unit in FAMILIES else kind_of(cell.metric, unit), "other")
    if cell.metric in (*RATES, ITR):
        family = "ITR" if cell.metric == ITR else "throughput"
    elif cell.level(STRUCTURE) is not None:
        family = "coupling facility"
    elif cell.metric.startswith(PEAK):
        family += " peaks"
    return {
        "system": cell.system, "table": cell.block[1], "family": f"{family}, {_place(experiment, figure)}",
        "metric": cell.metric, "condition": table.condition(cell), "left_out": experiment.name,
        "measured": figure.measured, "predicted": figure.value, "lo": figure.low, "hi": figure.high,
        "naive": figure.naive, "rounding": table.rows[cell].rounding,
    }  # fmt: skip


def _place(experiment: LeftOut, figure: Figure) -> str:
    """Where the left-out level lies among the others."""
    if experiment.single:
        return "single figures"
    rest, cell = experiment.predictor.tables.blocks[figure.cell.block], figure.cell
    if cell.x is None or experiment.name.partition("=")[0] != rest.covariate:
        return "named levels"
    points = rest.series(cell)
    return "levels within" if points and spans(points, cell.x) else "levels beyond"


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with None for what is no number."""
    rows: list[dict[str, Any]] = frame.to_dict("records")
    return [{key: None if isinstance(x, float) and math.isnan(x) else x for key, x in row.items()} for row in rows]
