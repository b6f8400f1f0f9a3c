"""The capacity model: usage and response laws of every measured system, fitted together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from model.calibration.descriptions import SystemDescription
from model.calibration.measured_points import LPAR, SystemPoints, as_frame, rows_of, system_points
from model.calibration.pooling import Priors
from model.calibration.related_systems import (
    OTHER_SOFTWARE_SD,
    SAME_SOFTWARE_SD,
    Laws,
    deviation_sd,
    nearest,
    response_of_relative,
    same_software,
    usage_of_relative,
)
from model.calibration.response import fit_response
from model.calibration.samples import normal_samples, response_draws, usage_draws
from model.calibration.usage_law import usage
from model.calibration.utilization import UtilizationLaw
from model.capacity.figures import figures_of
from model.capacity.parameters import DemandModel, NWay, Point, SystemParameters, TransactionClass
from model.hardware.ratings import N_WAY_SD
from model.published.observations import condition_text, parse_condition

# A busy value that was assumed in rendering a published system carries this relative uncertainty.
ASSUMED_SD = 0.03
ASSUMED = "assumed at points without a published value, so its interval is wider"
EXHAUSTIVE_WITHIN = 1e-3


class NoPointsError(ValueError):
    """No system of the mart has a measured point that can be fitted."""


class CapacityModel(BaseEstimator):
    """Demand per transaction and address-space group, fixed parts and response of every system, with 90 % intervals.

    ``fit`` takes the mart of measured points (one row a point: ``system_id``, ``point``, ``etr_tps``, ``engines``,
    usage and response columns). ``predict`` takes rows of ``system_id`` and ``etr_tps`` and gives the engines in use
    by the system's total.

    Args:
        descriptions: systems by id: who is related to whom, and what was published under which condition.
        priors: of a total; None for the standing ones.
        calibrate: stretch intervals to hold the points left out one at a time.

    Attributes:
        systems_: by system id, the parameters that predictions need.
        laws_: by system id and series, the moments of the usage laws.
        points_: the measured points it was fitted on.
        left_out_: systems of the mart that cannot be calibrated, each with the reason.
        deviation_sd_: how far ratios of address-space groups deviate from the ratio of the total, where the software
            is the same (True) and where it is another.
    """

    def __init__(
        self,
        descriptions: Mapping[str, SystemDescription] | None = None,
        priors: Priors | None = None,
        calibrate: bool = True,
    ) -> None:
        self.descriptions = descriptions
        self.priors = priors
        self.calibrate = calibrate

    def fit(self, X: Any, y: None = None) -> CapacityModel:
        """Fit every system of the mart that can be; the others are named in ``left_out_``.

        Raises:
            NoPointsError: no system can be fitted.
            ValueError: a required column is missing.
        """
        known = dict(self.descriptions or {})
        frame = as_frame(X)
        observed, self.left_out_ = system_points(frame, {key: value.engines for key, value in known.items()})
        if not observed:
            reasons = "; ".join(self.left_out_.values()) or "no row has a system, a point and a rate above zero"
            raise NoPointsError(f"there is no measured point to fit: {reasons}")
        self.points_ = rows_of(frame, observed)
        about = {key: known.get(key, SystemDescription(key)) for key in observed}
        families: dict[str, list[str]] = {}
        for key in observed:
            families.setdefault(about[key].workload or key, []).append(key)
        laws: dict[str, dict[str, dict[str, Any]]] = {key: {} for key in observed}
        for members in families.values():
            self._fit_family([observed[key] for key in members], about, laws)
        pairs: dict[bool, list[tuple[Laws, Laws]]] = {True: [], False: []}
        for one, other in chain.from_iterable(combinations(members, 2) for members in families.values()):
            pairs[same_software(about[one], about[other])].append((laws[one], laws[other]))
        priors = {True: SAME_SOFTWARE_SD, False: OTHER_SOFTWARE_SD}
        self.deviation_sd_ = {same: deviation_sd(found, priors[same]) for same, found in pairs.items()}
        self.laws_ = laws
        self.systems_ = {}
        for members in families.values():
            for key in members:
                relatives = [other for other in members if other != key]
                self.systems_[key] = self._system(observed[key], about, laws, relatives, observed)
        return self

    def predict(self, X: Any, return_interval: bool = False) -> Any:
        """Engines in use by each row's system at its rate, shape (n,); ``return_interval`` adds both 90 % limits."""
        check_is_fitted(self, "systems_")
        frame = X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X)
        rows = [
            self.usage_at(str(key), float(rate)) for key, rate in zip(frame["system_id"], frame["etr_tps"], strict=True)
        ]
        values = np.array(rows, dtype=np.float64).reshape(-1, 3)
        return (values[:, 0], values[:, 1], values[:, 2]) if return_interval else values[:, 0]

    def score(self, X: Any, y: Any) -> float:
        """Coefficient of determination of the predicted engines in use."""
        return float(r2_score(y, self.predict(X)))

    def usage_at(self, system: str, rate: float) -> tuple[float, float, float]:
        """Engines in use by the system's main total at a rate, with its 90 % limits."""
        if system not in self.systems_:
            raise ValueError(f"system {system!r} was not fitted; known are {', '.join(sorted(self.systems_))}")
        estimate = usage(self.laws_[system][self.systems_[system].main_total], rate)
        return estimate.value, estimate.lo, estimate.hi

    def _fit_family(
        self,
        members: list[SystemPoints],
        about: Mapping[str, SystemDescription],
        laws: dict[str, dict[str, dict[str, Any]]],
    ) -> None:
        for name in sorted({name for member in members for name in member.series}):
            having = [member for member in members if name in member.series]
            series = [member.series[name] for member in having]
            rates = np.concatenate([s.rate for s in series])
            codes = np.repeat(range(len(series)), [len(s.rate) for s in series])
            law = UtilizationLaw(self._priors(name, having), self.calibrate).fit(
                np.column_stack([rates, codes]),
                np.concatenate([s.usage for s in series]),
                np.concatenate([s.error_rel for s in series]),
            )
            for member, fitted in zip(having, law.laws_, strict=True):
                own = member.series[name]
                metric = member.metrics[name][0]
                assumed = not all(about[member.system_id].measured(point, metric) for point in own.point)
                fitted |= {"total": own.total, "part": not own.total, "assumed": assumed, "origin": "measured"}
                if assumed:
                    fitted |= {"extra_rel": ASSUMED_SD, "origin": ASSUMED}
                laws[member.system_id][name] = fitted

    def _priors(self, name: str, members: list[SystemPoints]) -> Priors:
        base = self.priors or Priors()
        if members[0].series[name].total:
            return base
        shares = [member.series[name].reference / member.series[main_total(member)].reference for member in members]
        return base.for_part(float(np.mean(shares)))

    def _system(
        self,
        points: SystemPoints,
        about: Mapping[str, SystemDescription],
        laws: Mapping[str, dict[str, dict[str, Any]]],
        relatives: list[str],
        observed: Mapping[str, SystemPoints],
    ) -> SystemParameters:
        key = points.system_id
        own = laws[key]
        metrics = dict(points.metrics)
        taken: dict[str, dict[str, Any]] = {}
        origins: dict[str, str] = {}
        for name in sorted({name for other in relatives for name in laws[other]} - set(own)):
            relative = nearest(about[key], [about[other] for other in relatives if name in laws[other]])
            law = None
            if relative:
                deviation = self.deviation_sd_[same_software(about[key], relative)]
                law = usage_of_relative(name, own, laws[relative.system_id], relative.system_id, deviation)
            if relative and law:
                taken[name], origins[name] = law, relative.system_id
                metrics[name] = observed[relative.system_id].metrics[name]
        usages = {**own, **taken}
        response = self._responses(points, about, laws, relatives, observed)
        name = about[key].workload or key
        named = {*origins.values(), *(law["relative"] for law in response.values() if "relative" in law)}
        sources = [about[other] for other in sorted(named)]
        main = main_total(points)
        capacity = LPAR if LPAR in usages else main
        parameters = SystemParameters(
            workload=about[key].workload,
            machine_type=about[key].machine,
            software=about[key].software,
            engines=float(points.engines),
            classes=(TransactionClass(name, workload=about[key].workload),),
            busy_components=(capacity,),
            busy_assumed=LPAR not in usages,
            support_tps=(float(points.rate.min()), float(points.rate.max())),
            n_way=n_way(key),
            main_total=main,
            exhaustive=exhaustive(points),
            operating_point=points.points[-1],
            demands={
                series: demand_model(law, name, f"{key} {series}", metrics[series]) for series, law in usages.items()
            },
            responses={
                metric: response_draws(law, metric, name, [capacity], f"{key} {metric}")
                for metric, law in response.items()
            },
            intervals=points.intervals,
            seconds=points.seconds,
            relatives=tuple(sorted(relatives)),
        )
        names = [figure.metric for figure in figures_of(parameters)]
        return replace(
            parameters,
            points=tuple(
                Point(
                    point=point,
                    etr_tps=float(rate),
                    rates={name: float(rate)},
                    conditions={
                        metric: published_condition(about[key], sources, points, point, metric) for metric in names
                    },
                )
                for point, rate in zip(points.points, points.rate, strict=True)
            ),
        )

    def _responses(
        self,
        points: SystemPoints,
        about: Mapping[str, SystemDescription],
        laws: Mapping[str, dict[str, dict[str, Any]]],
        relatives: list[str],
        observed: Mapping[str, SystemPoints],
    ) -> dict[str, dict[str, Any]]:
        found = measured_responses(points, about[points.system_id], laws[points.system_id])
        if LPAR not in laws[points.system_id]:
            return found
        theirs = {other: measured_responses(observed[other], about[other], laws[other]) for other in relatives}
        for metric in sorted({metric for response in theirs.values() for metric in response} - set(found)):
            relative = nearest(
                about[points.system_id], [about[other] for other in relatives if metric in theirs[other]]
            )
            if relative:
                found[metric] = response_of_relative(theirs[relative.system_id][metric], relative.system_id)
                found[metric]["relative"] = relative.system_id
        return found


# Exponent of cost against engines on a machine without a rating, beforehand, and where the records show that busy
# engines make work dearer by no more than UNDISTURBED.
UNRATED_MEAN, UNRATED_SD = 0.04, 0.04
UNDISTURBED, UNDISTURBED_MEAN, UNDISTURBED_SD = 0.02, 0.01, 0.01


def demand_model(law: Mapping[str, Any], regressor: str, name: str, metrics: Sequence[str]) -> DemandModel:
    """A fitted usage law with its samples."""
    return DemandModel(
        regressor=regressor,
        reference_rate=law["reference_rate"],
        scale=law["scale"],
        support=(law["support"][0], law["support"][1]),
        additive=law["part"],
        total=law["total"],
        assumed=law["assumed"],
        points=law["points"],
        origin=law["origin"],
        metrics=tuple(metrics),
        **usage_draws(law, name),
    )


def n_way(name: str, busy_growth: float = math.inf) -> NWay:
    """The n-way effect of a workload, as exponents of cost against the number of engines: around the ratings of a rated
    machine, and on one without a rating, where more engines do not make work cheaper.

    ``busy_growth`` is the growth of cost, from no engine busy to all, that the records do not rule out. Where it is
    small, so is the exponent: most of the n-way effect is that busy engines disturb each other.
    """
    disturbed = busy_growth > UNDISTURBED
    mean, sd = (UNRATED_MEAN, UNRATED_SD) if disturbed else (UNDISTURBED_MEAN, UNDISTURBED_SD)
    rated, unrated = normal_samples(0.0, N_WAY_SD, f"{name} n-way"), normal_samples(mean, sd, f"{name} n-way")
    return NWay(unrated=np.append(0.0, unrated[1:]), rated=rated)


def main_total(points: SystemPoints) -> str:
    """The series that stands for the system: the workload's own total, else the LPAR, else the largest group."""
    totals = [name for name, series in points.series.items() if series.total and name != LPAR]
    if totals:
        return min(totals)
    if LPAR in points.series:
        return LPAR
    return max(points.series, key=lambda name: points.series[name].reference)


def exhaustive(points: SystemPoints) -> bool:
    """Whether the groups add up to the main total at every point, so that predictions must add up too."""
    total = points.series[main_total(points)]
    parts = [series for series in points.series.values() if not series.total]
    if not parts or any(part.point != total.point for part in parts):
        return False
    return bool(np.allclose(sum(part.usage for part in parts), total.usage, rtol=EXHAUSTIVE_WITHIN, atol=0.0))


def measured_responses(
    points: SystemPoints, description: SystemDescription, laws: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The response laws a system's own measured responses give."""
    if LPAR not in laws:
        return {}
    found = {}
    for metric, values in points.responses.items():
        published = [description.measured(point, metric) for point in points.points]
        known = np.isfinite(values) & (values > 0) & np.array(published)
        if known.any():
            errors = points.response_error_rel[metric][known]
            law = fit_response(points.rate[known], values[known], errors, laws[LPAR], points.engines)
            if law:
                found[metric] = law
    return found


def published_condition(
    description: SystemDescription, relatives: list[SystemDescription], points: SystemPoints, point: str, metric: str
) -> str:
    """The condition under which the metric is, or would be, published at the point.

    A metric that only a relative published takes the relative's condition with the own system's keys put in their
    places.
    """
    own = description.condition(point, metric)
    if own is not None:
        return own
    fallback = description.point_condition.get(point) or points.conditions.get(point) or f"point={point}"
    for relative in relatives:
        for name in relative.conditions:
            theirs = relative.condition(name, metric)
            if theirs is not None:
                return condition_text({**parse_condition(theirs), **parse_condition(fallback)})
    return fallback
