"""The compiled simulator of queueing networks."""

from model.simulator.recorded import Recorded, recorded
from model.simulator.replication import SimulationError
from model.simulator.result import ClassResult, Part, ResourceResult, SimulationResult, StationResult
from model.simulator.simulate import replay, simulate
from model.simulator.statistics import Estimate

__all__ = [
    "ClassResult",
    "Estimate",
    "Part",
    "Recorded",
    "ResourceResult",
    "SimulationError",
    "SimulationResult",
    "StationResult",
    "recorded",
    "replay",
    "simulate",
]
