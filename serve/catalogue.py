"""The systems of the champion, as the service describes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from model.capacity.bundle import askable, has_conditions, point_entry, system_entry
from model.capacity.evidence import machine_of
from model.capacity.figures import figures_of
from model.capacity.parameters import SystemParameters
from serve import options
from serve.schemas import Conditions, Models, ReferenceSystem, System, Systems


def systems(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """The systems that can be asked about, and every reference system with what is published of it."""
    return Systems(
        model_version=bundle["model_version"],
        systems=[
            describe(name, system_entry(bundle, name), has_conditions(bundle, name))
            for name in sorted(bundle["systems"])
        ],
        reference_systems=reference_systems(askable(bundle)),
    ).model_dump(mode="json", by_alias=True)


def models(bundle: Mapping[str, Any], versions: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The bundle without its systems and their laws, and the versions that were registered."""
    about = {key: value for key, value in bundle.items() if key not in ("systems", "conditions")}
    champion = {"role": "champion", **about, "systems": sorted(askable(bundle))}
    return Models.model_validate({"models": [champion], "versions": versions}).model_dump(mode="json")


def conditions(bundle: Mapping[str, Any], system: str) -> dict[str, Any]:
    """What can be asked of a system measured at conditions; nothing of one that was measured at loads alone.

    Raises:
        QuestionError: an unknown system.
    """
    if system not in askable(bundle):
        system_entry(bundle, system)
    changes, parts = options.of_conditions(bundle, system)
    return Conditions(system=system, options=changes, parts=parts).model_dump(mode="json")


def describe(name: str, parameters: SystemParameters, has_conditions: bool = False) -> System:
    """A system of the bundle as ``GET /v1/systems`` lists it."""
    metrics = [
        {"metric": figure.metric, "unit": figure.unit}
        for figure in figures_of(parameters)
        if figure.form != "total_rate" and not figure.class_name and not figure.station
    ]
    return System(
        system=name,
        workload=parameters.workload,
        machine=machine_of(parameters),
        software=parameters.software,
        engines=round(parameters.engines),
        operating_point=parameters.operating_point,
        operating_tps=_operating_tps(parameters),
        rates=sorted(point.etr_tps for point in parameters.points) or list(parameters.support_tps),
        points=[{"point": point.point, "etr_tps": point.etr_tps} for point in parameters.points],
        classes=[one.name for one in parameters.classes],
        workloads={one.name: one.workload for one in parameters.classes},
        metrics=metrics,
        main_metric=_main_metric(parameters),
        has_response=bool(parameters.responses),
        has_conditions=has_conditions,
        relatives=list(parameters.relatives),
        options=options.of_network(parameters),
        period=None if parameters.period is None else list(parameters.period),
        gate=None if parameters.gate is None else dict(parameters.gate),
    )


def reference_systems(predictable: Collection[str]) -> list[ReferenceSystem]:
    """Every reference system, whether or not the model can be asked about it."""
    # Loaded for the list of systems alone: an answer takes nothing of it.
    from model.published import catalogue

    return [
        ReferenceSystem(
            system=about.id,
            title=about.title,
            study=about.study,
            kind=about.class_,
            hardware=about.hardware,
            values=len(about.values),
            reproducible=about.reproducible,
            statements=len(about.figures) - len(about.values),
            predictable=about.id in predictable,
        )
        for about in map(catalogue.system, catalogue.systems())
    ]


def _operating_tps(parameters: SystemParameters) -> float:
    """The rate of the operating point, or of the recorded interval that stands for it."""
    if parameters.recorded is not None:
        return float(parameters.recorded.rates[:, parameters.peak].sum())
    return point_entry(parameters, parameters.operating_point).etr_tps


def _main_metric(parameters: SystemParameters) -> str:
    """The usage that fills the engines: the workload's total, or the busy of the LPAR."""
    by_series = {figure.series: figure.metric for figure in reversed(figures_of(parameters)) if figure.series}
    return str(by_series.get(parameters.main_total, "cpu_busy_pct"))
