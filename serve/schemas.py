"""What the service says of systems, models and itself, as it stands in ``/openapi.json``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class FieldError(BaseModel):
    """One of several faults of a body."""

    field: str
    reason: str
    message: str


class ProblemDocument(BaseModel):
    """A refusal (RFC 9457): what is wrong, in which field, and what would do."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = Field(default=None, description="path of the field, empty for the body as a whole")
    value: Any = Field(default=None, description="what was sent there")
    allowed: list[str] | None = None
    nearest: str | None = None
    errors: list[FieldError] | None = None


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


class Option(BaseModel):
    """A key of ``at`` with today's value; sensible ends where it is a number that can be varied. One that takes numbers
    and words stands twice."""

    key: str
    label: str
    today: float | str | None
    least: float | None = None
    most: float | None = None
    choices: list[str] = Field(default=[], description="values it takes where it is no number")
    measured: list[float] = Field(default=[], description="of a condition that is a number: levels that were measured")
    hint: str = Field(default="", description="of a text: what it may be")
    meaning: str = Field(default="", description="of a published effect: what it changes, and where that was measured")


class Conditions(BaseModel):
    """What can be asked of a system whose studies varied more than load. What a question leaves out is answered at all
    its measured levels."""

    system: str
    options: list[Option] = Field(description="conditions, loads, counts of the configuration and published effects")
    parts: list[Option] = Field(description="what picks figures of one measurement, such as those of a component")


class System(BaseModel):
    """A system that can be asked about, and within which limits the model was calibrated."""

    system: str
    workload: str
    machine: str
    software: str
    engines: int
    operating_point: str
    operating_tps: float = Field(description="transactions per second at the operating point")
    rates: list[float] = Field(
        description="calibrated transaction rates, ascending; of a history the ends of its range"
    )
    points: list[dict[str, Any]] = Field(description="measured points: name and rate")
    classes: list[str] = Field(description="classes that can grow or be given a rate by name")
    workloads: dict[str, str] = Field(description="the workload of each class")
    metrics: list[dict[str, str]] = Field(
        description="metrics of the whole system that are predicted, with their units"
    )
    main_metric: str = Field(description="the metric to look at first")
    has_response: bool
    has_conditions: bool = Field(description="whether its studies varied more than load: see /v1/systems/…/conditions")
    relatives: list[str] = Field(description="systems whose measurements inform this one's model")
    options: list[Option] = Field(description="what a question can change, with today's values")
    period: list[str] | None = Field(description="first and last recorded start, local time; null without a history")
    gate: dict[str, Any] | None = Field(description="what validation says of the system: checks, and whether all held")


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
    """Systems of the champion that have a network, and the reference systems, some of them known by condition only."""

    model_version: str
    systems: list[System]
    reference_systems: list[ReferenceSystem]


class VersionSystem(BaseModel):
    """A system in a version of the model; `kept` says why its calibration is that of an earlier version."""

    system: str
    period: list[str] | None = Field(description="first and last recorded start, local time; null without a history")
    points: int = Field(description="measured points, where there is no history")
    passed: bool | None = Field(description="whether it passed its gate; null where nothing could be held out")
    kept: dict[str, str] | None = Field(description="`model_version` it is kept from, and the `reason`")


class ModelVersion(BaseModel):
    """A registered version, and whether it became champion: it does where a system passes its gate."""

    model_version: str
    registered_at: str = Field(description="UTC")
    promoted: bool
    systems: list[VersionSystem]
    errors: list[dict[str, Any]] = Field(description="errors on held-out data, by system and figure")


class Versions(BaseModel):
    """The latest versions that were registered."""

    versions: list[ModelVersion] = Field(default=[], description="the latest first")


class Models(Versions):
    """The model in service, and the latest versions that were registered."""

    models: list[dict[str, Any]]


class Readiness(BaseModel):
    """Whether questions can be answered, and why not."""

    ready: bool
    checks: dict[str, str]
