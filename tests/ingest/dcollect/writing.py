"""Streams of DCOLLECT records for tests."""

import random

import pyarrow as pa

from ingest import registry
from tests.ingest.tables import random_rows

REGISTRY = registry.load()
LAYOUTS = list(REGISTRY.logged("dcollect").values())


def written(seed: int, counts: dict[str, int]) -> dict[str, pa.Table]:
    """Random rows of each layout, shuffled into one sequence of records, all collected on one day."""
    order = [name for name, count in counts.items() for _ in range(count)]
    random.Random(seed).shuffle(order)
    tables = {}
    for layout in LAYOUTS:
        section = layout.header
        places = [place for place, name in enumerate(order) if name == layout.name]
        if not places:
            continue
        keys = {"record_seq": places, "section_seq": [0] * len(places)}
        rows = random_rows(section, seed, keys, list(range(len(places))))
        fixed = {"dcudate": pa.array([2026326] * len(places), section.by_name("collected_date").arrow)}
        code = layout.type.to_bytes(2).decode("cp037").strip()
        fixed["dcurctyp"] = pa.array([code] * len(places), pa.string())
        for column, values in fixed.items():
            rows = rows.set_column(rows.column_names.index(column), column, values)
        tables[section.table] = rows
    return tables
