"""Read and check the reference systems described in this folder.

A reference system is a published measurement as data: hardware, software, topology, workload mix, and every printed
figure with its study, table, condition and confidence. Systems that are published as ratios, claims or formulas only
are listed as such (`System.class_`); a system without published numbers has no tables.

The optional `lab` section says how the measurement is rendered as records (`model.lab`); nothing in it is measured. Its
rules name the row of the marts that gives each figure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import tomli as tomllib
from pydantic import Field, TypeAdapter, ValidationError

from model.published.observations import condition_text, parse_condition
from model.published.plan import LabPlan, read_plan
from model.published.printed import Interval, rounded_interval
from model.published.rules import (
    STRICT,
    Contradiction,
    DerivedRule,
    RuleError,
    Selector,
    Suspect,
    ValueRule,
    WorkloadIdentity,
    fill,
)

SYSTEMS = Path(__file__).resolve().parent / "systems"
Class = Literal["numeric", "relative", "claim", "chart", "formula"]
KINDS = ("measured", "published_derived", "statement")
Confidence = Literal["high", "medium", "low"]
CONFIDENCES = get_args(Confidence)
RANGE = re.compile(r"[0-9.]+-[0-9.]+")
Entry = TypeVar("Entry")
Selected = TypeVar("Selected", bound=Selector)


class CatalogueError(ValueError):
    """A system is unknown, or its file contradicts the rules of this folder; the message says which and where."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure.

    `value` is the text as printed, so that its precision is kept; a few figures are a range or a statement in words.
    `condition` is `key=value; …` or empty, `target` says whether a model should be able to predict the figure.
    """

    __pydantic_config__ = STRICT

    study: str
    table: str
    condition: str
    metric: str
    value: str
    unit: str
    kind: str
    confidence: Confidence
    target: bool

    @property
    def source(self) -> str:
        """Study and table, as a reference for readers."""
        return f"{self.study}, {self.table}"

    @property
    def conditions(self) -> dict[str, str]:
        """The condition as a mapping."""
        return parse_condition(self.condition)

    @property
    def number(self) -> float | None:
        """The value as a number; None for a range or a statement in words."""
        try:
            return float(self.value)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Fact:
    """One attribute of hardware, software, topology or method, as printed."""

    __pydantic_config__ = STRICT

    component: str
    attribute: str
    value: str
    unit: str
    source: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of a workload; `share_pct` is its printed share of the mix, None when it is not part of it."""

    __pydantic_config__ = STRICT

    name: str
    application: str
    does: str
    databases: tuple[str, ...]
    updates: str
    conversational: bool
    region_type: str
    source: str
    confidence: Confidence
    share_pct: str | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """One database or table a workload touches."""

    __pydantic_config__ = STRICT

    name: str
    kind: str
    access_method: str
    purpose: str
    source: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Workload:
    """Transactions, their mix and their data; several systems may run the same."""

    __pydantic_config__ = STRICT

    id: str
    title: str
    study: str
    note: str = ""
    transactions: tuple[Transaction, ...] = ()
    databases: tuple[Database, ...] = ()
    identities: Annotated[tuple[WorkloadIdentity, ...], Field(alias="identity")] = ()


@dataclass(frozen=True, slots=True)
class System:
    """A reference system. `class_` says how much is published: numeric, relative, claim, chart or formula."""

    __pydantic_config__ = STRICT

    id: str
    title: str
    study: str
    class_: Annotated[Class, Field(alias="class")]
    hardware: str
    varied: str
    records: str
    workload: Workload | None
    figures: tuple[Figure, ...]
    lab: LabPlan | None
    machine: str | None = None
    facts: tuple[Fact, ...] = ()
    suspects: Annotated[tuple[Suspect, ...], Field(alias="suspect")] = ()

    @property
    def values(self) -> list[Figure]:
        """The printed numbers that are no statement."""
        return [figure for figure in self.figures if figure.number is not None and figure.kind != "statement"]

    @property
    def reproducible(self) -> int:
        """How many of its values a rule derives from rendered records."""
        return sum(_has_rule(self, figure) for figure in self.values)

    def suspicion(self, figure: Figure) -> str | None:
        """Why a figure is hardly what was measured; None when nothing says so."""
        for suspect in self.suspects:
            if suspect.selects(figure.table, figure.conditions, figure.metric, figure.unit):
                return suspect.reason
        return None

    def select(self, table: str, condition: str = "", metric: str | None = None) -> tuple[Figure, ...]:
        """Figures of a table whose condition holds every `key=value` of `condition` (and may hold more)."""
        wanted = parse_condition(condition).items()
        return tuple(
            figure
            for figure in self.figures
            if figure.table == table
            and wanted <= figure.conditions.items()
            and (metric is None or figure.metric == metric)
        )


def systems(folder: Path = SYSTEMS) -> tuple[str, ...]:
    """Identities of all reference systems, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("*.toml")))


@cache
def system(system_id: str, folder: Path = SYSTEMS) -> System:
    """The system of this identity, checked; CatalogueError when there is none or its file breaks a rule."""
    path = folder / f"{system_id}.toml"
    if not path.is_file():
        raise CatalogueError(f"no reference system {system_id!r}; known: {', '.join(systems(folder))}")
    content = _toml(path)
    try:
        figures = [
            {"study": table["study"], "table": table["name"], **figure}
            for table in content.pop("table", ())
            for figure in table["figures"]
        ]
        entries = {
            "workload": workload(content.pop("workload"), folder) if "workload" in content else None,
            "figures": figures,
            "lab": read_plan(content.pop("lab")) if "lab" in content else None,
        }
    except KeyError as error:
        raise CatalogueError(f"{path.name}: field {error} is missing") from error
    except ValidationError as error:
        raise CatalogueError(f"{path.name}: lab.{_words(error)}") from error
    loaded = _read(System, {**content, **entries}, path)
    _check_system(loaded, path)
    return loaded


@cache
def workload(workload_id: str, folder: Path = SYSTEMS) -> Workload:
    """The workload of this identity; CatalogueError when there is none or its file breaks a rule."""
    path = folder / "workloads" / f"{workload_id}.toml"
    if not path.is_file():
        raise CatalogueError(f"no workload {workload_id!r} in {path.parent}")
    return _read(Workload, _toml(path), path)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{path.name}: {error}") from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(kind: type[Entry], content: Mapping[str, Any], path: Path) -> Entry:
    try:
        entry: Entry = _adapter(cast(Any, kind)).validate_python(content)
    except ValidationError as error:
        raise CatalogueError(f"{path.name}: {_words(error)}") from error
    return entry


def _words(error: ValidationError) -> str:
    """The first fault of a file: where it is, what was read, and what is allowed."""
    fault = error.errors()[0]
    value = "" if fault["type"] == "missing" else f" (got {fault['input']!r})"
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}{value}"


def _check_system(loaded: System, path: Path) -> None:
    if loaded.id != path.stem:
        raise CatalogueError(f"{path.name}: id is {loaded.id!r}")
    seen: dict[tuple[str, str, str, str], str] = {}
    for figure in loaded.figures:
        where = f"{path.name}: {figure.metric} of {figure.table} [{figure.condition}]"
        if not figure.study or not figure.table:
            raise CatalogueError(f"{where}: no source")
        if figure.kind not in KINDS:
            raise CatalogueError(f"{where}: kind {figure.kind!r} is none of {', '.join(KINDS)}")
        if figure.number is None and figure.kind != "statement" and not RANGE.fullmatch(figure.value):
            raise CatalogueError(f"{where}: {figure.value!r} is neither a number nor a range of numbers")
        if condition_text(figure.conditions) != figure.condition:
            raise CatalogueError(f"{where}: the condition is not key=value; key=value")
        key = (figure.table, figure.condition, figure.metric, figure.unit)
        if seen.setdefault(key, figure.value) != figure.value:
            raise CatalogueError(f"{where}: stands as {seen[key]} and as {figure.value}")
    for fact in loaded.facts:
        if not fact.source:
            raise CatalogueError(f"{path.name}: no source for {fact.component} {fact.attribute}")
    if loaded.lab is not None:
        for point in loaded.lab.points:
            if point.table and not loaded.select(point.table, point.condition):
                raise CatalogueError(f"{path.name}: point {point.id} selects no figure of {point.table}")


def _has_rule(system: System, figure: Figure) -> bool:
    if system.lab is None:
        return False
    rules: tuple[Selector, ...] = (*system.lab.values, *system.lab.derived, *system.lab.contradictions)
    return _first(rules, figure) is not None


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure and the row of the marts it has to come out of.

    printed = `factor` x value of `metric` of `subject` at the point.
    """

    figure: Figure
    point: str
    smf_sid: str
    subject: str
    metric: str
    factor: float
    options: Mapping[str, Any]
    step: str = ""

    @property
    def value(self) -> float:
        """The printed figure in the unit of the marts."""
        return float(self.figure.value) / self.factor

    @property
    def interval(self) -> Interval:
        """Values in the unit of the marts that round to the printed figure."""
        lo, hi = rounded_interval(self.figure.value, self.step)
        return Interval(lo / self.factor, hi / self.factor)


def derived_rule(system: System, figure: Figure) -> DerivedRule | None:
    """The rule by which a figure follows from others; None when it has none."""
    return _first(system.lab.derived if system.lab is not None else (), figure)


def contradiction(system: System, figure: Figure) -> Contradiction | None:
    """Why the paper is said to contradict a figure; None when nothing says so."""
    return _first(system.lab.contradictions if system.lab is not None else (), figure)


def value_rule(system: System, figure: Figure) -> ValueRule | None:
    """The rule that says where a figure is found in the marts; None when it follows from others or has no rule."""
    if system.lab is None or figure.number is None or derived_rule(system, figure) is not None:
        return None
    return _first(system.lab.values, figure)


def _first(entries: Iterable[Selected], figure: Figure) -> Selected | None:
    """The first entry whose selector selects the figure."""
    table, conditions, metric, unit = figure.table, figure.conditions, figure.metric, figure.unit
    return next((entry for entry in entries if entry.selects(table, conditions, metric, unit)), None)


def target(system: System, figure: Figure) -> Target | None:
    """Where a figure has to come out; None when no value rule selects it.

    Raises CatalogueError where the rule does not fit the figure.
    """
    rule = value_rule(system, figure)
    if rule is None or system.lab is None:
        return None
    conditions, printed = figure.conditions, figure.metric
    try:
        subject = fill(rule.subject, conditions, printed)
        sid = fill(rule.smf_sid, conditions, printed)
        return Target(
            figure=figure,
            point=system.lab.point(fill(rule.point, conditions, printed)).id,
            smf_sid=rule.names.get(sid, sid) or system.lab.smf_sid,
            subject=rule.names.get(subject, subject),
            metric=rule.metrics.get(printed) or fill(rule.metric, conditions, printed),
            factor=rule.factor,
            options=rule.options,
            step=rule.step,
        )
    except (RuleError, ValueError) as error:
        raise CatalogueError(f"{system.id}: {printed} of {figure.table} [{figure.condition}]: {error}") from error


def targets_by_writer(system: System) -> Mapping[tuple[str, str, str], Sequence[Target]]:
    """The targets of a system by point, SMF system identifier and writer.

    A figure that the paper contradicts is set aside: it follows from the rest. What the plan assumes is written too.
    """
    targets: list[tuple[tuple[str, str, str], Target]] = []
    for figure in system.figures:
        wanted, rule = target(system, figure), value_rule(system, figure)
        if contradiction(system, figure) is not None:
            continue
        if wanted is not None and rule is not None:
            targets.append(((wanted.point, wanted.smf_sid, rule.writer), wanted))
    if system.lab is None:
        return {}
    for entry in system.lab.assumed:
        key = (system.lab.point(entry.point).id, entry.smf_sid or system.lab.smf_sid, entry.writer)
        figure = Figure("", "assumed", "", entry.metric, entry.value, entry.unit, "assumed", "low", False)
        targets.append((key, Target(figure, key[0], key[1], entry.subject, entry.metric, 1.0, entry.options)))
    targets.sort(key=lambda pair: pair[0])
    return {key: [wanted for _, wanted in group] for key, group in groupby(targets, key=lambda pair: pair[0])}
