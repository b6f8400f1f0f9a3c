"""Bodies of answers, as they stand in ``/openapi.json``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """A part of an answer; fields added by a newer model are passed on."""

    model_config = ConfigDict(extra="allow")


class Estimate(Part):
    """A figure with its 90 % interval; null for what does not exist."""

    value: float | None
    lo: float | None
    hi: float | None


class Output(Estimate):
    """One predicted figure with its interval."""

    metric: str
    condition: str = Field(description="condition of the figure, `key=value; …`")
    unit: str | None


class Station(Part):
    """A resource and how much of it is used; the probability is that of being the fullest."""

    resource: str
    utilization_pct: float | None
    lo: float | None
    hi: float | None
    probability: float


class Bottleneck(Station):
    """The fullest resource, the next one, and all that are known."""

    next: Station | None
    stations: list[Station]


class Times(Part):
    """Where the time of a class goes, in ms."""

    metric: str
    class_: str = Field(alias="class")
    using_ms: float | None
    waiting_ms: dict[str, float | None]


class RecordedFigure(Part):
    """A figure of a recorded load, and the model's value, which does not use that record; null without steady state."""

    metric: str
    class_: str = Field(alias="class", description="empty for the LPAR")
    recorded: float
    modelled: float | None
    unit: str


class Solver(Part):
    """How the network was solved, and its error against simulation."""

    method: str
    relative_error: float


class GateCheck(Part):
    """One thing that validation looks at; null where it could not."""

    name: str
    value: float | None
    limit: float | None
    passed: bool | None


class Backtest(Part):
    """Median errors in percent of the model and of the best baseline, on what was held out."""

    held_out: str = Field(default="later days", description="`later days` or `higher load`")
    metric: str
    class_: str = Field(alias="class", description="empty for the LPAR")
    model_pct: float
    baseline: str = Field(description="such as `same hour last week`")
    baseline_pct: float


class Gate(Part):
    """What validation says of a system; `passed` is null where too little was measured to hold anything out."""

    passed: bool | None
    checks: list[GateCheck]
    baselines: list[Backtest] = Field(default=[], description="errors of the model and the best baseline")
    replayed: dict[str, Any] | None = Field(
        default=None, description="distance between recorded and replayed response times"
    )


class Evidence(Part):
    """What the model of the system was calibrated on, and what is not its own measurement."""

    points: int
    etr_tps: list[float]
    engines: float
    machine: str
    workload: str
    intervals: int
    seconds: float
    relatives: list[str]
    origins: dict[str, str]
    period: list[str] | None = Field(description="first and last recorded start, local time; null without a history")
    gate: Gate | None
    figures: list[dict[str, Any]] = Field(default=[], description="what figures from the studies rest on, one each")
    definitions_changed: bool = Field(
        description="whether metrics or groups of the published marts have changed since then"
    )
    data: dict[str, Any]


class ConditionEvidence(Part):
    """What figures from the studies rest on, one entry a figure."""

    figures: list[dict[str, Any]]
    data: dict[str, Any]


class Answer(Part):
    """What every answer carries."""

    system: str
    at: dict[str, Any] = Field(description="the interpreted question")
    model_version: str
    interval_pct: int | float
    notes: list[str]
    evidence: Evidence | ConditionEvidence


class PredictAnswer(Answer):
    """The prediction, its bottleneck, where time goes, and how far it lies outside the data."""

    outputs: list[Output]
    bottleneck: Bottleneck
    extrapolated: bool
    distance: dict[str, float] = Field(description="distance from the data in e-folds, by quantity")
    times: list[Times]
    recorded: list[RecordedFigure] = Field(
        default=[], description="for a recorded load without a change: recorded and modelled busy and response times"
    )
    solver: Solver


class Engines(Part):
    """A number of engines: likeliest, with 5 % and with 95 % certainty; null where no number will do."""

    value: int | None
    lo: int | None
    hi: int | None


class SizeStep(Part):
    """What one number of engines would do, the longest response, and how probably it meets the targets.

    The limit is what is nearest to its target, or furthest beyond: a resource, or ``response of CLASS``. The
    response is that of any class held to a target; of any class, where none is.
    """

    engines: int
    cpu_busy_pct: Estimate
    response_ms: Estimate | None
    probability: float
    meets: bool
    limit: str


class SizeOnMachine(Part):
    """The smallest number of engines of one machine, and what they would do."""

    machine: str
    engines: Engines
    cpu_busy_pct: Estimate | None
    response_ms: Estimate | None
    bottleneck: Bottleneck


class SizeAnswer(Answer):
    """The smallest number of engines, with the table it was read from."""

    targets: dict[str, float | dict[str, float] | None]
    engines: Engines
    bottleneck: Bottleneck
    extrapolated: bool
    table: list[SizeStep]
    machines: list[SizeOnMachine]


class RateLimit(Part):
    """The rate at which a resource, or the response, reaches its target, and the probability that it is the first."""

    resource: str
    etr_tps: Estimate
    growth_pct: Estimate
    probability: float


class MaxRateAnswer(Answer):
    """The highest rate within the targets, and all limits: what limits first, and what would limit next."""

    targets: dict[str, float | dict[str, float] | None]
    etr_tps: Estimate
    growth_pct: Estimate
    limits: list[RateLimit]


class SweepStep(Part):
    """The metrics at one value of the key; no value where there is no steady state."""

    value: float
    outputs: list[Output]
    extrapolated: bool


class MeasuredLevel(Output):
    """A figure at a level of the key at which it was measured."""

    at: float
    measured: float


class SweepAnswer(Answer):
    """Metrics over a range of one key."""

    key: str
    steps: list[SweepStep]
    measured: list[MeasuredLevel] = Field(description="for a condition: figures at its measured levels")


class Change(Part):
    """A metric in both questions, and its change with an interval in which what both share cancels."""

    metric: str
    class_: str = Field(alias="class")
    a: float
    b: float
    change_pct: Estimate


class CompareAnswer(Part):
    """Two answers side by side."""

    system: str
    other: str
    model_version: str
    interval_pct: int | float
    a: PredictAnswer
    b: PredictAnswer
    changes: list[Change]


class Crossing(Part):
    """The dates at which a resource or response crosses its target; null for later than the forecast."""

    resource: str
    value: str | None
    lo: str | None
    hi: str | None
    already: bool


class GrowthBacktest(Part):
    """Forecasts of earlier weeks from the weeks before them: their median error beside that of an unchanged load."""

    origins: int = Field(description="weeks of history behind the forecast")
    error_pct: float
    unchanged_error_pct: float


class ClassGrowth(Part):
    """How a class grows in the year after the records."""

    class_: str = Field(alias="class")
    growth_pct_per_year: Estimate
    backtest: GrowthBacktest | None = Field(description="null if the history is too short")


class ForecastWeek(Estimate):
    """A figure of a week to come: busy of the LPAR in percent, or MSU."""

    week: int
    date: str


class HeadroomAnswer(Answer):
    """Dates with a range at which targets are crossed, the first of them, and the forecast behind it."""

    targets: dict[str, float | dict[str, float] | None]
    first: Crossing | None
    crossings: list[Crossing]
    growth: list[ClassGrowth]
    forecast: list[ForecastWeek]


class Demand(Part):
    """What a component takes, and which class drives it."""

    class_: str | None = Field(alias="class")
    component: str
    engine: str
    engines_in_use: Estimate
    us_per_tran: Estimate | None
    part_of_total: bool
    origin: str
    evidence: str = Field(description="evidence of the cost, such as `CPU of the class itself`")
    points: int


class Share(Part):
    """Part of a variance that goes away when the assumption is held at its centre."""

    assumption: str
    share_pct: float


class Sensitivity(Part):
    """Where the interval of a metric comes from."""

    metric: str
    class_: str = Field(alias="class")
    sd: float | None
    shares: list[Share]


class ExplainAnswer(Answer):
    """Demand by class and component, and what the intervals come from."""

    demand: list[Demand]
    sensitivity: list[Sensitivity]


class RecordedPeak(Part):
    """The base of a forecast: the highest rolling four-hour average of the last 28 recorded days."""

    from_local: str
    to_local: str
    peak_r4ha_msu: float
    peak_at_local: str


class MsuForecast(Part):
    """Rolling four-hour averages to come of an LPAR, or of a machine as the sum of its LPARs."""

    scope: Literal["lpar", "machine"]
    name: str
    lpars: list[str]
    capacity_msu: float | None = Field(description="null if neither capacity nor rating was recorded")
    capacity_basis: Literal["recorded", "engines"] | None = Field(
        default=None, description="recorded capacity, or the capacity of all its engines"
    )
    recorded: RecordedPeak
    forecast: list[ForecastWeek] = Field(description="highest R4HA within four weeks (MSU), every four weeks")


class PlanAnswer(Part):
    """The keys of `at` that a plan stands for."""

    at: dict[str, float | str]


class ForecastMsuAnswer(Part):
    """MSU to come, with the uncertainty of growth and the scatter of weekly peaks."""

    system: str | None
    at: dict[str, Any]
    model_version: str
    interval_pct: int | float
    subjects: list[MsuForecast]
    notes: list[str]
