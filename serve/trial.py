"""Trying a bundle before it is put in service: its size, its form, and the questions its own records know."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.capacity import ask
from model.capacity.bundle import SCHEMA
from model.capacity.questions import QuestionError, lawful_systems
from serve.catalogue import describe
from serve.problems import BundleRefused

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(BaseModel):
    """A part of a bundle; what a newer fit adds is left alone."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Spread(Part):
    """A parameter with its draws."""

    centre: Finite
    draws: list[Finite]


class LawDraws(Part):
    """The draws of a law."""

    coef: list[tuple[Finite, Finite, Finite]]
    noise: list[Finite]
    drift: list[Finite]


class UsageLaw(Part):
    """Engines in use against a driver."""

    coef: tuple[Finite, Finite, Finite]
    draws: LawDraws
    driver: str
    origin: str
    part: bool
    points: int
    reference_rate: Positive
    scale: Finite
    support: tuple[Finite, Finite]


class ResponseLaw(Part):
    """The response of a stream."""

    metric: str
    stream: str
    series: list[str]
    rest_ms: Spread
    factor: Spread
    load: Spread
    noise: Spread
    measured_stretch: Positive
    origin: str


class Stream(Part):
    """A class of transactions."""

    name: str


class Figure(Part):
    """A metric that is answered."""

    metric: str
    form: str
    unit: str


class Point(Part):
    """A measured point."""

    point: str
    etr_tps: Finite
    rates: dict[str, Finite]
    conditions: dict[str, str]


class SystemPart(Part):
    """One system: what its evaluation needs."""

    capacity: list[str] = Field(min_length=1)
    engines: Positive
    intervals: int
    machine: str
    main_total: str
    n_way: Spread
    operating_point: str
    outputs: list[Figure] = Field(min_length=1)
    points: list[Point]
    relatives: list[str]
    response: dict[str, ResponseLaw]
    seconds: Finite
    streams: list[Stream] = Field(min_length=1)
    support_tps: tuple[Finite, Finite]
    usage: dict[str, UsageLaw] = Field(min_length=1)
    workload: str


class BundlePart(Part):
    """A whole bundle."""

    form: Literal[SCHEMA] = Field(alias="schema")  # type: ignore[valid-type]
    model_version: str = Field(min_length=1)
    systems: dict[str, SystemPart]
    data: dict[str, Any]
    validation: dict[str, Any]
    refused: dict[str, str] = {}


def tried(content: bytes) -> dict[str, Any]:
    """The bundle that has stood the trial. Raises BundleRefused for no JSON, another form, or unsound answers."""
    try:
        bundle: dict[str, Any] = orjson.loads(content)
        BundlePart.model_validate(bundle)
    except orjson.JSONDecodeError as problem:
        raise BundleRefused(f"no JSON: {problem}") from None
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the bundle"
        more = f" (and {problem.error_count() - 1} more)" if problem.error_count() > 1 else ""
        raise BundleRefused(f"{where}: {first['msg']}{more}") from None
    if not bundle["systems"] and not bundle.get("conditions"):
        raise BundleRefused("it holds no system that could be asked")
    for system, at in recorded_questions(bundle):
        try:
            answer = ask.predict(bundle, system, at)
            if system in bundle["systems"]:
                describe(system, bundle["systems"][system])
        except QuestionError as problem:
            if system in bundle["systems"]:
                raise BundleRefused(f"{system} at {at}: {problem}") from problem
        # A part of any kind may be missing or wrong, which shows as any error.
        except Exception as problem:
            raise BundleRefused(f"{system} at {at}: {type(problem).__name__}: {problem}") from problem
        else:
            _sound(system, answer)
    return bundle


def recorded_questions(bundle: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the records of every system answer: its operating point and the rate of each measured one."""
    for name, entry in bundle["systems"].items():
        yield name, {}
        yield from ((name, {"etr_tps": point["etr_tps"]}) for point in entry["points"])
    yield from ((name, {}) for name in lawful_systems(bundle.get("conditions") or {}) - set(bundle["systems"]))


def _sound(system: str, answer: Any) -> None:
    """Refuse an answer without figures, without use of the engines, or with a value outside its interval."""
    if not any(output.value is not None for output in answer.outputs):
        raise BundleRefused(f"{system} at {dict(answer.at)}: no figure is answered where one was recorded")
    for output in answer.outputs:
        bounds = (output.lo if output.lo is not None else -math.inf, output.hi if output.hi is not None else math.inf)
        if output.value is not None and not bounds[0] <= output.value <= bounds[1]:
            raise BundleRefused(f"{system}: {output.metric} {output.value} lies outside its interval {bounds}")
    used = answer.bottleneck.utilization_pct
    if answer.bottleneck.stations and not (used is not None and used > 0):
        raise BundleRefused(f"{system} at {dict(answer.at)}: nothing is used where transactions ran")
