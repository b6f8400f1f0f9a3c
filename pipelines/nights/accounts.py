"""Outcomes of files, in tables: those with similar names, or not decoded for the same reason, in one line."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

from pipelines import pages
from pipelines.nights.findings import FILES, undecoded
from pipelines.text import counted

_OF_RECORDS = ("bytes", "records", "decoded", "quarantined", "overlap")
_OF_BYTES = ("bytes", "decoded_bytes", "skipped_bytes", "quarantined_bytes", "framing_bytes", "quarantined")
_MOST_NAMES, _LONGEST = 3, 300


def of_report(report: Any, folder: Path) -> dict[str, Any]:
    """An `ingest.warehouse.FileReport` as plain values; files are called as they are in the landing folder."""
    values = dict(report.to_dict())
    names = {name: values[name] and values[name].replace(f"{folder}/", "") for name in ("path", "message")}
    return {**values, **names}


def outcomes(files: Sequence[Mapping[str, Any]], sums: Sequence[str] = _OF_RECORDS) -> list[dict[str, Any]]:
    """Rows of outcomes of files, with sums of these values, and what is wrong where not all was decoded."""
    alike: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for file in files:
        wrong = _wrong(file)
        reason = wrong and (", ".join(file.get("reason_codes") or ()) or wrong)
        alike.setdefault(("" if wrong else pattern(file["path"]), file["status"], reason), []).append(file)
    has_faults = any(map(_wrong, files))
    return [
        {
            "file": _names([file["path"] for file in group], name),
            "files": len(group),
            "status": status,
            **{column.replace("_", " "): sum(_number(file.get(column)) for file in group) for column in sums},
            **({"what is wrong": _wrong(group[0])} if has_faults else {}),
        }
        for (name, status, _), group in alike.items()
    ]


def left(why_left: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows of what was left in the landing folder, and why."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, why in why_left.items():
        alike.setdefault((pattern(name), why), []).append(name)
    return [{"file": _names(names, name), "files": len(names), "why": why} for (name, why), names in alike.items()]


def loads(folder: Path, day: str, files: Sequence[Mapping[str, Any]]) -> Path:
    """Write the page of a day's load, from reports as plain values; its path."""
    lead = f"{counted(len(files), 'file')}. Each byte is decoded, skipped, quarantined or framing."
    return pages.write(folder / f"{day}.html", f"Files of {day}", lead, {FILES: outcomes(files, _OF_BYTES)})


def pattern(name: str) -> str:
    """The common pattern of the names of files of a kind: all but their numbers."""
    return re.sub(r"\d+", "*", name)


def _names(names: Sequence[str], alike: str) -> str:
    if len(names) == 1:
        return names[0]
    more = len(names) - _MOST_NAMES
    return alike or ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _wrong(file: Mapping[str, Any]) -> str:
    """The fault of a file in words; empty if it was decoded completely."""
    message = str(file.get("message") or "could not be decoded").removeprefix(f"{file['path']}: ")
    return shorten(message, _LONGEST, placeholder=" …") if undecoded([file]) else ""


def _number(value: Any) -> int:
    return sum(value.values()) if isinstance(value, Mapping) else value or 0
