"""Render a reference system as the records that its measurement would have left."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ingest import registry as layouts
from ingest.formats.smf import encode_dump
from model.hardware.machines import machine
from model.lab.construct import construct
from model.lab.errors import LabError
from model.lab.manifest import RenderedPoint, iso, manifest
from model.lab.measure import checks
from model.lab.records.common import Clock, Record, Setting
from model.lab.records.smf30 import study_address_spaces
from model.lab.records.smf70_1 import study_cpu_activity
from model.lab.records.smf72_3 import study_workload_activity
from model.lab.records.tables import to_tables
from model.lab.reports import rmf_xml
from model.lab.targets import has_content, point_targets, why_not_rendered
from model.lab.writing import Part, collected_files, window_starts, write_parts
from model.published import catalogue
from model.published.catalogue import System

DEFAULT_SEED = 20171
RUN_COLUMNS = ("system_id", "smf_sid", "point", "condition", "start_utc", "end_utc")
GROUP_COLUMNS = ("system_id", "smf_sid", "kind", "pattern", "workload", "address_space_group")

Progress = Callable[[str], None]


def render(
    system_id: str,
    out_dir: Path | str,
    *,
    seed: int = DEFAULT_SEED,
    registry: layouts.Registry | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write `<system>.smf`, `.runs.csv`, `.groups.csv`, collector files, reports and `.lab.json`; their paths.

    The dump is a stream of records with RDWs: for every measured point several intervals with the records that its
    plan names. Over a point's intervals the ratios of sums give the published figures to their printed digits; the
    manifest (`.lab.json`) lists each with what was constructed, the exceptions with their arithmetic, and everything
    assumed. The same arguments give the same bytes. `progress` is called with a line of text as each step begins.

    Raises CatalogueError for an unknown system and LabError for one that cannot be rendered.
    """
    say = progress or (lambda _: None)
    system = catalogue.system(system_id)
    setting = setting_of(system)
    if not has_content(system):
        raise LabError(f"{system_id}: no point can be rendered")
    points = []
    for point in construct_points(system, setting, seed):
        say(f"{system_id}: point {point.targets.point.id}, {len(point.intervals)} intervals")
        points.append(point)
    parts = write_parts(system, setting, seed)
    layout_registry = registry or layouts.load()
    records = [*records_of(setting, points), *(record for part in parts for record in part.output.records)]
    tables = to_tables(records, layout_registry)
    count = sum(table.num_rows for name, table in tables.items() if name.endswith("_header"))
    say(f"{system_id}: encoding {count} records")
    contents = {f"{system_id}.smf": encode_dump(tables, layout_registry)} if count else {}
    contents[f"{system_id}.runs.csv"] = _csv(RUN_COLUMNS, _runs(system, setting, points, parts))
    groups = [*_groups(system, setting, points), *_written_groups(system, parts)]
    if groups:
        contents[f"{system_id}.groups.csv"] = _csv(GROUP_COLUMNS, iter(dict.fromkeys(groups)))
    contents |= {f"{system_id}.{suffix}": content for suffix, content in collected_files(parts).items()}
    if setting.plan.reports:
        contents[f"{system_id}.rmf.xml"] = rmf_xml(setting, records)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    described = manifest(system, setting, points, [target for part in parts for target in part.targets], seed, digests)
    contents[f"{system_id}.lab.json"] = (json.dumps(described, indent=2) + "\n").encode()
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, content) for name, content in contents.items()]


def setting_of(system: System) -> Setting:
    """The setting a system's records are written in. Raises LabError when nothing says how to render it."""
    if system.lab is None:
        raise LabError(f"{system.id}: nothing says how to render it (no lab section)")
    cpc = machine(system.machine) if system.machine is not None else None
    return Setting(system.lab, cpc, Clock(system.lab.utc_offset_hours))


def construct_points(system: System, setting: Setting, seed: int) -> Iterator[RenderedPoint]:
    """Every point with activity of its own that can be rendered, constructed and checked, in the order of the plan.

    Raises LabError when a constructed value misses a published one.
    """
    starts = window_starts(system, setting)
    for point in setting.plan.points:
        if why_not_rendered(system, point) is not None:
            continue
        targets = point_targets(system, point)
        intervals = construct(system.id, setting.plan, targets, starts[point.id], seed)
        yield RenderedPoint(targets, intervals, checks(setting, targets, intervals))


def records_of(setting: Setting, points: Sequence[RenderedPoint], parts: Sequence[Part] = ()) -> Iterator[Record]:
    """All activity records of the points, interval by interval, then those of the writers."""
    for point in points:
        for interval in point.intervals:
            yield study_cpu_activity(setting, interval)
            yield from study_workload_activity(setting, interval)
            yield from study_address_spaces(setting, interval)
    for part in parts:
        yield from part.output.records


def _runs(
    system: System, setting: Setting, points: Sequence[RenderedPoint], parts: Sequence[Part]
) -> Iterator[tuple[str, ...]]:
    """One row per point and system measured: those with activity, and those that a writer wrote something of."""
    rows: dict[tuple[str, str], tuple[str, str, str]] = {}
    for point in points:
        start, end = point.intervals[0].start, point.intervals[-1].end
        rows[point.targets.point.id, setting.plan.smf_sid] = (point.targets.point.condition, iso(start), iso(end))
    for part in parts:
        window = part.window
        place = (window.point.id, window.smf_sid)
        rows.setdefault(place, (window.point.condition, iso(window.start), iso(window.end)))
    for (point_id, smf_sid), rest in sorted(rows.items(), key=lambda row: (row[1][1], row[0][1])):
        yield (system.id, smf_sid, point_id, *rest)


def _written_groups(system: System, parts: Sequence[Part]) -> Iterator[tuple[str, ...]]:
    for part in parts:
        for row in part.output.groups:
            yield (system.id, part.window.smf_sid, row.kind, row.pattern, row.workload, row.group)


def _groups(system: System, setting: Setting, points: Sequence[RenderedPoint]) -> Iterator[tuple[str, ...]]:
    """Rows for the transaction classes, and for the report class and job names of every group with a known CPU."""
    if not points:
        return
    plan = setting.plan
    workloads = {entry.name: entry.workload for entry in plan.service_classes}
    head = (system.id, plan.smf_sid)
    for entry in plan.transactions:
        yield (*head, "transaction_class", entry.report_class, workloads[entry.service_class], entry.name or "")
    for group in plan.groups:
        if all(point.targets.groups[group.name] is None for point in points):
            continue
        yield (*head, "report_class", group.report_class, group.workload, group.name)
        for region in group.regions:
            pattern = region.jobname.split("#")[0] + "%" if "#" in region.jobname else region.jobname
            yield (*head, "job_name", pattern, group.workload, group.name)


def _csv(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def _write(path: Path, content: bytes) -> Path:
    """Write a file so that it is never seen half written."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    return partial.replace(path)
