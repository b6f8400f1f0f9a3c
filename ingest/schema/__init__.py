"""Everything derived from the layouts: Arrow schemas, DuckDB statements, field reference, baseline expectations."""

from ingest.schema.baseline import BaselineExpectation, baseline_expectations
from ingest.schema.ddl import column_definitions, create_statements, create_table, staging_statements
from ingest.schema.files import drift, generated_files, write
from ingest.schema.staging import view_name

__all__ = [
    "BaselineExpectation",
    "baseline_expectations",
    "column_definitions",
    "create_statements",
    "create_table",
    "drift",
    "generated_files",
    "staging_statements",
    "view_name",
    "write",
]
