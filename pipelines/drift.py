"""The record of how champions did on the days after they were fitted: one JSON line for each figure of each night."""

from pathlib import Path
from typing import Any

from model import documents
from state.catalogue import DRIFT

SAME = ("model_version", "system", "metric", "class", "last")


def recorded(path: Path, scores: Any) -> Any:
    """The whole record as a frame, with new scores written to it; the same scores are written once."""
    import pandas as pd

    rows = DRIFT.read_or(path, [])
    keys = {tuple(row[name] for name in SAME) for row in rows}
    new = [row for row in scores.to_dict("records") if tuple(row[name] for name in SAME) not in keys]
    if new:
        DRIFT.write(path, [*rows, *(documents.finite(row) for row in new)])
    return pd.DataFrame([*rows, *new], columns=list(scores.columns))
