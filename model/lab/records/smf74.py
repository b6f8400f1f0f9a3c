"""SMF 74: volumes (subtype 1) and coupling facilities (subtype 4).

The sections' columns are made here for printed figures and twins alike; those of twins are arrays.
"""

from model.lab.records.common import Column

UNIT_US = 128
"""Unit of device times."""
FIRST_DEVICE = 0x0A00
DIRECT_ACCESS = b"\x00\x20"


def device_control(devices: int) -> dict[str, Column]:
    """The control section of a record with so many volumes."""
    return {"smf74tot": devices, "smf74gen": devices, "smf74sub": DIRECT_ACCESS}


def device(
    number: int, serial: str, starts: Column, connect: Column, pending: Column, disconnect: Column = 0, group: str = ""
) -> dict[str, Column]:
    """The section of a volume; its times in units of 128 us."""
    address = FIRST_DEVICE + number
    return {
        "smf74num": address.to_bytes(2),
        "smf74sgn": group,
        "smf74ser": serial,
        "smf74ndn": f"{address:04X}",
        "smf74nux": 1,
        "smf74ssc": starts,
        "smf74mec": starts,
        "smf74cnn": connect,
        "smf74pen": pending,
        "smf74dis": disconnect,
        "smf74atv": connect + disconnect,
    }


def facility(name: str, system: str, requests: Column) -> dict[str, Column]:
    """The section of a coupling facility with all requests of a system to it."""
    return {"r744fnam": name, "r744fsys": system, "r744ftor": requests}


def structure_requests(
    structure: str, kind: int, sync: Column, asynchronous: Column, sync_us: Column, async_us: Column
) -> dict[str, Column]:
    """Requests to a structure and their service times."""
    return {
        "r744snam": structure,
        "r744styp": kind,
        "r744strc": sync + asynchronous,
        "r744stac": asynchronous,
        "r744sarc": asynchronous,
        "r744satm": async_us,
        "r744ssrc": sync,
        "r744sstm": sync_us,
    }
