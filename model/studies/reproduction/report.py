"""What came of a reproduction, for readers and programs: plain values, Markdown, CSV, and HTML without network."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from model.studies.reproduction.comparing import EQUAL, EXCEPTED, FAILING, STATEMENT, Result

VERDICTS = (EQUAL, EXCEPTED, FAILING)
HEADS = (
    "table",
    "condition",
    "metric",
    "unit",
    "published",
    "computed",
    "difference",
    "verdict",
    "reading",
    "note",
)
_CSS = """body{font:15px/1.5 system-ui,sans-serif;max-width:84rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;font-size:.85rem}
.wide{overflow-x:auto}th,td{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.equal{color:#00684a}
.failing{color:#a83200;font-weight:600}.excepted{color:#8a5a00}.statement{color:#666}"""

_NUMERIC = ("published", "computed", "difference")
_REMARKABLE = ((FAILING, "Failing"), (EXCEPTED, "Excepted, with the arithmetic"))

Results = Mapping[str, Sequence[Result]]


def summary(results: Iterable[Result]) -> dict[str, int]:
    """Counts: `values`, and of them `equal`, `excepted` and `failing`; statements are no values."""
    counted = Counter(result.verdict for result in results)
    return {"values": sum(counted[verdict] for verdict in VERDICTS), **{name: counted[name] for name in VERDICTS}}


def total(results: Results) -> dict[str, int]:
    """The summary over all systems."""
    return summary(result for found in results.values() for result in found)


def as_dict(results: Results) -> dict[str, Any]:
    """Plain values for JSON."""
    return {
        "summary": total(results),
        "systems": [
            {
                "system": system,
                **summary(found),
                "statements": sum(result.verdict == STATEMENT for result in found),
                "results": [_plain(result) for result in found],
            }
            for system, found in results.items()
        ],
    }


def as_csv(results: Results) -> str:
    """Every figure as a row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("system", *HEADS))
    for system, found in results.items():
        writer.writerows((system, *(row.values())) for row in map(_shown, found))
    return text.getvalue()


def markdown(results: Results) -> str:
    """Counts by system, then every exception and failure with its arithmetic, then every figure."""
    lines = ["# Published figures, computed from records", "", _sentence(results), "", *_counts(results)]
    for verdict, title in _REMARKABLE:
        chosen = _of(results, verdict)
        if chosen:
            lines += ["", f"## {title}", "", *(f"- {system}: {line}" for system, line in chosen)]
    for system, found in results.items():
        lines += ["", f"## {system}", "", f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
        lines += [f"| {' | '.join(_cell(text) for text in _shown(result).values())} |" for result in found]
    return "\n".join(lines) + "\n"


def _of(results: Results, verdict: str) -> list[tuple[str, str]]:
    """System and a line of words for every figure with this verdict."""
    return [
        (system, f"{named(result)}, printed {result.figure.value}: {why(result)}")
        for system, found in results.items()
        for result in found
        if result.verdict == verdict
    ]


def html(results: Results) -> str:
    """The same as a page that opens with no network."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>Published figures, computed from records</title>",
        f"<style>{_CSS}</style><h1>Published figures, computed from records</h1><p>{escape(_sentence(results))}</p>",
        "<div class=wide><table><tr><th>system<th class=n>values<th class=n>equal<th class=n>excepted"
        "<th class=n>failing<th class=n>statements</tr>",
    ]
    for system, found in results.items():
        counts = [*summary(found).values(), sum(result.verdict == STATEMENT for result in found)]
        cells = "".join(f"<td class=n>{count}" for count in counts)
        parts.append(f"<tr><td><a href=#{escape(system)}>{escape(system)}</a>{cells}</tr>")
    parts.append("</table></div>")
    for verdict, title in _REMARKABLE:
        chosen = _of(results, verdict)
        if chosen:
            items = (f"<li><a href=#{escape(s)}>{escape(s)}</a>: {escape(line)}" for s, line in chosen)
            parts.append(f"<h2 id={verdict}>{title}</h2><ul>{''.join(items)}</ul>")
    for system, found in results.items():
        heads = "".join(f"<th{' class=n' if head in _NUMERIC else ''}>{head}" for head in HEADS)
        parts.append(f"<h2 id={escape(system)}>{escape(system)}</h2><div class=wide><table><tr>{heads}</tr>")
        parts += [_row(result) for result in found]
        parts.append("</table></div>")
    return "".join(parts) + "</html>\n"


def named(result: Result) -> str:
    """Metric, table and condition of a figure."""
    figure = result.figure
    return f"{figure.metric} of {figure.table}" + (f" [{figure.condition}]" if figure.condition else "")


def why(result: Result) -> str:
    """What was computed and by which arithmetic, or why nothing was."""
    if result.computed is None:
        return result.note
    return f"{result.computed:.10g} computed" + (f" ({result.note})" if result.note else "")


def _sentence(results: Results) -> str:
    counts = total(results)
    statements = sum(result.verdict == STATEMENT for found in results.values() for result in found)
    return (
        f"{counts['values']} published values of {len(results)} systems: {counts['equal']} come out of the records as "
        f"printed, {counts['excepted']} are contradicted by the paper itself, {counts['failing']} fail. "
        f"{statements} {'statement is no value and is' if statements == 1 else 'statements are no values and are'} "
        "listed only."
    )


def _counts(results: Results) -> list[str]:
    lines = ["| system | values | equal | excepted | failing |", "|---|--:|--:|--:|--:|"]
    for system, found in results.items():
        lines.append(f"| {system} | {' | '.join(str(count) for count in summary(found).values())} |")
    return lines


def _plain(result: Result) -> dict[str, Any]:
    figure = result.figure
    return {
        "study": figure.study,
        "table": figure.table,
        "condition": figure.condition,
        "metric": figure.metric,
        "unit": figure.unit,
        "kind": figure.kind,
        "published": figure.value,
        "computed": result.computed,
        "difference": result.difference,
        "verdict": result.verdict,
        "reading": result.reading,
        "note": result.note,
    }


def _shown(result: Result) -> dict[str, str]:
    plain = _plain(result)
    numbers = {name: "" if plain[name] is None else f"{plain[name]:.10g}" for name in ("computed", "difference")}
    return {head: numbers.get(head, str(plain[head])) for head in HEADS}


def _row(result: Result) -> str:
    cells = [
        f"<td class={'n' if head in _NUMERIC else result.verdict if head == 'verdict' else 't'}>{escape(text)}"
        for head, text in _shown(result).items()
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
