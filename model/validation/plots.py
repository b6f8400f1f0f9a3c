"""Pictures of the validation as SVG: held-out values and days, usage against rate, residuals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from model.capacity.answer import Estimate
from model.capacity.figures import figures_of
from model.capacity.parameters import SystemParameters
from model.capacity.state import engines_in_use
from model.drawing import drawing, label, svg
from model.isolation import Faults, each, together
from model.names import file_name
from model.validation.holdout import Validation

HEIGHT = 5.0


def write_plots(
    systems: Mapping[str, SystemParameters], validation: Validation, points: pd.DataFrame, folder: Path
) -> Faults:
    """Write every plot there is data for, without the systems of which one fails; equal inputs give equal files.

    Parameters
    ----------
    systems
        ``CapacityModel.systems_``.
    validation
        Errors of points, of histories, and of champions on new days.
    points
        The measured points, as ``as_frame`` gives them.
    folder
        Where to write; made if absent.

    Returns
    -------
    Why plots fail, by system.
    """
    folder.mkdir(parents=True, exist_ok=True)
    faults: Faults = {}
    for name, rows, draw in (
        ("held_out", validation.table, _held_out),
        ("residuals", validation.table, _residuals),
        ("histories", validation.histories, _histories),
        ("drift", validation.drift, _drift),
    ):
        if len(rows):
            faults |= _of_systems(rows, draw, folder / f"{name}.svg")
    # A system that is kept from the champion may have no points now.
    measured = set(points["system_id"]) if len(points) else set()
    with_points = [system for system, parameters in sorted(systems.items()) if parameters.points and system in measured]
    faults |= each("plot", with_points, lambda system: _usage(system, systems[system], points, folder))[1]
    return faults


def _of_systems(rows: pd.DataFrame, draw: Callable[[pd.DataFrame, Path], None], path: Path) -> Faults:
    names = [str(name) for name in rows["system"].unique()]
    return together("plot", names, lambda chosen: draw(rows[rows["system"].isin(chosen)], path))[1]


def _held_out(table: pd.DataFrame, path: Path) -> None:
    totals = table[table["role"] != "response"]
    figure, axes = drawing("predicted", "measured", "Held-out points: predicted with 90 % interval", HEIGHT)
    for metric, part in totals.groupby("metric"):
        errors = np.abs(np.stack([part["predicted"] - part["lo"], part["hi"] - part["predicted"]]))
        axes.errorbar(
            part["measured"], part["predicted"], yerr=errors, fmt="o", markersize=3, capsize=2, label=label(str(metric))
        )
    ends = [float(totals["measured"].min()) * 0.8, float(totals["measured"].max()) * 1.2]
    axes.plot(ends, ends, color="0.6", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _save(figure, path)


def _residuals(table: pd.DataFrame, path: Path) -> None:
    figure, axes = drawing("error, %", "transactions/s", "Errors of held-out points", HEIGHT)
    for (system, metric), part in table.groupby(["system", "metric"]):
        axes.plot(
            part["etr_tps"],
            part["error_pct"],
            marker="o",
            markersize=3,
            linewidth=0.6,
            label=label(f"{system} {metric}"),
        )
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    _save(figure, path)


def _histories(histories: pd.DataFrame, path: Path) -> None:
    """Median errors on days and loads left out against those of the best naive way; below the line the model wins."""
    figure, axes = drawing("median error, %", "median error of the best baseline, %", "Held-out intervals", HEIGHT)
    for (scheme, metric), part in histories.groupby(["scheme", "metric"]):
        axes.plot(
            part["baseline_pct"],
            part["median_abs_error_pct"],
            "o",
            markersize=3,
            label=label(f"{metric} of {scheme}"),
        )
    axes.axline((1.0, 1.0), (10.0, 10.0), color="0.6", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _save(figure, path)


def _drift(drift: pd.DataFrame, path: Path) -> None:
    figure, axes = drawing("median error, %", "until", "Champions on days after their calibration", HEIGHT)
    for (system, metric, name), part in drift.groupby(["system", "metric", "class"]):
        axes.plot(
            pd.to_datetime(part["last"]).to_numpy(),
            part["median_abs_error_pct"],
            marker="o",
            markersize=3,
            label=label(" ".join(filter(None, (str(system), str(metric), str(name))))),
        )
    figure.autofmt_xdate()
    _save(figure, path)


def _usage(system: str, parameters: SystemParameters, points: pd.DataFrame, folder: Path) -> None:
    points = points[points["system_id"] == system]
    figure, axes = drawing("engines in use", "transactions/s", f"{system}: engines in use", HEIGHT)
    rates = np.linspace(0.05, 1.3, 60) * float(points["etr_tps"].max())
    for name, law in sorted(parameters.demands.items()):
        used = engines_in_use(law, np.broadcast_to(rates, (len(law.noise), len(rates))))
        estimates = [Estimate.of(used[:, i]) for i in range(len(rates))]
        curve = np.array([[one.value, one.lo, one.hi] for one in estimates])
        (line,) = axes.plot(
            rates, curve[:, 0], linewidth=1.0, label=label(name if law.points else f"{name} (borrowed)")
        )
        axes.fill_between(rates, curve[:, 1], curve[:, 2], color=line.get_color(), alpha=0.15, linewidth=0)
        metric = next(figure.metric for figure in figures_of(parameters) if figure.series == name)
        if metric in points:
            measured = points[metric] / 100.0
            if metric == "cpu_busy_pct":
                measured = measured * parameters.engines
            elif metric.endswith("_us_per_tran"):
                measured = points[metric] * points["etr_tps"] * 1e-6
            axes.plot(points["etr_tps"], measured, "o", markersize=3, color=line.get_color())
    axes.axhline(parameters.engines, color="0.6", linewidth=0.8, linestyle="--")
    _save(figure, folder / f"usage-{file_name(system)}.svg")


def _save(figure: Figure, path: Path) -> None:
    path.write_text(svg(figure), encoding="utf-8")
