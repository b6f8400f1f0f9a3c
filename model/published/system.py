"""A system of a bundle with its studies, its configuration and its relatives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from model.capacity.adjustments import WHOLE_RATES
from model.capacity.parameters import SystemParameters, cached
from model.published.model import Published, Users, published
from model.published.observations import ALTERNATIVES, ENGINES, RELEASES, WORKLOAD

RELEASE = RELEASES[0]
OPTIONS = tuple(key for key in ALTERNATIVES if key != "machine" and key not in RELEASES[1:])
"""Attributes of a configuration whose levels stand for each other."""


@dataclass(frozen=True)
class Studied:
    """A system that a question is about.

    Attributes
    ----------
    bundle : mapping
        The calibrated model, with `conditions` fitted by `model.published.model.fit`.
    name : str
        The system.
    """

    bundle: Mapping[str, Any]
    name: str

    @property
    def conditions(self) -> Mapping[str, Any]:
        """The fitted model of all studies."""
        conditions: Mapping[str, Any] = self.bundle.get("conditions", {})
        return conditions

    @property
    def network(self) -> SystemParameters | None:
        """The calibrated network; None without one."""
        return self.bundle["systems"].get(self.name)

    @cached_property
    def studies(self) -> Published:
        """The predictions of all studies."""
        return published(self.conditions)

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """The configuration by attribute."""
        facts: Mapping[str, str] = self.conditions.get("facts", {}).get(self.name, {})
        return facts

    @cached_property
    def rows(self) -> list[Mapping[str, Any]]:
        """The measured figures."""
        rows = self.conditions.get("rows", ())
        return cached(
            self.conditions, ("rows", self.name), lambda: [row for row in rows if row["system"] == self.name]
        )

    @cached_property
    def keys(self) -> Mapping[str, tuple[str, ...]]:
        """The conditions of its studies, each with the levels that can be answered."""
        return self.studies.keys(self.name) if self.rows else {}

    @cached_property
    def users(self) -> Users | None:
        """The population of its users; None where their throughput was not measured at several levels."""
        return self.studies.users(self.name)

    @cached_property
    def rate(self) -> float | None:
        """The measured rate of all its transactions, per second; None without one."""
        rates = {row["metric"]: row["value"] for row in self.rows}
        return next((float(rates[name]) for name in WHOLE_RATES if name in rates), None)

    @property
    def engines(self) -> int | None:
        """The engines of its configuration; None where it names none."""
        count = next((self.facts[name] for name in ENGINES if name in self.facts), "")
        return int(count) if count.isdigit() else None

    @property
    def options(self) -> Mapping[str, str]:
        """The release and the options of its configuration."""
        return {key: self.facts[key] for key in OPTIONS if key in self.facts}

    @property
    def levels(self) -> set[str]:
        """The levels of all conditions of its figures, such as its workloads and components by name."""
        return {level for row in self.rows for level in row["condition"].values()}

    @cached_property
    def tables(self) -> set[tuple[str, str]]:
        """Study and table of its figures."""
        return {(row["study"], row["table"]) for row in self.rows}

    def of(self, name: str) -> Studied:
        """Another system of the bundle."""
        return Studied(self.bundle, name)

    def same_workload(self, other: Studied) -> bool:
        """Whether both run the same workload."""
        return self.facts.get(WORKLOAD) is not None and self.facts.get(WORKLOAD) == other.facts.get(WORKLOAD)

    @cached_property
    def relatives(self) -> list[Studied]:
        """The studied systems that share a workload or a table of a study with it, itself among them."""
        measured = {row["system"] for row in self.conditions["rows"]}
        systems = (self.of(name) for name in sorted(measured & self.conditions["facts"].keys()))
        return [other for other in systems if self.tables & other.tables or self.same_workload(other)]

    def has(self, levels: Mapping[str, str]) -> bool:
        """Whether its options have all of these levels."""
        return all(key in self.options and names(level, self.options[key]) for key, level in levels.items())

    def differs_in(self, other: Studied, keys: Collection[str]) -> bool:
        """Whether another system differs, as far as is known, in these options alone."""
        same = (self.options.keys() & other.options.keys()) - set(keys)
        return self.engines == other.engines and all(self.options[key] == other.options[key] for key in same)


def names(text: str, level: str) -> bool:
    """Whether some words name a level: `5.3` and `V5.3` name `CICS TS 5.3`, `in` names `inbound put`."""
    parts = [word.removeprefix("v") for word in level.casefold().split()]
    words = [word.removeprefix("v") for word in text.casefold().split()]
    return bool(words) and all(
        any(word == part or (word.isalpha() and part.startswith(word)) for part in parts) for word in words
    )
