"""Pages that stand alone: how they are made, and how well the model predicts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from model.documents import for_readers
from model.names import file_name
from model.studies.document import Table
from pipelines import text
from state.files import write_text

_TEMPLATES = Path(__file__).with_name("templates")
_NUMBER = re.compile(r"[-+−]?[,.]?\d[\d,.]*( %)?|–")
_COLOURED = {"better", "worse", "equivalent", "undecided", "different", "equal", "excepted", "failing", "statement"}
_COLOURED |= {"failure", "warning"}

Part = Table | Markup | Sequence[str]


def validation(folder: Path, outcome: str, name: str, results: Mapping[str, Any]) -> Path:
    """Write the error table and the gate of a model; the page's path. `results` is the validation as plain values."""
    columns = ("system", "point", "etr_tps", "metric", "measured", "predicted", "error_pct", "lo", "hi", "covered")
    rows = [{column: row.get(column) for column in columns} for row in map(for_readers, results["rows"])]
    gate = [
        {
            "system": check["system"],
            "gate": check["name"],
            "seen": check["value"],
            "limit": check["limit"],
            "passed": check["passed"],
        }
        for check in map(for_readers, results["checks"])
    ]
    tables = {
        "Gates": gate,
        "Later days and higher loads, predicted from the rest": [*map(for_readers, results["histories"])],
        "Champions on the days after they were fitted": [*map(for_readers, results["drift"])],
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
    worst: str = "",
) -> Path:
    """Write a page of tables, each under its heading, with links to other pages; its path.

    worst: `failure` or `warning`, where the page tells of one: the colour of its title.
    """
    sections = {heading: table(rows) for heading, rows in tables.items()}
    write_text(path, document(title, lead, sections, links, worst))
    return path


def document(
    title: str, lead: str, sections: Mapping[str, Part], links: Mapping[str, str] | None = None, worst: str = ""
) -> str:
    """A self-contained page: tables, lists and drawings by heading. What names a section leads to it."""
    from expectations.pages import stylesheet, templates

    environment = templates(_TEMPLATES)
    environment.filters |= {"anchor": anchor, "kind": _kind}
    about = {"title": title, "lead": lead, "sections": sections, "links": links or {}, "worst": worst}
    return environment.get_template("page.html").render(about, style=stylesheet(), verdict="")


def anchor(heading: str) -> str:
    """The anchor of a heading, with which links to it end."""
    return file_name(heading.lower().replace(" ", "-"))


def figures(drawings: Iterable[str]) -> Markup:
    """Drawings in SVG, side by side where there is room."""
    # This project made the drawings, and escapes the texts in them.
    shapes = "".join(f"<figure>{drawing}</figure>" for drawing in drawings)
    return Markup(f'<div class="pictures">{shapes}</div>')


def table(rows: Sequence[Mapping[str, Any]]) -> Table | Sequence[str]:
    """Rows as a table whose headings are the keys; nothing where there are none."""
    return Table(list(rows[0]), [[_cell(value) for value in row.values()] for row in rows]) if rows else ()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return text.figure(value)
    return value if isinstance(value, Link) else str(value)


def _kind(cell: Any) -> str | None:
    """The class of a cell: a number, or the word of a verdict or severity."""
    if cell in _COLOURED:
        return str(cell)
    return "number" if isinstance(cell, str) and _NUMBER.fullmatch(cell) else None
