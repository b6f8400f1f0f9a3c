"""Which time new, changed and vanished files touch, by the ledger's state when the marts were last built.

`meta.built_file` has, for every file in the marts, what the ledger said of it and the stretches of time it holds
records of; `meta.built` what they were built with. A file's time is that of its records' writing, a report's
that of its interval.
"""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from pipelines.building import dropped

HOUR = dt.timedelta(hours=1)
#: Four hours after an interval its MSU still count in the rolling average; within three an LPAR records its system.
ROLLING = 4 * HOUR
#: Hours of records that are further apart than this are separate stretches.
_APART = 6 * HOUR
#: The longest interval that is reckoned with, and how far local time may be from UTC where no record says.
_LONGEST, _FURTHEST = 24 * HOUR, 14 * HOUR
#: So long after the time before which records were dropped, marts cannot be built anew.
_DROPPED = 2 * (_FURTHEST + ROLLING)
#: Above this share of the history, building all of it is less work.
_MOST = 0.6
#: Kinds of file whose records carry their time; others count for all time (such as groups), or, these, for none.
_TIMELESS = ("cics_dictionary", "dcollect", "lab_manifest", "unrecognised")

_CREATE = (
    "CREATE SCHEMA IF NOT EXISTS meta",
    "CREATE TABLE IF NOT EXISTS meta.built (project VARCHAR NOT NULL, offset_s DOUBLE, length_s DOUBLE NOT NULL)",
    "CREATE TABLE IF NOT EXISTS meta.built_file "
    "(file_id UBIGINT NOT NULL, state VARCHAR NOT NULL, first_at TIMESTAMP, last_at TIMESTAMP)",
)
#: Changes whenever something of a file counts that did not, or the other way round.
_UNPUBLISHED = "unpublished "
_STATE = "concat_ws('|', status, decoded, quarantined, overlap, epoch_us(loaded_at))"


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of time, its end not included."""

    start: dt.datetime
    end: dt.datetime

    def wider(self, before: dt.timedelta, after: dt.timedelta) -> "Span":
        """The stretch with more on both sides."""
        return Span(self.start - before, self.end + after)

    def meets(self, other: "Span") -> bool:
        """Whether they have a moment in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Margins:
    """How far local time is from UTC at most, None where no record says, and how long the longest interval is."""

    offset: dt.timedelta | None
    length: dt.timedelta

    @property
    def furthest(self) -> dt.timedelta:
        """How far local time may be from UTC."""
        return _FURTHEST if self.offset is None else self.offset

    @property
    def around(self) -> dt.timedelta:
        """How far from a moment records are written that its rows are made of."""
        return self.furthest + self.length + ROLLING

    def wider(self, other: "Margins") -> "Margins":
        """Wide enough for both."""
        offsets = [margins.offset for margins in (self, other) if margins.offset is not None]
        return Margins(max(offsets, default=None), max(self.length, other.length))


@dataclass(frozen=True)
class Plan:
    """What a build has to do: nothing, everything, or the time in `written`, from the records of the time in `read`.

    `files` are the files that made it necessary, with what the ledger said of each, and `gone` those it had lost.
    Marts in `kept` stay as they are before a time; `late` says which rows therefore do not reach them.
    """

    everything: bool = False
    written: tuple[Span, ...] = ()
    read: tuple[Span, ...] = ()
    files: Mapping[int, str] = field(default_factory=dict)
    gone: tuple[int, ...] = ()
    reason: str = ""
    kept: Mapping[str, dt.datetime] = field(default_factory=dict)
    late: tuple[str, ...] = ()

    def spans(self, mart: str) -> tuple[Span, ...]:
        """The time of which a mart is to be written."""
        first = self.kept.get(mart, dt.datetime.min)
        return tuple(Span(max(span.start, first), span.end) for span in self.written if span.end > first)

    @property
    def nothing(self) -> bool:
        """Whether the marts are up to date."""
        return not self.everything and not self.written

    @property
    def line(self) -> str:
        """The plan for a reader."""
        if self.everything:
            return f"all of it: {self.reason}"
        if self.reason:
            return f"the whole history: {self.reason}"
        return ", ".join(f"{span.start:%Y-%m-%d %H:%M} to {span.end:%Y-%m-%d %H:%M}" for span in self.written)


def plan(con: duckdb.DuckDBPyConnection, project: str) -> Plan:
    """What has to be built in the warehouse open as `con` so that its marts are those of its raw tables.

    project: identity of the models and metrics that the marts are to be built with.
    """
    built = con.execute("SELECT project FROM meta.built").fetchall() if _has_memory(con) else []
    if not built:
        return _all(con, "first build")
    if built[0][0] != project:
        return _all(con, "models, metrics or system names have changed")
    changed, gone = changes(con)
    if not changed and not gone:
        return Plan()
    touched = stretches(con, changed)
    before = _built_spans(con, (*changed, *gone))
    if touched is None or before is None:
        return _all(con, "a file that applies to all times has changed")
    margins = margins_built(con).wider(measured_margins(con, changed))
    offset, length = margins.furthest, margins.length
    wide = union(span.wider(offset + length + ROLLING, offset + ROLLING) for span in (*touched, *before))
    written = union(whole_hours(span) for span in _with_runs(con, wide, length))
    around = margins.around
    read = union(span.wider(around, around) for span in (*written, *_clock_changes(con)))
    history = union((*(_built_spans(con) or ()), *touched))
    share = _within(history, read) / max(_lasting(history), HOUR)
    if written and share > _MOST:
        return _all(con, f"{100 * share:.0f} % of the history is touched")
    read = union((*read, *(span.wider(offset + length, offset + length) for span in _intervals_before(con, read))))
    states = _states(con, changed)
    if not written:
        return Plan(files=states, gone=gone)
    return _without_dropped(con, Plan(written=written, read=read, files=states, gone=gone))


def _without_dropped(con: duckdb.DuckDBPyConnection, planned: Plan) -> Plan:
    """The plan with what it must leave as it is, where records were dropped."""
    kept = dropped.kept_before(con, _DROPPED)
    spans = {file_id: stretches(con, (file_id,)) for file_id in planned.files if kept}
    first_at = {file_id: stretch[0].start for file_id, stretch in spans.items() if stretch}
    return replace(planned, kept=kept, late=tuple(dropped.late(con, first_at, _DROPPED)))


def _all(con: duckdb.DuckDBPyConnection, reason: str) -> Plan:
    """Everything, or all that there still are records of."""
    if not dropped.kept_before(con, _DROPPED):
        return everything(con, reason)
    ever = (Span(dt.datetime(1900, 1, 1), dt.datetime(9000, 1, 1)),)
    changed, gone = changes(con)
    return _without_dropped(con, Plan(written=ever, read=ever, files=_states(con, changed), gone=gone, reason=reason))


def everything(con: duckdb.DuckDBPyConnection, reason: str = "") -> Plan:
    """The plan to build everything, from all files that count."""
    files = con.execute("SELECT file_id FROM meta.ledger WHERE status <> 'failed'").fetchall()
    return Plan(everything=True, files=_states(con, [row[0] for row in files]), reason=reason)


def _states(con: duckdb.DuckDBPyConnection, files: Sequence[int]) -> dict[int, str]:
    """States of files in the ledger, as `meta.built_file` keeps them."""
    query = f"SELECT file_id, {_STATE} FROM meta.ledger WHERE list_contains($ids, file_id) ORDER BY file_id"
    return dict(con.execute(query, {"ids": list(files)}).fetchall())


def whole_hours(span: Span) -> Span:
    """The stretch from the start of its first hour to the end of its last: some marts have a row for an hour."""
    first = span.start.replace(minute=0, second=0, microsecond=0)
    return Span(first, first + math.ceil((span.end - first) / HOUR) * HOUR)


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of this room unless they are there."""
    for statement in _CREATE:
        con.execute(statement)


def record(con: duckdb.DuckDBPyConnection, project: str, plan: Plan) -> None:
    """Record that the marts contain the files of the ledger when the plan was made; later files are built next."""
    create(con)
    if plan.everything:
        con.execute("DELETE FROM meta.built_file")
        con.execute("DELETE FROM meta.built")
    margins = measured_margins(con, [*plan.files]).wider(margins_built(con))
    offset_s = None if margins.offset is None else margins.offset.total_seconds()
    con.execute("DELETE FROM meta.built")
    con.execute("INSERT INTO meta.built VALUES (?, ?, ?)", [project, offset_s, margins.length.total_seconds()])
    con.execute("DELETE FROM meta.built_file WHERE list_contains($ids, file_id)", {"ids": [*plan.files, *plan.gone]})
    states = _states(con, [*plan.files])
    for file_id, state in plan.files.items():
        # What was taken out of the warehouse meanwhile is in the marts, of a time that nothing tells any more.
        stretch = stretches(con, (file_id,)) if file_id in states else None
        # A file that counts for all time has no stretch, one that counts for none a stretch without length.
        rows: list[tuple[dt.datetime | None, dt.datetime | None]]
        never = dt.datetime(1900, 1, 1)
        rows = [(None, None)] if stretch is None else [(span.start, span.end) for span in stretch] or [(never, never)]
        for first, last in rows:
            con.execute("INSERT INTO meta.built_file VALUES (?, ?, ?, ?)", [file_id, _UNPUBLISHED + state, first, last])


def forget(con: duckdb.DuckDBPyConnection) -> None:
    """Have the next build build everything."""
    create(con)
    con.execute("DELETE FROM meta.built")


def confirm(con: duckdb.DuckDBPyConnection) -> None:
    """Put down that all that was built is published; what is not is built again, so that it is checked again."""
    create(con)
    con.execute(f"UPDATE meta.built_file SET state = replace(state, '{_UNPUBLISHED}', '')")


def changes(con: duckdb.DuckDBPyConnection) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Files that are new or have changed in the ledger since the marts were published, and those no longer in it."""
    if not _has_memory(con):
        return tuple(row[0] for row in con.execute("SELECT file_id FROM meta.ledger").fetchall()), ()
    changed = con.execute(
        f"SELECT file_id FROM meta.ledger LEFT JOIN (SELECT DISTINCT file_id, state FROM meta.built_file) AS built "
        f"USING (file_id) WHERE built.state IS DISTINCT FROM {_STATE} "
        "AND (status <> 'failed' OR built.state IS NOT NULL) ORDER BY file_id"
    ).fetchall()
    gone = con.execute(
        "SELECT DISTINCT file_id FROM meta.built_file ANTI JOIN meta.ledger USING (file_id) ORDER BY file_id"
    ).fetchall()
    return tuple(row[0] for row in changed), tuple(row[0] for row in gone)


def unpublished(con: duckdb.DuckDBPyConnection) -> tuple[int, ...]:
    """Files that are in the marts as the ledger has them, and were not when the marts were published."""
    rows = con.execute(
        "SELECT DISTINCT file_id FROM meta.ledger JOIN meta.built_file USING (file_id) "
        f"WHERE state = '{_UNPUBLISHED}' || {_STATE} ORDER BY file_id"
    ).fetchall()
    return tuple(row[0] for row in rows)


def stretches(con: duckdb.DuckDBPyConnection, files: Sequence[int]) -> tuple[Span, ...] | None:
    """The time that files hold records of; None where one counts for all time."""
    kinds = con.execute(
        "SELECT file_id, kind FROM meta.ledger WHERE list_contains($ids, file_id) AND decoded > 0", {"ids": list(files)}
    ).fetchall()
    hours: list[dt.datetime] = []
    for file_id, kind in kinds:
        if kind in ("smf", "ims_log"):
            file_hours = _hours_written(con, file_id, kind)
        elif kind in ("rmf_xml", "rmf_json", "rmf_text"):
            file_hours = [
                row[0]
                for row in con.execute(
                    "SELECT DISTINCT date_trunc('hour', coalesce(interval_start_local, interval_start_utc)) "
                    "FROM raw.rmf_report WHERE file_id = ? AND status = 'data'",
                    [file_id],
                ).fetchall()
            ]
        elif kind in _TIMELESS:
            continue
        else:
            return None
        if any(hour is None for hour in file_hours):
            return None
        hours += [hour for hour in file_hours if hour is not None]
    return union((Span(hour, hour + HOUR) for hour in hours), _APART)


def _hours_written(con: duckdb.DuckDBPyConnection, file_id: int, kind: str) -> list[dt.datetime | None]:
    """The hours in which the records of a file were written; None for a time that is none."""
    by = "written_raw >> 44, 0" if kind == "ims_log" else "written_raw >> 32, (written_raw & 4294967295) // 360000"
    from ingest.warehouse import identities_of

    rows = con.execute(f"SELECT DISTINCT {by} FROM ({identities_of(con, file_id)}) WHERE written_raw > 0").fetchall()
    if kind == "ims_log":
        begin = dt.datetime(1900, 1, 1)
        moments = [begin + dt.timedelta(microseconds=(mark << 44) >> 12) for mark, _ in rows]
        return [hour for moment in moments for hour in (moment, moment + HOUR)]
    return [_packed(date, hour) for date, hour in rows]


def _packed(date: int, hour: int) -> dt.datetime | None:
    """An hour of a date as SMF writes it, 0cyydddF; None where it is no date."""
    digits = f"{date:08x}"
    if not digits[:7].isdecimal() or hour > 23:
        return None
    century, year, day = int(digits[:2]), int(digits[2:4]), int(digits[4:7])
    if not 1 <= day <= 366:
        return None
    return dt.datetime(1900 + 100 * century + year, 1, 1) + dt.timedelta(days=day - 1, hours=hour)


def written_limits(span: Span, kind: str) -> tuple[int, int]:
    """The times of writing, as identities hold them (64 bits), between which records of a stretch of time lie."""
    low, high = (min(max(_written(moment, kind), 0), 2**64 - 1) for moment in (span.start, span.end))
    return low, high


def _written(moment: dt.datetime, kind: str) -> int:
    if kind == "ims_log":
        return int((moment - dt.datetime(1900, 1, 1)) / dt.timedelta(microseconds=1)) << 12
    date = int(f"{moment.year // 100 - 19:02d}{moment.year % 100:02d}{moment.timetuple().tm_yday:03d}f", 16)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return date << 32 | int((moment - midnight) / dt.timedelta(milliseconds=10))


def measured_margins(con: duckdb.DuckDBPyConnection, files: Sequence[int]) -> Margins:
    """The margins that the records of files call for."""
    rows = con.execute("SELECT view_name FROM duckdb_views() WHERE schema_name = 'staging'").fetchall()
    views = {row[0] for row in rows}
    offsets, lengths = list[float](), [0.0]
    for view in ("stg_smf70_1_control", "stg_smf72_3_control"):
        if view in views:
            offset, length = con.execute(
                "SELECT max(abs(epoch(interval_start_local) - epoch(interval_start_utc))), max(interval_s) "
                f"FROM staging.{view} WHERE list_contains($ids, file_id)",
                {"ids": list(files)},
            ).fetchall()[0]
            offsets += [] if offset is None else [offset]
            lengths.append(length or 0.0)
    if "stg_smf30_identification" in views:
        (length,) = con.execute(
            "SELECT max(epoch(interval_end_utc) - epoch(interval_begin_utc)) FROM staging.stg_smf30_identification "
            "WHERE list_contains($ids, file_id) AND interval_end_utc > interval_begin_utc",
            {"ids": list(files)},
        ).fetchall()[0]
        lengths.append(length or 0.0)
    hours = [math.ceil(offset / 3600) * HOUR for offset in offsets]
    return Margins(min(max(hours), _FURTHEST) if hours else None, min(dt.timedelta(seconds=max(lengths)), _LONGEST))


def union(spans: Iterable[Span], apart: dt.timedelta = dt.timedelta()) -> tuple[Span, ...]:
    """The same time in as few stretches as possible, in order; those no further apart than `apart` become one."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end + apart:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def _has_memory(con: duckdb.DuckDBPyConnection) -> bool:
    rows = con.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'meta' AND table_name = 'built_file' "
        "AND database_name = current_database()"
    ).fetchall()
    return bool(rows[0][0])


def _built_spans(con: duckdb.DuckDBPyConnection, files: Sequence[int] | None = None) -> tuple[Span, ...] | None:
    """The time of the files' records when they were built; None where one of `files` counted for all time."""
    rows: list[Any] = con.execute("SELECT file_id, first_at, last_at FROM meta.built_file").fetchall()
    if files is not None:
        wanted = set(files)
        rows = [row for row in rows if row[0] in wanted]
        if any(first is None for _, first, _ in rows):
            return None
    return union(Span(first, last) for _, first, last in rows if first is not None and first < last)


def _clock_changes(con: duckdb.DuckDBPyConnection) -> list[Span]:
    """From the last interval before to the first after each setting of a system's clocks, as built: a step that ends in
    the time touched may have begun before."""
    if not _has_intervals(con):
        return []
    rows = con.execute(
        "SELECT least(before_local, interval_start_local), greatest(before_local, interval_start_local) FROM ("
        "SELECT interval_start_local, lag(interval_start_local) OVER each_system AS before_local, "
        "date_diff('second', interval_start_utc, interval_start_local) AS ahead_s, "
        "lag(ahead_s) OVER each_system AS before_s "
        "FROM intermediate.int_interval WHERE interval_start_local IS NOT NULL AND interval_start_utc IS NOT NULL "
        "WINDOW each_system AS (PARTITION BY smf_sid ORDER BY interval_start_utc)) WHERE abs(ahead_s - before_s) >= 60"
    ).fetchall()
    return [Span(*row) for row in rows]


def _intervals_before(con: duckdb.DuckDBPyConnection, spans: Sequence[Span]) -> list[Span]:
    """The last interval of each system before each stretch, as built: whether an LPAR was down shows where it ends."""
    if not _has_intervals(con):
        return []
    spans_before: list[Span] = []
    for span in spans:
        rows = con.execute(
            "SELECT DISTINCT max(coalesce(interval_start_utc, interval_start_local)) FROM intermediate.int_interval "
            "WHERE coalesce(interval_start_utc, interval_start_local) < ? GROUP BY smf_sid",
            [span.start],
        ).fetchall()
        spans_before += [Span(start, start + HOUR) for (start,) in rows]
    return spans_before


def _has_intervals(con: duckdb.DuckDBPyConnection) -> bool:
    is_built = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'intermediate' AND table_name = 'int_interval'"
    return con.execute(is_built).fetchall() != [(0,)]


def _with_runs(con: duckdb.DuckDBPyConnection, spans: tuple[Span, ...], length: dt.timedelta) -> tuple[Span, ...]:
    """The stretches with the whole of every run they meet, and of the runs compared with these.

    A measured point is measured whole.
    """
    runs = run_spans(con)
    while True:
        met = (pair for pair in runs if any(run.meets(span) for run in pair for span in spans))
        more = union((*spans, *(run.wider(length, length) for pair in met for run in pair)))
        if more == spans:
            return spans
        spans = more


def run_spans(con: duckdb.DuckDBPyConnection) -> list[tuple[Span, ...]]:
    """The time of each measured run, with that of the run that its condition names as `baseline=POINT`."""
    rows = con.execute(
        "SELECT DISTINCT run.start_utc, run.end_utc, base.start_utc, base.end_utc FROM raw.etalon_run AS run "
        "LEFT JOIN raw.etalon_run AS base ON trim(base.system_id) = trim(run.system_id) "
        "AND trim(base.point) = regexp_extract(trim(run.condition), '(?:^|; )baseline=([^;]+)', 1)"
    ).fetchall()
    return [(Span(a, b), Span(c, d)) if c is not None else (Span(a, b),) for a, b, c, d in rows]


def margins_built(con: duckdb.DuckDBPyConnection) -> Margins:
    """The margins of all that was built so far."""
    for offset, length in con.execute("SELECT offset_s, length_s FROM meta.built").fetchall():
        return Margins(None if offset is None else dt.timedelta(seconds=offset), dt.timedelta(seconds=length))
    return Margins(None, dt.timedelta())


def _lasting(spans: Iterable[Span]) -> dt.timedelta:
    return sum((span.end - span.start for span in spans), dt.timedelta())


def _within(spans: Iterable[Span], others: Sequence[Span]) -> dt.timedelta:
    """How much of some stretches lies in others, which do not meet."""
    shared = (
        Span(max(span.start, other.start), min(span.end, other.end))
        for span in spans
        for other in others
        if span.meets(other)
    )
    return _lasting(shared)
