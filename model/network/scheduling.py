"""How stations serve: one entry for each ``scheduling`` of a station.

All rules about a scheduling (what may be combined with it, which tables the simulator makes, who goes first) follow
from its entry. Exact methods name the schedulings that they support (:mod:`model.network.exact.methods`) and refuse
others.
"""

from __future__ import annotations

from dataclasses import dataclass

Scheduling = str
"""A key of :data:`DISCIPLINES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """Who is served at a station, and by which code of the simulator.

    Attributes
    ----------
    kind : str
        Kind of station in the simulator (``KINDS`` of :mod:`model.network.simulator.layout`).
    unequal, by_busy : str
        Its kind where engines have different speeds, and where costs depend on how many are busy; '' where the
        scheduling does not allow that.
    queue_by_level : bool
        Those who wait go by priority.
    lane_by_level, lane_by_weight : bool
        Those who share are served by priority, or by weight.
    smt : bool
        Cores may run two threads.
    """

    kind: str
    unequal: str = ""
    by_busy: str = ""
    queue_by_level: bool = False
    lane_by_level: bool = False
    lane_by_weight: bool = False
    smt: bool = False

    @property
    def queues(self) -> bool:
        """Whether there are engines to wait for."""
        return self.kind != "delay"

    @property
    def shares(self) -> bool:
        """Whether all who are there share the engines, which may be those of an LPAR."""
        return self.kind == "sharing"

    @property
    def ranked(self) -> bool:
        """Whether more important work goes first."""
        return self.queue_by_level or self.lane_by_level


DISCIPLINES: dict[str, Discipline] = {
    "fcfs": Discipline(kind="queue", unequal="unequal", by_busy="sharing"),
    "hol": Discipline(kind="queue", unequal="unequal", by_busy="sharing", queue_by_level=True),
    "preemptive": Discipline(kind="preemptive", queue_by_level=True),
    "ps": Discipline(kind="sharing", by_busy="sharing", smt=True),
    "dps": Discipline(kind="sharing", by_busy="sharing", lane_by_weight=True),
    "priority_ps": Discipline(kind="sharing", by_busy="sharing", lane_by_level=True),
    "delay": Discipline(kind="delay"),
}
