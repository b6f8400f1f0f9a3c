"""Bodies of questions, as they stand in ``/openapi.json``; what their keys mean is the model's to say."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from serve import answers
from serve.problems import RESPONSE_TARGETS

Number = Annotated[float, Field(allow_inf_nan=False)]
SystemId = Annotated[
    str, Field(description="identifier of a system, as listed by GET /v1/systems", min_length=1, max_length=200)
]
BusyTarget = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False, description="highest utilization, percent")]
ResponseMs = Annotated[float, Field(gt=0, allow_inf_nan=False)]
EVERY_CLASS, BY_CLASS = RESPONSE_TARGETS
ResponseTarget = Annotated[
    Annotated[ResponseMs, Tag(EVERY_CLASS)]
    | Annotated[dict[str, ResponseMs], Field(min_length=1, max_length=200), Tag(BY_CLASS)],
    Discriminator(lambda given: BY_CLASS if isinstance(given, dict) else EVERY_CLASS),
    Field(description='highest mean response time in milliseconds: 40 for every class, or by class: {"ONLHI": 40}'),
]


Machines = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100)]],
    Field(max_length=20, description="rated machines to size in addition to the present one"),
]


class Question(BaseModel):
    """A body that is refused when it holds anything unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def arguments(self) -> bytes:
        """What was given, as JSON, by the names that the model has for it."""
        return self.model_dump_json(exclude_none=True).encode()


class SystemQuestion(Question):
    """A question about a system: its name in an address and in a batch, what it is for, and the type of its answer."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    answer: ClassVar[type[BaseModel]]

    system: SystemId


class OperatingPoint(BaseModel):
    """A load and what is changed.

    Further keys are ``growth_pct.CLASS``, ``growth_pct_per_year.CLASS``, ``step_pct.CLASS``, ``season_pct.CLASS``,
    ``rate.CLASS``, ``response_ms.CLASS``, ``limit.NAME``, ``adjust.NAME``, ``move_to.CLASS``, ``move_from.CLASS`` and
    conditions of the system's studies (``sessions``, ``ims_version``).
    """

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, str | Number]

    etr_tps: Number | None = Field(default=None, description="transactions per second of all classes together")
    cpu_busy_pct: Number | None = Field(default=None, description="CPU busy, percent")
    point: str | Number | None = Field(default=None, description="name of a measured point")
    when: str | None = Field(
        default=None,
        description="a recorded interval (2026-11-10T10:45), an hour of the week (mon 10:00), peak, or a future date",
    )
    shift: str | None = Field(
        default=None, description="a shift from GET /v1/calendar; recorded intervals are chosen from it"
    )
    growth_pct: Number | None = Field(default=None, description="growth of all classes, percent")
    growth_pct_per_year: Number | None = Field(
        default=None, description="planned growth of all classes after the end of the records, percent per year"
    )
    step_pct: str | None = Field(
        default=None, description="planned steps, DATE:PCT joined by commas, such as 2027-01-15:20"
    )
    season_pct: str | None = Field(
        default=None, description="planned seasons, MONTH:PCT joined by commas, such as 11:15,12:30"
    )
    engines: Number | None = Field(default=None, description="number of general-purpose engines")
    ziip_engines: Number | None = Field(default=None, description="number of zIIPs")
    physical_cps: Number | None = Field(default=None, description="number of physical CPs that the LPARs share")
    physical_ziips: Number | None = Field(default=None, description="number of physical zIIPs that the LPARs share")
    cpc: str | None = Field(default=None, description="another CPC of the installation, to which the LPAR moves")
    add_lpar: str | None = Field(
        default=None,
        description="LPARs that are added to the CPC: a system of the installation, or NAME:CPS:WEIGHT:BUSY with busy "
        "engines; separated by commas",
    )
    remove_lpar: str | None = Field(
        default=None, description="other LPARs that are removed from the CPC; separated by commas"
    )
    weight: Number | None = Field(default=None, description="weight of the LPAR on its CPC")
    cap: str | Number | None = Field(
        default=None, description="on: capped at its share by weight; off: neither that nor an absolute cap"
    )
    cap_engines: Number | None = Field(default=None, description="absolute cap, engines")
    cap_msu: Number | None = Field(default=None, description="absolute cap, MSU, in force at every moment")
    machine: str | None = Field(default=None, description="another rated machine")
    smt: str | Number | None = Field(default=None, description="threads of a zIIP core: on (2) or off (1)")


At = Annotated[OperatingPoint | None, Field(description="load and changes; default: the operating point")]


class PredictQuestion(SystemQuestion):
    """What would this system do at this load?"""

    kind = "predict"
    summary = "Predict every metric of a system at a load"
    answer = answers.PredictAnswer
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"system": "cics53-18cp", "at": {"growth_pct": 20}}]},
    )

    at: At = None


class SizeQuestion(SystemQuestion):
    """How few engines carry this load within these targets? At least one target is required."""

    kind = "size"
    summary = "Find the smallest number of engines for a load within busy and response targets"
    answer = answers.SizeAnswer
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"system": "cics53-18cp", "at": {"growth_pct": 30}, "max_busy_pct": 90}]},
    )

    at: At = None
    max_busy_pct: BusyTarget | None = None
    max_response_ms: ResponseTarget | None = None
    machines: Machines | None = None


class MaxRateQuestion(SystemQuestion):
    """What is the highest rate of the mix within these targets, what limits it, and what would limit next?"""

    kind = "max-rate"
    summary = "Find the highest rate of the mix within targets, the limiting resource and the next one"
    answer = answers.MaxRateAnswer
    model_config = ConfigDict(json_schema_extra={"examples": [{"system": "cics53-18cp", "max_busy_pct": 90}]})

    at: At = None
    max_busy_pct: BusyTarget = 100.0
    max_response_ms: ResponseTarget | None = None


class SweepQuestion(SystemQuestion):
    """Chosen metrics over a range of any key, evenly spaced."""

    kind = "sweep"
    summary = "Predict metrics over a range of any key"
    answer = answers.SweepAnswer
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"system": "cics53-18cp", "key": "growth_pct", "from": -50, "to": 50, "steps": 11}]
        },
    )

    key: str = Field(description="key of `at` to vary", min_length=1, max_length=200)
    first: Number = Field(alias="from")
    last: Number = Field(alias="to")
    steps: int | None = Field(
        default=None, ge=2, le=400, description="default: every integer for engines, eleven steps for other keys"
    )
    at: At = None
    metrics: list[str] = Field(default=[], description="metrics as in POST /v1/predict; default: all")


class CompareQuestion(SystemQuestion):
    """What changes from question a to question b?"""

    kind = "compare"
    summary = "Compare two questions, with the interval of each difference"
    answer = answers.CompareAnswer
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"system": "cics53-18cp", "a": {}, "b": {"engines": 20, "growth_pct": 10}}]},
    )

    a: At = None
    b: At = None
    other: SystemId | None = Field(default=None, description="system of question b, if it differs")


class HeadroomQuestion(SystemQuestion):
    """Until when does it fit, if classes go on growing as the history trends?"""

    kind = "headroom"
    summary = "Predict when a system reaches its targets, by its historical trend or a plan"
    answer = answers.HeadroomAnswer
    model_config = ConfigDict(json_schema_extra={"examples": [{"system": "PRDA", "max_busy_pct": 90}]})

    at: At = None
    max_busy_pct: BusyTarget = 90.0
    max_response_ms: ResponseTarget | None = None


class ExplainQuestion(SystemQuestion):
    """What is the answer at this load made of?"""

    kind = "explain"
    summary = "Break an answer down: demand by component, and sources of uncertainty"
    answer = answers.ExplainAnswer
    model_config = ConfigDict(json_schema_extra={"examples": [{"system": "cics53-18cp"}]})

    at: At = None


class ForecastMsuQuestion(Question):
    """How many MSU will be used, as rolling four-hour averages of LPARs and machines?"""

    model_config = ConfigDict(json_schema_extra={"examples": [{"weeks": 26}, {"system": "PRDA", "weeks": 52}]})

    system: SystemId | None = Field(default=None, description="only this system and its machine")
    at: OperatingPoint | None = Field(default=None, description="a change in addition to growth; needs `system`")
    weeks: int = Field(default=52, ge=1, le=156, description="length of the forecast")


class PlanQuestion(Question):
    """Which keys of a question does a plan of growth stand for?"""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"plan": "growth_pct_per_year = 5\n[steps]\n2027-01-15 = 20\n"}]}
    )

    plan: str = Field(description="TOML: growth_pct_per_year, [steps], [seasons], [classes.NAME]", max_length=20_000)


ABOUT_SYSTEMS: tuple[type[SystemQuestion], ...] = (
    PredictQuestion,
    SizeQuestion,
    MaxRateQuestion,
    SweepQuestion,
    CompareQuestion,
    HeadroomQuestion,
    ExplainQuestion,
)
