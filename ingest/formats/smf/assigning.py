"""Which layout each record of a dump has, by its type, its subtype and what tells versions apart."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ingest.batch import Batch, Quarantined
from ingest.codec.tables import numbers_at
from ingest.framing import Frames, is_date
from ingest.layout import Layout
from ingest.registry import Registry

Ints = npt.NDArray[np.int64]


class Assignment:
    """Assigns records to the layouts of a registry, by fields that all SMF records have."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        head = registry.identification
        self._type = head.by_name("record_type").offset
        self._subtype = head.by_name("subtype").offset
        self._flags = head.by_name("system_flags").offset
        bit = next(bit for bit in head.bits if bit.name == "uses_subtypes")
        self._uses_subtypes = np.uint8(1 << (7 - bit.first))
        self._written = head.by_name("written_date")
        self._shortest = head.by_name("smf_sid").end

    def assign(self, frames: Frames, sequence: Ints, batch: Batch) -> list[tuple[Layout, Ints]]:
        """Records by layout; those without one are counted as skipped, those too short or without date quarantined."""
        data, starts, lengths = frames.buffer, frames.starts, frames.lengths
        short = lengths < self._shortest
        for place in np.flatnonzero(short):
            text = f"a record of {lengths[place]} bytes; the standard header alone has {self._shortest}"
            batch.quarantined.append(set_aside(frames, int(place), int(sequence[place]), "record_too_short", text))
        whole = np.flatnonzero(~short)
        whole = self._dated(frames, whole, sequence, batch)
        at = starts[whole]
        types = data[at + self._type].astype(np.int64)
        reaches = lengths[whole] >= self._subtype + 2
        subtypes = np.where(reaches, numbers_at(data, np.where(reaches, at + self._subtype, 0), 2), 0)
        uses = (data[at + self._flags] & self._uses_subtypes != 0) & reaches
        kinds = (types << 17) | (subtypes << 1) | uses
        layouts: dict[str, tuple[Layout, list[Ints]]] = {}
        versions: dict[str, tuple[Layout, list[Ints]]] = {}
        for kind, members in _grouped(kinds, whole):
            record_type, subtype, used = kind >> 17, kind >> 1 & 0xFFFF, kind & 1
            candidates = self._registry.layouts_for(record_type, subtype)
            if candidates and candidates[0].when is None:
                layouts.setdefault(candidates[0].name, (candidates[0], []))[1].append(members)
                continue
            for layout in candidates:
                chosen = members[_holds(layout, data, starts[members], lengths[members])]
                versions.setdefault(layout.name, (layout, []))[1].append(chosen)
                members = np.setdiff1d(members, chosen, assume_unique=True)
            if not len(members):
                continue
            name = f"{record_type}.{subtype}" if used else str(record_type)
            batch.skip(name, len(members), int(lengths[members].sum()))
        assigned = [
            (layout, parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts)))
            for layout, parts in (*layouts.values(), *versions.values())
        ]
        return [(layout, rows) for layout, rows in assigned if len(rows)]

    def _dated(self, frames: Frames, rows: Ints, sequence: Ints, batch: Batch) -> Ints:
        """The rows that have a date of writing, or none filled in; the others are set aside."""
        item = self._written
        dates = numbers_at(frames.buffer, frames.starts[rows] + item.offset, item.length)
        first = dates[:1]  # Nearly all records of a stretch are of one day.
        distinct = {*first.tolist(), *dates[dates != first].tolist()}
        wrong = [date for date in distinct if date and not is_date(date.to_bytes(item.length))]
        if not wrong:
            return rows
        undated = np.isin(dates, wrong)
        for place, date in zip(rows[undated].tolist(), dates[undated].tolist(), strict=True):
            text = f"SMF header, {item.ibm}: X'{date:08X}' is not a packed date: a record of another kind, or damaged"
            batch.quarantined.append(set_aside(frames, place, int(sequence[place]), "record_date_not_valid", text))
        return rows[~undated]


def _grouped(kinds: Ints, rows: Ints) -> Iterator[tuple[int, Ints]]:
    """Each kind with the rows of it, in their order. (`np.unique` would load all that NumPy has for masked arrays.)"""
    order = np.argsort(kinds, kind="stable")
    ordered = kinds[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    for start, members in zip(starts.tolist(), np.split(rows[order], starts)[1:], strict=True):
        yield int(ordered[start]), members


def _holds(layout: Layout, data: npt.NDArray[np.uint8], starts: Ints, lengths: Ints) -> npt.NDArray[np.bool_]:
    """Whether the condition of a layout holds for records; the value of a field that a record does not reach is 0."""
    assert layout.when is not None
    item = layout.header.by_name(layout.when.selector)
    reached = lengths >= item.end
    value = np.where(reached, numbers_at(data, np.where(reached, starts + item.offset, 0), item.length), 0)
    return np.isin(value, list(layout.when.values), invert=layout.when.negated)


def set_aside(frames: Frames, place: int, record_seq: int, reason: str, detail: str) -> Quarantined:
    """The record at a place of the frames, to be quarantined."""
    start, length = int(frames.starts[place]), int(frames.lengths[place])
    raw = frames.buffer[start : start + length].tobytes()
    return Quarantined(int(frames.offsets[place]), length, reason, detail, raw, record_seq)
