"""The report on a system for those who decide: one page that stands alone, with its charts in it."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from pipelines import pages, text
from pipelines.exits import EtalonError, Exit

STEPS = 31
STALE_DAYS = 7
VERDICTS = {"pass": "every expectation is met", "warn": "usable, with warnings", "fail": "not fit for use"}


def report(bundle: Mapping[str, Any], database: Path, quality: Path, system: str, max_busy_pct: float = 90.0) -> str:
    """HTML of the report. Raises QuestionError for a system the model does not know, EtalonError without a history."""
    from model.capacity import ask
    from model.capacity.questions import system_entry
    from serve import data_state, history
    from serve.snapshot import Snapshot

    entry = system_entry(bundle, system)
    snapshot = Snapshot(database)
    span = history.span(snapshot, system)
    if span is None or not entry.get("profile"):
        raise EtalonError(
            f"{system} has measured points but no history to report; use `etalon predict`", Exit.QUESTION
        )
    recorded = history.history(snapshot, system, span[0], span[1].replace(hour=23, minute=59, second=59), "day")
    answer = ask.predict(bundle, system).to_dict()
    limit = ask.max_rate(bundle, system, max_busy_pct=max_busy_pct)
    headroom = ask.headroom(bundle, system, max_busy_pct=max_busy_pct)
    sections = _charts(bundle, recorded, span, answer, limit, headroom, max_busy_pct)
    sections["When the target is reached"] = pages.table([_crossing(found) for found in headroom["crossings"]])
    sections["What limits growth"] = pages.table([_limit(found) for found in limit["limits"]])
    sections["Service classes, last seven days"] = pages.table(
        [_class(found) for found in history.classes(snapshot, system)]
    )
    notes = list(dict.fromkeys([*answer["notes"], *headroom["notes"]]))
    sections["What this rests on"] = _rests(answer, bundle, data_state.quality(quality).verdict) + notes
    title = f"Capacity of {system}, {date.today().isoformat()}"
    lead = _lead(answer, limit, headroom, max_busy_pct) + _age(span[1].date(), date.today())
    return pages.document(title, lead, sections)


def _crossing(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        "resource": _name(found["resource"]),
        "likeliest": "already" if found["already"] else _date(found["value"]),
        "5 % by": _date(found["lo"]),
        "95 % by": _date(found["hi"]),
    }


def _limit(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        "resource": _name(found["resource"]),
        "transactions/s at the target": _interval(found["etr_tps"]),
        "growth from the recorded peak": f"{text.figure(found['growth_pct']['value'], 3)} %",
    }


def _class(found: Any) -> dict[str, str]:
    change = found.rate_tps_change_pct
    return {
        "class": found.class_name,
        "workload": found.workload,
        "transactions/s": text.figure(found.rate_tps),
        "CPU, µs/transaction": text.figure(found.cpu_us_per_tran, 5),
        "response, ms": text.figure(found.response_ms, 3),
        "rate against the week before": "–" if change is None else f"{change:+.1f} %",
    }


def _lead(answer: Mapping[str, Any], limit: Mapping[str, Any], headroom: Mapping[str, Any], target: float) -> str:
    busy = next(output for output in answer["outputs"] if output["metric"] == "cpu_busy_pct")
    first, top = headroom["first"], answer["bottleneck"]
    if first and first["already"]:
        until = f"The target of {target:g} % is passed already ({_name(first['resource'])})."
    elif first and first["value"]:
        until = (
            f"If growth goes on, {target:g} % is reached around {first['value']} (between {_date(first['lo'])} and "
            f"{_date(first['hi'])}; {_name(first['resource'])})."
        )
    else:
        until = f"If growth goes on, nothing reaches {target:g} % within three years."
    when = str(answer["at"].get("when", "")).replace("T", " ")[:16]
    return (
        f"At the load of its recorded peak ({when}) the general-purpose engines are "
        f"{text.figure(busy['value'], 3)} % busy; nearest to full: {_name(top['resource'])}, "
        f"{text.figure(top['utilization_pct'], 3)} %. {until} The load can grow by "
        f"{text.figure(limit['growth_pct']['value'], 3)} % before {target:g} % is reached."
    )


def _age(last: date, today: date) -> str:
    """What to add of records that end too long ago to speak of today; empty for others."""
    days = (today - last).days
    ends = f" The last records are of {last}, {days} days ago: figures are of then, and forecasts begin there."
    return ends if days > STALE_DAYS else ""


def _charts(
    bundle: Mapping[str, Any],
    recorded: Any,
    span: tuple[datetime, datetime],
    answer: Mapping[str, Any],
    limit: Mapping[str, Any],
    headroom: Mapping[str, Any],
    target: float,
) -> dict[str, pages.Part]:
    from model.capacity import ask
    from pipelines import report_charts

    times = [datetime.fromisoformat(start) for start in recorded.start_local]
    columns = {kind: [c for c in recorded.columns if c.kind == kind] for kind in {c.kind for c in recorded.columns}}
    groups = {
        column.name: [value or 0.0 for value in column.values]
        for column in (*columns.get("uncaptured", []), *columns.get("class_group", []))
    }
    peak, online = columns["cp_peak"][0].values, columns["cp_online"][0].values
    days = _whole_days(times, span, bundle["systems"][answer["system"]]["profile"]["seconds"])
    busy = [None if p is None or not o else 100.0 * p / o for p, o in zip(peak, online, strict=True)]
    most = max(60.0, 1.15 * float(limit["growth_pct"]["value"] or 0.0))
    growth = ask.spaced("growth_pct", -90.0, most, STEPS)
    swept = ask.sweep(bundle, answer["system"], "growth_pct", growth, metrics=["etr_tps", "cpu_busy_pct"])["steps"]
    rates, points = (
        [next(o for o in step["outputs"] if o["metric"] == metric and "class=" not in o["condition"]) for step in swept]
        for metric in ("etr_tps", "cpu_busy_pct")
    )
    now = next(o["value"] for o in answer["outputs"] if o["metric"] == "etr_tps" and "class=" not in o["condition"])
    drawn = (
        (
            "General-purpose engines in use, daily means",
            report_charts.engines_over_time(
                times[days], {name: values[days] for name, values in groups.items()}, peak[days], online[days]
            ),
        ),
        (
            "Busy at the daily peak, and its forecast",
            report_charts.forecast((times, busy), headroom, target),
        ),
        ("Busy against the load", report_charts.load_curve([r["value"] for r in rates], points, now, target)),
    )
    return {title: pages.figures([svg]) for title, svg in drawn}


def _whole_days(days: Sequence[datetime], span: tuple[datetime, datetime], interval_s: float) -> slice:
    """The days recorded from end to end: the mean of a part of a day is none of the day. All, where none is whole."""
    begun = span[0] - days[0] >= timedelta(seconds=interval_s)
    broken = span[1] + timedelta(seconds=interval_s) < days[-1] + timedelta(days=1)
    return slice(int(begun), len(days) - int(broken)) if len(days) > begun + broken else slice(None)


def _rests(answer: Mapping[str, Any], bundle: Mapping[str, Any], verdict: str | None) -> list[str]:
    seen = answer["evidence"]
    gate = seen.get("gate") or {}
    judged = {True: "passes its validation", False: "does not pass its validation", None: "is not judged by validation"}
    return [
        f"Model {bundle['model_version']}, which {judged[gate.get('passed')]}; intervals are 90 % intervals.",
        f"Calibrated on {seen['intervals']:,} intervals from {seen['period'][0][:10]} to {seen['period'][1][:10]}.",
        f"Last check of the data: {VERDICTS.get(verdict or '', 'none')}.",
    ]


def _name(resource: str) -> str:
    return "DASD" if resource == "dasd" else resource.removesuffix(" of the LPAR")


def _date(value: str | None) -> str:
    return value or "later than three years"


def _interval(estimate: Mapping[str, Any]) -> str:
    low, high = (text.figure(estimate[side]) for side in ("lo", "hi"))
    return f"{text.figure(estimate['value'])} ({low} to {high})"
