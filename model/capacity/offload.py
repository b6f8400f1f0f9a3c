"""A system whose work goes to zIIPs, as part of a bundle: what is moved there, and zIIPs it did not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.adjustments import PREFIX, Z_90, Adjustment, asked, from_plain, parts_of
from model.capacity.derived import derived
from model.capacity.parts import ZIIP_WORK, deviates
from model.capacity.questions import QuestionError, whole
from model.capacity.ziips import unmeasured

Array = NDArray[np.float64]
ZIIPS = "ziip_engines"
ON_ZIIPS = ":ziip"
# Seeds of what is moved, one for each adjustment.
MOVED_SEED = 9000
NEW_ZIIPS = (
    "ziip_engines: no zIIPs were recorded: how long work waits for these before it runs on CPs is not known, and is "
    "part of the limits"
)
NO_ZIIPS = "there are no zIIPs for what is moved to run on, so that it stays on CPs: ask with ziip_engines=1 or more"


@dataclass(frozen=True)
class Offload:
    """What of a question moves work to zIIPs: adjustments, and the zIIPs there are then; both may be none."""

    moving: tuple[Adjustment, ...]
    engines: float

    @classmethod
    def of(cls, entry: Mapping[str, Any], at: Mapping[str, Any]) -> Offload:
        """That of a question, which is refused elsewhere if it says anything wrong."""
        plain = entry.get("adjustments", {})
        wanted = {key: value for key, value in at.items() if str(key).startswith(PREFIX)}
        known = derived(plain, "adjustments", lambda: from_plain(plain))
        try:
            chosen = asked(wanted, known, parts_of(entry))[1] if wanted else ()
            recorded = (entry.get("ziip") or {}).get("engines") or 0.0
            engines = float(whole(ZIIPS, at[ZIIPS], least=0)) if ZIIPS in at else recorded
        except QuestionError:
            return cls((), 0.0)
        return cls(tuple(one for one in chosen if one.moved), engines)


def with_ziips(entry: Mapping[str, Any], at: Mapping[str, Any]) -> Mapping[str, Any]:
    """The system as a question has it, with zIIPs where it asks for any, and with the engine time that adjustments
    move to them; the very same where it asks for neither, or where there are no zIIPs to move it to."""
    offload = Offload.of(entry, at)
    has = bool((entry.get("ziip") or {}).get("engines"))
    eligible = any(law.get("engine") == "ziip" for law in entry["usage"].values())
    if offload.engines <= 0 or not (offload.moving or (eligible and not has)):
        return entry
    key = (ZIIPS, tuple((one.name, one.moved) for one in offload.moving), offload.engines)
    return derived(entry, key, lambda: _made(entry, offload, has))


def _made(entry: Mapping[str, Any], offload: Offload, has: bool) -> dict[str, Any]:
    made = {**entry, "usage": dict(entry["usage"]), "outputs": list(entry["outputs"]), "offloaded": True}
    draws = len(next(iter(entry["usage"].values()))["draws"]["noise"])
    if offload.moving:
        _move(made, _share(offload.moving, draws))
    if not has:
        made["ziip"] = unmeasured(offload.engines, draws)
        made["usage"][ZIIP_WORK] = _as_queued(draws)
        made["notes"] = [NEW_ZIIPS, *entry.get("notes", ())]
    known = {(row["metric"], row.get("class")) for row in made["outputs"]}
    made["outputs"] += [row for row in _figures(made) if (row["metric"], row.get("class")) not in known]
    return made


def _share(moving: Sequence[Adjustment], draws: int) -> Array:
    """(1 + draws,) of the engine time what is moved, the centre first."""
    left = np.ones(1 + draws)
    for i, one in enumerate(moving):
        assert one.moved is not None
        low, high = one.moved
        spread = 0.5 * (high - low) / Z_90 * deviates(1 + draws, MOVED_SEED + i)
        left *= 1.0 - np.clip(0.5 * (low + high) + spread, 0.0, 1.0)
    return 1.0 - left


def _move(made: dict[str, Any], share: Array) -> None:
    """Take a share of the transactions' time on CPs to zIIPs."""
    usage: dict[str, Any] = made["usage"]
    driving = {stream["name"] for stream in made["streams"]} | set(made.get("mixes", ()))
    own = [n for n, law in usage.items() if law["driver"] in driving and law.get("engine", "cp") == "cp"]
    total = [name for name in own if name in made["capacity"]] or [name for name in own if usage[name]["part"]]
    for name in own:
        law, there = usage[name], f"{name}{ON_ZIIPS}"
        # What was not measured on zIIPs is part of no total but theirs.
        moved = {**_scaled(law, share), "engine": "ziip", "part": name in total, "points": 0}
        usage[there] = _together(usage[there], moved) if there in usage else moved
        usage[name] = _scaled(law, 1.0 - share)
    made["response"] = {
        key: {**law, "ziip_series": [f"{name}{ON_ZIIPS}" for name in law["series"]]}
        for key, law in made["response"].items()
    }


def _scaled(law: Mapping[str, Any], by: Array) -> dict[str, Any]:
    coef, drawn = np.asarray(law["coef"], float), np.asarray(law["draws"]["coef"], float)
    scaled = {"coef": (coef * by[0]).tolist()}
    return {**law, **scaled, "draws": {**law["draws"], "coef": (drawn * by[1:, None]).tolist()}}


def _together(law: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The law of what both laws of one driver say together, uncertain as the first."""
    times, scale = law["reference_rate"] / more["reference_rate"], more["scale"] / law["scale"]

    def added(own: Any, other: Any) -> list[Any]:
        fixed, each, curve = np.moveaxis(np.asarray(other, float), -1, 0)
        as_own = [fixed, each * times + curve * (times**2 - times), curve * times**2]
        return (np.asarray(own, float) + scale * np.stack(as_own, axis=-1)).tolist()

    drawn = {**law["draws"], "coef": added(law["draws"]["coef"], more["draws"]["coef"])}
    return {**law, "coef": added(law["coef"], more["coef"]), "draws": drawn}


def _as_queued(draws: int) -> dict[str, Any]:
    """Busy zIIP cores as the queue of the pool has them."""
    none = [0.0] * draws
    return {
        "reference_rate": 1.0,
        "scale": 1.0,
        "support": [0.0, float("inf")],
        "points": 0,
        "origin": "measured",
        "part": False,
        "driver": ZIIP_WORK,
        "engine": "ziip_busy",
        "coef": [0.0, 1.0, 0.0],
        "draws": {"coef": [[0.0, 1.0, 0.0]] * draws, "noise": none, "drift": none},
    }


def _figures(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Figures of zIIPs, of all and by class as those of CPs are."""
    found: list[dict[str, Any]] = [
        {"metric": "ziip_busy_pct", "form": "ziip_busy_pct", "unit": "pct"},
        {"metric": "ziip_us_per_tran", "form": "ziip_us_per_tran", "unit": "us/tran"},
    ]
    for row in made["outputs"]:
        there = f"{row.get('series')}{ON_ZIIPS}"
        if row["metric"] == "cpu_us_per_tran" and "class" in row and there in made["usage"]:
            found.append({**row, "metric": "ziip_us_per_tran", "series": there})
    return found
