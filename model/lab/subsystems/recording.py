"""Records from values as staging shows them: friendly names, moments, and units of the names."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ingest.field_types import UNITS
from ingest.layout import Field, Section
from ingest.registry import Registry
from model.lab.records.common import SYSTEM_FLAGS, TOD_UNITS_PER_US, Clock, Record, mmssttt, tod

Row = Mapping[str, Any]


class Recorder:
    """Makes records of one system."""

    def __init__(self, registry: Registry, clock: Clock, smf_sid: str) -> None:
        self._layouts = {layout.name: layout for layout in registry.layouts}
        self._clock, self._sid = clock, smf_sid

    def record(
        self, layout: str, written: datetime, header: Row | None = None, **sections: Row | Sequence[Row]
    ) -> Record:
        """A record handed to SMF at `written`, UTC: rows by section, in the names and units of staging.

        What tells records apart (type, subtype, system, time) is filled in; `header` holds what else its header says.
        """
        definition = self._layouts[layout]
        subtype = definition.subtypes[0] if len(definition.subtypes) == 1 else None
        head = {
            "system_flags": SYSTEM_FLAGS, "record_type": definition.type, "subtype": subtype,
            "written_clock_us": written, "written_date": written, "smf_sid": self._sid,
        }  # fmt: skip
        has = definition.header.has
        head = {name: value for name, value in head.items() if value is not None and has(name)}
        rows: dict[str, list[Row]] = {"header": [head | dict(header or {})]}
        rows |= {name: [of] if isinstance(of, Mapping) else list(of) for name, of in sections.items()}
        return Record(
            layout,
            {name: [self._row(definition.section(name), row) for row in of] for name, of in rows.items()},
        )

    def _row(self, section: Section, row: Row) -> dict[str, Any]:
        recorded = {}
        for name, value in row.items():
            if name == "parent_seq":
                recorded[name] = value
                continue
            item = section.by_name(name)
            recorded[item.raw[0] if item.raw else item.column] = self._value(item, value)
        return recorded

    def _value(self, item: Field, value: Any) -> Any:
        """What the record holds for a value of staging; None ends the section before the field."""
        if value is None:
            return None
        form = item.form.name
        if form == "tod":
            return tod(value)
        if form == "stcke":
            return b"\0" + tod(value).to_bytes(8) + bytes(7)
        if form == "hundredths":
            return self._clock.hundredths(value)
        if form == "packed_date":
            return self._clock.day(value)
        if form == "packed_time":
            return self._clock.hhmmss(value)
        if form == "packed_interval":
            return mmssttt(round(1_000 * value))
        if form in ("tod_duration", "tod_signed"):
            return round(value * TOD_UNITS_PER_US)
        factor = UNITS[item.unit].factor if item.unit in UNITS else 1
        return value if factor == 1 else value / factor if form == "hfp" else round(value / factor)
