"""Trying a bundle before it is put in service: its size, its form, and the questions its own records know."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.capacity import ask
from model.capacity.answer import Output
from model.capacity.bundle import SCHEMA
from model.capacity.questions import QuestionError
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
    for system, entry in bundle["systems"].items():
        _judge(bundle, system)
        with _refusing(system):
            describe(system, entry)
    rows = (bundle.get("conditions") or {}).get("rows", ())
    # The systems of a study share its condition laws.
    for system in {row["study"]: row["system"] for row in rows if row["system"] not in bundle["systems"]}.values():
        with _refusing(system), suppress(QuestionError):
            _sound(ask.predict(bundle, system).outputs)
    return bundle


def _judge(bundle: Mapping[str, Any], system: str) -> None:
    """Ask for the operating point of a system and the rates of all its measured points."""
    rates = sorted(point["etr_tps"] for point in bundle["systems"].get(system, {}).get("points", ()))
    with _refusing(system):
        answer = ask.predict(bundle, system)
        answered = [list(answer.outputs)]
        if rates:
            steps = ask.sweep(bundle, system, "etr_tps", rates)["steps"]
            answered += [[Output(**output) for output in step["outputs"]] for step in steps]
        for outputs in answered:
            _sound(outputs)
        used = answer.bottleneck.utilization_pct
        if answer.bottleneck.stations and not (used is not None and used > 0):
            raise BundleRefused("nothing is used where transactions ran")


@contextmanager
def _refusing(system: str) -> Iterator[None]:
    """A part of any kind may be missing or wrong, which shows as any error."""
    try:
        yield
    except Exception as problem:
        kind = "" if isinstance(problem, BundleRefused | QuestionError) else f"{type(problem).__name__}: "
        raise BundleRefused(f"{system}: {kind}{problem}") from problem


def _sound(outputs: Sequence[Output]) -> None:
    """Refuse an answer without figures, or with a value outside its interval."""
    if not any(output.value is not None for output in outputs):
        raise BundleRefused("no figure is answered where one was recorded")
    for output in outputs:
        low = -math.inf if output.lo is None else output.lo
        high = math.inf if output.hi is None else output.hi
        if output.value is not None and not low <= output.value <= high:
            raise BundleRefused(f"{output.metric} {output.value} lies outside its interval {low} to {high}")
