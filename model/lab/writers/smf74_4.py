"""SMF 74 subtype 4: coupling facility structures, one record per coupling facility and interval.

A target's subject is the structure's name. It writes `cf_requests_per_s`, `cf_sync_pct`, `cf_async_pct`,
`cf_sync_service_us` and `cf_async_service_us`; a share that is not printed is what the other leaves of 100 %.
Options: `cf_name`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Record, Setting, Span, rmf_record
from model.lab.split import around_one, split
from model.lab.writers.interface import Output, Target, Window, by_subject

METRICS = {"cf_requests_per_s", "cf_sync_pct", "cf_async_pct", "cf_sync_service_us", "cf_async_service_us"}
SPREAD = 0.01
SERIALIZED_LIST = 2
Row = dict[str, Any]


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """One record per interval with all structures."""
    rows: list[list[Row]] = [[] for _ in window.spans]
    for structure, wanted in by_subject(targets).items():
        for i, row in enumerate(_structure(window, structure, wanted, random)):
            rows[i].append(row)
    name = str(targets[0].options.get("cf_name", "CF01"))
    return Output(
        records=[_record(setting, name, span, entries) for span, entries in zip(window.spans, rows, strict=True)]
    )


def _structure(window: Window, structure: str, wanted: Mapping[str, Target], random: np.random.Generator) -> list[Row]:
    if not set(wanted) <= METRICS or "cf_requests_per_s" not in wanted:
        raise LabError(f"structure {structure}: cannot write {', '.join(wanted)}")
    total = round(wanted["cf_requests_per_s"].value * window.seconds)
    sync = round(total * _sync_share(wanted))
    weights = around_one(random, len(window.spans), SPREAD) * np.array([span.length_ms for span in window.spans])
    counts = {"sync": split(sync, weights), "async": split(total - sync, weights)}
    times = {
        kind: split(round(_value(wanted, f"cf_{kind}_service_us") * sum(counts[kind])), weights) for kind in counts
    }
    return [
        {
            "r744snam": structure,
            "r744styp": SERIALIZED_LIST,
            "r744strc": float(counts["sync"][i] + counts["async"][i]),
            "r744stac": float(counts["async"][i]),
            "r744sarc": float(counts["async"][i]),
            "r744satm": times["async"][i],
            "r744ssrc": float(counts["sync"][i]),
            "r744sstm": times["sync"][i],
        }
        for i in range(len(window.spans))
    ]


def _sync_share(wanted: Mapping[str, Target]) -> float:
    if "cf_sync_pct" in wanted:
        return wanted["cf_sync_pct"].value / 100
    return 1 - _value(wanted, "cf_async_pct") / 100


def _value(wanted: Mapping[str, Target], metric: str) -> float:
    return wanted[metric].value if metric in wanted else 0.0


def _record(setting: Setting, cf_name: str, span: Span, rows: Sequence[Row]) -> Record:
    return rmf_record(
        setting,
        "smf74_4",
        4,
        span,
        facility=[
            {
                "r744fnam": cf_name,
                "r744fsys": setting.plan.system_name,
                "r744ftor": sum(row["r744strc"] for row in rows),
            }
        ],
        structure=[{"r744qstr": row["r744snam"]} for row in rows],
        request=list(rows),
    )
