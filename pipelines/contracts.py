"""Columns of contracts that are metrics, as the registry says: `python -m pipelines.contracts --write | --check`.

A column named like a metric with a description, in a mart whose model names that metric, takes its unit, formula,
source and meaning from there. A contract gets the columns that its model makes by `metric(...)`, each behind the column
before it.
"""

import argparse
import re
import sys
from pathlib import Path

from pipelines import metrics
from pipelines.exits import EtalonError, Exit
from pipelines.home import DBT_PROJECT

MARTS = DBT_PROJECT / "models" / "marts"
BLOCK = r"^      - name: {}\n(?:        .*\n)*"
"""A column of a contract."""
SELECTED = re.compile(r"(?:metric\('(\w+)'[^\n]*\}\} )?as (\w+),?$|^  (?:\w+\.)?(\w+),?$", re.MULTILINE)
"""A selected column with the metric that makes it, or with its name alone."""


def contents() -> dict[Path, str]:
    """Every contract with its metrics as the registry has them."""
    return {path: contract(path) for path in sorted(MARTS.rglob("*.yml"))}


def drift() -> list[Path]:
    """Contracts that are not what the registry says."""
    return [path for path, text in contents().items() if path.read_text(encoding="utf-8") != text]


def contract(path: Path) -> str:
    """The contract in a file, with its metrics as the registry has them."""
    text, model = path.read_text(encoding="utf-8"), path.with_suffix(".sql")
    made_by = model.read_text(encoding="utf-8") if model.exists() else ""
    text = _with_new_columns(text, made_by)
    for name, metric in metrics.registry().items():
        if metric.description is not None and f"'{name}'" in made_by:
            block = re.compile(
                rf"^      - name: {name}\n        data_type: double\n        description: .*\n(?:          .*\n)*"
                r"(?:        config:\n          meta:\n(?:            .*\n)*)?",
                re.MULTILINE,
            )
            text = block.sub(_column(name, metric).replace("\\", r"\\"), text)
    return text


def _with_new_columns(text: str, made_by: str) -> str:
    """A contract with the columns that it lacks of those that its model makes by a metric."""
    before, registry = "", metrics.registry()
    _, _, last_select = made_by.rpartition("\nselect\n")
    for metric, named, plain in SELECTED.findall(last_select):
        if metric and metric not in registry:
            problem = f"column {named}: the registry (vars.metrics in dbt_project.yml) has no metric {metric!r}"
            raise EtalonError(problem, Exit.USAGE)
        column = named or plain
        anchor = re.compile(BLOCK.format(before) if before else r"^    columns:\n", re.MULTILINE)
        block = re.search(BLOCK.format(column), text, re.MULTILINE)
        if metric and (block is None or block[0].count("\n") == 1) and anchor.search(text):
            text = text.replace(block[0], "") if block else text
            new = _column(column, registry[metric]).replace("\\", r"\\")
            text = anchor.sub(rf"\g<0>{new}", text, count=1)
        before = column if re.search(BLOCK.format(column), text, re.MULTILINE) else before
    return text


def _column(name: str, metric: metrics.Metric) -> str:
    return f"""      - name: {name}
        data_type: double
        description: "{metric.description or metric.label}"
        config:
          meta:
            unit: "{metric.unit}"
            formula: "{metric.formula}"
            source: "{metric.source}"
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 when `--check` finds a contract out of date."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.contracts", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true", help="write what differs")
    group.add_argument("--check", action="store_true", help="only list what differs")
    options = parser.parse_args(arguments)
    paths, contracts = drift(), contents()
    for path in paths:
        if options.write:
            path.write_text(contracts[path], encoding="utf-8")
        print(f"{'written' if options.write else 'out of date'}: {path}")
    return 1 if options.check and paths else 0


if __name__ == "__main__":
    sys.exit(main())
