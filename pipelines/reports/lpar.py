"""The report on an LPAR: its last week, what it is until the target is reached, classes, and what this rests on."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pipelines import text
from pipelines.exits import EtalonError, Exit
from pipelines.reports import sources
from pipelines.reports.content import Chart, Part, Report, Series
from pipelines.reports.sources import Sources

STEPS = 31
HALF_YEAR = timedelta(days=182)
VERDICTS = {"pass": "every expectation is met", "warn": "usable, with warnings", "fail": "not fit for use"}
_MOST_CHANGES = 12


def report(of: Sources, system: str) -> Report:
    """The report. Raises QuestionError for a system the model does not know, EtalonError without a history."""
    from model.capacity.bundle import system_entry
    from serve import history

    if of.bundle is None:
        raise EtalonError("there is no champion: run `etalon fit`, or `etalon demo`", Exit.NOT_READY)
    parameters = system_entry(of.bundle, system)
    if history.span(of.snapshot, system) is None or parameters.recorded is None:
        raise EtalonError(f"{system} has measured points but no history to report; use `etalon predict`", Exit.QUESTION)
    summary, parts, lead = described(of, system)
    return Report(f"Capacity of {system}, {of.today.isoformat()}", lead, summary, parts)


def described(of: Sources, system: str) -> tuple[list[Part], list[Part], str]:
    """The report on an LPAR: parts of the first page, the others, and the lead."""
    from serve import history

    during = of.calendar.condition(of.shift)
    span = history.span(of.snapshot, system)
    assert span is not None
    recorded = history.history(
        of.snapshot, system, span[0], span[1].replace(hour=23, minute=59, second=59), "day", during
    )
    weeks = of.weeks.get(system, {})
    summary = [Part(f"Last week against the week before{of.of_shift}", rows=[sources.week_row(system, weeks)])]
    alerts = [f"{alert.severity}: {alert.text}" for alert in of.alerts(system)]
    if alerts:
        summary.append(Part("Alerts", lines=alerts))
    parts = _recorded(of, system, recorded, span)
    classes = history.classes(of.snapshot, system, during)
    parts.append(Part(f"Service classes, last seven days{of.of_shift}", rows=[_class(row) for row in classes]))
    price = of.prices.of("cpu_hour", system, of.machines[system] or "")
    workloads = history.workloads(classes, price.price if price else None)
    heading = f"CPU per transaction by workload, its regions included{of.of_shift}"
    parts.append(Part(heading, rows=[_workload(row, price.currency if price else "") for row in workloads]))
    parts.append(Part("Changes since the week before", rows=_changes(of, system, span[1], during)))
    lead = ""
    if of.has_model(system):
        lead = _modelled(of, system, recorded, summary, parts)
    return summary, [part for part in parts if part.rows or part.lines or part.chart], lead + of.age(span[1].date())


def _modelled(of: Sources, system: str, recorded: Any, summary: list[Part], parts: list[Part]) -> str:
    """Add what the model says of the LPAR; the lead."""
    from model.capacity import ask
    from serve import data_state

    bundle, target = of.bundle, of.max_busy_pct
    assert bundle is not None
    at = {"shift": of.shift} if of.shift else None
    answer = ask.predict(bundle, system, at).to_dict()
    limit = ask.max_rate(bundle, system, at=at, max_busy_pct=target)
    headroom = ask.headroom(bundle, system, at, max_busy_pct=target)
    summary.append(Part("Busy at the daily peak, and its forecast", _forecast(recorded, headroom, target)))
    summary.append(Part("When the target is reached", rows=[_crossing(row) for row in headroom["crossings"]]))
    parts.append(Part("Busy against the load", _load_curve(bundle, system, at, answer, limit, target)))
    parts.append(Part("What limits growth", rows=[_limit(row) for row in limit["limits"]]))
    notes = list(dict.fromkeys([*answer["notes"], *headroom["notes"]]))
    verdict = data_state.quality(of.home.quality).verdict
    parts.append(Part("What this rests on", lines=[*_rests(answer, bundle, verdict), *notes]))
    return _lead(answer, limit, headroom, target)


def _recorded(of: Sources, system: str, recorded: Any, span: tuple[datetime, datetime]) -> list[Part]:
    """Charts of what was recorded, day by day."""
    times = [datetime.fromisoformat(start) for start in recorded.start_local]
    if not times:
        return []
    columns = {kind: [c for c in recorded.columns if c.kind == kind] for kind in {c.kind for c in recorded.columns}}
    seconds = of.bundle["systems"][system].recorded.seconds if of.bundle and of.has_model(system) else 900.0
    days = _whole_days(times, span, seconds)

    def shown(column: Any) -> list[float | None]:
        return list(column.values[days])

    areas = [
        Series(column.name, [value or 0.0 for value in shown(column)], "area")
        for column in (*columns.get("uncaptured", []), *columns.get("class_group", []))
    ]
    lines = [
        Series(name, shown(columns[kind][0]))
        for kind, name in (("cp_peak", "highest interval"), ("cp_online", "CPs online"))
        if kind in columns
    ]
    engines = Chart("General-purpose engines in use", "engines", times[days], [*areas, *lines])
    parts = [Part(f"General-purpose engines in use, daily means{of.of_shift}", engines)]
    if "r4ha_msu" in columns:
        units = [Series(name, shown(columns[kind][0])) for kind, name in (("r4ha_msu", "R4HA"), ("msu", "MSU"))]
        if "msu_capacity" in columns:
            units.append(Series("capacity", shown(columns["msu_capacity"][0]), "limit"))
        parts.append(Part(f"R4HA (MSU), daily means{of.of_shift}", Chart("R4HA (MSU)", "MSU", times[days], units)))
    return parts


def _forecast(recorded: Any, headroom: Mapping[str, Any], target: float) -> Chart:
    """Recorded daily peaks, the forecast with its 90 % band for half a year or more, and the target."""
    columns = {column.kind: column.values for column in recorded.columns}
    times = [datetime.fromisoformat(start) for start in recorded.start_local]
    busy = [
        None if peak is None or not online else 100.0 * peak / online
        for peak, online in zip(columns.get("cp_peak", []), columns.get("cp_online", []), strict=True)
    ]
    first, last = times[0], times[-1]
    ahead = [HALF_YEAR, 2 * (last - first)]
    if headroom["first"] and headroom["first"]["value"]:
        ahead.append(1.25 * (datetime.fromisoformat(headroom["first"]["value"]) - last))
    weeks = [week for week in headroom["forecast"] if datetime.fromisoformat(week["date"]) <= last + max(ahead)]
    moments = [datetime.fromisoformat(week["date"]) for week in weeks]
    every = sorted({*times, *moments})
    past, to_come = dict(zip(times, busy, strict=True)), dict(zip(moments, weeks, strict=True))

    def side(key: str) -> list[float | None]:
        return [to_come[moment][key] if moment in to_come else None for moment in every]

    series = [
        Series("forecast of the peak", side("value"), lo=side("lo"), hi=side("hi")),
        Series("recorded daily peak", [past.get(moment) for moment in every], "points"),
        Series(f"target {target:g} %", [target] * len(every), "limit"),
    ]
    return Chart("Busy at the daily peak, and its forecast", "CPU busy, %", every, series)


def _load_curve(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None,
    answer: Mapping[str, Any],
    limit: Mapping[str, Any],
    target: float,
) -> Chart:
    """Busy against the rate with its 90 % band, the recorded peak and the target."""
    from model.capacity import ask

    most = max(60.0, 1.15 * float(limit["growth_pct"]["value"] or 0.0))
    growth = ask.spaced("growth_pct", -90.0, most, STEPS)
    swept = ask.sweep(bundle, system, "growth_pct", growth, at=at, metrics=["etr_tps", "cpu_busy_pct"])["steps"]
    rates, points = (
        [next(o for o in step["outputs"] if o["metric"] == metric and "class=" not in o["condition"]) for step in swept]
        for metric in ("etr_tps", "cpu_busy_pct")
    )
    now = next(o["value"] for o in answer["outputs"] if o["metric"] == "etr_tps" and "class=" not in o["condition"])
    series = [
        Series(
            "predicted",
            [point["value"] for point in points],
            lo=[point["lo"] for point in points],
            hi=[point["hi"] for point in points],
        ),
        Series(f"target {target:g} %", [target] * len(points), "limit"),
    ]
    x = [rate["value"] for rate in rates]
    return Chart("Busy against the load", "CPU busy, %", x, series, "transactions per second", now, "today's load")


def _changes(of: Sources, system: str, last: datetime, during: str) -> list[dict[str, Any]]:
    """Measured figures of the last seven days and of the seven before: those that changed beyond the scatter first."""
    from serve import periods

    end = last.date()
    weeks = ((end - timedelta(days=13), end - timedelta(days=7)), (end - timedelta(days=6), end))
    changes = periods.compared(of.snapshot, system, *weeks, during=during)
    changes.sort(key=lambda one: (not one.significant, -abs(one.change_pct)))
    return [
        {
            "figure": ", ".join(filter(None, (periods.LABELS[one.metric], one.class_name))),
            "unit": text.unit_sign(one.unit),
            "week before": one.a,
            "last week": one.b,
            "change": f"{one.change_pct:+.1f} %",
            "beyond the variation between days": {True: "yes", False: "no", None: "not known"}[one.significant],
        }
        for one in changes[:_MOST_CHANGES]
    ]


def _crossing(crossing: Mapping[str, Any]) -> dict[str, str]:
    return {
        "resource": _name(crossing["resource"]),
        "likeliest": "already" if crossing["already"] else _date(crossing["value"]),
        "5 % by": _date(crossing["lo"]),
        "95 % by": _date(crossing["hi"]),
    }


def _limit(limit: Mapping[str, Any]) -> dict[str, str]:
    return {
        "resource": _name(limit["resource"]),
        "tran/s at the target": _interval(limit["etr_tps"]),
        "growth from the recorded peak": f"{text.figure(limit['growth_pct']['value'], 3)} %",
    }


def _class(row: Any) -> dict[str, str]:
    change = row.rate_tps_change_pct
    return {
        "class": row.class_name,
        "workload": row.workload,
        "tran/s": row.rate_tps,
        "CPU, µs/tran": row.cpu_us_per_tran,
        "response, ms": row.response_ms,
        "rate against the week before": "–" if change is None else f"{change:+.1f} %",
    }


def _workload(row: Any, currency: str) -> dict[str, Any]:
    cost = {
        f"{currency}/1,000 transactions": row.cost_per_1000,
        f"zIIP work on CPs, {currency}/hour": row.ziip_on_cp_cost_per_hour,
    }
    return {
        "workload": row.workload,
        "MSU": row.msu,
        "engines": row.engines,
        "tran/s": row.rate_tps,
        "CPU, µs/tran": row.cpu_us_per_tran,
        "zIIP work on CPs, engines": row.ziip_on_cp_engines,
        **(cost if currency else {}),
    }


def _lead(answer: Mapping[str, Any], limit: Mapping[str, Any], headroom: Mapping[str, Any], target: float) -> str:
    busy = next(output for output in answer["outputs"] if output["metric"] == "cpu_busy_pct")
    first, top = headroom["first"], answer["bottleneck"]
    if first and first["already"]:
        until = f"The target of {target:g} % is already exceeded ({_name(first['resource'])})."
    elif first and first["value"]:
        until = (
            f"If growth continues, {target:g} % is reached around {first['value']} (between {_date(first['lo'])} and "
            f"{_date(first['hi'])}; {_name(first['resource'])})."
        )
    else:
        until = f"If growth continues, no resource reaches {target:g} % within three years."
    when = str(answer["at"].get("when", "")).replace("T", " ")[:16]
    return (
        f"At the recorded peak ({when}), CPU busy is "
        f"{text.figure(busy['value'], 3)} %. The bottleneck is {_name(top['resource'])}, "
        f"{text.figure(top['utilization_pct'], 3)} %. {until} Load can grow by "
        f"{text.figure(limit['growth_pct']['value'], 3)} % before {target:g} % is reached."
    )


def _whole_days(days: Sequence[datetime], span: tuple[datetime, datetime], interval_s: float) -> slice:
    """The days recorded from end to end: the mean of a part of a day is none of the day. All, where none is whole."""
    starts_late = span[0] - days[0] >= timedelta(seconds=interval_s)
    ends_early = span[1] + timedelta(seconds=interval_s) < days[-1] + timedelta(days=1)
    return slice(int(starts_late), len(days) - int(ends_early)) if len(days) > starts_late + ends_early else slice(None)


def _rests(answer: Mapping[str, Any], bundle: Mapping[str, Any], verdict: str | None) -> list[str]:
    evidence = answer["evidence"]
    gate = evidence.get("gate") or {}
    first, last = (at[:10] for at in evidence["period"])
    judged = {True: "passes its validation", False: "does not pass validation", None: "is not judged by validation"}
    return [
        f"Model {bundle['model_version']}, which {judged[gate.get('passed')]}; intervals are 90 % intervals.",
        f"Calibrated on {evidence['intervals']:,} intervals from {first} to {last}.",
        f"Last data check: {VERDICTS.get(verdict or '', 'none')}.",
    ]


def _name(resource: str) -> str:
    return "DASD" if resource == "dasd" else resource.removesuffix(" of the LPAR")


def _date(value: str | None) -> str:
    return value or "later than three years"


def _interval(estimate: Mapping[str, Any]) -> str:
    low, high = (text.figure(estimate[side]) for side in ("lo", "hi"))
    return f"{text.figure(estimate['value'])} ({low} to {high})"
