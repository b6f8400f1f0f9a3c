"""Central and virtual storage: SMF 71 and 78.2, and display output for what these do not have.

`paging`: a target's subject is `central` and an area (`available`, `sqa`, `lpa`, `csa`, `lsqa`, `regions`, `fixed_sqa`,
`fixed_lpa`, `fixed_csa`, `fixed_lsqa`, `fixed_regions`, `fixed_below_16m`, `fixed_total`), `nucleus` or `total`, which
the marts make of the frames outside the nucleus and the nucleus; it writes `frames_min`, `frames_avg`, `frames_max`.
The subject `uic` carries `uic_min`, `uic_avg`, `uic_max` in seconds, and an empty one `page_ins_per_s`, of which there
are none.

`storage`: a target's subject is `JOB private below`, `JOB lsqa above` (LSQA, SWA and subpools 229 and 230),
`csa below`, `csm_data_space above`, or any other area of the displays, with or without a location. It writes
`storage_kb`, the mean over the samples, and `storage_max_kb`, the largest. Totals (`JOB total`, `total below`,
`total above`, `total`) are not written anywhere: the marts add up the parts. A part that is not among the targets,
because the paper contradicts it, is what the totals leave, or its largest value where they leave two. Options: `parts`,
the subjects of all parts that totals add up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Record, Setting, Span, Timed, rmf_record
from model.lab.records.interface import Cell, Output, Target, Window, by_subject
from model.lab.samples import levels, peaking_at, spread_total

PRIVATE_FIELDS = {
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
            field = PRIVATE_FIELDS[place]
            row |= {f"{field}min": min(samples), f"{field}max": max(samples), f"{field}totl": float(sum(samples))}
        rows.append(row)
    return rmf_record(setting, "smf78_2", 2, span, private=rows)


FRAME_FIELDS: Mapping[str, tuple[str, str, str]] = {
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
ALL_FRAMES, NUCLEUS = "total", "nucleus"


def paging(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """An SMF 71 per interval, and a 78.2 where the nucleus is known."""
    by_area = {subject.removeprefix("central "): wanted for subject, wanted in by_subject(targets).items()}
    count = len(window.spans)
    rows: list[dict[str, Any]] = [{} for _ in window.spans]
    nucleus = round(by_area[NUCLEUS]["frames_max"].value) if NUCLEUS in by_area else 0
    for subject, wanted in by_area.items():
        if subject in ("", NUCLEUS):
            continue
        if subject == ALL_FRAMES:
            for row in rows:
                row["smf71tfc"] = round(wanted["frames_max"].value) - nucleus
            continue
        if subject not in FRAME_FIELDS:
            raise LabError(f"SMF 71 has no level of {subject!r}")
        prefix, steps = ("uic", UIC_STEPS) if subject == "uic" else ("frames", 1)
        for row, level in zip(rows, levels(random, wanted, prefix, count), strict=True):
            row |= dict(zip(FRAME_FIELDS[subject], (level.low, level.mean * steps, level.high), strict=True))
    records: list[Record] = []
    for span, row in zip(window.spans, rows, strict=True):
        records.append(_paging_record(setting, span, row))
        if nucleus:
            records.append(_nucleus(setting, span, nucleus))
    return Output(records=records)


def _paging_record(setting: Setting, span: Span, row: dict[str, Any]) -> Record:
    return rmf_record(setting, "smf71", 1, span, paging=[row])


def _nucleus(setting: Setting, span: Span, frames: int) -> Record:
    return rmf_record(setting, "smf78_2", 2, span, common=[{"r782ens": frames * FRAME_BYTES}])


MEAN, PEAK = "storage_kb", "storage_max_kb"
PART_OF_OTHERS = ("csm_ecsa", "csm_fixed")
SAMPLES = 10
SAMPLE_SPREAD = 0.004
PAGE_KB = 4
KB = 1024


@dataclass(frozen=True, slots=True)
class Place:
    """One storage area: the job it belongs to (empty for common storage), its name, and below or above 16 MiB."""

    job: str
    area: str
    location: str

    @classmethod
    def of(cls, subject: str) -> "Place":
        """The place a subject names. LabError when it names none."""
        words = subject.split(" ")
        if len(words) == 3 and (words[1], words[2]) in PRIVATE_FIELDS:
            return cls(*words)
        if len(words) in (1, 2):
            return cls("", words[0], words[1] if len(words) == 2 else "")
        raise LabError(f"no storage area {subject!r}")


def storage_in_use(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A 78.2 per interval with the private areas, and a display of the rest in each."""
    means, peaks = consistent(targets)
    jobs: dict[str, dict[tuple[str, str], list[list[int]]]] = {}
    rows: list[dict[str, Cell]] = []
    for subject in dict.fromkeys((*means, *peaks)):
        place = Place.of(subject)
        if place.job:
            samples = _private(random, means[subject], len(window.spans))
            jobs.setdefault(place.job, {})[place.area, place.location] = samples
        else:
            values = _displayed(random, means.get(subject), peaks.get(subject), len(window.spans))
            rows += _rows(window, place, values)
    records: list[Record] = []
    if jobs:
        for i, span in enumerate(window.spans):
            storage = {job: {place: parts[i] for place, parts in areas.items()} for job, areas in jobs.items()}
            records.append(virtual_storage(setting, span, storage))
    return Output(records=records, rows={"storage": rows} if rows else {})


def consistent(targets: Sequence[Target]) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    """Means and peaks in KB of every part, by subject. LabError where parts do not add up to the totals printed."""
    means = {target.subject: _kb(target) for target in targets if target.metric == MEAN}
    totals = {subject: means.pop(subject) for subject in list(means) if _is_total(subject)}
    peaks = {target.subject: _kb(target) for target in targets if target.metric == PEAK}
    parts = [part for target in targets for part in target.options.get("parts", ())]
    subjects = list(dict.fromkeys([*means, *parts])) if totals else list(means)
    while missing := [subject for subject in subjects if subject not in means]:
        for total, value in totals.items():
            added = _parts(total, subjects)
            unknown = [part for part in added if part not in means]
            if len(unknown) == 1:
                means[unknown[0]] = value - sum(means[part] for part in added if part in means)
        if missing == [subject for subject in subjects if subject not in means]:
            known = next((subject for subject in missing if subject in peaks), None)
            if known is None:
                raise LabError(f"no total says what {', '.join(missing)} is")
            means[known] = peaks[known]
    for total, value in totals.items():
        sum_kb = sum(means[part] for part in _parts(total, subjects))
        if sum_kb != value:
            raise LabError(f"the parts of {total} add up to {sum_kb:f} KB, printed are {value:f}")
    for subject, target in ((target.subject, target) for target in targets if target.metric == PEAK):
        if subject in means and not target.interval.lo <= float(means[subject]) <= target.interval.hi:
            raise LabError(f"{subject} is printed as {means[subject]:f} and as {target.figure.value}")
    return means, peaks


def _is_total(subject: str) -> bool:
    return "total" in subject.split(" ")


def _parts(total: str, subjects: Sequence[str]) -> list[str]:
    """The subjects a total adds up."""
    words = total.split(" ")
    parts = []
    for subject in subjects:
        place = Place.of(subject)
        if place.area in PART_OF_OTHERS:
            continue
        if (
            total == "total"
            or (words[0] == "total" and place.location == words[1])
            or (place.job and place.job == words[0])
        ):
            parts.append(subject)
    return parts


def _kb(target: Target) -> Decimal:
    return Decimal(target.figure.value) / Decimal(str(target.factor))


def _private(random: np.random.Generator, mean_kb: Decimal, intervals: int) -> list[list[int]]:
    """Bytes of every sample by interval, in pages where the mean is a number of pages."""
    unit = PAGE_KB if mean_kb % PAGE_KB == 0 else 1
    count = intervals * SAMPLES
    values = spread_total(random, round(mean_kb / unit * count), count, SAMPLE_SPREAD)
    return [[value * unit * KB for value in values[i * SAMPLES : (i + 1) * SAMPLES]] for i in range(intervals)]


def _displayed(random: np.random.Generator, mean: Decimal | None, peak: Decimal | None, count: int) -> list[float]:
    """KB of every sample. Where both the mean and the peak are printed they are the same: nothing varied."""
    if mean is None and peak is not None:
        return [round(value, 2) for value in peaking_at(random, float(peak), count, SAMPLE_SPREAD)]
    if mean is None:
        raise LabError("neither a mean nor a peak of the storage is known")
    if peak is not None:
        return [float(mean)] * count
    places = max(0, -int(mean.as_tuple().exponent))
    scale = 10**places
    return [value / scale for value in spread_total(random, round(mean * scale * count), count, SAMPLE_SPREAD)]


def _rows(window: Window, place: Place, values: Sequence[float]) -> list[dict[str, Cell]]:
    return [
        {
            "smf_sid": window.smf_sid,
            "time_utc": (span.start + timedelta(milliseconds=span.length_ms // 2)).isoformat(timespec="seconds"),
            "job": place.job,
            "area": place.area,
            "location": place.location,
            "used_kb": value,
        }
        for span, value in zip(window.spans, values, strict=True)
    ]
