"""The recorded loads of a system as arrays, made once of what the bundle has as lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.derived import derived

Array = NDArray[np.float64]


class Profile(NamedTuple):
    """Recorded intervals: local starts, transactions/s (streams, intervals), engines of other work and other LPARs;
    users of each stream and those of them who think, (streams, intervals), 0 where it has none."""

    times: NDArray[np.datetime64]
    rates: Array
    extra: Mapping[str, Array]
    others: Array | None
    users: Array
    thinking: Array


def recorded(profile: Mapping[str, Any]) -> Profile:
    """The ``profile`` of a bundle's system."""
    return derived(profile, "arrays", lambda: _made(profile))


def _made(profile: Mapping[str, Any]) -> Profile:
    rates = np.array(profile["rates"], float)
    none = np.zeros(rates.shape)
    users, thinking = (np.array(profile.get(key, none), float) for key in ("users", "thinking"))
    return Profile(
        times=np.array(profile["start_local"], "datetime64[s]"),
        rates=rates,
        users=users,
        thinking=thinking,
        extra={name: np.array(values, float) for name, values in profile.get("extra", {}).items()},
        others=np.array(profile["others"], float) if "others" in profile else None,
    )
