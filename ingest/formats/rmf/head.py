"""The head of an RMF XML report: the report, its subject, its interval and the release."""

from collections.abc import Mapping
from typing import Any

from ingest.formats.rmf import values


def server_head(root: Any) -> dict[str, Any]:
    """Columns of `rmf_report` that the `<server>` element of a reply gives."""
    if root is None or root.find("server") is None:
        return {}
    names = ("name", "version", "functionality", "platform")
    return {f"server_{name}": _stripped(root.find(f"server/{name}")) for name in names}


TEXTS = {
    "report": "metric@id",
    "report_option": "metric@option",
    "description": "metric/description",
    "report_type": "metric/type",
    "resource_type": "resource/restype",
    "smf_version": "version/smf-data",
    "rmf_version": "version/rmf-report",
}
"""Columns of `rmf_report` that are a text of the head as it stands there, and where that is."""

WORKED_OUT = (
    "resource/resname",
    "resource/reslabel",
    "resource/restype",
    "time-data/display-start",
    "time-data/display-end",
    "time-data/local-start",
    "time-data/local-end",
    "time-data/utc-start",
    "time-data/utc-end",
    "time-data/report-interval",
    "time-data/report-interval@unit",
    "time-data/gatherer-interval",
    "time-data/gatherer-interval@unit",
    "time-data/cycle",
    "time-data/cycle@unit",
)
"""Paths from which the other columns are derived."""

PATHS = ("metric", *dict.fromkeys((*TEXTS.values(), *WORKED_OUT)))
"""Paths read from the head of a report: texts of elements of one or two steps, and their attributes."""


def report_head(report: Any) -> dict[str, Any]:
    """Columns of `rmf_report` that the elements before the first segment of a report give; absent ones are None."""
    texts = _texts_of(report)
    return {column: texts.get(path) for column, path in TEXTS.items()} | worked_out(texts)


def worked_out(texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Columns of `rmf_report` of the texts at `WORKED_OUT`, of which any may be missing.

    UTC is filled only where the report says it: Postprocessor reports give local time without an offset.
    """
    text = texts.get
    interval, unit = text("time-data/report-interval"), text("time-data/report-interval@unit")
    if not interval:
        interval, unit = text("time-data/gatherer-interval"), text("time-data/gatherer-interval@unit")
    cycle_s = values.interval_s(text("time-data/cycle"), text("time-data/cycle@unit"))
    resource = text("resource/resname") or _resource_of_label(text("resource/reslabel"))
    kind = text("resource/restype")
    return {
        "resource_name": resource,
        "system_name": resource if kind in ("SYSTEM", "MVS_IMAGE") else None,
        "sysplex_name": resource if kind == "SYSPLEX" else None,
        "interval_start_local": values.local_time(text("time-data/local-start") or text("time-data/display-start")),
        "interval_end_local": values.local_time(text("time-data/local-end") or text("time-data/display-end")),
        "interval_start_utc": values.local_time(text("time-data/utc-start")),
        "interval_end_utc": values.local_time(text("time-data/utc-end")),
        "interval_s": values.interval_s(interval, unit),
        "interval_text": interval,
        "cycle_ms": None if cycle_s is None else cycle_s * 1000,
    }


def _texts_of(report: Any) -> dict[str, str | None]:
    """The text or attribute at each of `PATHS`, of the first such element before the first segment of a report."""
    elements: dict[str, Any] = {}
    for child in report:
        elements.setdefault(child.tag, child)
        for grandchild in child:
            elements.setdefault(f"{child.tag}/{grandchild.tag}", grandchild)
    texts: dict[str, str | None] = {}
    for path in PATHS:
        element, _, attribute = path.partition("@")
        if element in elements:
            texts[path] = elements[element].get(attribute) if attribute else _stripped(elements[element])
    return texts


def _stripped(element: Any) -> str | None:
    return (element.text or "").strip() or None if element is not None else None


def _resource_of_label(label: str | None) -> str | None:
    """Resource name of a Monitor III resource label `parent,name,type`."""
    parts = (label or "").split(",")
    return parts[1] or None if len(parts) == 3 else label or None
