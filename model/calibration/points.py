"""Systems with measured points: demands and responses of all of them, fitted together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from model.calibration.measured_points import LPAR, SystemPoints, as_frame, rows_of, system_points
from model.calibration.pooling import PooledDemand, Priors, pooled_demands
from model.calibration.regression import Z90, normal_samples, normal_scores, with_centre
from model.calibration.related_systems import (
    LOAD_SD,
    OTHER_SOFTWARE_SD,
    RESPONSE_QUANTILE,
    SAME_SOFTWARE_SD,
    Demands,
    MeasuredResponse,
    SystemDescription,
    demand_of_relative,
    deviation_sd,
    measured_response,
    nearest,
    response_of_relative,
    same_software,
)
from model.capacity.figures import figures_of
from model.capacity.parameters import DemandModel, NWay, Point, ResponseModel, SystemParameters, TransactionClass
from model.hardware.ratings import N_WAY_SD
from model.published.observations import condition_text, parse_condition

# A busy value that was assumed in rendering a published system carries this relative uncertainty.
ASSUMED_SD = 0.03
ASSUMED = "assumed at points without a published value, so its interval is wider"
EXHAUSTIVE_WITHIN = 1e-3


class NoPointsError(ValueError):
    """No system of the mart has a measured point that can be fitted."""


class CapacityModel:
    """Demands and responses of every system with measured points, with 90 % intervals.

    Parameters
    ----------
    descriptions
        Systems by id: who is related to whom, and what was published under which condition.
    priors
        Of the demand of a total.
    conformal
        Scale intervals so that they contain the points left out one at a time.

    Attributes
    ----------
    systems_
        By system id, the parameters that predictions need.
    demands_
        By system id and series, the moments of the demands.
    points_
        The measured points it was fitted on.
    left_out_
        Systems of the mart that cannot be calibrated, each with the reason.
    deviation_sd_
        How far ratios of address-space groups deviate from the ratio of the total, where the software is the same
        (True) and where it is another.
    """

    def __init__(
        self,
        descriptions: Mapping[str, SystemDescription] | None = None,
        priors: Priors | None = None,
        conformal: bool = True,
    ) -> None:
        self.descriptions = dict(descriptions or {})
        self.priors = priors or Priors()
        self.conformal = conformal

    def fit(self, points: Any) -> CapacityModel:
        """Fit every system of the mart of measured points that can be; the others are named in ``left_out_``.

        Parameters
        ----------
        points
            One row a point: ``system_id``, ``point``, ``etr_tps``, ``engines``, usage and response columns.

        Raises
        ------
        NoPointsError
            No system can be fitted.
        ValueError
            A required column is missing.
        """
        frame = as_frame(points)
        engines = {key: value.engines for key, value in self.descriptions.items()}
        observed, self.left_out_ = system_points(frame, engines)
        if not observed:
            reasons = "; ".join(self.left_out_.values()) or "no row has a system, a point and a rate above zero"
            raise NoPointsError(f"there is no measured point to fit: {reasons}")
        self.points_ = rows_of(frame, observed)
        about = {key: self.descriptions.get(key, SystemDescription(key)) for key in observed}
        families: dict[str, list[str]] = {}
        for key in observed:
            families.setdefault(about[key].workload or key, []).append(key)
        self.demands_: dict[str, dict[str, PooledDemand]] = {key: {} for key in observed}
        for members in families.values():
            self._fit_family([observed[key] for key in members], about)
        pairs: dict[bool, list[tuple[Demands, Demands]]] = {True: [], False: []}
        for one, other in chain.from_iterable(combinations(members, 2) for members in families.values()):
            pairs[same_software(about[one], about[other])].append((self.demands_[one], self.demands_[other]))
        priors = {True: SAME_SOFTWARE_SD, False: OTHER_SOFTWARE_SD}
        self.deviation_sd_ = {same: deviation_sd(some, priors[same]) for same, some in pairs.items()}
        self.systems_ = {}
        for members in families.values():
            for key in members:
                relatives = [other for other in members if other != key]
                self.systems_[key] = self._system(observed[key], about, relatives, observed)
        return self

    def _fit_family(self, members: list[SystemPoints], about: Mapping[str, SystemDescription]) -> None:
        for name in sorted({name for member in members for name in member.series}):
            having = [member for member in members if name in member.series]
            series = [member.series[name] for member in having]
            demands = pooled_demands(
                np.concatenate([s.rate for s in series]),
                np.concatenate([s.usage for s in series]),
                np.repeat(np.arange(len(series)), [len(s.rate) for s in series]),
                np.concatenate([s.error_rel for s in series]),
                self._priors(name, having),
                self.conformal,
            )
            for member, demand, measured in zip(having, demands, series, strict=True):
                metric = member.metrics[name][0]
                assumed = not all(about[member.system_id].measured(point, metric) for point in measured.point)
                if assumed:
                    demand = replace(demand, assumed=True, extra_rel=ASSUMED_SD, origin=ASSUMED)
                self.demands_[member.system_id][name] = replace(demand, total=measured.total)

    def _priors(self, name: str, members: list[SystemPoints]) -> Priors:
        if members[0].series[name].total:
            return self.priors
        shares = [member.series[name].reference / member.series[main_total(member)].reference for member in members]
        return self.priors.for_part(float(np.mean(shares)))

    def _system(
        self,
        points: SystemPoints,
        about: Mapping[str, SystemDescription],
        relatives: list[str],
        observed: Mapping[str, SystemPoints],
    ) -> SystemParameters:
        key = points.system_id
        demands = dict(self.demands_[key])
        metrics = dict(points.metrics)
        origins: dict[str, str] = {}
        for name in sorted({name for other in relatives for name in self.demands_[other]} - set(demands)):
            relative = nearest(about[key], [about[other] for other in relatives if name in self.demands_[other]])
            if relative is None:
                continue
            deviation, theirs = self.deviation_sd_[same_software(about[key], relative)], relative.system_id
            demand = demand_of_relative(name, self.demands_[key], self.demands_[theirs], theirs, deviation)
            if demand is not None:
                demands[name], origins[name] = demand, theirs
                metrics[name] = observed[theirs].metrics[name]
        responses = self._responses(points, about, relatives, observed)
        name = about[key].workload or key
        named = {*origins.values(), *(one.relative for one in responses.values() if one.relative)}
        sources = [about[other] for other in sorted(named)]
        main = main_total(points)
        capacity = LPAR if LPAR in demands else main
        parameters = SystemParameters(
            workload=about[key].workload,
            machine_type=about[key].machine,
            software=about[key].software,
            engines=float(points.engines),
            classes=(TransactionClass(name, workload=about[key].workload),),
            busy_components=(capacity,),
            busy_assumed=LPAR not in demands,
            support_tps=(float(points.rate.min()), float(points.rate.max())),
            n_way=n_way(key),
            main_total=main,
            exhaustive=exhaustive(points),
            operating_point=points.points[-1],
            demands={
                series: demand_model(demand, name, f"{key} {series}", metrics[series])
                for series, demand in demands.items()
            },
            responses={
                metric: response_model(one, metric, name, capacity, f"{key} {metric}")
                for metric, one in responses.items()
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
        relatives: list[str],
        observed: Mapping[str, SystemPoints],
    ) -> dict[str, MeasuredResponse]:
        key = points.system_id
        responses = measured_responses(points, about[key], self.demands_[key])
        if LPAR not in self.demands_[key]:
            return responses
        theirs = {other: measured_responses(observed[other], about[other], self.demands_[other]) for other in relatives}
        for metric in sorted({metric for response in theirs.values() for metric in response} - set(responses)):
            relative = nearest(about[key], [about[other] for other in relatives if metric in theirs[other]])
            if relative:
                response = theirs[relative.system_id][metric]
                responses[metric] = response_of_relative(response, relative.system_id)
        return responses


# Exponent of cost against engines on a machine without a rating, beforehand, and where the records show that busy
# engines make work dearer by no more than UNDISTURBED.
UNRATED_MEAN, UNRATED_SD = 0.04, 0.04
UNDISTURBED, UNDISTURBED_MEAN, UNDISTURBED_SD = 0.02, 0.01, 0.01


def demand_model(demand: PooledDemand, regressor: str, name: str, metrics: Sequence[str]) -> DemandModel:
    """The demand with its samples, 90 % of which are within its 90 % limits."""
    scale = demand.quantile * demand.inflation / Z90
    values, vectors = np.linalg.eigh((demand.cov + demand.cov.T) / 2.0)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    z = normal_scores(5, name)
    return DemandModel(
        regressor=regressor,
        reference_rate=demand.reference_rate,
        scale=demand.scale,
        support=demand.support,
        additive=not demand.total,
        total=demand.total,
        assumed=demand.assumed,
        points=demand.points,
        origin=demand.origin,
        metrics=tuple(metrics),
        coef=with_centre(demand.coef, demand.coef + scale * z[:, :3] @ root.T),
        noise=np.append(0.0, scale * np.hypot(demand.noise_rel, demand.extra_rel) * z[:, 3]),
        drift=np.append(0.0, scale * demand.drift_rel * z[:, 4]),
    )


def response_model(
    response: MeasuredResponse, metric: str, class_name: str, series: str, name: str
) -> ResponseModel:
    """The response with its samples: rest, its answer to load, scatter."""
    scale = RESPONSE_QUANTILE / Z90
    return ResponseModel(
        metric=metric,
        class_name=class_name,
        series=(series,),
        origin=response.origin,
        points=response.points,
        rest_ms=normal_samples(response.rest_ms, scale * response.rest_sd_ms, f"{name} rest"),
        load=normal_samples(0.0, scale * LOAD_SD, f"{name} load"),
        noise=normal_samples(0.0, scale * response.noise_rel, f"{name} noise"),
        measured_slowdown=response.slowdown,
        relative=response.relative,
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
    points: SystemPoints, description: SystemDescription, demands: Demands
) -> dict[str, MeasuredResponse]:
    """The responses that a system's own points give, by metric."""
    responses = {}
    for metric, values in points.responses.items() if LPAR in demands else ():
        published = [description.measured(point, metric) for point in points.points]
        usable = np.isfinite(values) & (values > 0) & np.array(published)
        if usable.any():
            errors = points.response_error_rel[metric][usable]
            one = measured_response(points.rate[usable], values[usable], errors, demands[LPAR], points.engines)
            if one is not None:
                responses[metric] = one
    return responses


def published_condition(
    description: SystemDescription, relatives: list[SystemDescription], points: SystemPoints, point: str, metric: str
) -> str:
    """The condition under which the metric is, or would be, published at the point.

    A metric that only a relative published takes the relative's condition with the own system's keys put in their
    places.
    """
    published = description.condition(point, metric)
    if published is not None:
        return published
    fallback = description.point_condition.get(point) or points.conditions.get(point) or f"point={point}"
    for relative in relatives:
        for name in relative.conditions:
            theirs = relative.condition(name, metric)
            if theirs is not None:
                return condition_text({**parse_condition(theirs), **parse_condition(fallback)})
    return fallback
