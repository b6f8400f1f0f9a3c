"""The layouts agree, field by field, with the facts they were written from, and records leave no byte unexplained."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ingest import registry
from ingest.formats.smf import decode_batches, encode_dump
from ingest.layout import Field
from tests.ingest.tables import random_tables
from tests.shared import shared

REGISTRY = registry.load()
LAYOUTS = {layout.name: layout for layout in REGISTRY.layouts}
FACTS = {
    "smf30": "smf_30_1_6.csv",
    "smf70_1": "smf_70_1.csv",
    "smf70_2": "smf_70_2.csv",
    "smf71": "smf_71_1.csv",
    "smf72_3": "smf_72_3.csv",
    "smf73": "smf_73_1.csv",
    "smf74_1": "smf_74_1.csv",
    "smf74_4": "smf_74_4.csv",
    "smf78_2": "smf_78_2.csv",
    "smf78_3": "smf_78_3.csv",
    "smf88": "smf_88.csv",
    "smf101": "smf_101_0.csv",
}
CICS = {"smf110_2": ("smf_110_0_5.csv", "smf_110_more.csv"), "smf110_1": ("smf_110_more.csv",)}
NOT_OF_RECORDS = {"clock8", "clock12", "DFHMCTDR", "MNSMFDS", "DFHSMFDS", "DFHSTIDS", "DFHPGPDS"}
OVERLAID = {"SMF73CM1": 24, "SMF73CM2": 24, "SMF73CM3": 24, "SMF73EM2": 4}
SPELT_OUT = {"SMF73_CMG2_EXT", "R7024TC", "R782_SUBSTRUCTURES2", "R782SPD"}
INSIDE = {"SMFDCB": -244, "SMF14X2": 4, "SMF14X3": 4, "SMF14X5": 4, "SMF14X6": 4, "SMF73CM4": 24, "SMF73CM5": 24}
"""Sections that the facts count from the record, from behind a head, or from where they overlay another."""
SHARED = {"SMFDCBEXT": 4}
"""Bytes at the end of a field that another field describes."""
UNPLACED = {"SMF88SSD", "SMF88ESD", "SMF88ASD", "VSDAT", "VSDCDAT", "VSDGDAT"}


REPEATED = {"R7024TC", "SMF113_1_SCDS", "SMF113_1_LCDS", "SMF119FT_FCFile", "SMF119FT_FCUser", "SMF119FT_FSHost"} | {
    "SMF119FT_FSFile1", "SMF119FT_FSFile2"
}  # fmt: skip
"""Sections of one field, or of fields repeated, that layouts name after the section."""
OTHERWISE = {"S42SCSNN", "S42SCRRU", "S42SCRSU", "SMF89STP", "R745DCCU", "R7024TC", "SMF113STP(step)"} | {
    "S42DSSN2O", "S42DSSN2L", "S42DSSN3O", "S42DSSN3L", "S42DSSIOS", "S42AMRBW", "R742PIO*",
}  # fmt: skip
"""Fields that a later manual places otherwise, that repeat another field or are called otherwise."""
KEPT_RAW = {"R746FS", "R79ECPD", "SMF73EM4", "SMF73EM5", "SMF64EXT", "S42SN5"}
"""Sections of which the facts do not say where they stand; `docs/records-not-read.md` lists them."""


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a file of facts."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_fact_of_further_records_is_in_a_layout_or_known_to_be_kept_raw() -> None:
    known, named = defaultdict[tuple[str, str], list[Field]](list), defaultdict[str, list[Field]](list)
    for layout, section in REGISTRY.tables():
        for item in section.fields:
            for struct in section.struct.split(","):
                name = item.ibm.replace(f"SMF{layout.type}", "SMFnn") if struct.startswith("SMFnn") else item.ibm
                known[struct.strip(), name.upper()].append(item)
                named[name.upper()].append(item)
    folders = {folder: sorted((shared("layouts") / folder).glob("*.csv")) for folder in ("more", "next")}
    facts = {folder: [(path.name, row) for path in paths for row in rows_of(path)] for folder, paths in folders.items()}
    # What a later manual says of a field takes the place of what was known before.
    later = {(row["struct"], row["field"]) for _, row in facts["next"]}
    earlier = [(name, row) for name, row in facts["more"] if (row["struct"], row["field"]) not in later]
    for name, row in earlier + facts["next"]:
        struct, ibm = row["struct"], row["field"]
        if row["format"] == "reserved" or struct in REPEATED | KEPT_RAW or ibm in OTHERWISE:
            continue
        items = known.get((struct, ibm.upper())) or named[ibm.upper()]
        assert items, (name, struct, ibm)
        start = INSIDE.get(struct, 0)
        size = int(row["length"] or 0) * int(row["count"] or 1) - SHARED.get(ibm, 0)
        for item in items:
            assert item.offset == int(row["offset"]) + start, (name, ibm)
            assert item.is_rest or item.length * item.count == size, (name, ibm)
            assert item.confidence == row["confidence"], (name, ibm)
    assert len(earlier) > 2000 and len(facts["next"]) > 200


UNITS = {
    "SMF30OSC": "",
    "SMF30OST": "1/100 s",
    "SMF30RQT": "1024 us",
    "SMF30HQT": "1024 us",
    "SMF30CRP": "1024 us",
    "SMF30CPC": "/10",
    "SMF30SRC": "/10",
    "SMF30HOLDUNTIL": "4096 us since 1900",
    "SMF30DEADLINE": "4096 us since 1900",
    "SMF71ACA": "1/10 s",
    "SMF74SFTR": "0.5 us",
    "SMF74SFTW": "0.5 us",
    "SMF74IDT": "",
    "R744RSDT": "us",
    "R744RSSE": "us",
    "R744RAMST": "us",
    "R744RAMSQ": "us^2",
    "SMF70HW_CAP_LIMIT": "/100",
    "SMF70HWGR_CAP_LIMIT": "/100",
    "DSGTMADQ": "/100",
}
"""Units that were once wrong or missing."""
DURATIONS = ("SMF71PMT", "SMF119AP_TSIPDuration", "SMF119AP_TSC6Duration", "SM120BRQ_CP_START", "SM120BRQ_ENCLAVE_CPU")
"""Lengths of time in store clock units that were once plain numbers."""
DISPUTED = ("R744STAC", "SMF74IDT")
"""Fields of which the vendor says two things."""


def corrections() -> list[dict[str, str]]:
    """What an independent check of the facts found."""
    with (shared("layouts") / "CORRECTIONS.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_fields_have_the_units_that_independent_sources_give() -> None:
    fields = {item.ibm: item for layout, section in REGISTRY.tables() for item in section.fields}
    assert {ibm: fields[ibm].unit for ibm in UNITS} == UNITS
    assert {fields[ibm].form.name for ibm in DURATIONS} == {"tod_duration"}
    assert fields["SMF30OSC"].name == "syscalls" and fields["SMF30OST"].name == "syscall_us"
    assert fields["SMF71DSC"].name == "slots_vio" and fields["SMF71VSC"].name == "slots_address_space"


def test_the_field_reference_says_where_the_vendor_contradicts_itself() -> None:
    fields = {item.ibm: item for layout, section in REGISTRY.tables() for item in section.fields}
    assert all("IBM" in fields[ibm].meaning for ibm in DISPUTED)


@pytest.mark.parametrize("name", FACTS)
def test_every_known_field_stands_where_the_facts_say(name: str) -> None:
    known = {item.ibm: item for section in LAYOUTS[name].sections for item in section.fields}
    with (shared("layouts") / FACTS[name]).open(encoding="utf-8") as file:
        facts = [row for row in csv.DictReader(file) if row["format"] != "reserved" and row["offset"]]
    wanted = [row for row in facts if row["struct"] not in UNPLACED and row["field"] not in SPELT_OUT]
    assert len(wanted) > 20
    corrected = {row["field"]: row for row in corrections() if row["layout"] + ".csv" == FACTS[name]}
    for row in wanted:
        item = known[row["field"]]
        row |= {"confidence": corrected.get(row["field"], row)["confidence"]}
        assert item.offset == int(row["offset"]) + OVERLAID.get(row["struct"], 0), row["field"]
        assert item.length * item.count == int(row["length"]), row["field"]
        assert item.confidence == row["confidence"], row["field"]


@pytest.mark.parametrize("name", CICS)
def test_every_known_field_of_cics_data_sections_stands_where_the_facts_say(name: str) -> None:
    known = {item.ibm: item for section in LAYOUTS[name].handled for item in section.fields}
    known |= {item.ibm: item for item in LAYOUTS[name].section("product").fields}
    facts = []
    for file_name in CICS[name]:
        with (shared("layouts") / file_name).open(encoding="utf-8") as file:
            facts += [row for row in csv.DictReader(file) if row["format"] != "reserved" and row["length"]]
    subtype = name[-1]
    wanted = [row for row in facts if row["struct"] not in NOT_OF_RECORDS and row.get("subtype", "2")[0] == subtype]
    assert len(wanted) > 20
    for row in wanted:
        if row["field"].startswith("MNR_TS"):
            continue
        item = known[row["field"]]
        assert (item.offset, item.length, item.confidence) == (
            int(row["offset"]),
            int(row["length"]),
            row["confidence"],
        ), row["field"]


@pytest.mark.parametrize("name", LAYOUTS)
def test_sections_fill_the_record_without_gap_or_overlap(name: str) -> None:
    layout = LAYOUTS[name]
    tables = random_tables(layout, 11, 1, cut=0)
    dump = encode_dump(tables, REGISTRY)
    [batch] = [batch for batch in decode_batches(dump, REGISTRY) if batch.tables]
    header = batch.tables[layout.header.table].to_pylist()[0]
    covered = np.zeros(len(dump), np.int64)
    first = len(dump)
    rows_at: dict[str, list[int]] = {}
    for section in layout.placed:
        part = section.triplet
        assert part is not None
        columns = {item.offset: item.column for item in layout.header.fields}
        places = (part.position, part.position + part.offset_width, part.end - part.count_width)
        assert columns.keys() >= set(places), f"the header lacks fields for the triplet of {section.name}, at {places}"
        at, size, count = (header[columns[place]] for place in places)
        if section.table in batch.tables:
            covered[at : at + (size if section.walk == "length_prefixed" else size * count)] += 1
            first = min(first, at)
            rows_at[section.name] = [at + place * size for place in range(count)]
    for section in layout.nested:
        part = section.triplet
        if part is None or section.table not in batch.tables:
            continue
        parent = layout.section(section.parent)
        names = {item.offset: item.column for item in parent.fields}
        rows_at[section.name] = []
        for above, row in zip(rows_at[parent.name], batch.tables[parent.table].to_pylist(), strict=True):
            at, size, count = (row[names[part.position + place]] for place in (0, 4, 6))
            if count:
                at += above if part.base == "section" else 0
                covered[at : at + size * count] += 1
                rows_at[section.name] += [at + place * size for place in range(count)]
    assert not covered[:first].any()
    assert (covered[first:] == 1).all()
