"""Volumes and coupling facilities: how busy they are, and which part of a class's response is waiting for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import Devices, History
from model.calibration.regression import fit

Array = NDArray[np.float64]

# The waits of a class for a group are its own only where they are at most this part of its responses: other work
# under its name may wait too.
MOST_OF_RESPONSE = 0.7
# Volumes that nobody waited for still tell who uses them.
LEAST_WAIT = 1e-6
# How far the part of a class's requests that goes to a group may be from that of all classes, relatively.
SHARE_SD = 0.5


def with_device_waits(h: History, ios: Array) -> History:
    """The history whose classes wait for devices as they do for limits.

    Args:
        ios: (I, C) requests to devices of each class.
    """
    found, devices = dict(h.waited_s), {}
    for called, group in h.devices.items():
        requests = _requests(h, group, h.ended if group.waited_s is None else np.nan_to_num(ios))
        if requests is not None:
            waited = _waits(h, group, requests)
            # Transactions may wait for a resource of the same name.
            name = called if called not in h.waited_s else f"{called} volumes"
            found[name], devices[name] = waited, group
    return replace(h, waited_s=found, devices=devices)


def _requests(h: History, group: Devices, ios: Array) -> Array | None:
    """(I, C) requests of each class to a group; None where none has any."""
    asking = (ios.sum(axis=0) > 0) & (h.ended.sum(axis=0) > 0)
    if not asking.any() or not group.requests.sum() > 0:
        return None
    usual = group.requests.sum() / ios[:, asking].sum()
    kept = group.requests > 0
    prior = np.full(int(asking.sum()), usual)
    design, target = ios[kept][:, asking], group.requests[kept]
    shares = fit(design, target, 1.0 / target, h.day[kept], prior, SHARE_SD * prior)
    requests = np.zeros(ios.shape)
    requests[:, asking] = ios[:, asking] * np.maximum(shares.mean, 0.0)
    return requests


def _waits(h: History, group: Devices, requests: Array) -> Array:
    """(I, C) seconds that transactions of each class waited for a group."""
    total_s = (
        LEAST_WAIT * group.busy_s if group.waited_s is None else np.maximum(group.waited_s, LEAST_WAIT * group.busy_s)
    )
    waited = total_s[:, None] * requests / np.maximum(requests.sum(axis=1), 1e-12)[:, None]
    response_s = np.nansum(h.response_ms * h.ended, axis=0) / 1e3
    own = waited.sum(axis=0) <= MOST_OF_RESPONSE * response_s
    return np.where(own, waited, 0.0)
