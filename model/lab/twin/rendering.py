"""Write the records of a twin: one dump for each LPAR, and who they belong to."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from ingest import registry as layouts
from ingest.formats.smf import encode_dump
from ingest.registry import Registry
from model.lab.records.common import Clock, Setting, Span
from model.lab.records.smf30 import address_spaces, job_names
from model.lab.records.smf70_1 import cpu_activity
from model.lab.records.smf72_3 import workload_activity
from model.lab.records.smf74 import devices, facility
from model.lab.records.tables import Columns, Frame
from model.lab.twin.activity import Lived, live
from model.lab.twin.description import Twin
from model.lab.twin.measured import Measured, measured
from model.published.plan import read_plan

GROUP_COLUMNS = ("system_id", "smf_sid", "kind", "pattern", "workload", "address_space_group")
OS_LEVEL = "ZV020500"
SYSPLEX = "TWINPLEX"


def render(
    twin: Twin, out_dir: Path, *, registry: Registry | None = None, progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Simulate a twin and write its records into `out_dir`; see :func:`write`."""
    say = progress or (lambda _: None)
    say("simulating")
    lived = live(twin)
    say("writing")
    return write(lived, out_dir, registry)


def write(lived: Lived, out_dir: Path, registry: Registry | None = None) -> list[Path]:
    """Write a dump for each LPAR; with one LPAR also the groups file that gives the system its name.

    Of each recorded interval the dump holds a 70.1, a 72.3 of every service class, a 30.2 of every address space, a
    74.1 where there are devices and a 74.4 of every coupling facility. Returns the paths.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    registry = registry or layouts.load()
    seen = [measured(lived, lpar) for lpar in lived.lpars]
    paths = []
    for number, m in enumerate(seen):
        random = np.random.default_rng([lived.twin.seed, 1 + number])
        content = encode_dump(_tables(lived, seen, number, registry, random), registry)
        name = lived.twin.system_id if len(seen) == 1 else f"{lived.twin.system_id}.{m.lpar.smf_sid}"
        path = out_dir / f"{name}.smf"
        path.write_bytes(content)
        paths.append(path)
    if len(seen) == 1:
        groups = out_dir / f"{lived.twin.system_id}.groups.csv"
        groups.write_text(_groups(lived.twin, seen[0]), encoding="utf-8")
        paths.append(groups)
    return paths


def _tables(
    lived: Lived, seen: list[Measured], number: int, registry: Registry, random: np.random.Generator
) -> dict[str, pa.Table]:
    twin, m = lived.twin, seen[number]
    network = lived.network
    spans = [Span(start, twin.interval_s * 1000) for start in m.starts]
    frame = Frame(_setting(twin, m), spans, number + 1)
    parts = [1, len(m.service_classes), len(job_names(m)), int(bool(m.devices)), len(m.facilities)]
    ends = np.cumsum(parts)
    record = np.arange(len(spans) * ends[-1]).reshape(len(spans), ends[-1])
    columns = Columns(registry)
    cpu_activity(columns, frame, record[:, 0], network, m, seen)
    workload_activity(columns, frame, record[:, ends[0] : ends[1]], network, m, random)
    address_spaces(columns, frame, record[:, ends[1] : ends[2]], m)
    if m.devices:
        devices(columns, frame, record[:, ends[2]], network, m)
    for f in range(len(m.facilities)):
        facility(columns, frame, record[:, ends[3] + f], network, m, f)
    return columns.tables()


def _setting(twin: Twin, m: Measured) -> Setting:
    plan = read_plan(
        {
            "smf_sid": m.lpar.smf_sid, "sysplex": SYSPLEX, "start_local": twin.local(twin.start_utc), "intervals": 1,
            "interval_s": twin.interval_s, "os_level": OS_LEVEL, "assumptions": (), "points": (),
            "service_rate": {"value": twin.service_units_per_s, "source": "the twin", "confidence": "high"},
        }
    )  # fmt: skip
    return Setting(plan, None, Clock(twin.utc_offset_hours))


def _groups(twin: Twin, m: Measured) -> str:
    """The groups file: which workload every service class belongs to."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(GROUP_COLUMNS)
    for name, workload in zip(m.service_classes, m.workloads, strict=True):
        writer.writerow((twin.system_id, m.lpar.smf_sid, "service_class", name, workload.lower(), workload.lower()))
    return text.getvalue()
