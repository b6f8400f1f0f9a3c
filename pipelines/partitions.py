"""Daily partitions: which file of the landing folder belongs to which day."""

import datetime as dt
import hashlib
import re
from collections import defaultdict
from pathlib import Path

import dagster as dg

FIRST_DAY = dt.date(2026, 1, 1)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

# The present day is a partition too: a file that lands at noon need not wait for midnight.
daily = dg.DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat(), end_offset=1)


def landed(landing: Path) -> dict[str, list[Path]]:
    """Files by day, in order of name.

    A file in a folder named after a day (`2026-11-21/…`) belongs to it, any other to the day (UTC) of its last change;
    earlier days count as the first partition. Hidden files and names that end in `.part` or `.tmp` are transfers under
    way.
    """
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(landing.rglob("*")):
        name = path.relative_to(landing)
        hidden = any(part.startswith(".") for part in name.parts)
        if hidden or path.suffix in (".part", ".tmp") or not path.is_file():
            continue
        changed = path.stat().st_mtime
        named = name.parts[0] if len(name.parts) > 1 and _DAY.fullmatch(name.parts[0]) else None
        day = named or dt.datetime.fromtimestamp(changed, dt.UTC).date().isoformat()
        found[max(day, FIRST_DAY.isoformat())].append(path)
    return dict(found)


def fingerprint(files: list[Path]) -> str:
    """Changes with the names, sizes, times and inodes of a day's files: the same files are asked for once."""
    states = ((path, path.stat()) for path in files)
    parts = (f"{path}|{state.st_size}|{state.st_mtime_ns}|{state.st_ino}" for path, state in states)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
