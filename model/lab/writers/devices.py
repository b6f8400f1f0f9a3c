"""I/O of a system: SMF 74.1 for disks, SMF 73 for a channel path.

`smf74_1`: `dasd_io_per_s` and `dasd_response_ms` of all devices together; without a response, requests have none.
Options: `devices`. `smf73`: `channel_busy_pct`, `channel_bus_pct`, `channel_read_bytes_per_s` and
`channel_write_bytes_per_s` of a channel path (the subject, its type). Options: `work_units_max_per_s`,
`bus_cycles_max_per_s`, `data_unit_bytes` and `chpid`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Setting, rmf_record, samples
from model.lab.split import around_one, split
from model.lab.writers.interface import Output, Target, Window, by_subject

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
