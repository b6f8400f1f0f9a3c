"""Bodies of simulations and of the jobs they become."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from serve.answers import Answer, Bottleneck, Output, Part, Solver
from serve.questions import At, Question, SystemId

Seed = Annotated[int, Field(ge=0, lt=2**63, description="the same seed gives the same answer")]
Column = Annotated[
    list[float] | list[str], Field(description="one value per transaction; text for classes and arrival times")
]

EXAMPLE = """
name = "one engine"
[[stations]]
name = "cp"
servers = 1
[[classes]]
name = "web"
arrivals = { rate_per_s = 500 }
route = [{ visit = "cp", service = { mean_us = 1000 } }]
"""


class SimulateQuestion(Question):
    """What does this system do at this load when its calibrated network is simulated?"""

    model_config = ConfigDict(json_schema_extra={"examples": [{"system": "cics53-18cp", "horizon": 100000}]})

    system: SystemId
    at: At = None
    seed: Seed = 1
    horizon: int = Field(default=400_000, ge=1_000, le=20_000_000, description="minimum total number of transactions")
    replications: int = Field(default=8, ge=1, le=64)
    precision: float | None = Field(
        default=None,
        ge=1e-3,
        le=1,
        description="simulate until the half-width is at most this share of the mean response time",
    )


class ReplayQuestion(Question):
    """What would these recorded transactions have seen in this network, described or calibrated?"""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "network": EXAMPLE,
                    "transactions": {"arrival": [0.0, 0.1], "cp_us": [900.0, 1100.0]},
                },
                {
                    "system": "cics53-18cp",
                    "transactions": {"arrival": [0.0, 0.0001], "cp_us": [90.0, 110.0], "response_us": [95.0, 120.0]},
                },
            ]
        }
    )

    network: str | None = Field(default=None, min_length=1, description="a network description in TOML")
    system: SystemId | None = Field(default=None, description="a calibrated system, instead of `network`")
    at: At = None
    transactions: dict[str, Column] = Field(description="columns: arrival, class, response_ms, and work such as cp_us")
    seed: Seed = 1


class SimulateResult(Answer):
    """A prediction's form, with the simulation's own interval."""

    outputs: list[Output]
    bottleneck: Bottleneck
    extrapolated: bool
    distance: dict[str, float]
    times: list[Any]
    solver: Solver


class Spread(Part):
    """Mean and percentiles, in seconds."""

    mean: float


class ReplayedClass(Part):
    """A class of a replay, with its response beside the recorded one."""

    class_: str = Field(alias="class")
    transactions: int
    turned_away: int
    replayed_s: Spread | None
    recorded_s: Spread | None


class ReplayResult(Part):
    """What the simulator says of a replay."""

    network: str
    seed: int
    transactions: int
    remarks: list[str]
    bottleneck: str | None
    replayed: list[ReplayedClass]


class Refusal(Part):
    """Why a simulation gave no result."""

    field: str
    message: str


class SimulationJob(Part):
    """A simulation: how far it is, and what came of it."""

    job: str
    kind: Literal["simulate", "replay"]
    question: dict[str, Any]
    state: Literal["queued", "running", "done", "refused", "failed", "cancelled"]
    progress: float = Field(ge=0, le=1, description="share of the transactions that is simulated")
    submitted_at: str
    ended_at: str | None
    result: SimulateResult | ReplayResult | None
    problem: Refusal | None


class JobList(Part):
    """Simulations, the latest first."""

    jobs: list[SimulationJob]
