"""Definitions of the marts, as a digest for each system: formulas, metrics of an installation, groups files.

A build keeps it in `meta.definition` when it ends well; with the snapshot it is published as a small file, too, which
answers read without a database. A model remembers what it was calibrated by, so that an answer can say when the marts
published since have another definition.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.home import DBT_PROJECT, Home
from state.catalogue import DEFINITIONS

if TYPE_CHECKING:
    import duckdb

    from model.capacity.parameters import SystemParameters

TABLE = "meta.definition"
_GROUPS = "SELECT DISTINCT * EXCLUDE (file_id) FROM raw.etalon_group ORDER BY ALL"


def definitions(con: "duckdb.DuckDBPyConnection", home: Home) -> list[tuple[str, str]]:
    """Systems with the digests of what a build makes their marts by; the system is empty for those without groups."""
    # Answers only read what was put down, and need none of what defines metrics.
    from pipelines import metrics

    formulas = _formulas() + json.dumps(metrics.environment(home))
    rows = con.execute(_GROUPS)
    place = [column[0] for column in rows.description or []].index("system_id")
    groups: dict[str, list[Any]] = {}
    for row in rows.fetchall():
        groups.setdefault(str(row[place]).strip(), []).append(row)
    return [("", _digest(formulas)), *((name, _digest(formulas + repr(group))) for name, group in groups.items())]


def keep(con: "duckdb.DuckDBPyConnection", digests: list[tuple[str, str]]) -> None:
    """Put down what the marts have been made by."""
    con.execute(f"CREATE OR REPLACE TABLE {TABLE} (system_id VARCHAR, definition_digest VARCHAR)")
    con.executemany(f"INSERT INTO {TABLE} VALUES (?, ?)", digests)


def publish(con: "duckdb.DuckDBPyConnection", home: Home) -> None:
    """Write the systems in the marts of a warehouse, with the digests of their definitions, next to the snapshot.

    Without marts it writes an empty file.
    """
    import duckdb

    digests, systems = dict[str, str](), []
    with suppress(duckdb.CatalogException):
        digests = dict(con.execute(f"SELECT system_id, definition_digest FROM {TABLE}").fetchall())
        systems = con.execute("SELECT DISTINCT system_id FROM marts.dim_system ORDER BY ALL").fetchall()
    every = {name: digests.get("", "") for (name,) in systems}
    DEFINITIONS.write(home.definitions, {**every, **digests})


def published(home: Home) -> dict[str, str]:
    """The digests of the published marts by system; empty where an earlier version has published them."""
    return dict(DEFINITIONS.read_or(home.definitions, {}))


def marked(home: Home, systems: "Mapping[str, SystemParameters]") -> "dict[str, SystemParameters]":
    """Parameters of systems, each with the digest of what its marts were defined by."""
    definitions_of = published(home)
    digests = {name: definitions_of.get(name.partition("/")[0], definitions_of.get("", "")) for name in systems}
    return {name: replace(one, definition=digests[name]) for name, one in systems.items()}


def _formulas() -> str:
    files = [DBT_PROJECT / "dbt_project.yml", *sorted(DBT_PROJECT.glob("macros/*.sql"))]
    files += sorted(DBT_PROJECT.glob("models/**/*.sql"))
    return "".join(path.read_text(encoding="utf-8") for path in files)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
