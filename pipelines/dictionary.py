"""The data dictionary: `python -m pipelines.dictionary --write | --check [--database SNAPSHOT]`.

It has the marts as their dbt descriptions define them. Every staging view links to the page of the field reference
with record, field and unit of its columns. The columns of all other tables come from a published snapshot.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from pipelines import metrics
from pipelines.home import DBT_PROJECT, ROOT

FOLDER = Path("docs/data-dictionary")
COLUMNS = DBT_PROJECT / "columns.yml"
NOTE = "<!-- Made by `python -m pipelines.dictionary --write` from dbt and the layouts; do not edit. -->"
_INTRODUCTION = """# Data dictionary

Every table of the published snapshot (`etalon sql "show all tables"`). Planners need `marts` only:
friendly names, the unit in the name or beside it, the formula, and the SMF or RMF field it comes from. How to ask is
shown by [ready questions](../questions.md).

| schema | what | where |
|---|---|---|
| `marts` | facts for planners | [marts](marts.md), [metrics](metrics.md), [records that reach them](coverage.md) |
| `intermediate` | steps between records and marts | [below](#intermediate), [columns](steps.md#intermediate) |
| `staging` | one view for each section of each record type: friendly names, SI units | [below](#staging) |
| `raw` | the same sections as recorded, with IBM's names | the field reference of each, linked below |
| `meta` | the ledger of files, the quarantine, overlaps between files | [columns](steps.md#meta) |
"""


_STEPS_INTRODUCTION = """Formulas stand in the description of each table; what the marts make of it, beside the
columns of the [marts](marts.md). Views of SMF sections are described by the field reference, see the
[index](README.md#staging).
"""

#: Folders of staging models written by hand, and the pages about what they read.
_WRITTEN_STAGING = {
    "etalon": "loading.md",
    "collectors": "collectors.md",
    "rmf": "rmf-tables.md",
    "ims": "ims-log.md",
}
_UNITS = {
    "_us": "µs",
    "_ms": "ms",
    "_s": "s",
    "_pct": "pct",
    "_kb": "KB (1,024 bytes)",
    "_bytes": "bytes",
    "_msu": "MSU/h",
    "_service_units": "SU",
}


def files(database: Path | None = None) -> dict[Path, str]:
    """Path from the project root → content, for every page; that of the steps before the marts with a snapshot only."""
    pages = {
        FOLDER / "README.md": _index(),
        FOLDER / "marts.md": _marts(),
        FOLDER / "metrics.md": _metrics(),
        FOLDER / "coverage.md": _coverage(),
    }
    return pages if database is None else {**pages, FOLDER / "steps.md": _steps(described(database))}


def _models(folder: str) -> list[dict[str, Any]]:
    """Models of a folder of the dbt project, by name."""
    models: list[dict[str, Any]] = []
    for path in sorted((DBT_PROJECT / "models" / folder).rglob("*.yml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        models += document.get("models", [])
    return sorted(models, key=lambda model: str(model["name"]))


def _coverage() -> str:
    from ingest import registry
    from pipelines import coverage

    return coverage.page(registry.load())


def _index() -> str:
    lines = [NOTE, "", _INTRODUCTION, "## Marts", "", "| table | what |", "|---|---|"]
    lines += [f"| [`{m['name']}`](marts.md#{m['name']}) | {_first(m['description'])} |" for m in _models("marts")]
    lines += ["", "## Intermediate", "", "| table | what |", "|---|---|"]
    lines += [f"| `{m['name']}` | {_line(m['description'])} |" for m in _models("intermediate")]
    lines += ["", "## Staging", "", "| view | what | columns |", "|---|---|---|"]
    for folder, page in _WRITTEN_STAGING.items():
        where = f", [{page.removesuffix('.md')}](../{page})"
        lines += [
            f"| `{m['name']}` | {_line(m.get('description', ''))} | [columns](steps.md#{m['name']}){where} |"
            for m in _models(f"staging/{folder}")
        ]
    lines += list(_staging())
    return "\n".join(lines) + "\n"


def _staging() -> Iterator[str]:
    """A line for every section of every layout: its view and its page of the field reference."""
    from ingest import registry
    from ingest.schema.staging import view_name

    for layout, section in registry.load().tables():
        page = f"../field-reference/{layout.name}.md"
        where = f"[{layout.name}]({page})" if (ROOT / FOLDER / page).exists() else layout.name
        yield f"| `{view_name(section)}` | {_line(layout.title)}: {_line(section.title)} | {where} |"


def _marts() -> str:
    lines = [NOTE, "", "# Marts", ""]
    for model in _models("marts"):
        lines += [f"## {model['name']}", "", _line(model["description"]), ""]
        lines += ["| column | type | unit | meaning | formula | source |", "|---|---|---|---|---|---|"]
        for column in model["columns"]:
            meta = column.get("config", {}).get("meta", {})
            about = [_line(str(meta.get(key, ""))) for key in ("unit", "formula", "source")]
            meaning = _line(column["description"])
            lines.append(
                f"| `{column['name']}` | {column['data_type']} | {about[0]} | {meaning} | {about[1]} | {about[2]} |"
            )
        lines.append("")
    return "\n".join(lines)


def _metrics() -> str:
    """The registry of metrics, as a table."""
    registry = metrics.registry()
    lines = [NOTE, "", "# Metrics", "", "How to add your own: [metrics](../metrics.md).", ""]
    lines += ["| metric | label | unit | formula | source | meaning |", "|---|---|---|---|---|---|"]
    for name, metric in registry.items():
        if metric.label is None:
            continue
        unit = metric.unit or (registry[metric.like].unit if metric.like else None)
        label = f"{metric.label}: {metric.about}" if metric.about else metric.label
        about = [_line(text or "") for text in (label, unit, metric.formula, metric.source, metric.description)]
        lines.append(f"| `{metric.name or name}` | {' | '.join(about)} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Column:
    """A column of a table before the marts."""

    schema: str
    table: str
    name: str
    type: str
    unit: str
    meaning: str


def described(database: Path) -> list[Column]:
    """Every column of the tables before the marts that no field reference describes, as a snapshot has them."""
    from ingest import warehouse

    written = {str(m["name"]) for folder in _WRITTEN_STAGING for m in _models(f"staging/{folder}")}
    query = """
        SELECT schema_name, table_name, column_name, lower(data_type) AS type FROM duckdb_columns()
        WHERE schema_name IN ('intermediate', 'staging', 'meta')
        ORDER BY schema_name, table_name, column_index
    """
    meanings = _meanings()
    columns = []
    for row in warehouse.query(database, query).to_pylist():
        schema, table, name = str(row["schema_name"]), str(row["table_name"]), str(row["column_name"])
        if schema == "staging" and table not in written:
            continue
        unit, meaning = meanings.get(name, ("", ""))
        columns.append(Column(schema, table, name, str(row["type"]), unit or _unit(name), meaning))
    return columns


def _meanings() -> dict[str, tuple[str, str]]:
    """Unit and meaning of columns by name: those of `columns.yml`, else of the first mart that has the column."""
    meanings: dict[str, tuple[str, str]] = {}
    for model in _models("marts"):
        for column in model["columns"]:
            unit = str(column.get("config", {}).get("meta", {}).get("unit", ""))
            meanings.setdefault(str(column["name"]), (_line(unit), _line(column["description"])))
    written = yaml.safe_load(COLUMNS.read_text(encoding="utf-8"))
    return meanings | {str(name): ("", _line(str(meaning))) for name, meaning in written.items()}


def _unit(name: str) -> str:
    if name.endswith("_per_s"):
        return "1/s"
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")


def _steps(columns: list[Column]) -> str:
    """The columns of every table before the marts that no field reference describes."""
    about = {
        str(m["name"]): _line(m.get("description", ""))
        for folder in ("intermediate", *(f"staging/{name}" for name in _WRITTEN_STAGING))
        for m in _models(folder)
    }
    lines = [NOTE, "", "# Tables before the marts", "", _STEPS_INTRODUCTION]
    for schema, of_schema in groupby(columns, lambda column: column.schema):
        lines += [f"## {schema}", ""]
        for table, of_table in groupby(of_schema, lambda column: column.table):
            lines += [f"### {table}", ""]
            if table in about:
                lines += [about[table], ""]
            lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
            lines += [f"| `{c.name}` | {c.type} | {c.unit} | {c.meaning} |" for c in of_table]
            lines.append("")
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _first(text: str) -> str:
    """The first sentence."""
    return _line(text).split(". ")[0].rstrip(".") + "."


def drift(database: Path | None = None) -> list[Path]:
    """Pages that are not what they should be."""
    return [
        path
        for path, content in files(database).items()
        if not (ROOT / path).exists() or (ROOT / path).read_text(encoding="utf-8") != content
    ]


def write(database: Path | None = None) -> list[Path]:
    """Write the pages that differ."""
    changed, pages = drift(database), files(database)
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    for path in changed:
        (ROOT / path).write_text(pages[path], encoding="utf-8")
    return changed


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 when `--check` finds a page out of date."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.dictionary", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true", help="write what differs")
    group.add_argument("--check", action="store_true", help="only list what differs")
    parser.add_argument("--database", type=Path, help="a published snapshot, for the tables before the marts")
    options = parser.parse_args(arguments)
    paths = write(options.database) if options.write else drift(options.database)
    for path in paths:
        print(f"{'written' if options.write else 'out of date'}: {path}")
    return 1 if options.check and paths else 0


if __name__ == "__main__":
    sys.exit(main())
