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
    value: Any = Field(default=None, description="value that was sent")
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
    choices: list[str] = Field(default=[], description="allowed values, if not a number")
    measured: list[float] = Field(default=[], description="for a numeric condition: measured levels")
    hint: str = Field(default="", description="for a text: allowed values")
    meaning: str = Field(default="", description="for a published effect: what it changes, and its study")


class Conditions(BaseModel):
    """What can be asked of a system whose studies varied more than load. What a question leaves out is answered at all
    its measured levels."""

    system: str
    options: list[Option] = Field(description="conditions, loads, counts of the configuration and published effects")
    parts: list[Option] = Field(description="selectors of figures within a measurement, such as a component")


class System(BaseModel):
    """A system that can be asked about, and within which limits the model was calibrated."""

    system: str
    workload: str
    machine: str
    software: str
    engines: int
    operating_point: str
    operating_tps: float = Field(description="transactions per second at the operating point")
    rates: list[float] = Field(description="calibrated transaction rates, ascending; for a history, lowest and highest")
    points: list[dict[str, Any]] = Field(description="measured points: name and rate")
    classes: list[str] = Field(description="classes that `growth_pct.CLASS` and `rate.CLASS` can name")
    workloads: dict[str, str] = Field(description="the workload of each class")
    metrics: list[dict[str, str]] = Field(description="predicted metrics of the whole system, with their units")
    main_metric: str = Field(description="the main metric")
    has_response: bool
    has_conditions: bool = Field(description="whether its studies varied more than load; see /v1/systems/…/conditions")
    relatives: list[str] = Field(description="systems whose measurements are used in this model")
    options: list[Option] = Field(description="keys that a question can change, with today's values")
    period: list[str] | None = Field(description="first and last recorded start, local time; null without a history")
    gate: dict[str, Any] | None = Field(description="validation checks of the system, and whether all passed")


class ReferenceSystem(BaseModel):
    """A published measurement: how much of it is known, can be reproduced from records, and can be predicted."""

    system: str
    title: str
    study: str
    kind: str = Field(description="form of its figures: numeric, relative, claim, chart or formula")
    hardware: str
    values: int = Field(description="number of published values")
    reproducible: int = Field(description="values derived from rendered records by a rule")
    statements: int = Field(description="published claims and statements")
    predictable: bool = Field(description="whether the champion answers questions about it")


class Systems(BaseModel):
    """Systems of the champion that have a network, and the reference systems, some of them known by condition only."""

    model_version: str
    systems: list[System]
    reference_systems: list[ReferenceSystem]


class VersionSystem(BaseModel):
    """A system in a version of the model; `kept` says why its calibration is that of an earlier version."""

    system: str
    period: list[str] | None = Field(description="first and last recorded start, local time; null without a history")
    points: int = Field(description="measured points, if there is no history")
    passed: bool | None = Field(description="whether it passed its gate; null if nothing could be held out")
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
