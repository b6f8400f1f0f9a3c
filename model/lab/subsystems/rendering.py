"""Write a night as a dump, with what is true of it beside."""

import json
from pathlib import Path

from ingest import registry as layouts
from ingest.formats.smf import encode_dump
from model.lab.records.tables import to_tables
from model.lab.renderable import SUBSYSTEMS
from model.lab.subsystems import batch, machine, messages, requests, storage
from model.lab.subsystems.night import SID, live
from model.lab.subsystems.recording import Recorder
from model.lab.subsystems.truth import truth


def render(out_dir: Path, seed: int, registry: layouts.Registry | None = None) -> list[Path]:
    """Write `subsystems.smf`, and `subsystems.lab.json` with what ready questions must answer; their paths."""
    known = registry or layouts.load()
    night = live(seed)
    make = Recorder(known, night.clock, SID)
    rooms = (machine, requests, messages, storage, batch)
    tables = to_tables([record for room in rooms for record in room.records(make, night)], known)
    out_dir.mkdir(parents=True, exist_ok=True)
    dump, answers = out_dir / f"{SUBSYSTEMS}.smf", out_dir / f"{SUBSYSTEMS}.lab.json"
    dump.write_bytes(encode_dump(tables, known))
    answers.write_text(json.dumps(truth(night), indent=2) + "\n", encoding="utf-8")
    return [dump, answers]
