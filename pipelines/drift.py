"""The record of how champions did on the days after they were fitted: one JSON line for each figure of each night."""

import json
from pathlib import Path
from typing import Any

from model import documents
from pipelines.nights.files import write

SAME = ("model_version", "system", "metric", "class", "last")


def recorded(path: Path, scores: Any) -> Any:
    """The whole record as a frame, with new scores written to it; the same scores are written once."""
    import pandas as pd

    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = [json.loads(line) for line in kept.splitlines()]
    known = {tuple(row[name] for name in SAME) for row in rows}
    new = [row for row in scores.to_dict("records") if tuple(row[name] for name in SAME) not in known]
    if new:
        write(path, kept + "".join(documents.dumps(row) + "\n" for row in new))
    return pd.DataFrame([*rows, *new], columns=list(scores.columns))
