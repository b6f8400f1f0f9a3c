"""Station-by-class figures of a solved case, and how the keys of a case file name parts of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOOLS = re.compile(r"_(JMT|exactMVA|MVA|AMVA|CTMC|LINE|LQNS|PDQ|DES|LDES|ref|sim|exact)$")
DELAY_NAMES = {"delay", "terminals", "think", "is", "z"}
QUEUE_NAMES = {"queue", "server", "servers", "station"}


@dataclass
class Metrics:
    """Figures of a network: (stations, classes) unless said otherwise.

    ``flow`` is the throughput of each station, ``rate`` (classes,) that of the network, ``extras`` single figures by
    their own name. Where ``single`` holds, the case has one class and vectors are by station.
    """

    queue: Floats
    flow: Floats
    utilisation: Floats
    residence: Floats
    rate: Floats
    stations: list[str]
    delays: list[bool]
    single: bool = False
    station_major: bool = False
    open_classes: list[int] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def visit_response(self) -> Floats:
        """Response of one visit."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.flow > 0, self.queue / self.flow, 0.0)

    def table(self, name: str) -> Floats | None:
        """(stations, classes) figures behind the first word of a key."""
        return {
            "Q": self.queue,
            "L": self.queue,
            "N": self.queue,
            "U": self.utilisation,
            "X": self.flow,
            "R": self.visit_response,
            "W": self.visit_response,
            "residence": self.residence,
        }.get(name)

    def pick(self, key: str, shape_of: Any) -> Any:
        """What a key of ``expected`` asks for, in the shape of its value; None where it is not a figure of this
        case."""
        for name in (key, TOOLS.sub("", key)):
            if name in self.extras:
                return self.extras[name]
        words = TOOLS.sub("", key).split("_")
        table = self.table(words[0])
        if table is None or table.size == 0:
            return None
        classes, stations = list(range(table.shape[1])), list(range(table.shape[0]))
        for word in words[1:]:
            chosen = self._class(word, table.shape[1])
            if chosen is not None:
                classes = chosen
            else:
                station = self._station(word)
                if station is None:
                    return None
                stations = [station]
        shape = np.shape(shape_of)
        part = table[np.ix_(stations, classes)]
        if len(stations) < table.shape[0]:
            return _fit(part, shape, self.station_major)
        whole = self._whole(words[0], classes)
        if shape == () or (shape == (len(classes),) and not self.single and words[0] in "XR"):
            return whole if shape else float(whole[0] if len(whole) == 1 else whole.sum())
        return _fit(part, shape, self.station_major)

    def _whole(self, name: str, classes: list[int]) -> Any:
        """Figures of the network (classes,) rather than of its stations."""
        if name == "X":
            return self.rate[classes]
        if name in ("R", "residence", "W"):
            return self.residence[:, classes].sum(axis=0)
        return (self.queue if name in "QLN" else self.utilisation)[:, classes].sum(axis=0)

    def _class(self, word: str, classes: int) -> list[int] | None:
        if word == "open":
            return list(self.open_classes)
        if word == "closed":
            return [r for r in range(classes) if r not in self.open_classes]
        if re.fullmatch(r"[A-Z]", word) and ord(word) - ord("A") < classes:
            return [ord(word) - ord("A")]
        if (match := re.fullmatch(r"(?:class|c)(\d+)", word)) and 1 <= int(match[1]) <= classes:
            return [int(match[1]) - 1]
        return None

    def _station(self, word: str) -> int | None:
        word = word.lower()
        plain = [re.sub(r"\(.*", "", s).strip().lower() for s in self.stations]
        for test in (lambda s: s == word, lambda s: s.startswith(word), lambda s: re.sub(r"[^a-z]", "", s) == word):
            for k, name in enumerate(plain):
                if test(name):
                    return k
        if word in DELAY_NAMES:
            return next((k for k, d in enumerate(self.delays) if d), None)
        if word in QUEUE_NAMES:
            return next((k for k, d in enumerate(self.delays) if not d), None)
        match = re.fullmatch(r"(cpu|disk|d|station|queue|s|q)(\d*)", word)
        if match is None:
            return None
        # Unnamed stations: the processor comes first, then the disks.
        queues = [k for k, d in enumerate(self.delays) if not d]
        number = int(match[2]) - 1 if match[2] else 0
        at = number if match[1] != "disk" and match[1] != "d" else number + 1
        return queues[at] if 0 <= at < len(queues) else None


def _fit(part: Floats, shape: tuple[int, ...], station_major: bool) -> Any:
    """A (stations, classes) table in the shape a case wants."""
    if shape == ():
        return float(part.sum()) if part.size != 1 else float(part[0, 0])
    if len(shape) == 2:
        by_class = shape == part.T.shape and not (station_major and shape == part.shape)
        return part.T if by_class else part
    if shape == (part.size,):
        return part.ravel()
    return part.sum(axis=1) if shape == (part.shape[0],) else part.sum(axis=0)
