"""SMF 74.1: volumes of device stations. SMF 74.4: requests to coupling facilities and their processors."""

import numpy as np

from model.lab.records.smf74 import UNIT_US, device, device_control, structure_requests
from model.lab.records.smf74 import facility as facility_section
from model.lab.twin.measured import Measured
from model.lab.twin.records.columns import Columns, Frame
from model.network import Network

LOCK_STRUCTURE = 3
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
    columns.add("smf74_1_control", record, device_control(sum(counts)))
    section = 0
    for d, (name, count) in enumerate(zip(m.devices, counts, strict=True)):
        ios = np.rint(m.device_ios[:, d] / count)
        connect = np.rint(m.device_using_s[:, d] * 1e6 / UNIT_US / count)
        pending = np.rint(m.device_waiting_s[:, d] * 1e6 / UNIT_US / count)
        for volume in range(count):
            serial = f"{_letters(name)}{volume:03d}"[:6]
            row = device(section, serial, ios, connect, pending, group=name[:GROUP_NAME_LENGTH])
            columns.add("smf74_1_device", record, row, section)
            section += 1


def facility(columns: Columns, frame: Frame, record: np.ndarray, network: Network, m: Measured, f: int) -> None:
    """One record of each interval for the `f`th coupling facility: one structure with this LPAR's requests."""
    name = m.facilities[f][:GROUP_NAME_LENGTH]
    requests = np.rint(m.requests[:, f])
    later = np.rint(requests * m.asynchronous[:, f])
    total_us = m.request_s[:, f] * 1e6
    frame.header(columns, "smf74_4", "smf74", (74, 4), record[:, None])
    system = frame.setting.plan.system_name
    columns.add("smf74_4_facility", record, facility_section(name, system, requests.astype(float)))
    structure = f"{_letters(name).ljust(3, 'X')}01LOCK"
    columns.add("smf74_4_structure", record, {"r744qstr": structure})
    times = np.rint(total_us * (1 - m.asynchronous[:, f])), np.rint(total_us * m.asynchronous[:, f])
    row = structure_requests(structure, LOCK_STRUCTURE, requests - later, later, *times)
    columns.add("smf74_4_request", record, row)
    servers = network.station(m.facilities[f]).servers
    busy = np.rint(m.facility_busy_s[:, f] * 1e6 / servers)
    for processor in range(servers):
        row = {"r744pnum": processor, "r744pbsy": busy, "r744pwai": frame.spans[0].length_ms * 1000 - busy}
        columns.add("smf74_4_processor", record, row, processor)


def _letters(name: str) -> str:
    return "".join(c for c in name.upper() if c.isalnum() and c.isascii())[:3]
