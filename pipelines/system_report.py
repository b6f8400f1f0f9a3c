"""The report on a system for those who decide: one page that stands alone, with its charts in it."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from html import escape
from pathlib import Path
from typing import Any

from pipelines import text
from pipelines.exits import EtalonError, Exit

STEPS = 31
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#14212b;max-width:58rem;margin:2rem auto;padding:0 1rem}"
    "h1{margin:0}h2{margin:2rem 0 .5rem;font-size:1.15rem}.lead{font-size:1.25rem}.quiet{color:#52616c;font-size:.9rem}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .8rem .3rem 0;border-bottom:1px solid #d7dee4;text-align:left}"
    "th{color:#52616c;font-size:.85rem}"
    "figure{margin:.5rem 0}svg{width:100%;height:auto}.wide{overflow-x:auto}"
    "@media print{body{margin:0;max-width:none}section{break-inside:avoid}}"
)


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
            f"{system} has measured points and no history to report on; ask `etalon predict`", Exit.QUESTION
        )
    recorded = history.history(snapshot, system, span[0], span[1].replace(hour=23, minute=59, second=59), "day")
    answer = ask.predict(bundle, system).to_dict()
    limit = ask.max_rate(bundle, system, max_busy_pct=max_busy_pct)
    headroom = ask.headroom(bundle, system, max_busy_pct=max_busy_pct)
    parts = [
        _lead(system, answer, limit, headroom, max_busy_pct),
        _charts(bundle, recorded, answer, limit, headroom, max_busy_pct),
        _table(
            "When the target is reached",
            ("resource", "likeliest", "5 % sure by", "95 % sure by"),
            [
                [
                    _name(c["resource"]),
                    "already" if c["already"] else _date(c["value"]),
                    _date(c["lo"]),
                    _date(c["hi"]),
                ]
                for c in headroom["crossings"]
            ],
        ),
        _table(
            "What limits growth",
            ("resource", "transactions/s at the target", "growth from today's peak"),
            [
                [_name(row["resource"]), _interval(row["etr_tps"]), f"{text.figure(row['growth_pct']['value'], 3)} %"]
                for row in limit["limits"]
            ],
        ),
        _table(
            "Service classes, last seven days",
            (
                "class",
                "workload",
                "transactions/s",
                "CPU, µs/transaction",
                "response, ms",
                "rate against the week before",
            ),
            [
                [
                    row.class_name,
                    row.workload,
                    text.figure(row.rate_tps),
                    text.figure(row.cpu_us_per_tran, 5),
                    text.figure(row.response_ms, 3),
                    "–" if row.rate_tps_change_pct is None else f"{row.rate_tps_change_pct:+.1f} %",
                ]
                for row in history.classes(snapshot, system)
            ],
        ),
        _rests(answer, bundle, data_state.quality(quality).verdict),
    ]
    head = f"<title>Capacity of {escape(system)}</title><style>{STYLE}</style>"
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"{head}</head><body>{''.join(parts)}</body></html>\n"
    )


def _lead(
    system: str, answer: Mapping[str, Any], limit: Mapping[str, Any], headroom: Mapping[str, Any], target: float
) -> str:
    busy = next(output for output in answer["outputs"] if output["metric"] == "cpu_busy_pct")
    first, top = headroom["first"], answer["bottleneck"]
    if first and first["already"]:
        until = f"The target of {target:g} % is passed already, by {_name(first['resource'])}."
    elif first and first["value"]:
        until = (
            f"If growth goes on, {_name(first['resource'])} reaches {target:g} % around {first['value']} "
            f"(between {_date(first['lo'])} and {_date(first['hi'])})."
        )
    else:
        until = f"If growth goes on, nothing reaches {target:g} % within three years."
    return (
        f"<p class='quiet'>Capacity report, {date.today().isoformat()}</p><h1>{escape(system)}</h1>"
        f"<p class='lead'>At its recorded peak ({escape(str(answer['at'].get('when', '')).replace('T', ' ')[:16])}) "
        f"the general-purpose engines were {text.figure(busy['value'], 3)} % busy; {escape(_name(top['resource']))} is "
        f"nearest to full, at {text.figure(top['utilization_pct'], 3)} %. {escape(until)} The load can grow by "
        f"{text.figure(limit['growth_pct']['value'], 3)} % before {target:g} % is reached.</p>"
    )


def _charts(
    bundle: Mapping[str, Any],
    recorded: Any,
    answer: Mapping[str, Any],
    limit: Mapping[str, Any],
    headroom: Mapping[str, Any],
    target: float,
) -> str:
    from model.capacity import ask
    from pipelines import report_charts

    times = [datetime.fromisoformat(start) for start in recorded.start_local]
    columns = {kind: [c for c in recorded.columns if c.kind == kind] for kind in {c.kind for c in recorded.columns}}
    groups = {
        column.name: [value or 0.0 for value in column.values]
        for column in (*columns.get("uncaptured", []), *columns.get("class_group", []))
    }
    peak, online = columns["cp_peak"][0].values, columns["cp_online"][0].values
    busy = [None if p is None or not o else 100.0 * p / o for p, o in zip(peak, online, strict=True)]
    most = max(60.0, 1.15 * float(limit["growth_pct"]["value"] or 0.0))
    growth = ask.spaced("growth_pct", -90.0, most, STEPS)
    swept = ask.sweep(bundle, answer["system"], "growth_pct", growth, metrics=["etr_tps", "cpu_busy_pct"])["steps"]
    rates, points = (
        [next(o for o in step["outputs"] if o["metric"] == metric and "class=" not in o["condition"]) for step in swept]
        for metric in ("etr_tps", "cpu_busy_pct")
    )
    now = float(answer["at"]["etr_tps"])
    drawn = (
        ("General-purpose engines in use, daily means", report_charts.engines_over_time(times, groups, peak, online)),
        (
            "Busy at the daily peak, and its forecast",
            report_charts.forecast((times, busy), headroom["forecast"], target),
        ),
        ("Busy against the load", report_charts.load_curve([r["value"] for r in rates], points, now, target)),
    )
    return "".join(f"<section><h2>{escape(title)}</h2><figure>{svg}</figure></section>" for title, svg in drawn)


def _rests(answer: Mapping[str, Any], bundle: Mapping[str, Any], verdict: str | None) -> str:
    seen = answer["evidence"]
    gate = seen.get("gate") or {}
    judged = {True: "passes its validation", False: "does not pass its validation", None: "is not judged by validation"}
    rests_on = [
        f"Model {bundle['model_version']}, which {judged[gate.get('passed')]}; intervals are 90 % intervals.",
        f"Calibrated on {seen['intervals']:,} intervals from {seen['period'][0][:10]} to {seen['period'][1][:10]}.",
        f"Last check of the data: {verdict or 'none'}.",
        *answer["notes"],
    ]
    items = "".join(f"<li>{escape(line)}</li>" for line in rests_on)
    return f"<section><h2>What this rests on</h2><ul>{items}</ul></section>"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<section><h2>{escape(title)}</h2><div class='wide'>{table}</div></section>"


def _name(resource: str) -> str:
    return resource.removesuffix(" of the LPAR")


def _date(value: str | None) -> str:
    return value or "later than three years"


def _interval(estimate: Mapping[str, Any]) -> str:
    low, high = (text.figure(estimate[side]) for side in ("lo", "hi"))
    return f"{text.figure(estimate['value'])} ({low} to {high})"
