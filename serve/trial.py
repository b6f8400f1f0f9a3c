"""Trial of a bundle before it is put in service: questions whose answers its own records know."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import orjson

from model.capacity import ask
from model.capacity.answer import Output
from model.capacity.bundle import SCHEMA, typed
from model.capacity.values import QuestionError
from serve.catalogue import describe
from serve.problems import BundleRefused


def load_tried(content: bytes) -> dict[str, Any]:
    """The bundle of a file that passed its trial.

    Every system is asked for its operating point, the rates of its measured points, another number of engines and what
    its answer is made of; of each study one system.

    Raises
    ------
    BundleRefused
        the file is no JSON or a bundle of another schema, names no version, or gives an unsound answer.
    """
    with _refusing("the bundle"):
        # Unlike the standard library's, this parser refuses NaN and Infinity.
        bundle: dict[str, Any] = orjson.loads(content)
        if bundle["schema"] != SCHEMA:
            raise BundleRefused(f"its schema is {bundle['schema']!r}; this version reads {SCHEMA}")
        if not bundle["model_version"] or not isinstance(bundle["data"], dict):
            raise BundleRefused("model_version or data is missing")
        if not bundle["systems"] and not bundle.get("conditions"):
            raise BundleRefused("it has no system")
        bundle = typed(bundle)
    for system in bundle["systems"]:
        with _refusing(system):
            _try_system(bundle, system)
            describe(system, bundle["systems"][system])
    rows = (bundle.get("conditions") or {}).get("rows", ())
    # The systems of a study share its observations.
    for system in {row["study"]: row["system"] for row in rows if row["system"] not in bundle["systems"]}.values():
        with _refusing(system), suppress(QuestionError):
            _check(ask.predict(bundle, system).outputs)
    return bundle


def _try_system(bundle: Mapping[str, Any], system: str) -> None:
    parameters = bundle["systems"][system]
    answer = ask.predict(bundle, system)
    _check(answer.outputs)
    utilization = answer.bottleneck.utilization_pct
    if answer.bottleneck.stations and not (utilization is not None and utilization > 0):
        raise BundleRefused("CPU use is 0 although transactions ran")
    if rates := sorted(point.etr_tps for point in parameters.points):
        for step in ask.sweep(bundle, system, "etr_tps", rates)["steps"]:
            _check([Output(**output) for output in step["outputs"]])
    _check(ask.predict(bundle, system, {"engines": int(parameters.engines) + 1}).outputs)
    ask.explain(bundle, system)


@contextmanager
def _refusing(part: str) -> Iterator[None]:
    """Refuse the bundle for any error: whatever lacks or is wrong in it may raise any."""
    try:
        yield
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise BundleRefused(f"{part}: {kind}{error}") from error


def _check(outputs: Sequence[Output]) -> None:
    """Refuse an answer without figures, or with a value outside its interval."""
    if not any(output.value is not None for output in outputs):
        raise BundleRefused("a recorded figure has no answer")
    for output in outputs:
        low = -math.inf if output.lo is None else output.lo
        high = math.inf if output.hi is None else output.hi
        if output.value is not None and not low <= output.value <= high:
            raise BundleRefused(f"{output.metric} {output.value} is outside its interval {low} to {high}")
