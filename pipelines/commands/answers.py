"""Capacity questions to the champion: predict, size, max-rate, headroom, sweep, what-if, explain, and many at once."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from model import documents
from pipelines import answer_text, steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
SystemName = Annotated[str, typer.Argument(help="System for which the champion is calibrated; see `etalon systems`.")]
AT_HELP = (
    "The question; repeat, or join keys with commas. Default: the operating point. "
    "Load: etr_tps=…, cpu_busy_pct=…, point=…, when=…, shift=…, rate.CLASS=…, response_ms.CLASS=…. "
    "Growth: growth_pct=…, growth_pct.CLASS=…, growth_pct_per_year.CLASS=…, step_pct.CLASS=DATE:PCT, "
    "season_pct.CLASS=MONTH:PCT. "
    "Configuration: machine=…, engines=…, ziip_engines=…, smt=…, weight=…, cap=on|off, cap_engines=…, cap_msu=…, "
    "physical_cps=…, physical_ziips=…, cpc=…, add_lpar=…, remove_lpar=…, move_to.CLASS=SYSTEM, "
    "move_from.CLASS=SYSTEM, limit.NAME=…, adjust.NAME=on or a share. "
    "Condition of a published study: sessions=…, ims_version=…. docs/model.md explains every key."
)
At = Annotated[list[str] | None, typer.Option("--at", metavar="KEY=VALUE", help=AT_HELP)]
Plan = Annotated[Path | None, typer.Option("--plan", help="TOML file of planned growth; docs/model.md describes it.")]
SEPARATOR = r"[,;](?=[^,;=]*=)"
MaxResponse = Annotated[
    list[str] | None,
    typer.Option(
        "--max-response-ms",
        metavar="[CLASS=]N",
        help="Highest mean response time in ms, of every class or of one (ONLHI=40); may be repeated.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (predict, size, max_rate, headroom, sweep, what_if, explain, forecast_msu, batch):
        app.command()(command)


def predict(
    system: SystemName,
    at: At = None,
    plan: Plan = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            "-v",
            help="Print all figures: response time by resource, every resource, distance from the data.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict a system at a load: metrics and bottleneck."""
    question = planned(plan, at)
    from model.capacity import ask

    prediction = ask.predict(_champion(), system, question).to_dict()
    _show(prediction, as_json, lambda answer: answer_text.answer(answer, details))


def size(
    system: SystemName,
    at: At = None,
    max_busy_pct: Annotated[
        float | None, typer.Option("--max-busy-pct", help="Highest utilization of any resource, in percent.")
    ] = None,
    max_response_ms: MaxResponse = None,
    machine: Annotated[
        list[str] | None, typer.Option("--machine", help="Size this machine as well; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the fewest engines for a load within targets. Give a busy target, a response target or both."""
    if max_busy_pct is None and not max_response_ms:
        raise typer.BadParameter("name a target: --max-busy-pct, --max-response-ms or both")
    question, response_ms = keys(at), response_target(max_response_ms)
    from model.capacity import ask

    targets = {"max_busy_pct": max_busy_pct, "max_response_ms": response_ms}
    answer = ask.size(_champion(), system, question, **targets, machines=machine or ())
    _show(answer, as_json, answer_text.sizing)
    if answer["engines"]["value"] is None:
        raise typer.Exit(Exit.OUT_OF_REACH)


def max_rate(
    system: SystemName,
    at: At = None,
    max_busy_pct: Annotated[
        float, typer.Option("--max-busy-pct", help="Highest utilization of any resource, in percent.")
    ] = 100.0,
    max_response_ms: MaxResponse = None,
    as_json: Json = False,
) -> None:
    """Find the highest rate within targets. Reports the limiting resource and the next one."""
    question, response_ms = keys(at), response_target(max_response_ms)
    from model.capacity import ask

    answer = ask.max_rate(_champion(), system, question, max_busy_pct=max_busy_pct, max_response_ms=response_ms)
    _show(answer, as_json, answer_text.max_rate)
    if not answer["etr_tps"]["value"]:
        raise typer.Exit(Exit.OUT_OF_REACH)


def sweep(
    system: SystemName,
    over: Annotated[
        str,
        typer.Argument(
            metavar="KEY=FROM:TO[:STEPS]",
            help="The key to vary: etr_tps=20000:180000:9, engines=12:24, growth_pct.CLASS=0:50:6.",
        ),
    ],
    at: At = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Show only this metric, for every class; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Repeat a prediction over a range of one key."""
    (key, first, last, count), question = span(over), keys(at)
    from model.capacity import ask

    values = ask.spaced(key, first, last, count)
    answer = ask.sweep(_champion(), system, key, values, at=question, metrics=metric or ())
    _show(answer, as_json, partial(answer_text.sweep, chosen=bool(metric)))


def what_if(
    system: SystemName,
    changed: Annotated[
        list[str], typer.Option("--with", metavar="KEY=VALUE", help="The change, in the keys of --at; may be repeated.")
    ],
    at: At = None,
    as_json: Json = False,
) -> None:
    """Compare a change with today. Reports baseline, scenario and difference, each with its interval."""
    now, then = keys(at), keys(changed, "--with")
    from model.capacity import ask

    comparison = ask.compare(_champion(), system, now, {**now, **then})
    _show(comparison, as_json, answer_text.what_if)


def headroom(
    system: SystemName,
    at: At = None,
    plan: Plan = None,
    max_busy_pct: Annotated[
        float, typer.Option("--max-busy-pct", help="Highest utilization of any resource, in percent.")
    ] = 90.0,
    max_response_ms: MaxResponse = None,
    as_json: Json = False,
) -> None:
    """Predict when a system reaches its targets. Dates follow the historical trend or a plan."""
    question, response_ms = planned(plan, at), response_target(max_response_ms)
    from model.capacity import ask

    answer = ask.headroom(_champion(), system, question, max_busy_pct=max_busy_pct, max_response_ms=response_ms)
    _show(answer, as_json, answer_text.headroom)


def explain(system: SystemName, at: At = None, as_json: Json = False) -> None:
    """Break an answer down. Reports demand by component and the sources of uncertainty."""
    question = keys(at)
    from model.capacity import ask

    _show(ask.explain(_champion(), system, question), as_json, answer_text.explanation)


def forecast_msu(
    system: Annotated[str | None, typer.Argument(help="Forecast only this system and its machine.")] = None,
    at: At = None,
    plan: Plan = None,
    weeks: Annotated[int, typer.Option(help="Length of the forecast in weeks.", min=1, max=156)] = 52,
    as_json: Json = False,
) -> None:
    """Forecast the R4HA (MSU) by LPAR and CPC. Based on recorded MSU and the growth of the classes."""
    from serve.evidence import recorded_msu
    from serve.msu import forecast
    from serve.snapshot import Snapshot

    recorded = recorded_msu(Snapshot(Home.from_environment().snapshot))
    answer = forecast(_champion(), recorded, system=system, at=planned(plan, at), weeks=weeks)
    _show(answer, as_json, answer_text.forecast_msu)


def batch(
    file: Annotated[Path, typer.Argument(help="JSON document in the form of POST /v1/batch; - for standard input.")],
) -> None:
    """Answer the questions of a JSON file. Prints the same document as POST /v1/batch."""
    from pydantic import ValidationError

    from serve import batch as many
    from serve import problems
    from serve.answering import answer

    content = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    try:
        body = many.BatchQuestion.model_validate(json.loads(content))
    except json.JSONDecodeError as error:
        raise EtalonError(f"{file}: is not JSON: {error}", Exit.QUESTION) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise EtalonError(f"{file}: {problems.said(first)} (docs/service.md shows how)", Exit.QUESTION) from error
    champion = _champion()
    replies = [answer(champion, one.kind, json.loads(one.question.arguments())) for one in body.questions]
    answers = many.joined(champion["model_version"], [(reply.status, reply.body) for reply in replies])
    typer.echo(documents.dumps(json.loads(answers), indent=2))


def keys(items: list[str] | None, option: str = "--at") -> dict[str, float | str]:
    """`["etr_tps=5,ims_version=V10"]` as a mapping; keys of loads and engines take numbers only.

    A separator that no KEY= follows belongs to the value, as in the level `513 databases, 6-way`.
    """
    values: dict[str, float | str] = {}
    for pair in (part for item in items or () for part in re.split(SEPARATOR, item)):
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not key or not value:
            raise typer.BadParameter(f"{option} must be KEY=VALUE (got {pair!r})")
        if key in values:
            raise typer.BadParameter(f"{option} has {key} twice: give it once")
        values[key] = _typed(key, value, option)
    return values


def _typed(key: str, value: str, option: str) -> float | str:
    """A value of a question: a number where the key takes one, or may and the value is one."""
    from model.capacity.values import TEXTS, takes_number

    if key in TEXTS:
        return value
    if not takes_number(key):
        # The levels of a study, whose names other questions do not load.
        from model.published.observations import ALTERNATIVES

        if key in ALTERNATIVES:
            return value
    try:
        return float(value)
    except ValueError:
        if takes_number(key):
            raise typer.BadParameter(f"{option} {key} must be a number (got {value!r})") from None
        return value


def planned(plan: Path | None, items: list[str] | None) -> dict[str, float | str]:
    """The keys of a plan, and those of ``--at``, which go before them."""
    if plan is None:
        return keys(items)
    from pipelines import plans

    return {**plans.read(plan), **keys(items)}


def response_target(items: list[str] | None) -> float | dict[str, float] | None:
    """`["40"]` as the target of every class, `["ONLHI=40", "BATCH=4000"]` as those of classes; None for none."""
    option, targets = "--max-response-ms", dict[str, float]()
    for name, equals, value in (item.rpartition("=") for item in items or ()):
        name = name.strip()
        try:
            number = float(value)
        except ValueError:
            raise typer.BadParameter(f"{option} must be N or CLASS=N (got {name + equals + value!r})") from None
        if bool(equals) is not bool(name):
            raise typer.BadParameter(f"{option}: name the class before =, or leave = out for every class")
        if name in targets:
            raise typer.BadParameter(f"{option} has {name or 'the target of every class'} twice: give it once")
        targets[name] = number
    if "" in targets and len(targets) > 1:
        raise typer.BadParameter(f"{option}: give one number for every class, or one for each of some")
    return targets.get("", targets or None)


def span(spec: str) -> tuple[str, float, float, int | None]:
    """`etr_tps=100:200:11` as key, first and last value, and the number of steps if given."""
    key, equals, values = (piece.strip() for piece in spec.partition("="))
    parts = values.split(":")
    try:
        first, last = float(parts[0]), float(parts[1])
        count = int(parts[2]) if len(parts) > 2 else None
    except (ValueError, IndexError):
        raise typer.BadParameter(f"must be KEY=FROM:TO or KEY=FROM:TO:STEPS (got {spec!r})") from None
    if not key or not equals or len(parts) > 3:
        raise typer.BadParameter(f"must be KEY=FROM:TO or KEY=FROM:TO:STEPS (got {spec!r})")
    return key, first, last, count


def _champion() -> Mapping[str, Any]:
    return steps.champion(Home.from_environment())


def _show(answer: dict[str, Any], as_json: bool, words: Callable[[dict[str, Any]], str]) -> None:
    typer.echo(documents.dumps(answer, indent=2) if as_json else words(answer))
