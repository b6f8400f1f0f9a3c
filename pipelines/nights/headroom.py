"""Systems of which something will be full sooner than wanted; each is reported once."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from state.catalogue import HEADROOM

_MONTH_DAYS = 365.25 / 12


def short(bundle: Mapping[str, Any], months: float, today: dt.date) -> dict[str, str]:
    """What will be full first, and when, by system, of the LPARs where that is within so many months."""
    from model.capacity import ask

    until = today + dt.timedelta(days=months * _MONTH_DAYS)
    found = {}
    for system, entry in sorted(bundle["systems"].items()):
        first = ask.headroom(bundle, system)["first"] if "profile" in entry else None
        if first is not None and first["value"] is not None and dt.date.fromisoformat(first["value"]) <= until:
            within = f" (from {first['lo']} on in one case of twenty)" if first["lo"] else ""
            found[system] = (
                f"{system}: headroom below {months:g} months: {first['resource']} reaches its target on "
                f"{first['value']}{within}"
            )
    return found


def newly_short(found: Mapping[str, str], memory: Path) -> list[str]:
    """Those lines of `short` whose system had more headroom when it was last reported, as `memory` has it."""
    known = HEADROOM.read_or(memory, {}).get("short", [])
    return [text for system, text in found.items() if system not in known]
