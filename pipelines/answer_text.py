"""Capacity answers as plain text."""

import datetime as dt
import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from model.capacity.values import KEYS, SHORT_HISTORY
from pipelines.text import counted, figure, table, unit_sign

FEW = 3
MOST_COLUMNS = 8
MOST_MODELLED = 4
MOST_ROWS = 20
MOST_LINES = 40
LEADING = ("tps|throughput", "busy|cpu|itr", "avg|average|response|transit|elapsed", "total")
"""Words of the metrics that a long list begins with: rates, what engines do, times."""


def answer(prediction: Mapping[str, Any], details: bool = False) -> str:
    """A prediction for a reader: figures with intervals, the bottleneck, what it rests on; ``details`` adds where
    time is spent, every resource, and how far the question lies outside the data.
    """
    by_class, outputs = _by_class(prediction["outputs"])
    rows = [
        {
            "metric": output["metric"],
            "of": of,
            "value": output["value"],
            "within": limits(output),
        }
        | {"unit": unit_sign(output["unit"])}
        for output, of in zip(outputs, subjects(outputs, prediction["at"]), strict=True)
    ]
    columns = {"metric": "metric", "of": "of", "value": "value", "within": f"{prediction['interval_pct']} % interval"}
    if not any(row["of"] for row in rows):
        del columns["of"]
    figures = _by_number(prediction) if len(rows) > MOST_ROWS and not details else None
    if figures is None:
        cut = [] if details else sorted(rows, key=_place)[MOST_LINES:]
        figures = table(sorted(rows, key=_place)[:MOST_LINES] if cut else rows, columns | {"unit": "unit"}, "  ")
        if cut:
            figures += f"\n  and {len(cut)} more: all with --details, fewer with --at KEY=LEVEL"
    if by_class:
        figures += f"\n{by_class}"
    lines = [flagged(f"{prediction['system']} at {described(prediction['at'])}", prediction.get("notes", ())), figures]
    resting = _resting(prediction["evidence"].get("figures", ())) if details else []
    if _by_laws_alone(prediction):
        return "\n".join([*lines, *resting, *_laws(prediction)])
    lines.append(f"  bottleneck: {bottleneck(prediction)}")
    lines += _recorded(prediction.get("recorded", ()), details)
    return "\n".join([*lines, *(_details(prediction) if details else []), *resting, *basis(prediction)])


def _by_class(outputs: Sequence[Mapping[str, Any]]) -> tuple[str, list[Mapping[str, Any]]]:
    """Figures of classes as a table, a line for each class and a column for each metric, and the other figures; no
    table where there is one class, or a class has several figures of a metric.
    """
    heads: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    rest = []
    for output in outputs:
        name, metric = _levels(output["condition"]).get("class"), output["metric"]
        if name is None:
            rest.append(output)
            continue
        row = rows.setdefault(name, {"class": name})
        if metric in row:
            return "", list(outputs)
        heads[metric] = f"{metric} [{unit_sign(output['unit'])}]"
        sure = figure(output["lo"]) == figure(output["hi"])
        row[metric] = figure(output["value"]) if sure else within(output)
    if len(rows) < 2:
        return "", list(outputs)
    metrics = {metric for row in rows.values() for metric, value in row.items() if value != "–"}
    shown = {metric: head for metric, head in heads.items() if metric in metrics}
    return table(list(rows.values()), {"class": "class"} | shown, "  "), rest


def _place(row: Mapping[str, Any]) -> int:
    """Where a figure stands in a long list; what is zero stands last."""
    if not row["value"]:
        return len(LEADING) + 1
    metric = row["metric"]
    return next((i for i, words in enumerate(LEADING) if re.search(words, metric, re.IGNORECASE)), len(LEADING))


def _by_number(prediction: Mapping[str, Any]) -> str | None:
    """Figures at all numbers of a condition, such as users: a line for each figure, a column for each number; None
    where not every figure has a separate place, or there are more numbers than a line has room for.
    """
    written = [_levels(output["condition"]) for output in prediction["outputs"]]
    levels: dict[str, set[str]] = {}
    for condition in written:
        for key, level in condition.items():
            levels.setdefault(key, set()).add(level)
    keys = [key for key, values in levels.items() if len(values) > 1 and all(map(_is_number, values))]
    numbers = sorted({level for key in keys for level in levels[key]}, key=float)
    if not keys or len(numbers) > MOST_COLUMNS:
        return None
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    names = subjects(prediction["outputs"], {*prediction["at"], *keys})
    for output, of, condition in zip(prediction["outputs"], names, written, strict=True):
        metric, unit = output["metric"], unit_sign(output["unit"])
        row = rows.setdefault((metric, of, unit), {"metric": metric, "of": of, "unit": unit})
        places = [condition[key] for key in keys if key in condition]
        if len(places) != 1 or places[0] in row:
            return None
        row[places[0]] = output["value"]
    named = {"of": "of"} if any(row["of"] for row in rows.values()) else {}
    heads = {"metric": "metric"} | named | {number: f"{float(number):,.12g}" for number in numbers} | {"unit": "unit"}
    head = f"  by {' or '.join(keys)}; with intervals at one, as in --at {keys[0]}={numbers[-1]}"
    return f"{head}\n{table(list(rows.values()), heads, '  ')}"


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


def subjects(outputs: Sequence[Mapping[str, Any]], question_keys: Container[str] = ()) -> list[str]:
    """The subject of each figure: its class or station, else the conditions that distinguish it within its metric."""
    written = [_levels(output["condition"]) for output in outputs]
    of_metric: dict[str, list[dict[str, str]]] = {}
    for output, condition in zip(outputs, written, strict=True):
        of_metric.setdefault(output["metric"], []).append(condition)
    telling = {
        (metric, key)
        for metric, conditions in of_metric.items()
        for key in {key for condition in conditions for key in condition}
        if len({condition.get(key) for condition in conditions}) > 1
    }
    names = []
    for output, condition in zip(outputs, written, strict=True):
        named = next((level for key, level in condition.items() if key in ("class", "station")), None)
        apart = (
            level
            for key, level in condition.items()
            if key not in question_keys and key not in KEYS and (output["metric"], key) in telling
        )
        names.append(named or ", ".join(apart))
    return names


def _levels(condition: str) -> dict[str, str]:
    """The keys of a condition with their levels."""
    pairs = (pair.partition("=") for pair in condition.split(";") if "=" in pair)
    return {key.strip(): level.strip() for key, _, level in pairs}


def described(at: Mapping[str, Any]) -> str:
    """The keys of a question in words."""
    shown = (f"{key} = {figure(value, 6) if isinstance(value, float) else value}" for key, value in at.items())
    return ", ".join(shown) or "its operating point"


def limits(value: Mapping[str, Any], digits: int = 4) -> str:
    """The interval of a figure; `no limit` where it has no upper limit."""
    low, high = (figure(value[side], digits) for side in ("lo", "hi"))
    return f"{low} … {'no limit' if value['lo'] is not None and value['hi'] is None else high}"


def within(value: Mapping[str, Any] | None) -> str:
    """A figure with its interval."""
    return "–" if value is None or value["value"] is None else f"{figure(value['value'])} ({limits(value)})"


def bottleneck(answer: Mapping[str, Any]) -> str:
    """The fullest resource with its utilization, how sure that is, and the next one."""
    limit = answer["bottleneck"]
    if not limit or limit["utilization_pct"] is None:
        return "none known"
    text = _used(limit)
    if limit["next"]:
        text += f", probability {figure(limit['probability'], 2)}; next {_used(limit['next'])}"
    return text


def _used(station: Mapping[str, Any]) -> str:
    return f"{station['resource']}, {figure(station['utilization_pct'], 3)} % busy ({limits(station, 3)})"


def _recorded(rows: Sequence[Mapping[str, Any]], details: bool) -> list[str]:
    """Recorded values at the load, and the model's values, in one line; of all classes with ``details``."""
    if not rows:
        return []
    shown = rows if details else rows[:MOST_MODELLED]
    each = [
        f"{' '.join(filter(None, (row['metric'], row['class'])))} {figure(row['modelled'])} "
        f"{unit_sign(row['unit'])} (recorded {figure(row['recorded'])})"
        for row in shown
    ]
    more = [f"{len(rows) - len(shown)} more with --details"] if len(shown) < len(rows) else []
    return [f"  model without this record: {', '.join([*each, *more])}"]


def _details(prediction: Mapping[str, Any]) -> list[str]:
    lines = []
    if prediction["times"]:
        waits = (name for row in prediction["times"] for name, ms in row["waiting_ms"].items() if ms)
        resources = list(dict.fromkeys(waits))
        rows = [
            {"class": row["class"], "metric": row["metric"], "using": row["using_ms"]}
            | {name: row["waiting_ms"].get(name) for name in resources}
            for row in prediction["times"]
        ]
        heads = {"class": "class", "metric": "response", "using": "using ms"}
        lines += ["  response time by resource:", table(rows, heads | {n: f"wait {n} ms" for n in resources}, "  ")]
    rows = [
        {"resource": station["resource"], "busy": station["utilization_pct"], "within": limits(station, 3)}
        for station in prediction["bottleneck"]["stations"]
    ]
    heads = {"resource": "resource", "busy": "busy %", "within": f"{prediction['interval_pct']} % interval"}
    lines.append(table(rows, heads, "  "))
    lines += [
        f"  distance from the data: {name} by {figure(by, 3)} e-folds" for name, by in prediction["distance"].items()
    ]
    solver = prediction["solver"]
    lines.append(f"  solver: {solver['method']}; within {figure(100 * solver['relative_error'], 3)} %")
    return lines


def _by_laws_alone(answer: Mapping[str, Any]) -> bool:
    """Whether an answer has no network behind it, which knows the rates it was calibrated at."""
    return "etr_tps" not in answer["evidence"]


def _resting(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """The evidence of each figure from the studies, as a table."""
    rows = [{name: figure[name] for name in ("metric", "condition", "basis")} for figure in figures]
    return [table(rows, {"metric": "metric", "condition": "condition", "basis": "rests on"}, "  ")] if rows else []


def _laws(answer: Mapping[str, Any]) -> list[str]:
    """Model version, the tables of the studies, and warnings, one line each."""
    tables = ", ".join(dict.fromkeys(figure["table"] for figure in answer["evidence"]["figures"]))
    version = f"  model {answer['model_version']}, published figures of the tables {tables}"
    return [version, *(f"  note: {note}" for note in answer.get("notes", ()))]


def basis(answer: Mapping[str, Any]) -> list[str]:
    """Model version, calibration and warnings, one line each."""
    evidence = answer["evidence"]
    if _by_laws_alone(answer):
        return _laws(answer)
    low, high = evidence["etr_tps"]
    rates = figure(low, 6) if low == high else f"{figure(low, 6)} to {figure(high, 6)}"
    data = counted(evidence["points"], "measured point")
    if evidence["period"]:
        data = f"{counted(evidence['intervals'], 'interval')} from {evidence['period'][0]} to {evidence['period'][1]}"
    load = f"{rates} transactions/s on {evidence['engines']:g} engines"
    lines = [f"  model {answer['model_version']}, calibrated on {data} ({load})"]
    return lines + [f"  note: {note}" for note in answer.get("notes", ())]


def sizing(answer: Mapping[str, Any]) -> str:
    """A sizing answer for a reader."""
    engines = answer["engines"]
    rows = [
        row | {"cpu": within(row["cpu_busy_pct"]), "response": within(row["response_ms"])} for row in answer["table"]
    ]
    columns = {
        "engines": "engines",
        "cpu": "CPU busy %",
        "response": "longest response ms",
        "probability": "probability",
        "meets": "meets",
        "limit": "nearest to its target",
    }
    sure = f"5 % to 95 %: {engines['lo']} to {engines['hi'] or 'no upper limit'}"
    need = f"  engines: {engines['value'] or 'none suffice'}" + (f" ({sure})" if engines["lo"] else "")
    lines = [_question_line(answer), need, table(rows, columns, "  ")]
    if any((row["cpu_busy_pct"]["value"] or 0) > 100 for row in answer["table"]):
        lines.append("  CPU busy above 100 % is the offered load, which these engines cannot carry")
    lines.append(f"  bottleneck: {bottleneck(answer)}")
    if answer["machines"]:
        lines += ["", _sized_machines(answer["machines"])]
    return "\n".join([*lines, *basis(answer)])


def _sized_machines(machines: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        {
            "machine": row["machine"],
            "engines": row["engines"]["value"] or "none suffice",
            "sure": f"{row['engines']['lo'] or '?'} … {row['engines']['hi'] or '?'}",
            "cpu": within(row["cpu_busy_pct"]) if row["cpu_busy_pct"] else "–",
            "response": within(row["response_ms"]) if row["response_ms"] else "–",
            "bottleneck": bottleneck(row),
        }
        for row in machines
    ]
    columns = {
        "machine": "machine",
        "engines": "engines",
        "sure": "5 % to 95 %",
        "cpu": "CPU busy %",
        "response": "longest response ms",
        "bottleneck": "bottleneck",
    }
    return table(rows, columns, "  ")


def max_rate(answer: Mapping[str, Any]) -> str:
    """The highest rate for a reader, with what limits it first and next."""
    rows = [
        {
            "resource": limit["resource"],
            "rate": within(limit["etr_tps"]),
            "growth": within(limit["growth_pct"]),
            "first": limit["probability"],
        }
        for limit in answer["limits"]
    ]
    columns = {"resource": "limited by", "rate": "tran/s", "growth": "growth %", "first": "probability"}
    head = f"  highest rate: {within(answer['etr_tps'])} transactions/s, growth {within(answer['growth_pct'])} %"
    if not answer["etr_tps"]["value"]:
        head = "  highest rate: none; the targets cannot be met at any rate"
    return "\n".join([_question_line(answer), head, table(rows, columns, "  "), *basis(answer)])


def flagged(line: str, notes: Sequence[str]) -> str:
    """The first line of an answer, which says where the history is too short to tell growth."""
    short = [note for note in notes if SHORT_HISTORY in note]
    return f"{line} ({'; '.join(short)})" if short else line


def _question_line(answer: Mapping[str, Any]) -> str:
    aims = []
    for name, value in answer["targets"].items():
        by_class = value.items() if isinstance(value, Mapping) else [("", value)]
        aims += [f"{name} {of}".rstrip() + f" ≤ {figure(most)}" for of, most in by_class if most is not None]
    targets = ", ".join(aims)
    return f"{answer['system']} at {described(answer['at'])}" + (f" with {targets}" if targets else "")


def sweep(answer: Mapping[str, Any], chosen: bool = True) -> str:
    """A sweep for a reader: one line a step; intervals where there are few figures. Where the metrics were not chosen
    and there are many figures, those of the whole system."""
    named: dict[str, str] = {}
    left: dict[str, None] = {}
    rows = []
    short = not chosen and any(len(step["outputs"]) > MOST_COLUMNS for step in answer["steps"])
    for step in answer["steps"]:
        row: dict[str, Any] = {"key": step["value"], "outside": "yes" if step["extrapolated"] else ""}
        for output, of in zip(step["outputs"], subjects(step["outputs"]), strict=True):
            if short and of:
                left[output["metric"]] = None
                continue
            name = " ".join(filter(None, (output["metric"], of)))
            named.setdefault(name, f"{name} [{unit_sign(output['unit'])}]")
            row[name] = output
        rows.append(row)
    for row in rows:
        for name in named:
            output = row.get(name)
            row[name] = within(output) if len(named) <= FEW else output and output["value"]
    head = f"{answer['system']} against {answer['key']}" + (f" at {described(answer['at'])}" if answer["at"] else "")
    columns = {"key": answer["key"], **named, "outside": "extrapolated"}
    more = [f"  and by class, with --metric: {', '.join(left)}"] if left else []
    return "\n".join([head, table(rows, columns, "  "), *more, *basis(answer)])


def what_if(comparison: Mapping[str, Any]) -> str:
    """Two questions side by side for a reader."""
    rows = [
        {"metric": row["metric"], "of": row["class"], "a": row["a"], "b": row["b"], "change": within(row["change_pct"])}
        for row in comparison["changes"]
    ]
    columns = {"metric": "metric", "of": "of", "a": "now", "b": "then", "change": "change %"}
    if not any(row["of"] for row in rows):
        del columns["of"]
    sides = (("now", comparison["a"]), ("then", comparison["b"]))
    lines = [f"{side}: {answer['system']} at {described(answer['at'])}" for side, answer in sides]
    lines.append(table(rows, columns, "  "))
    lines += [f"  bottleneck {side}: {bottleneck(answer)}" for side, answer in sides]
    return "\n".join([*lines, *basis(comparison["b"])])


def headroom(answer: Mapping[str, Any]) -> str:
    """Until when it fits, for a reader."""
    rows = [{"resource": row["resource"], "date": crossing(row)} for row in answer["crossings"]]
    columns = {"resource": "resource", "date": "reaches its target"}
    growth = (f"{row['class']} {within(row['growth_pct_per_year'])} %" for row in answer["growth"])
    head = flagged(_question_line(answer), answer["notes"])
    lines = [head, table(rows, columns, "  "), f"  growth a year: {', '.join(growth)}"]
    return "\n".join([*lines, *basis(answer)])


def crossing(row: Mapping[str, Any]) -> str:
    """When a target is reached, with the 90 % range, in words."""
    if row["already"]:
        return "already reached at the recorded peak"
    lo, hi = (dated(row[side]) if row[side] else "later than 3 years" for side in ("lo", "hi"))
    if row["value"] is None:
        return "later than 3 years" + (f" (5 % probability by {lo})" if row["lo"] else "")
    span = f" (90 % range {lo} – {hi})" if row["lo"] != row["hi"] else ""
    return f"around {dated(row['value'])}{span}"


def dated(iso: str) -> str:
    """A date as planners write it: 30 Dec 2026."""
    day = dt.date.fromisoformat(iso[:10])
    return f"{day.day} {day:%b %Y}"


def forecast_msu(forecast: Mapping[str, Any]) -> str:
    """MSU to come for a reader: the recorded peak, and every quarter of a year."""
    rows = []
    heads: dict[str, str] = {}
    for subject in forecast["subjects"]:
        peak = subject["recorded"]
        scope = {"lpar": "LPAR", "machine": "CPC"}[subject["scope"]]
        row = {"scope": scope, "name": subject["name"], "at": peak["peak_at_local"]}
        row["peak"], row["capacity"] = peak["peak_r4ha_msu"], subject["capacity_msu"]
        ahead = subject["forecast"][1:]
        for step in ahead[2::3] or ahead[-1:]:
            heads.setdefault(str(step["week"]), f"in {step['week']} weeks")
            row[str(step["week"])] = within(step)
        rows.append(row)
    columns = {"scope": "of", "name": "name", "peak": "R4HA (MSU)", "at": "at", "capacity": "capacity (MSU)", **heads}
    notes = [f"  note: {note}" for note in forecast["notes"]]
    head = flagged(forecast["system"] or "all LPARs", forecast["notes"])
    return "\n".join([head, table(rows, columns, "  "), f"  model {forecast['model_version']}", *notes])


def explanation(breakdown: Mapping[str, Any]) -> str:
    """The components of an answer, for a reader."""
    rows = [
        {
            "component": row["component"],
            "class": row["class"] or "(none)",
            "engine": row["engine"],
            "used": within(row["engines_in_use"]),
            "cost": within(row["us_per_tran"]),
            "evidence": row["evidence"],
        }
        for row in breakdown["demand"]
    ]
    columns = {"component": "component", "class": "class", "engine": "engine", "used": "engines in use"}
    columns |= {"cost": "µs/tran", "evidence": "evidence"}
    lines = [f"{breakdown['system']} at {described(breakdown['at'])}", table(rows, columns, "  ")]
    for row in breakdown["sensitivity"]:
        shares = (
            f"{one['assumption']} {figure(one['share_pct'], 3)} %" for one in row["shares"] if one["share_pct"] >= 1
        )
        name = " of ".join(filter(None, (row["metric"], row["class"])))
        lines.append(f"  sources of the interval of {name}: {', '.join(shares) or 'nothing known'}")
    return "\n".join([*lines, *basis(breakdown)])


def replay(system: str, at: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Recorded and replayed responses for a reader, class by class."""
    shown = [
        {"class": row["class"], "what": kind, "transactions": row["transactions"], **row[kind]}
        | ({"wasserstein": row["wasserstein"], "ks": row["ks"]} if kind == "replayed" else {})
        for row in rows
        for kind in ("recorded", "replayed")
    ]
    times = {"mean_ms": "mean ms", "p50_ms": "median ms", "p90_ms": "90 % ms", "p99_ms": "99 % ms"}
    heads = {"class": "class", "what": "", "transactions": "transactions", **times}
    lines = [f"{system} at {described(at)}", table(shown, heads | {"wasserstein": "distance", "ks": "KS"}, "  ")]
    part = ", ".join(f"{100 * row['recorded_part']:.0f} % of {row['class']}" for row in rows)
    lines.append(f"  recorded: {part}; distance is Wasserstein's, relative to the recorded mean")
    return "\n".join(lines)


BY_KIND: Mapping[str, Callable[[Any], str]] = {
    "predict": answer,
    "size": sizing,
    "max-rate": max_rate,
    "headroom": headroom,
    "compare": what_if,
}
"""The text of an answer, for each kind of question that can be saved."""
