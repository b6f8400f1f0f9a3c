"""The staging views that models read, and the marts of record types that few installations load.

The models read these views by `source`. Marts of few installations are the models of `dbt/models/marts/records/`:
built where there are records, empty tables where there are none, so that a record type nobody loaded costs a build
next to nothing.
"""

import re

import yaml

from pipelines import layouts
from pipelines.building.staging import Staging
from pipelines.home import DBT_PROJECT, Home

SOURCES = DBT_PROJECT / "models" / "staging" / "sources.yml"
FOLDER = DBT_PROJECT / "models" / "marts" / "records"
_VIEW = re.compile(r"(?<!ref\()'stg_(\w+)'")


def read() -> frozenset[str]:
    """The raw tables whose staging views models read: the tables of the dbt source `staging`."""
    listed = yaml.load(SOURCES.read_text(encoding="utf-8"), yaml.CSafeLoader)["sources"]
    [tables] = [source["tables"] for source in listed if source["name"] == "staging"]
    return frozenset(table["name"].removeprefix("stg_") for table in tables)


def definitions(home: Home) -> str:
    """The SQL of the staging views that models read."""
    from ingest.schema.staging import view_sql

    wanted = read()
    tables = layouts.registry(home).tables()
    return "\n".join(view_sql(layout, section) for layout, section in tables if section.table in wanted)


def sources() -> dict[str, frozenset[str]]:
    """The raw tables behind each mart, by the mart's name."""
    return {path.stem: frozenset(_VIEW.findall(path.read_text(encoding="utf-8"))) for path in FOLDER.glob("*.sql")}


def staging(home: Home) -> Staging:
    """The staging views that models read, for the layouts of a state folder."""
    return Staging(layouts.registry(home), read(), sources())
