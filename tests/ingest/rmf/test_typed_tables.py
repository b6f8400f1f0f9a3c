"""The typed tables are data: well-formed, unambiguous, and described."""

import csv

from ingest.formats.rmf import schemas
from ingest.formats.rmf.tables import SEPARATOR, typed_tables
from tests.shared import shared

LATER = ("JDEPRPCL",)
"""Monitor III columns of releases after that of the reports on record."""


def test_columns_have_names_of_their_own_and_say_what_they_mean():
    for name, schema in schemas().items():
        assert len(set(schema.names)) == len(schema.names), name
        assert all(field.metadata[b"description"] for field in schema), name
        assert "file_id" not in schema.names


def test_every_source_is_a_label_that_the_reports_have():
    with shared("layouts/rmf_xml_structure.csv").open(newline="") as stream:
        facts = list(csv.DictReader(stream))
    labels = {
        (row["report"], row["label"].split(":", 1)[-1] if row["kind"] == "column" else row["label"]) for row in facts
    }
    labels |= {(report, label.replace(":", ": ", 1)) for report, label in labels}
    known = {(report, label.replace(" ", "")) for report, label in labels}
    reports = {report for report, _ in known}
    for table in typed_tables():
        # Of Monitor III only the columns of some reports are on record, and no captions.
        if table.labels == "text" or (
            table.labels == "dds" and (table.rows != "detail" or table.report not in reports)
        ):
            continue
        for source in (s for s in table.sources if not s.startswith("$") and s not in LATER):
            label = source.rsplit(SEPARATOR, 1)[-1].replace(" ", "")
            assert (table.report, label) in known or label == "Period", (table.name, source)
