"""Cases with real measurements: fit as the case says, predict what it holds back, compare with its stated baseline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tests.cases.answer import Answer, extras_only
from tests.cases.inputs import CaseError, first
from tests.oracles.demand_estimation import estimate_demands, mean_absolute_percentage_error
from tests.oracles.scaling import fit_scaling

Model = dict[str, Any]


def _percentages(text: str) -> list[float]:
    return [float(x) / 100 for x in re.findall(r"(\d+(?:\.\d+)?)\s*%", text)]


def solve_measured_xy(model: Model, expected: dict[str, Any], folder: Path) -> Answer:
    """A curve of throughput against load: fit the first points, predict those held back."""
    data = _points(model, folder)
    use = str(expected.get("use", ""))
    match = re.search(r"first\s+(\d+)", use)
    fitted = int(match[1]) if match else max(round(0.7 * len(data)), 3)
    if not 3 <= fitted < len(data):
        raise CaseError(f"cannot fit {fitted} of {len(data)} points")
    last_only = re.search(r"predict the last\b(?!\s+\d)", use) is not None
    held = data[-1:] if last_only else data[fitted:]
    # Predictions are judged by their relative errors.
    model_fit = fit_scaling(data[:fitted, 0], data[:fitted, 1], relative=True)
    predicted = model_fit.throughput(held[:, 0])
    error = mean_absolute_percentage_error(predicted, held[:, 1])
    stated = _percentages(use)
    baseline = stated[-1] if stated else None
    figures = {
        "fitted_points": fitted, "model": model_fit.name, "parameters": model_fit.parameters, "load": held[:, 0],
        "measured": held[:, 1], "predicted": predicted, "error_rel": error, "baseline_error_rel": baseline,
    }  # fmt: skip
    return Answer(
        extras_only({"use": figures, "predicted": predicted, "error": error}),
        exact=False,
        method=model_fit.name,
        passes=lambda tolerance: error <= (baseline if baseline is not None else float(tolerance.get("rel", 0.1))),
    )


def _points(model: Model, folder: Path) -> np.ndarray:
    if "data" in model:
        return np.asarray(model["data"], dtype=float)
    files = first(model, "file", "files")
    if files is None:
        raise CaseError("measured_xy needs data or a file")
    table = np.genfromtxt(folder / (files if isinstance(files, str) else files[0]), delimiter=",", names=True)
    names = table.dtype.names or ()
    x, y = str(model.get("x", names[0])), str(model.get("y", names[1]))
    return np.column_stack((table[x], table[y]))


def solve_demand_estimation(model: Model, expected: dict[str, Any], folder: Path) -> Answer:
    """Demands from utilisation and rates: fit the first part of the time, predict the utilisation of the rest."""
    utilisation, rates, names = _intervals(model, folder)
    use = str(expected.get("use", ""))
    split = re.search(r"(\d+)\s*/\s*(\d+)", use)
    share = float(split[1]) / (float(split[1]) + float(split[2])) if split else 0.7
    cut = int(share * len(utilisation))
    # Errors are wanted in per cent, so an interval counts by one over its utilisation squared.
    fit = estimate_demands(rates[:cut], utilisation[:cut], True, weights=1 / utilisation[:cut] ** 2)
    plain = estimate_demands(rates[:cut], utilisation[:cut])
    error = mean_absolute_percentage_error(fit.utilisation(rates[cut:]), utilisation[cut:])
    plain_error = mean_absolute_percentage_error(plain.utilisation(rates[cut:]), utilisation[cut:])
    stated = re.findall(r"->[^%]*?(\d+(?:\.\d+)?)\s*%|MAPE\s+(\d+(?:\.\d+)?)\s*%", use) + re.findall(
        r"->\s*(\d+(?:\.\d+)?)\s*%()", use
    )
    baselines = [float(a or b) / 100 for a, b in stated]
    baseline = min(baselines) if baselines else None
    figures = {
        "classes": names, "fitted_intervals": cut, "demands": fit.demands, "intercept": fit.intercept,
        "holdout_mape": error, "demands_without_intercept": plain.demands,
        "holdout_mape_without_intercept": plain_error, "baseline_mape": baseline,
    }  # fmt: skip
    # The baseline is printed to a tenth of a per cent.
    return Answer(
        extras_only({"use": figures, "demands": fit.demands, "holdout_mape": error}),
        exact=False,
        method="non-negative least squares of the utilisation law, relative errors, with intercept",
        passes=lambda tolerance: (
            error <= (baseline + 0.0005 if baseline is not None else float(tolerance.get("rel", 1)))
        ),
    )


def _intervals(model: Model, folder: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Utilisation (intervals,), completion rates (intervals, classes) and class names."""
    files = [str(f) for f in first(model, "files", default=[])]
    ready = next((f for f in files if "interval" in f.lower()), None)
    if ready is not None:
        table = np.genfromtxt(folder / ready, delimiter=",", names=True)
        names = table.dtype.names or ()
        columns = [n for n in names if n.startswith("rate")]
        busy = next(n for n in names if "util" in n)
        return table[busy], np.column_stack([table[n] for n in columns]), columns
    busy_file = next((f for f in files if "UTIL" in f.upper()), None)
    response_files = [f for f in files if "RESPONSE" in f.upper()]
    if busy_file is None or not response_files:
        raise CaseError("demand_estimation needs an interval file, or a utilisation file and response-time files")
    busy = np.loadtxt(folder / busy_file, delimiter=",")
    ends = _seconds(busy[:, 0])
    edges = ends
    rates = []
    for name in response_files:
        arrivals = np.loadtxt(folder / name, delimiter=",")
        counts, _ = np.histogram(_seconds(arrivals[:, 0]), edges)
        rates.append(counts / np.diff(edges))
    return busy[1:, 1], np.column_stack(rates), [Path(f).stem for f in response_files]


def _seconds(epoch: np.ndarray) -> np.ndarray:
    """Epoch seconds from seconds or milliseconds."""
    return epoch / 1000 if np.median(epoch) > 1e11 else epoch
