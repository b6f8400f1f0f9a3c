"""The compiled simulator of queueing networks."""

from model.network.simulator.recorded import Recorded, recorded
from model.network.simulator.replication import SimulationError
from model.network.simulator.result import ClassResult, Part, ResourceResult, SimulationResult, StationResult
from model.network.simulator.simulate import replay, simulate
from model.network.simulator.statistics import Estimate

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
