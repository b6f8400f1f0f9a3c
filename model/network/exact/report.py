"""A solution as a table to read and as plain values to store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from model.network.exact.solution import Solution
from model.network.exact.solve import SweepPoint


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
        "method": solution.method,
        "classes": classes,
        "limits": limits,
        "bottleneck": solution.bottleneck.name if solution.bottleneck else None,
        "second_bottleneck": solution.second_bottleneck.name if solution.second_bottleneck else None,
    }


def as_text(solution: Solution) -> str:
    """Tables of classes, of where their time goes, and of limits."""
    head = f"{solution.network}: {solution.method}, exact"
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
                units = f"{_number(solution.held[r, rho])} held"
                queue = solution.throughput_per_s[r] * solution.wait_s[r, rho]
                parts.append([name, resource, units, "", _time(solution.wait_s[r, rho]), _number(queue)])
    bounds = [["limit", "kind", "used", "at most"]]
    for x in solution.limits:
        most = f"{_number(x.rate_per_s)}/s" if math.isfinite(x.rate_per_s) else "no limit"
        bounds.append([x.name, x.kind, f"{100 * x.utilisation:.1f} %", most])
    return "\n".join([head, "", _table(rows), "", _table(parts), "", _table(bounds)])


def sweep_as_dict(points: Sequence[SweepPoint]) -> dict[str, Any]:
    """Plain values by point, ready for JSON; a refused point has only its reason."""
    return {"points": [_point(point) for point in points]}


def _point(point: SweepPoint) -> dict[str, Any]:
    solution = point.solution
    if solution is None:
        return {"factor": point.factor, "refused": point.refused}
    classes = {
        name: {
            "throughput_per_s": _plain(solution.throughput_per_s[r]),
            "response_s": _plain(solution.response_s[r]),
        }
        for r, name in enumerate(solution.classes)
    }
    busy = dict(zip(solution.stations, map(_plain, solution.station_utilisation), strict=True))
    return {
        "factor": point.factor, "refused": None, "method": solution.method, "classes": classes, "utilization": busy
    }  # fmt: skip


def sweep_as_text(points: Sequence[SweepPoint]) -> str:
    """One line a point: rate and response of each class, busy of each station."""
    solved = next(point.solution for point in points if point.solution is not None)
    heading = ["factor"]
    for name in solved.classes:
        heading += [f"{name} per s", "response"]
    rows = [heading + [f"{name} busy" for name in solved.stations]]
    for point in points:
        row = [f"{point.factor:.4g}"]
        if point.solution is None:
            row += ["refused"] * (len(rows[0]) - 1)
        else:
            for rate, response in zip(point.solution.throughput_per_s, point.solution.response_s, strict=True):
                row += [_number(rate), _time(response)]
            row += [f"{100 * busy:.1f} %" for busy in point.solution.station_utilisation]
        rows.append(row)
    methods = dict.fromkeys(point.solution.method for point in points if point.solution is not None)
    reasons = [f"{point.factor:.4g}: {point.refused}" for point in points if point.solution is None]
    return "\n".join([" and ".join(methods), "", _table(rows), *reasons])


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
