"""Data set records for tests."""

import numpy as np
import pyarrow as pa

from ingest import registry
from ingest.formats.smf.data_sets import STATISTICS
from tests.ingest.tables import random_rows, random_tables

REGISTRY = registry.load()
LAYOUT = REGISTRY.layout_for(42, 6)
HANDLED = {section.name: section for section in LAYOUT.handled}


def made(seed: int, jobs: list[list[int]]) -> dict[str, pa.Table]:
    """Tables of one record for each list of jobs, which says how many data sets each job has."""
    rng = np.random.default_rng(seed)
    tables = random_tables(LAYOUT, seed, len(jobs), cut=0)
    sequence = tables["smf42_6_header"]["record_seq"].to_pylist()
    heads = [(n, k) for n, counts in zip(sequence, jobs, strict=True) for k in range(len(counts))]
    keys = {"record_seq": [n for n, _ in heads], "section_seq": [k for _, k in heads]}
    names = [name for name in tables if name.endswith("_job")]
    for name in names:
        del tables[name]
    if heads:
        job = random_rows(LAYOUT.section("job"), seed, keys, [0] * len(heads))
        dropped = [item.column for item in LAYOUT.section("job").fields if item.name.startswith("data_section_")]
        tables["smf42_6_job"] = job.drop_columns(dropped)
    rows = [(n, k) for n, counts in zip(sequence, jobs, strict=True) for k, c in enumerate(counts) for _ in range(c)]
    places = [sum(other == n for other, _ in rows[:at]) for at, (n, _) in enumerate(rows)]
    put(tables, "data_set", seed, [(n, place, k) for (n, k), place in zip(rows, places, strict=True)])
    for item in STATISTICS:
        owners = [(n, p) for (n, _), p in zip(rows, places, strict=True) if rng.random() < 0.6]
        seqs = [sum(other == n for other, _ in owners[:at]) for at, (n, _) in enumerate(owners)]
        put(tables, item.name, seed, [(n, s, p) for (n, p), s in zip(owners, seqs, strict=True)])
    return tables


def put(tables: dict[str, pa.Table], name: str, seed: int, keys: list[tuple[int, int, int]]) -> None:
    """Random rows of a section with keys (record_seq, section_seq, parent_seq)."""
    if keys:
        columns = dict(
            zip(("record_seq", "section_seq", "parent_seq"), map(list, zip(*keys, strict=True)), strict=True)
        )
        tables[HANDLED[name].table] = random_rows(HANDLED[name], seed, columns, [0] * len(keys))
