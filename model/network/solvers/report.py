"""A solution as a table to read and as plain values to store."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from model.network.solvers.load_sweep import LoadSweep
from model.network.solvers.solution import Solution


def as_dict(solution: Solution) -> dict[str, Any]:
    """Plain values by name, ready for JSON; what is infinite becomes None."""
    classes = {
        name: {
            "throughput_per_s": _plain(solution.throughput_per_s[r]),
            "response_s": _plain(solution.response_s[r]),
            "population": _plain(solution.population[r]),
            "stations": {
                station: {
                    "utilization": _plain(solution.utilisation[r, k]),
                    "residence_s": _plain(solution.residence_s[r, k]),
                    "service_s": _plain(solution.service_s[r, k]),
                    "waiting_s": _plain(max(solution.residence_s[r, k] - solution.service_s[r, k], 0.0)),
                    "queue_length": _plain(solution.queue_length[r, k]),
                }
                for k, station in enumerate(solution.stations)
                if solution.residence_s[r, k] > 0
            },
            "resources": {
                resource: {"wait_s": _plain(solution.wait_s[r, rho]), "held": _plain(solution.held[r, rho])}
                for rho, resource in enumerate(solution.resources)
                if solution.held[r, rho] > 0 or solution.wait_s[r, rho] > 0
            },
        }
        for r, name in enumerate(solution.classes)
    }
    limits = [
        {"name": x.name, "kind": x.kind, "utilization": _plain(x.utilisation), "rate_per_s": _plain(x.rate_per_s)}
        for x in solution.limits
    ]
    return {
        "network": solution.network,
        **_label(solution),
        "classes": classes,
        "limits": limits,
        "bottleneck": solution.bottleneck.name if solution.bottleneck else None,
        "second_bottleneck": solution.second_bottleneck.name if solution.second_bottleneck else None,
        "saturated": list(solution.saturated),
        "notes": list(solution.notes),
    }


def as_text(solution: Solution) -> str:
    """Tables of classes, of where their time goes, and of limits."""
    head = f"{solution.network}: {solution.method} ({solution.error_note})"
    rows = [["class", "per second", "response", "inside"]]
    for r, name in enumerate(solution.classes):
        rows.append(
            [
                name,
                _number(solution.throughput_per_s[r]),
                _time(solution.response_s[r]),
                _number(solution.population[r]),
            ]
        )
    parts = [["class", "where", "busy", "using", "waiting", "queue"]]
    for r, name in enumerate(solution.classes):
        for k, station in enumerate(solution.stations):
            residence, service = solution.residence_s[r, k], solution.service_s[r, k]
            if residence > 0:
                busy = f"{100 * solution.utilisation[r, k]:.1f} %"
                waits = _time(max(residence - service, 0.0))
                parts.append([name, station, busy, _time(service), waits, _number(solution.queue_length[r, k])])
        for rho, resource in enumerate(solution.resources):
            if solution.held[r, rho] > 0 or solution.wait_s[r, rho] > 0:
                held = f"{_number(solution.held[r, rho])} held"
                queue = solution.throughput_per_s[r] * solution.wait_s[r, rho]
                parts.append([name, resource, held, "", _time(solution.wait_s[r, rho]), _number(queue)])
    bounds = [["limit", "kind", "used", "at most"]]
    for x in solution.limits:
        most = f"{_number(x.rate_per_s)}/s" if math.isfinite(x.rate_per_s) else "no limit"
        bounds.append([x.name, x.kind, f"{100 * x.utilisation:.1f} %", most])
    text = [head, "", _table(rows), "", _table(parts), "", _table(bounds)]
    if solution.saturated:
        text += ["", f"saturated: {', '.join(solution.saturated)}"]
    return "\n".join([*text, *solution.notes])


def sweep_as_dict(swept: LoadSweep) -> dict[str, Any]:
    """Plain values by point, ready for JSON; what is infinite, or beyond the solver, becomes None."""
    points = [
        {
            "factor": float(swept.factors[p]),
            "refused": swept.refused[p] or None,
            "classes": {
                name: {
                    "throughput_per_s": _plain(swept.throughput_per_s[p, r]),
                    "response_s": _plain(swept.response_s[p, r]),
                }
                for r, name in enumerate(swept.classes)
            },
            "utilization": {name: _plain(swept.utilisation[p, k]) for k, name in enumerate(swept.stations)},
        }
        for p in range(len(swept.factors))
    ]
    return {**_label(swept), "points": points}


def sweep_as_text(swept: LoadSweep) -> str:
    """One line a point: rate and response of each class, busy of each station."""
    heading = ["factor"]
    for name in swept.classes:
        heading += [f"{name} per s", "response"]
    rows = [heading + [f"{name} busy" for name in swept.stations]]
    for p, factor in enumerate(swept.factors):
        row = [f"{factor:.4g}"]
        for r in range(len(swept.classes)):
            row += [_number(swept.throughput_per_s[p, r]), _time(swept.response_s[p, r])]
        row += [f"{100 * busy:.1f} %" for busy in swept.utilisation[p]]
        rows.append(["refused" if swept.refused[p] and i else cell for i, cell in enumerate(row)])
    reasons = [f"{factor:.4g}: {why}" for factor, why in zip(swept.factors, swept.refused, strict=True) if why]
    return "\n".join([f"{swept.method} ({swept.error_note})", "", _table(rows), *reasons])


def _label(found: Solution | LoadSweep) -> dict[str, Any]:
    """How it was solved, and how far off that may be."""
    return {
        "method": found.method,
        "exact": found.exact,
        "known_error": {"median": found.known_error[0], "p95": _plain(found.known_error[1])},
        "error_note": found.error_note,
        "approximated": list(found.approximated),
    }


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _plain(value: float | np.floating[Any]) -> float | None:
    return float(value) if math.isfinite(value) else None


def _number(value: float | np.floating[Any]) -> str:
    return f"{float(value):.4g}" if math.isfinite(value) else "unbounded"


def _time(seconds: float | np.floating[Any]) -> str:
    if not math.isfinite(seconds):
        return "unbounded"
    if seconds == 0:
        return "0"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
