"""What goes in and comes out over HTTP, as it stands in ``/openapi.json``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Question(BaseModel):
    """A body that is refused when it holds anything unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OperatingPoint(Question):
    """A load, said in one way, and the engines to carry it."""

    etr_tps: Number | None = Field(default=None, description="transactions per second")
    cpu_busy_pct: Number | None = Field(default=None, description="mean busy of the engines, percent")
    point: str | Number | None = Field(default=None, description="name of a measured point")
    engines: Number | None = Field(default=None, description="number of general-purpose engines")


class PredictQuestion(Question):
    """What would this system do at this operating point?"""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"system": "cics53-18cp", "at": {"etr_tps": 110560.9}}]},
    )

    system: str = Field(
        description="identifier of a system, as GET /v1/systems lists them", min_length=1, max_length=200
    )
    at: OperatingPoint | None = Field(
        default=None,
        description="one of etr_tps, cpu_busy_pct and point, and engines; left out, the published operating point",
    )


class SizeQuestion(Question):
    """How few engines carry this rate within these targets? At least one target is required."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"system": "cics53-18cp", "etr_tps": 150000, "max_busy_pct": 90}]},
    )

    system: str = Field(
        description="identifier of a system, as GET /v1/systems lists them", min_length=1, max_length=200
    )
    etr_tps: Positive = Field(description="transactions per second to be carried")
    max_busy_pct: Positive | None = Field(default=None, le=100, description="highest mean busy of the engines, percent")
    max_response_ms: Positive | None = Field(default=None, description="highest mean response time, milliseconds")


class CurveQuestion(Question):
    """One metric over a range of rates, evenly spaced."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"system": "cics53-18cp", "metric": "total_cics_cpu_pct", "from_tps": 20000, "to_tps": 180000}]
        },
    )

    system: str = Field(min_length=1, max_length=200)
    metric: str = Field(
        description="a metric that POST /v1/predict answers for the system", min_length=1, max_length=200
    )
    from_tps: Positive
    to_tps: Positive
    steps: int = Field(default=41, ge=2, le=400)


class Answer(BaseModel):
    """A body the service wrote; fields added by a newer model are passed on."""

    model_config = ConfigDict(extra="allow")


class Output(Answer):
    """One predicted figure with its interval."""

    metric: str
    condition: str = Field(description="`key=value; …`: what the figure is for")
    value: float | None
    lo: float | None
    hi: float | None
    unit: str | None


class Bottleneck(Answer):
    """The resource that limits the rate, and how busy it is."""

    resource: str
    utilization_pct: float | None
    lo: float | None = None
    hi: float | None = None
    stations: list[dict[str, Any]] = []


class PredictAnswer(Answer):
    """The prediction, its interval, its bottleneck and what it rests on."""

    system: str
    at: dict[str, Any]
    model_version: str
    outputs: list[Output]
    bottleneck: Bottleneck | None
    extrapolated: bool
    interval_pct: int | float
    notes: list[str]
    evidence: Any


class Engines(Answer):
    """A number of engines: likeliest, with 5 % and with 95 % certainty; null where no number will do."""

    value: int | None
    lo: int | None
    hi: int | None


class SizeAnswer(Answer):
    """The smallest number of engines, with the table it was read from."""

    system: str
    at: dict[str, Any]
    targets: dict[str, Any]
    model_version: str
    engines: Engines
    bottleneck: Bottleneck | None
    extrapolated: bool
    interval_pct: int | float
    notes: list[str]
    evidence: Any
    table: list[dict[str, Any]]


class CurvePoint(BaseModel):
    """The metric at one rate."""

    etr_tps: float
    value: float | None
    lo: float | None
    hi: float | None
    extrapolated: bool


class CurveAnswer(BaseModel):
    """A metric against the rate, with its interval band."""

    system: str
    metric: str
    unit: str | None
    model_version: str
    interval_pct: int | float
    points: list[CurvePoint]


class MeasuredPoint(BaseModel):
    """One measured operating point from the published snapshot."""

    point: str
    etr_tps: float | None
    metrics: dict[str, float | None]


class MeasuredPoints(BaseModel):
    """The measured points of one system."""

    system: str
    published_at: str | None
    points: list[MeasuredPoint]


class System(BaseModel):
    """A system that can be asked about, and within which limits the model was calibrated."""

    system: str
    workload: str
    machine: str
    software: str
    engines: int
    operating_point: str
    rates: list[float] = Field(description="calibrated transaction rates, ascending")
    points: list[dict[str, Any]] = Field(description="measured points: name and rate")
    metrics: list[dict[str, str]] = Field(description="metrics that are predicted, with their units")
    main_metric: str = Field(description="the metric to look at first")
    has_response: bool
    relatives: list[str] = Field(description="systems whose measurements inform this one's model")


class ReferenceSystem(BaseModel):
    """A published measurement: how much of it is known, can be reproduced from records, and can be predicted."""

    system: str
    title: str
    study: str
    kind: str = Field(description="how it is known: numeric, relative, claim, chart or formula")
    hardware: str
    values: int = Field(description="numbers published of it")
    reproducible: int = Field(description="how many of them follow from rendered records by a rule")
    statements: int = Field(description="claims and words published of it")
    predictable: bool = Field(description="whether the champion can be asked about it")


class Systems(BaseModel):
    """All systems of the champion, and the reference systems, most of which it cannot be asked about."""

    model_version: str
    systems: list[System]
    reference_systems: list[ReferenceSystem]


class Models(BaseModel):
    """The models in service; the first is the champion."""

    models: list[dict[str, Any]]


class Readiness(BaseModel):
    """Whether questions can be answered, and why not."""

    ready: bool
    checks: dict[str, str]
