"""The dbt files made from the registry: sources over the raw tables, and the staging views.

Columns are described by the field reference: listing them here would cost every parse of the project seconds.
Only the tables that marts are made from become dbt models: each model costs every dbt run a tenth of a second. The
staging views of the others are made by `ingest.schema.staging_statements`, when the warehouse is published.
"""

from pathlib import Path

from ingest.layout import Layout, Section
from ingest.registry import Registry
from ingest.schema import staging

FOLDER = Path("dbt/models/staging/generated")
MODELED = (
    "smf30_header",
    "smf30_identification",
    "smf30_io",
    "smf30_completion",
    "smf30_cpu",
    "smf30_performance",
    "smf70_1_product",
    "smf70_1_control",
    "smf70_1_cpu",
    "smf70_1_partition",
    "smf70_1_logical_processor",
    "smf70_1_cpu_identification",
    "smf70_1_core",
    "smf71_paging",
    "smf72_3_control",
    "smf72_3_period",
    "smf72_3_response_distribution",
    "smf73_channel",
    "smf74_1_device",
    "smf74_4_request",
    "smf78_2_common",
    "smf78_2_private",
    "smf88_log_stream",
    "smf110_1_performance",
    "smf119_2_connection",
    "smf119_3_transfer",
    "smf119_70_transfer",
)
"""Raw tables whose staging views are dbt models, because models refer to them: each model costs every build."""

NOTE = "# Generated from ingest/layouts by `python -m ingest.schema --write`; do not edit.\n"

_OVERLAP = {
    "name": "record_overlap",
    "description": "Records that another file holds too and that are counted there; staging views leave them out.",
}


def files(registry: Registry) -> dict[Path, str]:
    """Path from the project root → content, for every generated dbt file."""
    made = {
        FOLDER / "sources.yml": _dump(_sources(registry)),
        FOLDER / "staging.yml": _dump(_views(registry)),
    }
    for layout, section in _modeled(registry):
        made[FOLDER / f"{staging.view_name(section)}.sql"] = staging.view_sql(layout, section)
    return made


def _modeled(registry: Registry) -> list[tuple[Layout, Section]]:
    return [(layout, section) for layout, section in registry.tables() if section.table in MODELED]


def _read(registry: Registry) -> list[tuple[Layout, Section]]:
    """Raw tables the modelled views read: their own, and those that say what each record is."""
    layouts = {layout.name for layout, _ in _modeled(registry)}
    return [
        (layout, section)
        for layout, section in registry.tables()
        if section.table in MODELED or (layout.name in layouts and section.name in ("header", "product"))
    ]


def _dump(document: dict) -> str:
    import yaml

    return NOTE + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)


def _sources(registry: Registry) -> dict:
    tables = [_source_table(layout, section) for layout, section in _read(registry)]
    return {
        "version": 2,
        "sources": [
            {
                "name": "raw",
                "schema": "raw",
                "description": "Decoded sections as recorded: IBM names, nothing rescaled.",
                "tables": tables,
            },
            {
                "name": "meta",
                "schema": "meta",
                "description": "What the ingest knows of files and records.",
                "tables": [_OVERLAP],
            },
        ],
    }


def _source_table(layout: Layout, section: Section) -> dict:
    return {"name": section.table, "description": f"{layout.title}: {section.title}."}


def _views(registry: Registry) -> dict:
    models = [
        {
            "name": staging.view_name(section),
            "description": f"{layout.title}: {section.title}, with friendly names and units.",
        }
        for layout, section in _modeled(registry)
    ]
    return {"version": 2, "models": models}
