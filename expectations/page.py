"""The front page of the data-quality site: what a planner reads first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import PurePath
from typing import Any

from expectations.result import Finding, QualityResult

_SENTENCES = {
    "pass": "Every expectation is met. The marts can be published.",
    "warn": "The marts can be published. Look at the warnings before you rely on what they touch.",
    "fail": "The build stops here: figures that rest on these data would be wrong.",
}
_HEADINGS = {"pass": "Sound", "warn": "Usable, with warnings", "fail": "Not fit for use"}
_MARKS = {"pass": "✓", "warn": "warning", "fail": "critical"}
_SHOWN_EXAMPLES = 5
_FILES = ("file", "counted_in")


def ways_back(up: str) -> str:
    """Links of a page's head: to the page of `etalon serve` and to the summary; `up` leads to the site."""
    return (
        f"<nav class='site' aria-label='Site'><a class='brand' href='{up}../#/overview'>Etalon</a> "
        f"<a href='{up}../#/data'>Data</a> <a href='{up}index.html'>Data quality</a> "
        f"<a href='{up}suites/index.html'>Suites</a></nav>"
    )


@dataclass(frozen=True)
class Chart:
    """A system's chart: its name, what is drawn, the drawing."""

    system: str
    caption: str
    svg: str


def front_page(
    result: QualityResult, *, database: str, made_at: str, charts: Sequence[Chart], files: Sequence[dict[str, Any]]
) -> str:
    """HTML of the front page; everything it needs is in it or beside it."""
    counts = result.counts
    problems = "".join(_problem(finding) for finding in result.problems)
    met = "".join(_met(finding) for finding in result.findings if finding.success)
    tally = (("fail", "critical"), ("warn", "warning" if counts["warn"] == 1 else "warnings"), ("pass", "met"))
    body = [
        ways_back(""),
        f'<header><p class="eyebrow">Data quality</p><h1>{_HEADINGS[result.verdict]}</h1>',
        f"<p>{_SENTENCES[result.verdict]}</p><ul class='tally'>",
        *(f'<li class="{key}"><b>{counts[key]}</b> {name}</li>' for key, name in tally),
        f"</ul><p class='where'>{escape(database)} · {escape(made_at)}</p></header><main>",
        f"<section><h2>What needs attention</h2>{problems}</section>" if problems else "",
        _charts(charts),
        f"<section><h2>Files</h2>{_files(files)}</section>",
        f"<section><h2>What is met</h2><ul class='met'>{met}</ul></section>",
        "<footer><a href='suites/index.html'>All suites in detail</a></footer></main>",
    ]
    return (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Data quality: {_HEADINGS[result.verdict]}</title><link rel='stylesheet' href='page.css'></head>"
        f"<body class='{result.verdict}'>{''.join(body)}</body></html>"
    )


def suites_page(findings: Sequence[Finding], titles: Mapping[str, str]) -> str:
    """HTML of the list of suites, each with its expectations and the way to its detail page.

    `titles` says what each frame is. Pages of findings are relative to the site; this page is one folder down.
    """
    sections = []
    for subject, title in titles.items():
        own = [finding for finding in findings if finding.subject == subject]
        rows = "".join(
            f"<tr><td>{_MARKS[f.status]}</td><td>{escape(f.title)}</td><td>{f.unexpected:,} of {f.checked:,}</td></tr>"
            for f in own
        )
        if own:
            pages = f"<a href='../{escape(own[0].page)}'>result</a>" if own[0].page else ""
            header = "<th></th><th>Expectation</th><th>Unexpected</th>"
            sections.append(
                f"<h2>{escape(title)}</h2><p><code>{escape(subject)}</code> {pages}</p>{_table(header, rows)}"
            )
    return (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>Suites</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<link rel='stylesheet' href='../page.css'></head><body>{ways_back('../')}"
        f"<main><h1>Suites</h1>{''.join(sections)}</main></body></html>"
    )


def _problem(finding: Finding) -> str:
    shown = finding.examples[:_SHOWN_EXAMPLES]
    rest = finding.unexpected - len(shown)
    columns = list(shown[0]) if shown else []
    # The value that was seen comes first in an example; where it stands comes after it.
    columns = columns[1:] + columns[:1]
    header = "".join(f"<th>{escape(_label(name))}</th>" for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(name, example.get(name)))}</td>" for name in columns) + "</tr>"
        for example in shown
    )
    table = _table(header, rows) if rows else ""
    more = f"<p class='more'>and {rest:,} more</p>" if rest > 0 and shown else ""
    about = f"<p class='about'>{escape(finding.about)}</p>" if finding.about else ""
    detail = f"<a href='{escape(finding.page)}'>details</a>" if finding.page else ""
    return (
        f"<article class='{finding.status}'><h3><span class='badge'>{finding.severity}</span> "
        f"Expected: {escape(finding.expected)}</h3>"
        f"<p>Not so for {finding.unexpected:,} of {finding.checked:,}. {detail}</p>{table}{more}"
        f"<p class='advice'><b>What to do.</b> {escape(finding.advice)}</p>{about}</article>"
    )


def _met(finding: Finding) -> str:
    checked = f"{finding.checked:,} checked" if finding.checked else "nothing to check"
    title = f"<a href='{escape(finding.page)}'>{escape(finding.title)}</a>" if finding.page else escape(finding.title)
    return f"<li>{title} <span>{checked}</span></li>"


def _charts(charts: Sequence[Chart]) -> str:
    if not charts:
        return ""
    figures = "".join(
        f"<figure><figcaption><b>{escape(chart.system)}</b> {escape(chart.caption)}</figcaption>{chart.svg}</figure>"
        for chart in charts
    )
    return f"<section><h2>Busy of the general-purpose engines, interval by interval</h2>{figures}</section>"


def _files(files: Sequence[dict[str, Any]]) -> str:
    """The ledger as a table; what was said of a file stands below its figures, over the whole width."""
    if not files:
        return "<p>No file has been ingested.</p>"
    shown = [name for name in files[0] if name != "message"]
    header = "".join(f"<th>{escape(_label(name))}</th>" for name in shown)
    rows = "".join(_file(file, shown) for file in files)
    return _table(header, rows)


def _file(file: dict[str, Any], shown: Sequence[str]) -> str:
    cells = "".join(f"<td>{escape(_cell(name, file[name]))}</td>" for name in shown)
    message = file.get("message")
    if not message:
        return f"<tr>{cells}</tr>"
    return f"<tr class='spoken'>{cells}</tr><tr class='said'><td colspan='{len(shown)}'>{escape(message)}</td></tr>"


def _cell(name: str, value: Any) -> str:
    """A value as shown; of a file its name alone, as the site is served to others than those of the machine."""
    return PurePath(str(value)).name if name in _FILES and value else _value(value)


def _table(header: str, rows: str) -> str:
    return f"<div class='scroll'><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>"


def _label(name: str) -> str:
    """A column name in words, its unit in brackets."""
    for ending, unit in (("_us_per_tran", "us/tran"), ("_pct", "%"), ("_s", "s"), ("_ms", "ms")):
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} ({unit})"
    return name.replace("_", " ")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)
