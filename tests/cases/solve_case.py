"""One case file solved, compared with what it expects and checked by simulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from model.network import NetworkError
from model.network.simulator import SimulationError, simulate
from tests.cases import closed_cases, hard_cases, measured_cases, open_cases, single_station, special_cases
from tests.cases.answer import Answer, Check
from tests.cases.build import Run
from tests.cases.compare import difference, leaves, plain, within
from tests.cases.hardware_cases import HARDWARE
from tests.cases.inputs import CaseError

BY_MODEL: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "mmc": single_station.solve_mmc,
    "mmck": single_station.solve_mmck,
    "mg1_hol": single_station.solve_mg1_priority,
    "mg1_priority": single_station.solve_mg1_priority,
    "mg1_preemptive": single_station.solve_mg1_priority,
    "asymmetric_mmm": single_station.solve_asymmetric,
    "open_jackson": open_cases.solve_open_single,
    "open_jackson_demands": open_cases.solve_open_single,
    "open_jackson_routing": open_cases.solve_open_routing,
    "open_multiclass": open_cases.solve_open_multiclass,
    "closed_single": closed_cases.solve_closed_single,
    "closed_multiclass": closed_cases.solve_closed_multiclass,
    "closed_multiserver_single": closed_cases.solve_closed_populations,
    "mixed": closed_cases.solve_mixed,
    "closed_multiclass_routing": hard_cases.solve_routing,
    "closed_multiclass_fcfs": hard_cases.solve_class_dependent,
    "closed_single_hvfcfs": hard_cases.solve_variable_service,
    "closed_priority": hard_cases.solve_priority,
    "closed_blocking": special_cases.solve_blocking,
    "fork_join_open": special_cases.solve_fork_join_open,
    "fork_join_closed": special_cases.solve_fork_join_closed,
    "usl_fit": special_cases.solve_usl,
    **HARDWARE,
}
BY_EXPECTED: dict[str, Callable[[dict[str, Any], dict[str, Any]], Answer]] = {
    "bounds_aba": special_cases.solve_bounds_aba,
    "bounds_bjb": special_cases.solve_bounds_bjb,
    "bounds_pb": special_cases.solve_bounds_pb,
    "ps_trace": special_cases.solve_ps_trace,
}
BY_FILES: dict[str, Callable[[dict[str, Any], dict[str, Any], Path], Answer]] = {
    "measured_xy": measured_cases.solve_measured_xy,
    "demand_estimation": measured_cases.solve_demand_estimation,
}

RUNS = 10
JOINT = 0.99


@dataclass
class Row:
    """The verdict on one case; ``lines`` explain it."""

    id: str
    kind: str
    verdict: str
    outputs: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    method: str = ""
    simulated: dict[str, Any] | None = None


@dataclass
class Simulated:
    """Independent runs of a check: one row of leaves a run, per key."""

    samples: dict[str, list[list[float]]]
    shapes: dict[str, Any]

    def interval(self, key: str, figures: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and half-width (leaves,) at a level that holds jointly over ``figures`` figures."""
        table = np.array(self.samples[key])
        mean = table.mean(axis=0)
        if len(table) < 2:
            return mean, np.full(mean.shape, np.inf)
        width = student.ppf(1 - (1 - JOINT) / (2 * max(figures, 1)), len(table) - 1)
        return mean, width * table.std(axis=0, ddof=1) / np.sqrt(len(table))


def solve_answer(case: dict[str, Any], folder: Path) -> Answer:
    """The fitting solver's answer; raises ``CaseError`` for a type that is not known."""
    model, expected = case["model"], case.get("expected", {})
    kind = model.get("type")
    if kind == "mixed" and case.get("kind") == "exact_truncated":
        return closed_cases.solve_mixed_truncated(model, str(case.get("note", "")))
    if kind in BY_MODEL:
        return BY_MODEL[kind](model)
    if kind in BY_EXPECTED:
        return BY_EXPECTED[kind](model, expected)
    if kind in BY_FILES:
        return BY_FILES[kind](model, expected, folder)
    known = ", ".join(sorted((*BY_MODEL, *BY_EXPECTED, *BY_FILES)))
    raise CaseError(f"unknown model type {kind!r}; known: {known}")


def run_check(check: Check, keys: dict[str, Any], seed: int, horizon: int) -> Simulated:
    """Independent runs of the network of a check, read under the keys of a case."""

    def once(number: int) -> Run:
        result = simulate(
            check.network, seed=seed + number, replications=1, horizon=max(horizon // RUNS, 100), workers=1
        )
        return Run(result, check.network)

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(once, range(RUNS)))
    samples: dict[str, list[list[float]]] = {}
    shapes: dict[str, Any] = {}
    for run in runs:
        metrics = check.metrics(run)
        for key, value in keys.items():
            found = metrics.pick(key, value)
            if found is not None:
                samples.setdefault(key, []).append(leaves(found))
                shapes[key] = found
        if "between" in metrics.extras:
            samples.setdefault("between", []).append(leaves(metrics.extras["between"]))
    return Simulated(samples, shapes)


def _outside(answer: Answer, simulated: Simulated, expected: dict[str, Any]) -> list[str]:
    """Figures of the answer that the joint interval of the simulation does not hold."""
    out = []
    figures = sum(len(s[0]) for s in simulated.samples.values())
    for key in simulated.samples:
        mean, half = simulated.interval(key, figures)
        if key == "between":
            # Lower bound, simulated value, upper bound, for each figure bounded.
            for i in range(0, len(mean), 3):
                if not mean[i] - half[i + 1] <= mean[i + 1] <= mean[i + 2] + half[i + 1]:
                    out.append(f"simulated {mean[i + 1]:.6g} is outside its bounds {mean[i]:.6g} to {mean[i + 2]:.6g}")
            continue
        value = _picked(answer.to_simulate(key, expected[key]), simulated.shapes[key])
        for i, (x, m, h) in enumerate(zip(leaves(value), mean, half, strict=True)):
            if not abs(x - m) <= h + 1e-9 * abs(x):
                out.append(f"{key}[{i}] = {x:.6g} is outside the simulated {m:.6g} ± {h:.2g}")
    return out


def _picked(value: Any, shape: Any) -> Any:
    """The entries of ``value`` that were simulated, where only some were (a dict of position -> figure)."""
    return [value[i] for i in shape] if isinstance(shape, dict) else value


def judge(case: dict[str, Any], folder: Path, seed: int = 20261121, simulated: bool = True) -> Row:
    """Solve a case and say whether it passes; one that cannot be solved fails with the reason."""
    row = Row(str(case.get("id", "?")), str(case.get("kind", "exact")), "fail")
    try:
        _judge(row, case, folder, seed, simulated)
    except CaseError as error:
        row.lines.append(f"cannot be solved: {error}")
    except Exception as error:  # Files come from anywhere: whatever is wrong with one, the others are still judged.
        row.lines.append(f"cannot be solved: {type(error).__name__}: {error}")
    return row


def _judge(row: Row, case: dict[str, Any], folder: Path, seed: int, simulated: bool) -> None:
    expected, tolerance, kind = case.get("expected", {}), case.get("tolerance", {}), row.kind
    if not isinstance(expected, dict):
        raise CaseError("expected must be a table of figures by name")
    if not isinstance(tolerance, dict):
        raise CaseError("tolerance must be a table with rel, abs or a figure's name")
    answer = solve_answer(case, folder)
    row.method = answer.method
    if not expected:
        row.verdict = "info"
        row.lines.append("solved, but nothing is expected of it")
        return
    if answer.is_simulated and answer.check is not None:
        _take_simulated(row, run_check(answer.check, expected, seed, answer.check.horizon), expected)
        row.simulated = dict(row.outputs)
    missing = []
    for key, value in expected.items():
        if key in row.outputs:
            continue
        found = answer.pick(key, value)
        if found is None:
            missing.append(key)
        else:
            row.outputs[key] = plain(found)
    row.lines += [f"no figure is known under {key!r}" for key in missing]
    if answer.note:
        row.lines.append(answer.note)
    if kind == "measured":
        row.verdict = "pass" if answer.passes is not None and answer.passes(tolerance) else "fail"
        return
    off = [
        key
        for key, value in expected.items()
        if key in row.outputs and not within(row.outputs[key], value, tolerance, key)
    ]
    checked: Simulated | None = None
    outside: list[str] = []
    if simulated and answer.check is not None:
        try:
            checked, outside = _checked(answer, expected, seed)
        except (SimulationError, NetworkError) as error:
            row.lines.append(f"cannot be simulated: {error}")
    if checked is not None:
        row.simulated = {k: plain(np.mean(v, axis=0)) for k, v in checked.samples.items() if k != "between"}
    if kind == "approximate":
        row.verdict = "info"
        if not answer.exact and checked is not None:
            _take_simulated(row, checked, expected)
        row.lines += _sides(row, expected, answer, checked)
        return
    for key in off:
        gap = difference(row.outputs[key], expected[key])
        row.lines.append(f"{key} differs from the expected by {gap:.3g} (relative)")
    if not answer.exact and checked is not None and off:
        # The solver's own figure is an approximation: the simulation decides.
        _take_simulated(row, checked, expected)
        off = [k for k in off if not within(row.outputs[k], expected[k], tolerance, k)]
        outside = []
    row.lines += outside
    row.verdict = "pass" if not (off or missing or (outside and answer.exact)) else "fail"


def _checked(answer: Answer, expected: dict[str, Any], seed: int) -> tuple[Simulated, list[str]]:
    """Simulate; where a figure falls outside, once more with four times the work and other seeds.

    One true answer in a hundred falls outside a joint 99 % interval; one in ten thousand does so twice.
    """
    check = answer.check
    assert check is not None
    first = run_check(check, expected, seed, check.horizon)
    outside = _outside(answer, first, expected)
    if not outside or not answer.exact:
        return first, outside
    second = run_check(check, expected, seed + 1000, 4 * check.horizon)
    return second, _outside(answer, second, expected)


def _take_simulated(row: Row, simulated: Simulated, expected: dict[str, Any]) -> None:
    for key, samples in simulated.samples.items():
        if key in expected and not isinstance(simulated.shapes[key], dict):
            shape = np.shape(expected[key])
            row.outputs[key] = plain(np.reshape(np.mean(samples, axis=0), shape)) if shape else plain(np.mean(samples))


def _sides(row: Row, expected: dict[str, Any], answer: Answer, simulated: Simulated | None) -> list[str]:
    """Where the published approximation and our answer differ, and which of the two the simulation is nearer to."""
    lines = []
    figures = sum(len(s[0]) for s in simulated.samples.values()) if simulated is not None else 0
    for key, published in expected.items():
        if key not in row.outputs:
            continue
        ours = row.outputs[key]
        text = f"{key}: published and ours differ by {difference(ours, published):.3g} (relative)"
        if simulated is not None and key in simulated.samples and not isinstance(simulated.shapes[key], dict):
            mean, half = simulated.interval(key, figures)
            to_ours, to_published = difference(ours, list(mean)), difference(published, list(mean))
            held = [bool(np.all(np.abs(np.array(leaves(v)) - mean) <= half)) for v in (ours, published)]
            if all(held):
                side = "cannot tell them apart"
            elif any(held):
                side = "takes ours" if held[0] else "takes the published figure"
            else:
                side = "holds neither, and is nearer to " + (
                    "ours" if to_ours < to_published else "the published figure"
                )
            text += f"; the simulation is {to_ours:.3g} from ours and {to_published:.3g} from it: it {side}"
        lines.append(text)
    return lines


def load(folder: Path) -> list[tuple[dict[str, Any] | None, Path, str]]:
    """(case, file, error) of each JSON file in a folder, by name."""
    out: list[tuple[dict[str, Any] | None, Path, str]] = []
    for path in sorted(folder.glob("*.json")):
        try:
            case = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(case, dict) or not isinstance(case.get("model"), dict):
                raise CaseError("no model in it")
            out.append((case, path, ""))
        except (json.JSONDecodeError, UnicodeDecodeError, CaseError) as error:
            out.append((None, path, f"not a case: {error}"))
    return out


def judge_folder(folder: Path, seed: int = 20261121, simulated: bool = True) -> list[Row]:
    """A row for every case file of a folder."""
    rows = []
    for case, path, error in load(folder):
        rows.append(Row(path.stem, "", "fail", lines=[error]) if case is None else judge(case, folder, seed, simulated))
    return rows
