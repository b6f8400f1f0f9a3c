"""Ratings that an installation brings: a table of its own, and what a Linux LPAR prints of its machine.

Rows of the table are service units a second of an engine, by machine and number of engines.
"""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.hardware.machines import MachineError, machine
from model.hardware.ratings import CONFIDENCE_SD, STAND_IN, described_as

REQUIRED = ("machine", "engines", "su_per_s")
COLUMNS = (*REQUIRED, "source", "confidence")
UNIPROCESSOR = 65536
FULL_SPEED_LEVELS = ("7", "Z")
"""First characters of the capacity identifiers of full speed: of large machines, and of small ones."""


def read_ratings(text: str, origin: str) -> list[dict[str, Any]]:
    """Rows of a CSV file with the columns ``machine``, ``engines``, ``su_per_s``, and ``source`` and ``confidence`` if
    it has them.

    Args:
        text: the file.
        origin: what it is called in errors and, with the line, as the source of each figure.

    Raises:
        MachineError: a column is missing, or a figure is none above zero.
    """
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
    if missing:
        raise MachineError(f"{origin}: no column {', '.join(missing)}; the first line names {', '.join(REQUIRED)}")
    rows = []
    for row in reader:
        where, name = f"{origin}, line {reader.line_num}", (row["machine"] or "").strip()
        try:
            engines, su_per_s = int(row["engines"]), float(row["su_per_s"])
        except (TypeError, ValueError):
            engines, su_per_s = 0, 0.0
        if not name or engines < 1 or not 0.0 < su_per_s < 1e9:
            raise MachineError(f"{where}: needs a machine, a whole number of engines and su_per_s, both above zero")
        confidence = (row.get("confidence") or "high").strip()
        if confidence not in CONFIDENCE_SD:
            raise MachineError(f"{where}: confidence is {confidence!r}, and should be {', '.join(CONFIDENCE_SD)}")
        said = (row.get("source") or "").strip()
        source = f"{where}: {said}" if said else where
        rows.append(
            {"machine": name, "engines": engines, "su_per_s": su_per_s, "source": source, "confidence": confidence}
        )
    return rows


@dataclass(frozen=True)
class SysInfo:
    """What a Linux LPAR says of its machine: ``capability`` of a CP and ``full_capability`` of an engine at full speed
    (lower is faster), ``factors`` by number of CPs from one, and the ``msu`` of the model, None where not printed."""

    machine_type: str
    model: str
    capability: float
    full_capability: float
    factors: tuple[int, ...]
    msu: int | None

    @property
    def name(self) -> str:
        """The machine type, of reduced capacity with the level: ``3931``, ``8561-4xx``."""
        if self.capability == self.full_capability or self.model.startswith(FULL_SPEED_LEVELS):
            return self.machine_type
        return f"{self.machine_type}-{self.model[:1]}xx"

    def ratings(self, name: str, origin: str) -> list[dict[str, Any]]:
        """Rows for the table, one for each number of CPs. SU/s is that of the z13 in the ratio of capabilities."""
        reference = machine(STAND_IN).rating
        alone = reference.su_per_s * reference.capability / self.capability
        return [
            {
                "machine": name,
                "engines": engines,
                "su_per_s": round(alone * factor / UNIPROCESSOR, 1),
                "source": f"{origin}: {self.machine_type}-{self.model}, capability {self.capability:g}",
                "confidence": "medium",
            }
            for engines, factor in enumerate(self.factors, start=1)
        ]


def read_sysinfo(text: str, origin: str) -> SysInfo:
    """What ``/proc/sysinfo`` of a Linux LPAR on IBM Z or LinuxONE says of its machine.

    The text is that of ``arch/s390/kernel/sysinfo.c`` of Linux: ``KEY: VALUE`` lines of STSI 1.1.1 and 1.2.2.

    Raises:
        MachineError: a line that is needed is missing or is no number.
    """
    lines = dict(re.findall(r"^([^:\n]+):[ \t]*(.*?)[ \t]*$", text, re.MULTILINE))

    def words(key: str) -> list[str]:
        if not lines.get(key):
            raise MachineError(
                f"{origin}: no line {key!r}; give the text of /proc/sysinfo of a Linux LPAR of the machine, such as by "
                "`cat /proc/sysinfo > FILE` there"
            )
        return lines[key].split()

    def number(key: str) -> int:
        word = words(key)[0]
        if not word.isdigit() or not int(word):
            raise MachineError(f"{origin}: {key} is {word!r}, and should be a whole number above zero")
        return int(word)

    factors = [UNIPROCESSOR]
    while f"Adjustment {len(factors) + 1:02d}-way" in lines:
        factors.append(number(f"Adjustment {len(factors) + 1:02d}-way"))
    if len(factors) == 1:
        words("Adjustment 02-way")
    if any(factor > UNIPROCESSOR for factor in factors):
        raise MachineError(f"{origin}: an adjustment is above {UNIPROCESSOR}, which is that of one CPU")
    capability = _capability(number("Capability"))
    full = _capability(number("Secondary Capability")) if "Secondary Capability" in lines else capability
    capacity = words("Model Capacity")
    msu = int(capacity[1]) if len(capacity) > 1 and capacity[1].isdigit() else 0
    return SysInfo(words("Type")[0], capacity[0], capability, full, tuple(factors), msu or None)


def _capability(printed: int) -> float:
    """A capability as a number: Linux prints one that is no whole number as the integer with the same 32 bits."""
    if printed < 1 << 24:
        return float(printed)
    return float(struct.unpack(">f", struct.pack(">I", printed))[0])


def with_ratings(text: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, which may be empty, with these rows in place of those it had of their machines. Others stay as
    written, in the columns of :data:`COLUMNS`."""
    new = {described_as(str(row["machine"])) for row in rows}
    before = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    kept = [row for row in before if described_as(row["machine"].strip()) not in new]
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows([*kept, *rows])
    return out.getvalue()
