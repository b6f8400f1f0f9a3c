"""What the commands do with twins: their records, and the truth of their questions."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import text
from pipelines.progress import Reporter

if TYPE_CHECKING:
    from model.lab.twin import Twin


def load(path: Path, seed: int | None = None) -> "Twin":
    """A twin from its file, with another seed if one is given."""
    from model.lab.twin import Twin

    twin = Twin.load(path)
    return twin if seed is None else replace(twin, seed=seed)


def render(path: Path, folder: Path, seed: int | None = None) -> list[Path]:
    """Simulate a twin's days and write its records into a folder."""
    from model.lab.twin import live, write

    reporter, twin = Reporter(), load(path, seed)
    with reporter.step(f"simulating {text.counted(twin.days, 'day')} of {twin.system_id}"):
        lived = live(twin)
    with reporter.step("writing the records"):
        return write(lived, folder)


def truth(path: Path, seed: int | None = None) -> dict[str, dict[str, Any]]:
    """The truth of a twin's questions, by question."""
    from model.lab.twin import live
    from model.lab.twin import truth as simulated

    reporter, twin = Reporter(), load(path, seed)
    with reporter.step(f"simulating {text.counted(twin.days, 'day')} of {twin.system_id}"):
        lived = live(twin)
    with reporter.step(f"simulating {text.counted(len(twin.questions), 'question')}"):
        return simulated(lived)


def answers(found: Mapping[str, Mapping[str, Any]], as_json: bool) -> str:
    """Answers by question as JSON or tables."""
    if as_json:
        return json.dumps(found, indent=2)
    parts = []
    for name, answer in found.items():
        at = ", ".join(f"{key}={value}" for key, value in answer["at"].items())
        rows = [
            {
                "metric": o["metric"],
                "condition": o["condition"],
                **{key: f"{o[key]:.4g}" for key in ("value", "lo", "hi")},
                "unit": o["unit"],
            }
            for o in answer["outputs"]
        ]
        notes = "".join(f"\nnote: {note}" for note in answer["notes"])
        first = answer["bottleneck"].get("resource", "none")
        parts.append(f"{name}: {answer['system']} at {at}\n{text.table(rows)}\nbottleneck: {first}{notes}")
    return "\n\n".join(parts)
