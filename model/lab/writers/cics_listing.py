"""CICS statistics as DFHSTUP prints them: what is counted below a heading.

A target's subject is a heading and a label, separated by `: `; it writes `statistic`. Counts and times add up over the
collections of the point, peaks are the highest and levels now the last. Averages the marts compute are not written.
Options: `applid`.
"""

from collections.abc import Sequence

import numpy as np

from model.lab.records.common import Setting
from model.lab.split import split
from model.lab.writers.interface import Output, Target, Window

COLLECTIONS = 2
WIDTH = 66
COMPUTED = ("Average ",)
LEVELS = ("Current ", "Peak ")
PLACES = 5


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """One page per collection and heading, in one listing."""
    applid = str(targets[0].options["applid"])
    headings: dict[str, dict[str, Target]] = {}
    for target in targets:
        heading, _, label = target.subject.partition(": ")
        headings.setdefault(heading, {})[label] = target
    lines = []
    for collection in range(COLLECTIONS):
        moment = setting.clock.local(window.start + (window.end - window.start) * (collection + 1) / (COLLECTIONS + 1))
        lines.append(
            f"1 INTERVAL REPORT   COLLECTION DATE-TIME {moment:%m/%d/%Y-%H:%M:%S}   LAST RESET   APPLID {applid}"
            f"   JOBNAME {applid}"
        )
        for heading, labels in headings.items():
            lines += ["", f"  {heading}", "  " + "-" * len(heading)]
            for label, target in labels.items():
                if not label.startswith(COMPUTED):
                    lines.append(_line(label, _shown(target, collection)))
    return Output(files={f"{window.point.id}.stup.txt": ("\n".join(lines) + "\n").encode()})


def _line(label: str, value: str) -> str:
    dots = " ." * max(2, (WIDTH - len(label)) // 2)
    return f"  {label}{dots} :  {value}"


def _shown(target: Target, collection: int) -> str:
    """What a collection prints: the whole of a level or peak in the last one, a part of a count."""
    label = target.subject.partition(": ")[2]
    places = PLACES if "." in target.figure.value else 0
    ticks = round(target.value * 10**places)
    if label.startswith(LEVELS):
        value = ticks if collection == COLLECTIONS - 1 else ticks // 2
    else:
        value = split(ticks, np.ones(COLLECTIONS))[collection]
    return f"{value / 10**places:.{places}f}"
