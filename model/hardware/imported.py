"""Machines that an installation rates itself: service units a second of an engine, by machine and number of engines."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from model.hardware.machines import Machine, MachineError, ServiceRate

COLUMNS = ("machine", "engines", "su_per_s")


def read_ratings(text: str, origin: str) -> list[dict[str, Any]]:
    """Rows of a CSV file with the columns ``machine``, ``engines`` and ``su_per_s``, as a bundle holds them.

    Args:
        text: the file.
        origin: what it is called in errors and, with the line, as the source of each figure.

    Raises:
        MachineError: a column is missing, or a figure is none above zero.
    """
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise MachineError(f"{origin}: no column {', '.join(missing)}; the first line names {', '.join(COLUMNS)}")
    rows = []
    for row in reader:
        where, name = f"{origin}, line {reader.line_num}", (row["machine"] or "").strip()
        try:
            engines, su_per_s = int(row["engines"]), float(row["su_per_s"])
        except (TypeError, ValueError):
            engines, su_per_s = 0, 0.0
        if not name or engines < 1 or not 0.0 < su_per_s < 1e9:
            raise MachineError(f"{where}: needs a machine, a whole number of engines and su_per_s, both above zero")
        rows.append({"machine": name, "engines": engines, "su_per_s": su_per_s, "source": where})
    return rows


def machines_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Machine, ...]:
    """The machines that the rows rate, in the order in which they are named first."""
    names = dict.fromkeys(str(row["machine"]) for row in rows)
    return tuple(
        Machine(
            id=name,
            title=name,
            machine_type=name,
            model="",
            facts=(),
            service_rates=tuple(
                ServiceRate(row["engines"], 16_000_000 / row["su_per_s"], "imported", row["source"], "as imported")
                for row in rows
                if row["machine"] == name
            ),
        )
        for name in names
    )
