"""Read the machines described in this folder.

A machine file holds what is published about it, figure by figure: attributes, the rating of an engine, multiprocessing
factors and MSU ratings, each with its source. `model.hardware.ratings` computes from them.
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
class EngineRating:
    """The only engine of an LPAR at full capacity.

    ``capability`` is that of the instruction STSI (lower is faster), ``su_per_s`` service units a second.
    """

    capability: int
    su_per_s: float
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class NWayFactors:
    """Multiprocessing factors of STSI: what one of 1, 2, 3, … engines delivers, in 1/65536 of an only one."""

    factors: tuple[int, ...]
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class MsuRating:
    """MSU of a model with so many engines, as the machine or its vendor prints them."""

    model: str
    engines: int
    msu: float
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: identity, published attributes, ratings; ``n_way`` is None where its factors are not published."""

    id: str
    title: str
    machine_type: str
    model: str
    facts: tuple[MachineFact, ...]
    rating: EngineRating
    n_way: NWayFactors | None
    msu: tuple[MsuRating, ...]

    def fact(self, attribute: str) -> MachineFact:
        """The named attribute; MachineError when it is not published."""
        for fact in self.facts:
            if fact.attribute == attribute:
                return fact
        raise MachineError(
            f"{self.id}: no attribute {attribute!r} is published; known: {', '.join(f.attribute for f in self.facts)}"
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
        n_way = content.get("n_way")
        loaded = Machine(
            id=content["id"],
            title=content["title"],
            machine_type=content["machine_type"],
            model=content["model"],
            facts=tuple(MachineFact(**fact) for fact in content.get("facts", ())),
            rating=EngineRating(**content["rating"]),
            n_way=NWayFactors(**{**n_way, "factors": tuple(n_way["factors"])}) if n_way else None,
            msu=tuple(MsuRating(**rating) for rating in content.get("msu", ())),
        )
    except (KeyError, TypeError) as error:
        raise MachineError(f"{path.name}: {error}") from error
    if loaded.id != machine_id:
        raise MachineError(f"{path.name}: id is {loaded.id!r}")
    entries: list[MachineFact | EngineRating | MsuRating | NWayFactors] = [*loaded.facts, loaded.rating, *loaded.msu]
    for entry in [*entries, *([loaded.n_way] if loaded.n_way else [])]:
        if not entry.source or not entry.confidence:
            raise MachineError(f"{path.name}: no source or confidence for {entry}")
    return loaded
