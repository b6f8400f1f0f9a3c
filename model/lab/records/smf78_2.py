"""SMF 78 subtype 2 of an interval: virtual storage of monitored jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from model.lab.records.common import Record, Setting, Timed, rmf_record

FIELDS = {
    ("private", "below"): "r782usal_vsdb",
    ("private", "above"): "r782usal_vsda",
    ("lsqa", "below"): "r782lsal_vsdb",
    ("lsqa", "above"): "r782lsal_vsda",
}
"""Columns of the samples by area (the user region, or the system's part of the private area) and location."""

Storage = Mapping[tuple[str, str], Sequence[int]]
"""Bytes of each sample by area and location."""


def virtual_storage(setting: Setting, span: Timed, jobs: Mapping[str, Storage]) -> Record:
    """The record of an interval, with one private area section per job."""
    rows: list[dict[str, Any]] = []
    for job, storage in jobs.items():
        row: dict[str, Any] = {
            "r782jobn": job,
            "r782samp": max(len(samples) for samples in storage.values()),
            "r782rddt": setting.clock.day(span.start),
        }
        for place, samples in storage.items():
            field = FIELDS[place]
            row |= {f"{field}min": min(samples), f"{field}max": max(samples), f"{field}totl": float(sum(samples))}
        rows.append(row)
    return rmf_record(setting, "smf78_2", 2, span, private=rows)
