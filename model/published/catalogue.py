"""Read and check the reference systems described in this folder.

A reference system is a published measurement as data: hardware, software, topology, workload mix, and every printed
figure with its study, table, condition and confidence. What is known only as a ratio, a claim or a formula stands here
too, as what it is (`System.class_`); a system of which nothing numeric is published has no tables.

The optional `lab` section says how the measurement is rendered as records (`model.lab`); nothing in it is measured.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import tomli as tomllib

from model.published.condition import condition_text, parse_condition
from model.published.plan import LabPlan, PlanError, read_plan
from model.published.values import RuleError, Suspect, WorkloadIdentity, read_rules

SYSTEMS = Path(__file__).resolve().parent / "systems"
CLASSES = ("numeric", "relative", "claim", "chart", "formula")
KINDS = ("measured", "published_derived", "statement")
CONFIDENCES = ("high", "medium", "low")
RANGE = re.compile(r"[0-9.]+-[0-9.]+")
Entry = TypeVar("Entry")


class CatalogueError(ValueError):
    """A system is unknown, or its file contradicts the rules of this folder; the message says which and where."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure.

    `value` is the text as printed, so that its precision is kept; a few figures are a range or a statement in words.
    `condition` is `key=value; …` or empty, `target` says whether a model should be able to predict the figure.
    """

    study: str
    table: str
    condition: str
    metric: str
    value: str
    unit: str
    kind: str
    confidence: str
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

    component: str
    attribute: str
    value: str
    unit: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of a workload; `share_pct` is its printed share of the mix, None when it is not part of it."""

    name: str
    application: str
    does: str
    databases: tuple[str, ...]
    updates: str
    conversational: bool
    region_type: str
    source: str
    confidence: str
    share_pct: str | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """One database or table a workload touches."""

    name: str
    kind: str
    access_method: str
    purpose: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Transactions, their mix and their data; several systems may run the same."""

    id: str
    title: str
    study: str
    note: str
    transactions: tuple[Transaction, ...]
    databases: tuple[Database, ...]
    identities: tuple[WorkloadIdentity, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """A reference system. `class_` says how much is published: numeric, relative, claim, chart or formula."""

    id: str
    title: str
    study: str
    class_: str
    hardware: str
    varied: str
    records: str
    machine: str | None
    workload: Workload | None
    facts: tuple[Fact, ...]
    figures: tuple[Figure, ...]
    lab: LabPlan | None
    suspects: tuple[Suspect, ...] = ()

    def suspicion(self, figure: Figure) -> str | None:
        """Why a figure is hardly what was measured; None when nothing says so."""
        for suspect in self.suspects:
            if suspect.selector.selects(figure.table, figure.conditions, figure.metric, figure.unit):
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
    content = _read(path)
    try:
        loaded = System(
            id=content["id"],
            title=content["title"],
            study=content["study"],
            class_=content["class"],
            hardware=content["hardware"],
            varied=content["varied"],
            records=content["records"],
            machine=content.get("machine"),
            workload=workload(content["workload"], folder) if "workload" in content else None,
            facts=_entries(Fact, content.get("facts", ()), "facts"),
            figures=tuple(
                figure
                for table in content.get("table", ())
                for figure in _entries(
                    Figure, table["figures"], f"table {table['name']}", study=table["study"], table=table["name"]
                )
            ),
            lab=read_plan(content["lab"]) if "lab" in content else None,
            suspects=read_rules(Suspect, content.get("suspect", [])),
        )
    except KeyError as error:
        raise CatalogueError(f"{path.name}: field {error} is missing") from error
    except (TypeError, PlanError, CatalogueError) as error:
        raise CatalogueError(f"{path.name}: {error}") from error
    _check_system(loaded, path)
    return loaded


@cache
def workload(workload_id: str, folder: Path = SYSTEMS) -> Workload:
    """The workload of this identity; CatalogueError when there is none or its file breaks a rule."""
    path = folder / "workloads" / f"{workload_id}.toml"
    if not path.is_file():
        raise CatalogueError(f"no workload {workload_id!r} in {path.parent}")
    content = _read(path)
    try:
        return Workload(
            id=content["id"],
            title=content["title"],
            study=content["study"],
            note=content.get("note", ""),
            transactions=tuple(
                Transaction(**{**entry, "databases": tuple(entry["databases"])})
                for entry in content.get("transactions", ())
            ),
            databases=tuple(Database(**entry) for entry in content.get("databases", ())),
            identities=read_rules(WorkloadIdentity, content.get("identity", [])),
        )
    except (KeyError, TypeError, RuleError) as error:
        raise CatalogueError(f"{path.name}: {error}") from error


def _entries(kind: type[Entry], entries: Iterable[Mapping[str, Any]], where: str, **common: str) -> tuple[Entry, ...]:
    """Entries of a list in a file; CatalogueError names the one that lacks a field or has one that is none."""
    expected = {field.name for field in fields(kind)} - common.keys()  # type: ignore[arg-type]
    made = []
    for place, entry in enumerate(entries, 1):
        for fault, names in (("is missing", expected - entry.keys()), ("is unknown", entry.keys() - expected)):
            if names:
                fields_of_kind = ", ".join(sorted(expected))
                raise CatalogueError(f"{where}, entry {place}: field {min(names)} {fault}; expected {fields_of_kind}")
        made.append(kind(**common, **entry))
    return tuple(made)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{path.name}: {error}") from error


def _check_system(loaded: System, path: Path) -> None:
    if loaded.id != path.stem:
        raise CatalogueError(f"{path.name}: id is {loaded.id!r}")
    if loaded.class_ not in CLASSES:
        raise CatalogueError(f"{path.name}: class {loaded.class_!r} is none of {', '.join(CLASSES)}")
    seen: dict[tuple[str, str, str, str], str] = {}
    for figure in loaded.figures:
        where = f"{path.name}: {figure.metric} of {figure.table} [{figure.condition}]"
        if not figure.study or not figure.table:
            raise CatalogueError(f"{where}: no source")
        if figure.kind not in KINDS or figure.confidence not in CONFIDENCES:
            raise CatalogueError(f"{where}: kind {figure.kind!r}, confidence {figure.confidence!r}")
        if figure.number is None and figure.kind != "statement" and not RANGE.fullmatch(figure.value):
            raise CatalogueError(f"{where}: {figure.value!r} is neither a number nor a range of numbers")
        if condition_text(figure.conditions) != figure.condition:
            raise CatalogueError(f"{where}: the condition is not key=value; key=value")
        key = (figure.table, figure.condition, figure.metric, figure.unit)
        if seen.setdefault(key, figure.value) != figure.value:
            raise CatalogueError(f"{where}: stands as {seen[key]} and as {figure.value}")
    for fact in loaded.facts:
        if not fact.source or fact.confidence not in CONFIDENCES:
            raise CatalogueError(f"{path.name}: no source or confidence for {fact.component} {fact.attribute}")
    if loaded.lab is not None:
        for point in loaded.lab.points:
            if point.table and not loaded.select(point.table, point.condition):
                raise CatalogueError(f"{path.name}: point {point.id} selects no figure of {point.table}")
