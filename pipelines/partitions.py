"""Daily partitions: which file of the landing folder belongs to which day."""

import datetime as dt
import re
from collections import defaultdict
from pathlib import Path

import dagster as dg

from pipelines.nights import landing
from pipelines.settings import Landing

FIRST_DAY = dt.date(2026, 1, 1)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

# The present day is a partition too: a file that lands at noon need not wait for midnight.
daily = dg.DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat(), end_offset=1)


def landed(folder: Path, rules: Landing | None = None) -> dict[str, list[Path]]:
    """Files by day, in order of name; with rules, those that fit a system's patterns and have their marker.

    A file in a folder named after a day (`2026-11-21/…`) belongs to it, any other to the day (UTC) of its last change;
    earlier days count as the first partition.
    """
    found: dict[str, list[Path]] = defaultdict(list)
    wanted = rules or Landing()
    for path, why_left in landing.files(folder, wanted):
        if why_left:
            continue
        name = path.relative_to(folder)
        named = name.parts[0] if len(name.parts) > 1 and _DAY.fullmatch(name.parts[0]) else None
        day = named or dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC).date().isoformat()
        found[max(day, FIRST_DAY.isoformat())].append(path)
    return dict(found)
