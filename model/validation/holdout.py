"""Leave one rate out: every measured point is predicted by a model fitted without it, and compared with its

measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from model.calibration.history import History
from model.calibration.measured_points import as_frame, rows_of, system_points
from model.calibration.points import CapacityModel
from model.calibration.related_systems import SystemDescription
from model.capacity import bundle as bundles
from model.capacity.answer import Output
from model.capacity.ask import predict
from model.capacity.figures import figures_of
from model.capacity.parameters import SystemParameters
from model.documents import finite
from model.isolation import each
from model.validation import origin
from model.validation.gate import FEWEST, Check, checks, passed

COLUMNS = [
    "system",
    "point",
    "etr_tps",
    "metric",
    "role",
    "measured",
    "predicted",
    "error_pct",
    "lo",
    "hi",
    "half_width_pct",
    "covered",
    "extrapolated",
]


@dataclass(frozen=True)
class Validation:
    """Errors on what was held out: ``table`` of points, ``histories`` of intervals; and a gate for each system.

    A system without an entry in ``gates`` had too little to hold out and is not judged. By system, ``replayed`` has how
    far recorded transactions are from replayed ones (:func:`model.validation.replay.judged`). ``drift`` are the
    champion's errors on days it had not seen, night by night. ``faults`` has the systems whose validation ended in an
    error.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    histories: pd.DataFrame
    gates: Mapping[str, tuple[Check, ...]]
    replayed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    drift: pd.DataFrame = field(default_factory=pd.DataFrame)
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[str, ...]:
        """Systems that were judged and did not pass."""
        return tuple(sorted(name for name, gate in self.gates.items() if not passed(gate)))

    @property
    def passed(self) -> bool:
        """Whether a model may be put in service: one system passed its gate, or none could be judged."""
        return not self.gates or len(self.failed) < len(self.gates)

    def verdict(self, system: str) -> dict[str, Any]:
        """``passed`` (None where not judged) and ``checks`` of a system's gate.

        ``baselines`` has for busy and each response the median errors of what was held out (later days, higher load),
        in percent, of the model and of the best baseline; ``replayed`` is the agreement of recorded with replayed
        transactions, where it was tried.
        """
        gate = self.gates.get(system)
        checks = [check.to_dict() for check in gate or ()]
        compared = self.histories[(self.histories["system"] == system) & self.histories["baseline"].astype(bool)]
        named = {"median_abs_error_pct": "model_pct", "scheme": "held_out"}
        columns = ["held_out", "metric", "class", "model_pct", "baseline", "baseline_pct"]
        baselines = _records(compared.rename(columns=named)[columns])
        seen = {"replayed": dict(self.replayed[system])} if system in self.replayed else {}
        verdict = {"passed": None if gate is None else passed(gate), "checks": checks, "baselines": baselines}
        return verdict | seen

    def errors(self) -> list[dict[str, Any]]:
        """Errors by system, what was held out, metric and class: ``n, error_pct, worst_pct, coverage, half_width_pct``.

        Of points these are the mean and the largest error, of intervals the median and the 95th percentile, with the
        best naive answer as ``baseline`` and its ``baseline_pct``.
        """
        points = self.summary[self.summary["system"] != "all"].assign(scheme="a measured point", **{"class": ""})
        named = {"mean_abs_error_pct": "error_pct", "max_abs_error_pct": "worst_pct"}
        named |= {"median_abs_error_pct": "error_pct", "p95_abs_error_pct": "worst_pct"}
        named |= {"mean_half_width_pct": "half_width_pct", "scheme": "held_out"}
        dropped = ["role", "bias_pct", "beats_baseline", "since"]
        tables = [
            table.drop(columns=dropped, errors="ignore").rename(columns=named) for table in (points, self.histories)
        ]
        return [row for table in tables for row in _records(table)]

    def without(self, faults: Mapping[str, str]) -> Validation:
        """The validation where a later stage failed for some of the systems: they pass no gate."""
        gates = {name: gate for name, gate in self.gates.items() if name not in faults}
        return replace(self, gates=gates, faults={**self.faults, **faults})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: ``rows, summary, histories, drift, gates, checks``, the last those of all gates."""
        return {
            "rows": _records(self.table),
            "summary": _records(self.summary),
            "histories": _records(self.histories),
            "drift": _records(self.drift),
            "passed": self.passed,
            "gates": {name: self.verdict(name) for name in sorted(self.gates)},
            "checks": [
                {"system": name, **check.to_dict()} for name in sorted(self.gates) for check in self.gates[name]
            ],
        }


def error_table(
    points: Any, descriptions: Mapping[str, SystemDescription] | None = None, model: CapacityModel | None = None
) -> pd.DataFrame:
    """Predicted against measured for every point of every system that has at least two.

    Intervals are calibrated anew without the held-out point, so that nothing of it reaches its own prediction. Values
    that were assumed in rendering a published system are neither compared nor do they make others comparable.

    Parameters
    ----------
    points
        The mart of measured points.
    descriptions
        Reference systems by id.
    model
        An unfitted model to validate; None for the standing one.

    Returns
    -------
    One row a point and metric: ``system, point, etr_tps, metric, role`` (total, part, response), ``measured,
    predicted, error_pct, lo, hi, half_width_pct, covered, extrapolated``.
    """
    systems, errors_of = _leave_one_out(points, descriptions, model)
    return _table([errors_of(system) for system in systems])


def _leave_one_out(
    points: Any, descriptions: Mapping[str, SystemDescription] | None, model: CapacityModel | None = None
) -> tuple[list[str], Callable[[str], list[dict[str, Any]]]]:
    """The systems that have at least two points, and what gives the rows of one of them."""
    prototype = CapacityModel(descriptions) if model is None else model
    described = prototype.descriptions
    frame = as_frame(points)
    if frame.empty:
        return [], lambda _: []
    frame = rows_of(frame, system_points(frame, {key: value.engines for key, value in described.items()})[0])
    counts = frame["system_id"].value_counts(sort=False)

    def errors_of(system: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        about = described.get(system, SystemDescription(system))
        for index, row in frame[frame["system_id"] == system].iterrows():
            fitted = CapacityModel(described, prototype.priors, prototype.conformal).fit(frame.drop(index=index))
            if system not in fitted.systems_:
                continue
            answer = predict(_bundle(fitted), system, {"etr_tps": float(row["etr_tps"])})
            point = str(row["point"])
            for metric, role in _compared(fitted.systems_[system]):
                if metric not in frame or not row[metric] > 0 or not about.measured(point, metric):
                    continue
                output = answer.output(metric)
                rows.append(_row(system, point, row, metric, role, output, answer.extrapolated))
        return rows

    return [str(name) for name in counts.index[counts >= 2]], errors_of


def _table(rows: list[list[dict[str, Any]]]) -> pd.DataFrame:
    return pd.DataFrame([row for of_system in rows for row in of_system], columns=COLUMNS)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Errors and coverage by system and metric, and by metric over all systems (system ``all``)."""
    columns = [
        "system",
        "metric",
        "role",
        "n",
        "mean_abs_error_pct",
        "max_abs_error_pct",
        "coverage",
        "mean_half_width_pct",
    ]
    if table.empty:
        return pd.DataFrame(columns=columns)
    groups = [
        ((system, metric, role), part) for (system, metric, role), part in table.groupby(["system", "metric", "role"])
    ]
    groups += [(("all", metric, role), part) for (metric, role), part in table.groupby(["metric", "role"])]
    rows = [
        [
            *key,
            len(part),
            float(part["error_pct"].abs().mean()),
            float(part["error_pct"].abs().max()),
            float(part["covered"].mean()),
            float(part["half_width_pct"].mean()),
        ]
        for key, part in groups
    ]
    return pd.DataFrame(rows, columns=columns)


def validate(
    points: Any,
    descriptions: Mapping[str, SystemDescription] | None = None,
    histories: Mapping[str, History] | None = None,
) -> Validation:
    """Points predicted from other points, later days and higher loads from the rest of a history; gates by system.

    A system whose validation ends in an error has no rows and no gate.
    """
    by_name = histories or {}
    systems, errors_of = _leave_one_out(points, descriptions)
    gates: dict[str, tuple[Check, ...]] = {}

    def of_points(name: str) -> list[dict[str, Any]]:
        rows = errors_of(name)
        if sum(row["role"] == "total" for row in rows) >= FEWEST:
            gates[name] = checks(_table([rows]))
        return rows

    def of_history(name: str) -> pd.DataFrame:
        frame = origin.held_out(by_name[name])
        gates.update({name: gate} if (gate := origin.checks(frame)) else {})
        return frame

    points_left_out, faults = each("validation", systems, of_points)
    intervals_left_out, others = each("validation", sorted(by_name), of_history)
    table = _table(list(points_left_out.values()))
    kept = [frame for frame in intervals_left_out.values() if len(frame)]
    over_time = pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=origin.COLUMNS)
    return Validation(table, summarise(table), over_time, gates, faults={**faults, **others})


def _compared(parameters: SystemParameters) -> list[tuple[str, str]]:
    """One metric for each component that was measured: a usage group's first column, a response's own."""
    figures: dict[str, tuple[str, str]] = {}
    for figure in figures_of(parameters):
        demand, response = parameters.demands.get(figure.series), parameters.responses.get(figure.series)
        if demand is not None and demand.points and not demand.assumed:
            figures.setdefault(figure.series, (figure.metric, "total" if demand.total else "part"))
        elif response is not None and response.points:
            figures.setdefault(figure.series, (figure.metric, "response"))
    return list(figures.values())


def _row(
    system: str, point: str, row: pd.Series, metric: str, role: str, output: Output | None, extrapolated: bool
) -> dict[str, Any]:
    measured = float(row[metric])
    figures = (None, None, None) if output is None else (output.value, output.lo, output.hi)
    predicted, lo, hi = (np.nan if figure is None else figure for figure in figures)
    return {
        "system": system,
        "point": point,
        "etr_tps": float(row["etr_tps"]),
        "metric": metric,
        "role": role,
        "measured": measured,
        "predicted": predicted,
        "error_pct": 100.0 * (predicted / measured - 1.0),
        "lo": lo,
        "hi": hi,
        "half_width_pct": 50.0 * (hi - lo) / measured,
        "covered": bool(lo <= measured and (np.isnan(hi) or measured <= hi)),
        "extrapolated": extrapolated,
    }


def _bundle(fitted: CapacityModel) -> dict[str, Any]:
    return bundles.build(fitted.systems_, model_version="held-out", data={}, validation={})


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(finite(row)) for row in frame.to_dict("records")]
