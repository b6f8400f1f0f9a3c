"""SMF 74.1: volumes of device stations. SMF 74.4: requests to coupling facilities and their processors."""

import numpy as np

from model.lab.twin.measured import Measured
from model.lab.twin.records.columns import Columns, Frame
from model.lab.writers.devices import FIRST_DEVICE, UNIT_US
from model.network import Network

LOCK_STRUCTURE = 3
DIRECT_ACCESS = b"\x00\x20"
MOST_VOLUMES = 64
GROUP_NAME_LENGTH = 8
"""Letters of the name of a storage group or coupling facility."""


def volumes(network: Network, m: Measured) -> list[int]:
    """Volumes that each device station of the network stands for: one of each server."""
    return [min(network.station(name).servers, MOST_VOLUMES) for name in m.devices]


def devices(columns: Columns, frame: Frame, record: np.ndarray, network: Network, m: Measured) -> None:
    """One record of each interval with every volume; a station is a storage group, its I/O the same on each volume."""
    counts = volumes(network, m)
    frame.header(columns, "smf74_1", "smf74", (74, 1), record[:, None])
    control = {"smf74tot": sum(counts), "smf74gen": sum(counts), "smf74sub": DIRECT_ACCESS}
    columns.add("smf74_1_control", record, control)
    section = 0
    for d, (name, count) in enumerate(zip(m.devices, counts, strict=True)):
        ios = np.rint(m.device_ios[:, d] / count)
        connect = np.rint(m.device_using_s[:, d] * 1e6 / UNIT_US / count)
        pending = np.rint(m.device_waiting_s[:, d] * 1e6 / UNIT_US / count)
        for volume in range(count):
            number = FIRST_DEVICE + section
            row = {
                "smf74num": number.to_bytes(2), "smf74sgn": name[:GROUP_NAME_LENGTH],
                "smf74ser": f"{_letters(name)}{volume:03d}"[:6],
                "smf74ndn": f"{number:04X}", "smf74nux": 1, "smf74ssc": ios, "smf74mec": ios, "smf74cnn": connect,
                "smf74pen": pending, "smf74atv": connect,
            }  # fmt: skip
            columns.add("smf74_1_device", record, row, section)
            section += 1


def facility(columns: Columns, frame: Frame, record: np.ndarray, network: Network, m: Measured, f: int) -> None:
    """One record of each interval for the `f`th coupling facility: one structure with this LPAR's requests."""
    name = m.facilities[f][:GROUP_NAME_LENGTH]
    requests = np.rint(m.requests[:, f])
    later = np.rint(requests * m.asynchronous[:, f])
    total_us = m.request_s[:, f] * 1e6
    frame.header(columns, "smf74_4", "smf74", (74, 4), record[:, None])
    system = {"r744fnam": name, "r744fsys": frame.setting.plan.system_name, "r744ftor": requests.astype(float)}
    columns.add("smf74_4_facility", record, system)
    structure = f"{_letters(name).ljust(3, 'X')}01LOCK"
    columns.add("smf74_4_structure", record, {"r744qstr": structure})
    request = {
        "r744snam": structure, "r744styp": LOCK_STRUCTURE, "r744strc": requests, "r744stac": later,
        "r744sarc": later, "r744ssrc": requests - later, "r744satm": np.rint(total_us * m.asynchronous[:, f]),
        "r744sstm": np.rint(total_us * (1 - m.asynchronous[:, f])),
    }  # fmt: skip
    columns.add("smf74_4_request", record, request)
    servers = network.station(m.facilities[f]).servers
    busy = np.rint(m.facility_busy_s[:, f] * 1e6 / servers)
    for processor in range(servers):
        row = {"r744pnum": processor, "r744pbsy": busy, "r744pwai": frame.spans[0].length_ms * 1000 - busy}
        columns.add("smf74_4_processor", record, row, processor)


def _letters(name: str) -> str:
    return "".join(c for c in name.upper() if c.isalnum() and c.isascii())[:3]
