"""The capacity of a system as its owner rates it; the subject is the rating, such as `MIPS`.

It writes the rating (option `capacity`, with its `source`); figures that follow from it, such as MIPS used and MIPS by
transaction rate, come of it with the busy time and the rate that other records carry.
"""

from collections.abc import Sequence

import numpy as np

from model.lab.records.common import Setting
from model.lab.writers.interface import Cell, Output, Target, Window


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """The row of the rating."""
    options = targets[0].options
    row: dict[str, Cell] = {
        "smf_sid": window.smf_sid,
        "rating": str(options["rating"]),
        "capacity": float(options["capacity"]),
        "source": str(options["source"]),
    }
    return Output(rows={"capacity": [row]})
