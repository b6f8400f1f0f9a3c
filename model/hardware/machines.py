"""Read the machines described in this folder.

A machine file holds what is published about it, figure by figure, and the CPU rate adjustments that turn service units
into engine seconds. Nothing here computes capacity; that is for the models that read it.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class MachineError(ValueError):
    """A machine is unknown, or its file lacks something; the message says which and where."""


@dataclass(frozen=True, slots=True)
class MachineFact:
    """One published attribute, its value as printed."""

    attribute: str
    value: str
    unit: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class ServiceRate:
    """The CPU rate adjustment of an LPAR with `engines` CPs: 1/16 us of one engine per service unit.

    `status` is `published`, `derived` (computed from published figures), `assumed`, or `imported` by an installation.
    """

    engines: int
    adjustment: float
    status: str
    source: str
    confidence: str

    @property
    def su_per_s(self) -> float:
        """Unweighted CPU service units one engine delivers in a second."""
        return 16_000_000 / self.adjustment


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: identity, published attributes, service rates by number of engines."""

    id: str
    title: str
    machine_type: str
    model: str
    facts: tuple[MachineFact, ...]
    service_rates: tuple[ServiceRate, ...]

    def fact(self, attribute: str) -> MachineFact:
        """The named attribute; MachineError when it is not published."""
        for fact in self.facts:
            if fact.attribute == attribute:
                return fact
        raise MachineError(
            f"{self.id}: no attribute {attribute!r} is published; known: {', '.join(f.attribute for f in self.facts)}"
        )

    def service_rate(self, engines: int) -> ServiceRate:
        """The service rate of an LPAR with this many engines; MachineError when the file has none."""
        for rate in self.service_rates:
            if rate.engines == engines:
                return rate
        raise MachineError(
            f"{self.id}: no service rate for {engines} engines; known: "
            f"{', '.join(str(r.engines) for r in self.service_rates)}"
        )


def machines() -> tuple[str, ...]:
    """Identities of all machines described in this folder, sorted."""
    return tuple(sorted(path.stem for path in HERE.glob("*.toml")))


@cache
def machine(machine_id: str) -> Machine:
    """The machine of this identity; MachineError when there is none or its file is incomplete."""
    path = HERE / f"{machine_id}.toml"
    if not path.is_file():
        raise MachineError(f"no machine {machine_id!r}; known: {', '.join(machines())}")
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        loaded = Machine(
            id=content["id"],
            title=content["title"],
            machine_type=content["machine_type"],
            model=content["model"],
            facts=tuple(MachineFact(**fact) for fact in content.get("facts", ())),
            service_rates=tuple(ServiceRate(**rate) for rate in content.get("service_rates", ())),
        )
    except (KeyError, TypeError) as error:
        raise MachineError(f"{path.name}: {error}") from error
    if loaded.id != machine_id:
        raise MachineError(f"{path.name}: id is {loaded.id!r}")
    entries: list[MachineFact | ServiceRate] = [*loaded.facts, *loaded.service_rates]
    for entry in entries:
        if not entry.source or not entry.confidence:
            raise MachineError(f"{path.name}: no source or confidence for {entry}")
    return loaded
