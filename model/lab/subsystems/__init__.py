"""Records of subsystems of one made-up night: quotes over the web, messages, Db2, a batch job, and what they use."""

from pathlib import Path

from ingest import registry as layouts
from ingest.formats.smf import encode_dump
from model.lab.records.tables import to_tables
from model.lab.subsystems import batch, machine, messages, requests, storage
from model.lab.subsystems.night import SID, live
from model.lab.subsystems.recording import Recorder
from model.lab.targets import SUBSYSTEMS


def render(out_dir: Path, seed: int, registry: layouts.Registry | None = None) -> list[Path]:
    """Write `subsystems.smf`; its path."""
    layout_registry = registry or layouts.load()
    night = live(seed)
    make = Recorder(layout_registry, night.clock, SID)
    parts = (machine, requests, messages, storage, batch)
    tables = to_tables([record for part in parts for record in part.records(make, night)], layout_registry)
    out_dir.mkdir(parents=True, exist_ok=True)
    dump = out_dir / f"{SUBSYSTEMS}.smf"
    dump.write_bytes(encode_dump(tables, layout_registry))
    return [dump]
