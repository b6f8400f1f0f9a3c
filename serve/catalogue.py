"""What the champion knows of each system, in the words of the service."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from model.systems.overview import overview
from serve.schemas import ReferenceSystem, System


def describe(name: str, entry: Mapping[str, Any]) -> System:
    """A system of the bundle as ``GET /v1/systems`` lists it."""
    metrics = [
        {"metric": output["metric"], "unit": output["unit"]}
        for output in entry["outputs"]
        if output["form"] != "total_rate"
    ]
    return System(
        system=name,
        workload=entry["workload"],
        machine=entry["machine"],
        software=entry.get("software", ""),
        engines=entry["engines"],
        operating_point=str(entry["operating_point"]),
        rates=sorted(point["etr_tps"] for point in entry["points"]),
        points=[{"point": point["point"], "etr_tps": point["etr_tps"]} for point in entry["points"]],
        metrics=metrics,
        main_metric=_main(entry),
        has_response=bool(entry["response"]),
        relatives=list(entry["relatives"]),
    )


def reference_systems(predictable: Collection[str]) -> list[ReferenceSystem]:
    """Every reference system, whether or not the model can be asked about it."""
    return [
        ReferenceSystem(
            system=about.system,
            title=about.title,
            study=about.study,
            kind=about.class_,
            hardware=about.hardware,
            values=about.values,
            reproducible=about.reproducible,
            statements=about.statements,
            predictable=about.system in predictable,
        )
        for about in overview()
    ]


def _main(entry: Mapping[str, Any]) -> str:
    """The usage that fills the engines: the workload's total, or the busy of the LPAR."""
    main = [output["metric"] for output in entry["outputs"] if output.get("series") == entry["main_total"]]
    return main[0] if main else entry["outputs"][-1]["metric"]
