"""Leave one level out: every level of every condition is predicted from the rest, with intervals scaled without it.

Beside each error stands that of a naive answer: the mean of the neighbouring levels, the value at the system's other
named level, or that of a sibling at the same level. Levels within the measured ones are judged apart from the first and
the last.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.capacity.adjustments import ITR, RATES
from model.published.hyperparameters import FIT_ITERATIONS, REFIT_ITERATIONS, fitted
from model.published.leave_one_out import Figure, LeftOut, left_out, scales
from model.published.observations import Study
from model.published.prediction import Predictor
from model.published.tables import PEAK, Tables, kind_of, spans

STRUCTURE = "structure"
"""Names the structure of a coupling facility, whose rates and service times are a family of their own."""
LEAST_CASES = 3
ROUNDING = 1e-6
FAMILIES = {
    "s": "time", "ms": "time", "us": "time", "SU": "CPU", "engine time": "CPU", "1/s": "rate", "tran/s": "rate",
    "buffers": "buffers", "storage": "storage",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One value that was left out, with its prediction and the naive one."""

    system: str
    table: str
    family: str
    metric: str
    condition: Mapping[str, str]
    left_out: str
    measured: float
    predicted: float
    lo: float
    hi: float
    naive: float
    rounding: float

    @property
    def error_pct(self) -> float:
        """Distance from the measured value in per cent of it; NaN where that is zero."""
        return _distance_pct(self.predicted, self.measured)

    @property
    def naive_error_pct(self) -> float:
        """The same of the naive prediction."""
        return _distance_pct(self.naive, self.measured)

    @property
    def half_width_pct(self) -> float:
        """Half the 90 % interval in per cent of the measured value."""
        return _distance_pct(self.hi, self.lo, self.measured) / 2.0

    @property
    def covered(self) -> bool:
        """Whether the interval holds the measured value, or what is printed as zero."""
        slack = ROUNDING * abs(self.measured) if self.measured else self.rounding
        return self.lo - slack <= self.measured <= self.hi + slack

    @property
    def as_printed(self) -> bool:
        """Whether the prediction is the measured value, as far as its digits tell."""
        return abs(self.predicted - self.measured) <= self.rounding + ROUNDING * abs(self.measured)


@dataclass(frozen=True)
class Family:
    """Errors of one sort of metric over numeric or over named levels, in per cent.

    What is measured as zero has no error in per cent: such cases, `zeros` of all `cases`, count for the shares alone.
    `as_printed_pct` says how many predictions are the measured value as far as its digits tell.
    """

    name: str
    cases: int
    zeros: int
    median_pct: float
    p95_pct: float
    naive_median_pct: float
    naive_p95_pct: float
    coverage_pct: float
    half_width_pct: float
    as_printed_pct: float

    @property
    def better(self) -> bool:
        """Whether the laws are at least as good as the naive answer in the median, or in the large errors.

        With zeros alone there is nothing to compare, and it is not said to be worse.
        """
        nearer = self.median_pct <= self.naive_median_pct + 1e-9 or self.p95_pct < self.naive_p95_pct
        return nearer or self.zeros == self.cases


@dataclass(frozen=True)
class StudyValidation:
    """All cases, their families, and the systems that have too few points to be judged."""

    cases: tuple[Case, ...]
    families: tuple[Family, ...]
    unjudged: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "families": [_plain({**vars(family), "better_than_naive": family.better}) for family in self.families],
            "coverage_pct": 100.0 * float(np.mean([case.covered for case in self.cases])),
            "unjudged_systems": list(self.unjudged),
            "cases": [
                _plain({name: getattr(case, name) for name in (*vars(case), "error_pct", "naive_error_pct")})
                for case in self.cases
            ],
        }

    def to_text(self) -> str:
        """A table by family, then what could not be judged."""
        head = (
            "family                            cases  zeros  median %   95 %  naive %   95 %  covered %  half-width %  "
            "as printed %"
        )
        lines = [head] + [
            f"{f.name:33} {f.cases:5} {f.zeros:6} {f.median_pct:9.2f} {f.p95_pct:6.1f} {f.naive_median_pct:8.2f} "
            f"{f.naive_p95_pct:6.1f} {f.coverage_pct:10.0f} {f.half_width_pct:13.2f} "
            f"{f.as_printed_pct:13.0f}" + ("" if f.better else "  worse")
            for f in self.families
        ]
        better = sum(family.better for family in self.families)
        covered = 100.0 * float(np.mean([case.covered for case in self.cases]))
        lines.append(
            f"no worse than the naive answer, in the median or at 95 %, in {better} of {len(self.families)} families; "
            f"{covered:.0f} % covered"
        )
        lines.append(
            "values measured as zero have no error in %: only whether they are held, and as printed, is counted"
        )
        lines.append(f"too few points to be judged: {', '.join(self.unjudged) or 'none'}")
        return "\n".join(lines)


def validate(study: Study) -> StudyValidation:
    """Leave every level out once; a series that two tables have counts once."""
    whole = Tables(study.rows)
    first = Predictor(whole, study.facts, choose=fitted(FIT_ITERATIONS))
    start = first.hyperparameters()
    experiments = left_out(whole, study.facts, fitted(REFIT_ITERATIONS, start))
    figures = [figure for experiment in experiments for figure in experiment.figures()]
    cases = []
    for experiment in experiments:
        rescaled = experiment.rescaled(scales(figures, experiment.cells))
        cases += [_case(experiment, figure) for figure in rescaled.figures()]
    by_family: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_family[case.family].append(case)
    families = tuple(family_of(name, cases_of_family) for name, cases_of_family in sorted(by_family.items()))
    counts = {row.system: 0 for row in study.rows if row.judged}
    for case in cases:
        counts[case.system] += 1
    unjudged = tuple(sorted(system for system, count in counts.items() if count < LEAST_CASES))
    return StudyValidation(tuple(cases), families, unjudged)


def _how(experiment: LeftOut, figure: Figure) -> str:
    """Where what was left out lies among what was not."""
    if experiment.single:
        return "single figures"
    rest, cell = experiment.predictor.tables.blocks[figure.cell.block], figure.cell
    if cell.x is None or experiment.name.partition("=")[0] != rest.covariate:
        return "named levels"
    points = rest.series(cell)
    return "levels within" if points and spans(points, cell.x) else "levels beyond"


def _case(experiment: LeftOut, figure: Figure) -> Case:
    table, cell = experiment.table, figure.cell
    unit = table.unit(cell)
    kind = unit if unit in FAMILIES else kind_of(cell.metric, unit)
    family = FAMILIES.get(kind, "other")
    if cell.metric in (*RATES, ITR):
        family = "ITR" if cell.metric == ITR else "throughput"
    elif cell.level(STRUCTURE) is not None:
        family = "coupling facility"
    elif cell.metric.startswith(PEAK):
        family += " peaks"
    return Case(
        cell.system,
        cell.block[1],
        f"{family}, {_how(experiment, figure)}",
        cell.metric,
        table.condition(cell),
        experiment.name,
        figure.measured,
        figure.value,
        figure.low,
        figure.high,
        figure.naive,
        table.rows[cell].rounding,
    )


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values with None for what is no number."""
    return {name: None if value != value else value for name, value in values.items()}


def family_of(name: str, cases: list[Case]) -> Family:
    """Errors, limits and digits of some cases."""
    above = [case for case in cases if case.measured]
    errors = [case.error_pct for case in above] or [math.nan]
    naive = [case.naive_error_pct for case in above] or [math.nan]
    return Family(
        name,
        len(cases),
        len(cases) - len(above),
        float(np.median(errors)),
        float(np.quantile(errors, 0.95)),
        float(np.median(naive)),
        float(np.quantile(naive, 0.95)),
        100.0 * float(np.mean([case.covered for case in cases])),
        float(np.median([case.half_width_pct for case in above] or [math.nan])),
        100.0 * float(np.mean([case.as_printed for case in cases])),
    )


def _distance_pct(one: float, other: float, base: float | None = None) -> float:
    size = abs(other if base is None else base)
    return 100.0 * abs(one - other) / size if size else math.nan
