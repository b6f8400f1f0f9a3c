"""I/O and coupling facilities: SMF 74.1, SMF 73 and SMF 74.4.

`smf74_1`: `dasd_io_per_s` and `dasd_response_ms` of all devices together; without a response, requests have none.
Options: `devices`. `smf73`: `channel_busy_pct`, `channel_bus_pct`, `channel_read_bytes_per_s` and
`channel_write_bytes_per_s` of a channel path (the subject, its type). Options: `work_units_max_per_s`,
`bus_cycles_max_per_s`, `data_unit_bytes` and `chpid`. `smf74_4`, of a structure (the subject): `cf_requests_per_s`,
`cf_sync_pct`, `cf_async_pct`, `cf_sync_service_us` and `cf_async_service_us`; a share that is not printed is what the
other leaves of 100 %. Options: `cf_name`. Twins have volumes of device stations and their requests to facilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Record, Setting, Span, rmf_record, samples
from model.lab.records.interface import Output, Target, Window, by_subject
from model.lab.records.tables import Columns, Frame
from model.lab.samples import around_one, split

if TYPE_CHECKING:
    from model.lab.twin.measured import Measured
    from model.network import Network


UNIT_US = 128
FIRST_DEVICE = 0x0A00
DEVICE_SPREAD = 0.3
INTERVAL_SPREAD = 0.01
PENDING, DISCONNECT = 0.12, 0.2
WORD = 24


def smf74_1(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record per interval with all devices."""
    wanted = {target.metric: target for target in targets}
    if "dasd_io_per_s" not in wanted or not set(wanted) <= {"dasd_io_per_s", "dasd_response_ms"}:
        raise LabError(f"device activity cannot write {', '.join(wanted)}")
    devices = int(targets[0].options.get("devices", 8))
    total = round(wanted["dasd_io_per_s"].value * window.seconds)
    response_ms = wanted["dasd_response_ms"].value if "dasd_response_ms" in wanted else 0.0
    count = devices * len(window.spans)
    spread = around_one(random, len(window.spans), INTERVAL_SPREAD)
    weights = np.outer(spread, np.clip(around_one(random, devices, DEVICE_SPREAD), 0.05, None)).ravel()
    starts = split(total, weights)
    units = split(round(response_ms * 1000 * total / UNIT_US), np.array(starts, float)) if total else [0] * count
    rows = [
        _device(number % devices, start, unit) for number, (start, unit) in enumerate(zip(starts, units, strict=True))
    ]
    return Output(
        records=[
            rmf_record(
                setting,
                "smf74_1",
                1,
                span,
                control=[{"smf74tot": devices, "smf74gen": devices, "smf74sub": b"\x00\x20"}],
                device=rows[i * devices : (i + 1) * devices],
            )
            for i, span in enumerate(window.spans)
        ]
    )


def smf73(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record per interval with one section per channel path."""
    rows: list[list[dict[str, Any]]] = [[] for _ in window.spans]
    seconds = np.array([span.length_ms / 1000 for span in window.spans])
    for number, (kind, wanted) in enumerate(by_subject(targets).items()):
        options = next(iter(wanted.values())).options
        work, bus = float(options["work_units_max_per_s"]), float(options["bus_cycles_max_per_s"])
        unit = float(options["data_unit_bytes"])
        parts = {
            "smf73tuc": _parts(random, wanted, "channel_busy_pct", work / 100, seconds),
            "smf73tbc": _parts(random, wanted, "channel_bus_pct", bus / 100, seconds),
            "smf73tru": _parts(random, wanted, "channel_read_bytes_per_s", 1 / unit, seconds),
            "smf73twu": _parts(random, wanted, "channel_write_bytes_per_s", 1 / unit, seconds),
        }
        for i, entries in enumerate(rows):
            row = {
                "smf73pid": bytes([int(options.get("chpid", number))]),
                "smf73acr": kind,
                "smf73cmg": 2,
                "smf73mbc": bus,
                "smf73mcu": work,
                "smf73us": unit,
                **{column: values[i] for column, values in parts.items()},
            }
            entries.append(
                {**row, "smf73puc": row["smf73tuc"], "smf73pru": row["smf73tru"], "smf73pwu": row["smf73twu"]}
            )
    return Output(
        records=[
            rmf_record(setting, "smf73", 1, span, control=[{"smf73smp": samples(span)}], channel=entries)
            for span, entries in zip(window.spans, rows, strict=True)
        ]
    )


def _device(number: int, starts: int, units: int) -> dict[str, Any]:
    pending, disconnect = round(units * PENDING), round(units * DISCONNECT)
    device = FIRST_DEVICE + number
    return {
        "smf74num": device.to_bytes(2),
        "smf74ser": f"WRK{number:03d}",
        "smf74ndn": f"{device:04X}",
        "smf74nux": 1,
        "smf74ssc": starts,
        "smf74mec": starts,
        "smf74cnn": units - pending - disconnect,
        "smf74pen": pending,
        "smf74dis": disconnect,
        "smf74atv": units - pending,
    }


def _parts(
    random: np.random.Generator, wanted: dict[str, Target], metric: str, scale: float, seconds: np.ndarray
) -> list[float]:
    """Counts by interval, which short floating point of six hexadecimal digits holds exactly; 0 where not published."""
    if metric not in wanted:
        return [0.0] * len(seconds)
    total = round(wanted[metric].value * scale * float(seconds.sum()))
    return [_short(part) for part in split(total, seconds * around_one(random, len(seconds), INTERVAL_SPREAD))]


def _short(value: int) -> float:
    excess = max(0, value.bit_length() - (WORD - 3))
    return float((value >> excess) << excess)


METRICS = {"cf_requests_per_s", "cf_sync_pct", "cf_async_pct", "cf_sync_service_us", "cf_async_service_us"}
CF_SPREAD = 0.01
SERIALIZED_LIST = 2
Row = dict[str, Any]


def smf74_4(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """One record per interval with all structures."""
    rows: list[list[Row]] = [[] for _ in window.spans]
    for structure, wanted in by_subject(targets).items():
        for i, row in enumerate(_structure(window, structure, wanted, random)):
            rows[i].append(row)
    name = str(targets[0].options.get("cf_name", "CF01"))
    return Output(
        records=[_structures(setting, name, span, entries) for span, entries in zip(window.spans, rows, strict=True)]
    )


def _structure(window: Window, structure: str, wanted: Mapping[str, Target], random: np.random.Generator) -> list[Row]:
    if not set(wanted) <= METRICS or "cf_requests_per_s" not in wanted:
        raise LabError(f"structure {structure}: cannot write {', '.join(wanted)}")
    total = round(wanted["cf_requests_per_s"].value * window.seconds)
    sync = round(total * _sync_share(wanted))
    weights = around_one(random, len(window.spans), CF_SPREAD) * np.array([span.length_ms for span in window.spans])
    counts = {"sync": split(sync, weights), "async": split(total - sync, weights)}
    times = {
        kind: split(round(_value(wanted, f"cf_{kind}_service_us") * sum(counts[kind])), weights) for kind in counts
    }
    return [
        {
            "r744snam": structure,
            "r744styp": SERIALIZED_LIST,
            "r744strc": float(counts["sync"][i] + counts["async"][i]),
            "r744stac": float(counts["async"][i]),
            "r744sarc": float(counts["async"][i]),
            "r744satm": times["async"][i],
            "r744ssrc": float(counts["sync"][i]),
            "r744sstm": times["sync"][i],
        }
        for i in range(len(window.spans))
    ]


def _sync_share(wanted: Mapping[str, Target]) -> float:
    if "cf_sync_pct" in wanted:
        return wanted["cf_sync_pct"].value / 100
    return 1 - _value(wanted, "cf_async_pct") / 100


def _value(wanted: Mapping[str, Target], metric: str) -> float:
    return wanted[metric].value if metric in wanted else 0.0


def _structures(setting: Setting, cf_name: str, span: Span, rows: Sequence[Row]) -> Record:
    return rmf_record(
        setting,
        "smf74_4",
        4,
        span,
        facility=[
            {
                "r744fnam": cf_name,
                "r744fsys": setting.plan.system_name,
                "r744ftor": sum(row["r744strc"] for row in rows),
            }
        ],
        structure=[{"r744qstr": row["r744snam"]} for row in rows],
        request=list(rows),
    )


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
