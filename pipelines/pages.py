"""Pages that stand alone: how they are made, what became of a day's files, and how well the model predicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pipelines import text

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "h2{font-size:1.15rem}.lead{font-size:1.2rem}.wide{overflow-x:auto}table{border-collapse:collapse}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .7rem;border-bottom:1px solid #8886;"
    "font-variant-numeric:tabular-nums}figure{margin:.5rem 0;background:#fff}svg{max-width:100%;height:auto}"
    "@media print{body{margin:0;max-width:none}section{break-inside:avoid}}"
)


def loads(folder: Path, day: str, reports: Sequence[Any]) -> Path:
    """Write the account of a day's load: every file with its sums and what was said of it; the page's path.

    reports: `ingest.warehouse.FileReport` of each file.
    """
    rows = [
        {
            "file": report.path,
            "status": report.status,
            "bytes": report.bytes,
            "decoded bytes": report.decoded_bytes,
            "skipped bytes": sum(report.skipped_bytes.values()),
            "quarantined bytes": report.quarantined_bytes,
            "framing bytes": report.framing_bytes,
            "quarantined records": report.quarantined,
            "said": report.message or "",
        }
        for report in reports
    ]
    lead = (
        f"{text.counted(len(reports), 'file')}. Bytes are decoded, skipped, quarantined or framing, and nothing else."
    )
    return write(folder / f"{day}.html", f"Files of {day}", lead, {"Files": rows})


def validation(folder: Path, outcome: str, name: str, found: Mapping[str, Any]) -> Path:
    """Write the error table and the gate of a model; the page's path. `found` is the validation as plain values."""
    columns = ("system", "point", "etr_tps", "metric", "measured", "predicted", "error_pct", "lo", "hi", "covered")
    rows = [{column: row.get(column) for column in columns} for row in found["rows"]]
    gate = [
        {
            "system": check["system"],
            "gate": check["name"],
            "seen": check["value"],
            "limit": check["limit"],
            "passed": check["passed"],
        }
        for check in found["checks"]
    ]
    tables = {
        "Gates": gate,
        "Later days and higher loads, predicted from the rest": found["histories"],
        "Champions on the days after they were fitted": found["drift"],
        "Every measured point, predicted from the others": rows,
    }
    return write(folder / f"{name}.html", "Validation", outcome, tables)


@dataclass(frozen=True)
class Link:
    """A cell that leads to another page."""

    text: str
    to: str


def write(
    path: Path,
    title: str,
    lead: str,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write a page of tables, each under its heading, with links to other pages; its path."""
    ways = " · ".join(f"<a href='{escape(to)}'>{escape(name)}</a>" for name, to in (links or {}).items())
    sections = {heading: table(rows) for heading, rows in tables.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document(title, lead, sections, ways), encoding="utf-8")
    return path


def document(title: str, lead: str, sections: Mapping[str, str], below: str = "") -> str:
    """A page of its own: title and lead as text; sections by heading, and what stands below the lead, as HTML."""
    body = "".join(
        f"<section><h2 id='{anchor(heading)}'>{escape(heading)}</h2>{html}</section>"
        for heading, html in sections.items()
    )
    return (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p class='lead'>{escape(lead)}</p><p>{below}</p>{body}</body></html>\n"
    )


def anchor(heading: str) -> str:
    """What a link to a heading ends in."""
    return heading.lower().replace(" ", "-")


def bullets(lines: Sequence[str]) -> str:
    """Lines as a list."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table whose headings are the keys."""
    if not rows:
        return "<p>None.</p>"
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>" for row in rows)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(value: Any) -> str:
    if isinstance(value, Link):
        return f"<a href='{escape(value.to)}'>{escape(value.text)}</a>"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(text.figure(value) if value is None or isinstance(value, int | float) else str(value))
