"""Every known-answer case passes, by solver and by simulator, from the published folder and from our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.__main__ import main
from tests.cases.solve_case import judge, load
from tests.shared import SHARED, shared

OWN = Path(__file__).parent / "data"


def _cases(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


@pytest.mark.parametrize("path", _cases(OWN), ids=lambda p: p.stem)
def test_own_case_passes_by_oracle_and_by_simulation(path: Path) -> None:
    row = judge(json.loads(path.read_text()), path.parent)
    assert row.verdict == "pass", row.lines
    assert row.simulated


@pytest.mark.parametrize("name", [p.stem for p in _cases(SHARED / "cases")] or ["absent"])
def test_published_case_has_its_verdict(name: str) -> None:
    folder = shared("cases")
    case = json.loads((folder / f"{name}.json").read_text())
    # Beside a figure that is itself approximate, a simulation decides nothing: `python -m tests.cases` shows both.
    approximate = case["kind"] == "approximate"
    row = judge(case, folder, simulated=not approximate)
    assert row.verdict == ("info" if approximate else "pass"), row.lines
    assert set(row.outputs) == set(case["expected"])


def test_unknown_type_and_broken_file_fail_with_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.json").write_text(json.dumps({"id": "odd", "kind": "exact", "model": {"type": "weather"}}))
    (tmp_path / "torn.json").write_text('{"id": "torn", "model"')
    queue = {"type": "mmc", "arrival_rate": 0.5, "service_rate": 1.0}
    (tmp_path / "words.json").write_text(json.dumps({"id": "words", "model": {**queue, "arrival_rate": "fast"}}))
    (tmp_path / "asks.json").write_text(json.dumps({"id": "asks", "model": queue}))
    (tmp_path / "lists.json").write_text(json.dumps({"id": "lists", "model": queue, "expected": [1], "tolerance": 1}))
    assert main([str(tmp_path), "--json"]) == 1
    rows = {r["id"]: r for r in json.loads(capsys.readouterr().out)["cases"]}
    assert {k: r["verdict"] for k, r in rows.items()} == {
        "odd": "fail", "torn": "fail", "words": "fail", "lists": "fail", "asks": "info"
    }  # fmt: skip
    assert "weather" in rows["odd"]["notes"][0]
    assert "not a case" in rows["torn"]["notes"][0]
    assert "fast" in rows["words"]["notes"][0]
    assert "expected must be" in rows["lists"]["notes"][0]


def test_wrong_expected_value_fails(tmp_path: Path) -> None:
    case = {
        "id": "wrong", "kind": "exact", "tolerance": {"rel": 1e-6}, "expected": {"R": 2.5},
        "model": {"type": "mmc", "arrival_rate": 0.5, "service_rate": 1.0, "servers": 1},
    }  # fmt: skip
    row = judge(case, tmp_path)
    assert row.verdict == "fail"
    assert row.outputs["R"] == pytest.approx(2.0)


def test_empty_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no case files" in capsys.readouterr().err
    assert load(tmp_path) == []


VARIATIONS = [
    ({"type": "mmc", "arrival_rate": 3, "service": 2.0, "servers": -1}, {"R": 2.0, "L": 6.0}),
    ({"type": "closed_single", "population": 2, "demands": [1.0, 1.0], "servers": [1, -1]}, {"X": 0.8}),
    (
        {"type": "closed_single", "population": 4, "service": [1.0], "think_time": 3.0, "servers": [4]},
        {"X": 1.0, "R": 1.0},
    ),
    ({"type": "closed_multiclass", "populations": [1, 1, 1], "demands": [[1], [1], [1]]}, {"X": [1 / 3] * 3}),
    (
        {"type": "open_jackson", "arrival_rate": 1.0, "demands": [0.5, 0.25], "servers": [1, -1]},
        {"R": 1.25, "Q": [1.0, 0.25]},
    ),
    (
        {"type": "open_multiclass", "arrival_rates": [0.25, 0.25], "service": [[1.0], [1.0]], "servers": [1]},
        {"R": [2.0, 2.0], "U": [[0.25], [0.25]]},
    ),
    (
        {"type": "mg1_hol", "arrival_rates": [0.25, 0.25], "mean_service": [1.0, 1.0], "priority": [1, 1]},
        {"R": [2.0, 2.0]},
    ),
    ({"type": "fork_join_open", "arrival_rate": 0.5, "service_rates": [1.0]}, {"R": 2.0}),
    (
        {"type": "closed_priority", "populations": [1, 1], "think": [0, 4], "service": [1, 1], "priority": [0, 1]},
        {"X": [0.8, 0.2]},
    ),
    (
        {"type": "closed_blocking", "capacities": [3, 3], "service": [1, 1], "routing": [[0, 1], [1, 0]],
         "population": 2},
        {"X": [2 / 3, 2 / 3]},
    ),
    ({"type": "bounds_aba", "population": [1, 10], "demands": [1.0, 0.5]}, {"X_upper": [2 / 3, 1.0]}),
    (
        {"type": "ps_trace", "arrivals": [0.0, 0.0], "service": [1, 2], "servers": 2},
        {"departure": [1.0, 2.0]},
    ),
    (
        {"type": "mixed", "open_rates": [0.5], "populations": [1], "demands_open": [[1.0]], "demands_closed": [[1.0]],
         "servers": [1]},
        {"X_closed": [0.5], "Q_open": [[2.0]]},
    ),
    (
        {"type": "closed_multiclass_fcfs", "populations": [1, 0], "service": [[1.0, 3.0], [1.0, 1.0]],
         "visits": [[1, 1], [1, 1]], "scheduling": ["FCFS", "IS"]},
        {"X": [0.25, 0.0]},
    ),
    (
        {"type": "closed_single_hvfcfs", "population": 1, "service": [1.0, 3.0], "visits": [1, 1],
         "stations": ["cpu", "terminals(IS)"], "cpu_variance": 4.0},
        {"Q_cpu": 0.25},
    ),
    (
        {"type": "closed_multiclass_routing", "populations": [1], "stations": ["Delay", "Queue PS"],
         "service_mean": [[1.0, 1.0]], "routing": [[[0, 1], [1, 0]]]},
        {"Q": [0.5, 0.5]},
    ),
    ({"type": "fork_join_closed", "population": 1, "delay": 1.5, "service_rates": [1, 1]}, {"X": 1 / 3, "R": 1.5}),
    ({"type": "mmck", "arrival_rate": 1, "service_rate": 1, "servers": 1, "capacity": 1}, {"pK": 0.5, "L": 0.5}),
    (
        {"type": "mmck", "arrival_rate": 1, "service_rate": 1, "servers": 1, "capacity": 4},
        {"rho": 1.0, "U": 0.8, "lambda_eff": 0.8, "L": 2.0},
    ),
    (
        {"type": "closed_multiserver_single", "servers": 1, "service": 1.0, "think_time": 1.0, "populations": [1, 2]},
        {"X": [0.5, 0.8], "R": [1.0, 1.5], "U": [0.5, 0.8]},
    ),
    (
        {"type": "open_jackson_routing", "external_arrivals": [1.0], "routing": [[0.5]], "service": [0.4]},
        {"X": [2.0], "R": [2.0], "Q": [4.0]},
    ),
    (
        {"type": "mg1_preemptive", "arrival_rates": [0.25, 0.25], "mean_service": [1, 1], "priority": [1, 0]},
        {"R": [4 / 3, 8 / 3]},
    ),
    (
        {"type": "fork_join_closed", "population": 1, "delay": 0, "service_rates": [1, 2]},
        {"X": 6 / 7, "R_branch": [1.0, 0.5]},
    ),
    (
        {"type": "fork_join_closed", "population": 2, "delay": 0, "service_rates": [1, 1], "discipline": "fcfs"},
        {"X": 0.8, "R": 2.5},
    ),
    (
        {"type": "closed_multiclass_fcfs", "populations": [1, 1], "service": [[1, 1], [1, 1]], "visits": [[1, 1]],
         "scheduling": ["FCFS", "IS"]},
        {"Q": [[0.6, 0.6], [0.4, 0.4]]},
    ),
    (
        # In order of arrival two users change places: each waits for the other's service (1 and 3) and has its own.
        {"type": "closed_multiclass_fcfs", "populations": [1, 1], "service": [[1], [3]], "scheduling": ["FCFS"]},
        {"X": [0.25, 0.25], "Q": [1.0, 1.0]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "expected"), VARIATIONS, ids=[f"{i} {m['type']}" for i, (m, _) in enumerate(VARIATIONS)]
)
def test_variations_of_inputs_are_read(model: dict[str, object], expected: dict[str, object], tmp_path: Path) -> None:
    case = {"id": "v", "kind": "exact", "model": model, "expected": expected, "tolerance": {"rel": 1e-9}}
    row = judge(case, tmp_path, simulated=False)
    assert row.verdict == "pass", (row.outputs, row.lines)


def test_service_of_unknown_variation_is_not_guessed(tmp_path: Path) -> None:
    model = {"type": "mg1_hol", "arrival_rates": [0.5], "mean_service": [1], "priority": [0], "exponential": False}
    row = judge({"id": "v", "kind": "exact", "model": model, "expected": {"R": [2.0]}}, tmp_path)
    assert row.verdict == "fail"
    assert "needs scv" in row.lines[0]


def test_one_of_several_populations_is_simulated(tmp_path: Path) -> None:
    model = {
        "type": "closed_multiserver_single",
        "servers": 1,
        "service": 1.0,
        "think_time": 1.0,
        "populations": [1, 2],
    }
    case = {"id": "v", "kind": "exact", "model": model, "expected": {"X": [0.5, 0.8], "U": [0.5, 0.8]}}
    row = judge(case, tmp_path)
    assert row.verdict == "pass", row.lines
    assert set(row.simulated or {}) == {"X"}


def test_variations_agree_with_the_simulator(tmp_path: Path) -> None:
    for model, expected in VARIATIONS[1:6]:
        case = {"id": "v", "kind": "exact", "model": model, "expected": expected, "tolerance": {"rel": 1e-9}}
        row = judge(case, tmp_path)
        assert row.verdict == "pass", (model, row.outputs, row.simulated, row.lines)
