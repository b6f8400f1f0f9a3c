"""What stands at the head of an RMF XML report: which report, about what, over which interval, by which release."""

from typing import Any

from ingest.formats.rmf import values


def server_head(root: Any) -> dict[str, Any]:
    """Columns of `rmf_report` that the `<server>` element of a reply gives."""
    if root is None or root.find("server") is None:
        return {}
    names = ("name", "version", "functionality", "platform")
    return {f"server_{name}": _find(root, f"server/{name}") for name in names}


def report_head(report: Any) -> dict[str, Any]:
    """Columns of `rmf_report` that the elements before the first segment of a report give; absent ones are None.

    UTC is filled only where the report says it: Postprocessor reports give local time without an offset.
    """
    head = _elements(report)
    metric = head.get("metric")
    interval, unit = _with_unit(head, "time-data/report-interval", "time-data/gatherer-interval")
    cycle, cycle_unit = _with_unit(head, "time-data/cycle")
    cycle_s = values.interval_s(cycle, cycle_unit)
    resource = _text(head, "resource/resname") or _resource_of_label(_text(head, "resource/reslabel"))
    kind = _text(head, "resource/restype")
    return {
        "report": metric.get("id") if metric is not None else None,
        "report_option": metric.get("option") if metric is not None else None,
        "description": _text(head, "metric/description"),
        "report_type": _text(head, "metric/type"),
        "resource_name": resource,
        "resource_type": kind,
        "system_name": resource if kind in ("SYSTEM", "MVS_IMAGE") else None,
        "sysplex_name": resource if kind == "SYSPLEX" else None,
        "interval_start_local": values.local_time(_text(head, "time-data/local-start", "time-data/display-start")),
        "interval_end_local": values.local_time(_text(head, "time-data/local-end", "time-data/display-end")),
        "interval_start_utc": values.local_time(_text(head, "time-data/utc-start")),
        "interval_end_utc": values.local_time(_text(head, "time-data/utc-end")),
        "interval_s": values.interval_s(interval, unit),
        "interval_text": interval,
        "cycle_ms": None if cycle_s is None else cycle_s * 1000,
        "smf_version": _text(head, "version/smf-data"),
        "rmf_version": _text(head, "version/rmf-report"),
    }


def _elements(report: Any) -> dict[str, Any]:
    """The first element of every path of one or two steps: one pass instead of a search for each."""
    found: dict[str, Any] = {}
    for child in report:
        found.setdefault(child.tag, child)
        for grandchild in child:
            found.setdefault(f"{child.tag}/{grandchild.tag}", grandchild)
    return found


def _text(head: dict[str, Any], *paths: str) -> str | None:
    for path in paths:
        if path in head and (text := (head[path].text or "").strip()):
            return text
    return None


def _with_unit(head: dict[str, Any], *paths: str) -> tuple[str | None, str | None]:
    for path in paths:
        if (text := _text(head, path)) is not None:
            return text, head[path].get("unit")
    return None, None


def _find(element: Any, *paths: str) -> str | None:
    for path in paths:
        found = element.find(path)
        if found is not None and (text := (found.text or "").strip()):
            return text
    return None


def _resource_of_label(label: str | None) -> str | None:
    """Resource name of a Monitor III resource label `parent,name,type`."""
    parts = (label or "").split(",")
    return parts[1] or None if len(parts) == 3 else label or None
