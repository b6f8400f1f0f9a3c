"""What a version carries beside its bundle: tables, plots, networks and metrics of its validation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.isolation import Faults, each
from model.names import csv_cell, file_name, metric_key

if TYPE_CHECKING:
    from model.calibration.systems import Calibrated
    from model.validation.holdout import Validation

_OF_POINTS = ("mean_abs_error_pct", "max_abs_error_pct", "coverage", "mean_half_width_pct")


def write_evidence(
    fitted: Calibrated, validation: Validation, bundle: Mapping[str, Any], folder: Path
) -> tuple[dict[str, float], Faults]:
    """Write tables, plots and networks into ``folder``; the metrics, and why it fails for systems."""
    from model.validation.plots import write_plots

    tables = {"error_table": validation.table, "histories": validation.histories, "drift": validation.drift}
    for name, table in tables.items():
        cells = table.map(lambda value: csv_cell(value) if isinstance(value, str) else value)
        cells.to_csv(folder / f"{name}.csv", index=False)
    faults = write_plots(fitted.systems, validation, fitted.points, folder / "plots")
    faults |= _write_networks(bundle, folder / "networks")
    names = {*validation.summary["system"], *validation.histories["system"]}
    if len(validation.drift):
        names |= {*validation.drift["system"]}
    of_systems, others = each("metrics", sorted(names), lambda name: dict(_metrics(validation, name)))
    return {key: value for texts in of_systems.values() for key, value in texts.items()}, faults | others


def _write_networks(bundle: Mapping[str, Any], folder: Path) -> Faults:
    """The network of each system at its operating point, as TOML; none where that has no steady state."""
    from model.capacity.network_export import export_network
    from model.capacity.values import QuestionError

    folder.mkdir()

    def write(name: str) -> None:
        with suppress(QuestionError):
            network = export_network(bundle, name).network
            (folder / f"{file_name(name)}.toml").write_text(network.to_toml(), encoding="utf-8")

    return each("network", bundle["systems"], write)[1]


def _metrics(validation: Validation, system: str) -> Iterator[tuple[str, float]]:
    """Summary figures of a system as MLflow metrics, as far as they are finite.

    ``<system>/<metric>/<figure>``, of a history ``<system>/<scheme>/<metric>/<class>/<figure>``.
    """
    for row in validation.summary[validation.summary["system"] == system].to_dict("records"):
        yield from _figures(system, (row["metric"],), row, _OF_POINTS)
    if len(validation.drift):
        new = validation.drift[validation.drift["last"] == validation.drift["last"].max()]
        for row in new[new["system"] == system].to_dict("records"):
            where = ("champion on new days", row["metric"], row["class"])
            yield from _figures(system, where, row, ("median_abs_error_pct", "coverage"))
    for row in validation.histories[validation.histories["system"] == system].to_dict("records"):
        where = (row["scheme"], row["metric"], row["class"])
        yield from _figures(system, where, row, ("median_abs_error_pct", "baseline_pct"))


def _figures(
    system: str, where: Sequence[str], row: Mapping[str, Any], names: Sequence[str]
) -> Iterator[tuple[str, float]]:
    for name in names:
        if math.isfinite(row[name]):
            # An LPAR is called `system/SID`.
            yield metric_key(*system.split("/"), *filter(None, where), name), float(row[name])
