"""A simulation result as plain data for JSON and as a table for people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from model.network import Network
from model.network.simulator.recorded import Recorded
from model.network.simulator.result import ClassResult, Part, SimulationResult
from model.network.simulator.statistics import Estimate

Row = tuple[str, ...]


def as_dict(result: SimulationResult) -> dict[str, Any]:
    """The result as JSON-ready data; an estimate is ``{"value", "half_width"}``, what is not known is null."""
    return {
        "network": result.network,
        "seed": result.seed,
        "replications": result.replications,
        "confidence_level": result.level,
        "simulated_s": result.simulated_s,
        "warm_up_s": result.warm_up_s,
        "settled": result.settled,
        "overloaded": list(result.overloaded),
        "precise": result.precise,
        "remarks": list(result.remarks),
        "transactions": result.transactions,
        "bottleneck": result.bottleneck or None,
        "second_bottleneck": result.second_bottleneck or None,
        "limits": [
            {"name": x.name, "kind": x.kind, "utilization": _plain(x.utilisation), "rate_per_s": _plain(x.rate_per_s)}
            for x in result.limits
        ],
        "classes": {name: _fields(value) for name, value in result.classes.items()},
        "stations": {name: _fields(value) for name, value in result.stations.items()},
        "resources": {name: _fields(value) for name, value in result.resources.items()},
        "machines": {name: _plain(value) for name, value in result.machines.items()},
    }


def _fields(item: Any) -> dict[str, Any]:
    return {name: _plain(getattr(item, name)) for name in type(item).__dataclass_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Estimate):
        return {"value": _plain(value.value), "half_width": _plain(value.half_width)}
    if isinstance(value, dict):
        return {f"{key:g}" if isinstance(key, float) else key: _plain(item) for key, item in value.items()}
    if hasattr(type(value), "__dataclass_fields__"):
        return _fields(value)
    return value


def as_text(result: SimulationResult) -> str:
    """The result as aligned tables: classes, where their time goes, stations, resources, limits."""
    percent = f"{result.level:.0%}"
    lines = [
        f"{result.network}: {result.transactions:,} transactions in {result.replications} replications"
        f" (seed {result.seed}), {result.simulated_s:,.6g} s simulated after {result.warm_up_s:,.6g} s of warm-up;"
        f" ± is the {percent} interval",
    ]
    lines += [f"Mind: {remark}." for remark in result.remarks]
    tables: list[tuple[Row, list[Row]]] = [
        (("class", "per s", "mean s", "median s", "90 % s", "99 % s", "inside", "lost per s"), _classes(result)),
        (("class", "at", "using s", "waiting s", "share", "of 99 % using s", "waiting s"), _parts(result)),
        (
            ("station", "busy %", "visits per s", "per visit s", "99 % s", "waiting s", "inside", "remarks"),
            _stations(result),
        ),
        (("resource", "in use", "of it %", "reached per s", "waited %", "wait s", "refused per s"), _resources(result)),
    ]
    for heading, rows in tables:
        if rows:
            lines += ["", *_table(heading, rows)]
    if result.limits:
        first = result.limits[:5]
        most = [f"at most {x.rate_per_s:.4g} per s" if np.isfinite(x.rate_per_s) else "no limit" for x in first]
        named = ", ".join(f"{x.name} {x.utilisation:.1%} ({rate})" for x, rate in zip(first, most, strict=True))
        lines += ["", f"Limits, first to bind first: {named}"]
    return "\n".join(lines) + "\n"


def replayed_rows(network: Network, records: Recorded, left_s: np.ndarray) -> list[dict[str, Any]]:
    """Each class of a replay: transactions, those turned away, and its response replayed beside the recorded one."""
    rows = []
    for k, name in enumerate(network.class_names):
        mask = records.classes == k
        if not mask.any():
            continue
        response = left_s[mask] - records.arrival_s[mask]
        done = response[np.isfinite(response)]
        count = int(mask.sum())
        row: dict[str, Any] = {"class": name, "transactions": count, "turned_away": count - len(done)}
        row["replayed_s"] = _spread(done)
        row["recorded_s"] = _spread(records.response_s[mask]) if records.response_s is not None else None
        rows.append(row)
    return rows


def _spread(times: np.ndarray) -> dict[str, float] | None:
    if len(times) == 0:
        return None
    marks = np.quantile(times, [0.5, 0.9, 0.99])
    return {"mean": float(times.mean()), "50": float(marks[0]), "90": float(marks[1]), "99": float(marks[2])}


def replayed_as_text(rows: list[dict[str, Any]]) -> str:
    """The comparison of a replay with what was recorded, as a table."""
    out: list[Row] = []
    for row in rows:
        for what in ("replayed", "recorded"):
            spread = row[f"{what}_s"]
            if spread is not None:
                out.append(
                    (
                        row["class"],
                        what,
                        f"{row['transactions']:,}",
                        *(_number(spread[x]) for x in ("mean", "50", "90", "99")),
                    )
                )
    return "\n".join(_table(("class", "", "transactions", "mean s", "median s", "90 % s", "99 % s"), out)) + "\n"


def _classes(result: SimulationResult) -> list[Row]:
    return [
        (
            name,
            _pm(c.throughput_per_s),
            _pm(c.response_s),
            *(_pm(c.percentiles_s[p]) for p in (50.0, 90.0, 99.0)),
            _pm(c.inside),
            _number(c.lost_per_s.value),
        )
        for name, c in result.classes.items()
        if c.throughput_per_s.value > 0 or c.lost_per_s.value > 0
    ]


def _parts(result: SimulationResult) -> list[Row]:
    return [
        (
            name,
            at,
            _number(part.using_s),
            _number(part.waiting_s),
            f"{(part.using_s + part.waiting_s) / mean:.1%}",
            *_slow(c, at),
        )
        for name, c in result.classes.items()
        if (mean := c.response_s.value) > 0
        for at, part in c.parts.items()
    ]


def _slow(c: ClassResult, at: str) -> tuple[str, str]:
    """Using and waiting at a place of the responses around the 99th percentile."""
    slow = c.percentile_parts.get(99.0)
    if slow is None:
        return "-", "-"
    part = slow.get(at, Part(0.0, 0.0))
    return _number(part.using_s), _number(part.waiting_s)


def _stations(result: SimulationResult) -> list[Row]:
    rows: list[Row] = []
    for name, s in result.stations.items():
        remarks = []
        if s.spin_utilization > 0:
            remarks.append(f"{s.spin_utilization:.1%} spinning")
        if s.thread_density is not None:
            remarks.append(f"thread density {_pm(s.thread_density)}")
        if s.overflow_per_s > 0:
            remarks.append(f"{_number(s.overflow_per_s)} per s overflow")
        if s.rejected_per_s > 0:
            remarks.append(f"{_number(s.rejected_per_s)} per s turned away")
        if s.async_share is not None:
            remarks.append(f"{s.async_share:.1%} asynchronous")
        if s.polarity is not None:
            p = s.polarity
            remarks.append(f"{p.high} high, {p.medium} medium, {p.low} low of which {_number(p.parked)} parked")
        busy = Estimate(100 * s.utilization.value, 100 * s.utilization.half_width)
        slow = _number(s.residence_percentiles_s[99.0].value) if s.residence_percentiles_s else "-"
        cells = (_pm(busy), _pm(s.visits_per_s), _pm(s.residence_s), slow, _number(s.waiting_s), _pm(s.queue_length))
        rows.append((name, *cells, ", ".join(remarks)))
    return rows


def _resources(result: SimulationResult) -> list[Row]:
    return [
        (
            name,
            _pm(r.in_use),
            f"{100 * r.utilization.value:.1f}",
            _pm(r.limit_reached_per_s),
            f"{100 * r.waited_share.value:.2f}",
            _pm(r.wait_s),
            _number(r.refused_per_s),
        )
        for name, r in result.resources.items()
    ]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def _pm(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "-"
    if math.isnan(estimate.half_width):
        return f"{estimate.value:.5g}"
    return f"{estimate.value:.5g} ± {estimate.half_width:.2g}"


def _table(heading: Row, rows: list[Row]) -> list[str]:
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [heading, *rows]
    ]
