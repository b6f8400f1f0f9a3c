"""The compiled simulator of queueing networks."""

from model.simulator.replication import SimulationError
from model.simulator.result import ClassResult, Part, ResourceResult, SimulationResult, StationResult
from model.simulator.simulate import replay, simulate
from model.simulator.statistics import Estimate

__all__ = [
    "ClassResult",
    "Estimate",
    "Part",
    "ResourceResult",
    "SimulationError",
    "SimulationResult",
    "StationResult",
    "replay",
    "simulate",
]
