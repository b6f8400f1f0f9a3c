"""Frames of central storage and unreferenced interval counts: SMF 71, and SMF 78.2 for the nucleus.

A target's subject is `central` and an area (`available`, `sqa`, `lpa`, `csa`, `lsqa`, `regions`, `fixed_sqa`,
`fixed_lpa`, `fixed_csa`, `fixed_lsqa`, `fixed_regions`, `fixed_below_16m`, `fixed_total`), `nucleus` or `total`, which
the marts make of the frames outside the nucleus and the nucleus; it writes `frames_min`, `frames_avg`, `frames_max`.
The subject `uic` carries `uic_min`, `uic_avg`, `uic_max` in seconds, and an empty one `page_ins_per_s`, of which there
are none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.levels import levels
from model.lab.records.common import Record, Setting, Span, rmf_record
from model.lab.writers.interface import Output, Target, Window, by_subject

FIELDS: Mapping[str, tuple[str, str, str]] = {
    "available": ("smf71mnf", "smf71avf", "smf71mxf"),
    "csa": ("smf71mnp", "smf71avp", "smf71mxp"),
    "regions": ("smf71mns", "smf71avs", "smf71mxs"),
    "fixed_sqa": ("smf71mnq", "smf71avq", "smf71mxq"),
    "fixed_csa": ("smf71mnc", "smf71avc", "smf71mxc"),
    "fixed_regions": ("smf71mnr", "smf71avr", "smf71mxr"),
    "fixed_total": ("smf71mnx", "smf71avx", "smf71mxx"),
    "fixed_lpa": ("smf71nlf", "smf71alf", "smf71xlf"),
    "fixed_lsqa": ("smf71nls", "smf71als", "smf71xls"),
    "fixed_below_16m": ("smf71mnl", "smf71avl", "smf71mxl"),
    "lpa": ("smf71nlp", "smf71alp", "smf71xlp"),
    "sqa": ("smf71msr", "smf71asr", "smf71xsr"),
    "lsqa": ("smf71mlr", "smf71alr", "smf71xlr"),
    "uic": ("smf71lic", "smf71aca", "smf71hic"),
}
"""Columns of the lowest, mean and highest level by subject."""

UIC_STEPS = 10
"""The mean of the unreferenced interval count is recorded in tenths of a second."""

FRAME_BYTES = 4096
TOTAL, NUCLEUS = "total", "nucleus"


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """An SMF 71 per interval, and a 78.2 where the nucleus is known."""
    found = {subject.removeprefix("central "): wanted for subject, wanted in by_subject(targets).items()}
    count = len(window.spans)
    rows: list[dict[str, Any]] = [{} for _ in window.spans]
    nucleus = round(found[NUCLEUS]["frames_max"].value) if NUCLEUS in found else 0
    for subject, wanted in found.items():
        if subject in ("", NUCLEUS):
            continue
        if subject == TOTAL:
            for row in rows:
                row["smf71tfc"] = round(wanted["frames_max"].value) - nucleus
            continue
        if subject not in FIELDS:
            raise LabError(f"SMF 71 has no level of {subject!r}")
        prefix, steps = ("uic", UIC_STEPS) if subject == "uic" else ("frames", 1)
        for row, level in zip(rows, levels(random, wanted, prefix, count), strict=True):
            row |= dict(zip(FIELDS[subject], (level.low, level.mean * steps, level.high), strict=True))
    records: list[Record] = []
    for span, row in zip(window.spans, rows, strict=True):
        records.append(_record(setting, span, row))
        if nucleus:
            records.append(_nucleus(setting, span, nucleus))
    return Output(records=records)


def _record(setting: Setting, span: Span, row: dict[str, Any]) -> Record:
    return rmf_record(setting, "smf71", 1, span, paging=[row])


def _nucleus(setting: Setting, span: Span, frames: int) -> Record:
    return rmf_record(setting, "smf78_2", 2, span, common=[{"r782ens": frames * FRAME_BYTES}])
