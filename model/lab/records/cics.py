"""Dictionaries of CICS regions whose records leave most fields out."""

from collections.abc import Collection

from ingest.formats.cics.dictionary import Entry, full_dictionary


def dictionary_of(fields: Collection[str]) -> list[Entry]:
    """The entries of these fields, numbered and placed as in a region that leaves the others out of its records."""
    by_name = {(entry.group, entry.nickname): entry for entry in full_dictionary() if entry.nickname in fields}
    entries: list[Entry] = []
    offset = 0
    for connector, entry in enumerate(by_name.values(), start=1):
        entries.append(entry._replace(connector=connector, offset=offset))
        offset += entry.length
    return entries
