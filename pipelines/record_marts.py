"""Marts of record types that few installations load: built where there are records, empty tables where there are none.

Each is a model of `dbt/models/marts/records/` that reads staging views by `source`: dbt does not make those views, and
a record type nobody loaded costs a build next to nothing.
"""

import re
from pathlib import Path

import yaml

from pipelines import layouts
from pipelines.home import DBT_PROJECT, Home

FOLDER = DBT_PROJECT / "models" / "marts" / "records"
_VIEW = re.compile(r"(?<!ref\()'stg_(\w+)'")


def sources() -> dict[str, frozenset[str]]:
    """The raw tables behind each mart, by the mart's name."""
    return {path.stem: frozenset(_VIEW.findall(path.read_text(encoding="utf-8"))) for path in FOLDER.glob("*.sql")}


def prepare(home: Home, database: Path) -> list[str]:
    """Make the staging views of these marts in a database; the marts, by name, whose records it does not have."""
    from ingest import warehouse

    marts = sources()
    tables = frozenset().union(*marts.values())
    filled = warehouse.make_views(database, layouts.registry(home), tables)
    return sorted(mart for mart, needed in marts.items() if not needed & filled)


def make_empty(database: Path, marts: list[str]) -> None:
    """Make these marts empty tables with the columns of their contracts."""
    from ingest import warehouse

    warehouse.make_empty(database, {mart: _columns(FOLDER / f"{mart}.yml") for mart in marts})


def _columns(contract: Path) -> list[tuple[str, str]]:
    [model] = yaml.load(contract.read_text(encoding="utf-8"), yaml.CSafeLoader)["models"]
    return [(column["name"], column["data_type"]) for column in model["columns"]]
