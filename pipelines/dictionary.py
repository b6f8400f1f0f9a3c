"""The data dictionary: `python -m pipelines.dictionary --write | --check`.

Marts and the models before them as their dbt descriptions define them, and every staging view with the page of the
field reference that says record, field and unit of each of its columns.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from pipelines.home import DBT_PROJECT, ROOT

FOLDER = Path("docs/data-dictionary")
NOTE = "<!-- Made by `python -m pipelines.dictionary --write` from dbt and the layouts; do not edit. -->"
_INTRODUCTION = """# Data dictionary

Every table of the published snapshot (`etalon sql "show all tables"`). Planners need `marts` only:
friendly names, the unit in the name or beside it, the formula, and the SMF or RMF field it comes from. How to ask is
shown by [twenty questions](../questions.md).

| schema | what | where |
|---|---|---|
| `marts` | facts and dimensions for planners | [marts](marts.md) |
| `intermediate` | steps between records and marts | [below](#intermediate) |
| `staging` | one view for each section of each record type: friendly names, SI units | [below](#staging) |
| `raw` | the same sections as recorded, with IBM's names | the field reference of each, linked below |
| `meta` | the ledger of files, the quarantine, overlaps between files | [architecture](../architecture.md#raw-tables) |
"""


def files() -> dict[Path, str]:
    """Path from the project root → content, for every page."""
    return {FOLDER / "README.md": _index(), FOLDER / "marts.md": _marts()}


def _models(folder: str) -> list[dict[str, Any]]:
    """Models of a folder of the dbt project, by name."""
    found: list[dict[str, Any]] = []
    for path in sorted((DBT_PROJECT / "models" / folder).rglob("*.yml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        found += document.get("models", [])
    return sorted(found, key=lambda model: str(model["name"]))


def _index() -> str:
    lines = [NOTE, "", _INTRODUCTION, "## Marts", "", "| table | what |", "|---|---|"]
    lines += [f"| [`{m['name']}`](marts.md#{m['name']}) | {_first(m['description'])} |" for m in _models("marts")]
    lines += ["", "## Intermediate", "", "| table | what |", "|---|---|"]
    lines += [f"| `{m['name']}` | {_line(m['description'])} |" for m in _models("intermediate")]
    lines += ["", "## Staging", "", "| view | what | columns |", "|---|---|---|"]
    for folder, page in (("etalon", None), ("collectors", None), ("rmf", "rmf-tables.md"), ("ims", "ims-log.md")):
        where = f"[{page.removesuffix('.md')}](../{page})" if page else "[architecture](../architecture.md#raw-tables)"
        lines += [
            f"| `{m['name']}` | {_line(m.get('description', ''))} | {where} |" for m in _models(f"staging/{folder}")
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


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _first(text: str) -> str:
    """The first sentence."""
    return _line(text).split(". ")[0].rstrip(".") + "."


def drift() -> list[Path]:
    """Pages that are not what they should be."""
    return [
        path
        for path, content in files().items()
        if not (ROOT / path).exists() or (ROOT / path).read_text(encoding="utf-8") != content
    ]


def write() -> list[Path]:
    """Write the pages that differ."""
    changed, made = drift(), files()
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    for path in changed:
        (ROOT / path).write_text(made[path], encoding="utf-8")
    return changed


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 when `--check` finds a page out of date."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.dictionary", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true", help="write what differs")
    group.add_argument("--check", action="store_true", help="only list what differs")
    options = parser.parse_args(arguments)
    paths = write() if options.write else drift()
    for path in paths:
        print(f"{'written' if options.write else 'out of date'}: {path}")
    return 1 if options.check and paths else 0


if __name__ == "__main__":
    sys.exit(main())
