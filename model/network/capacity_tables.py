"""Capacity tables that a user imports: LSPR rows as CSV.

A table gives each machine's capacity, in any one unit, by workload. What a network needs of it is the speed of one
engine relative to the machine on which the work was measured; the n-way effect is in it, since capacity is that of all
engines together. No figure comes with the product.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.network.description import Network
from model.network.elements import Station
from model.network.errors import NetworkError

_MACHINE = ("machine", "processor", "model")
_ENGINES = ("engines", "cps", "#cp", "n", "cp")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity of a machine with ``engines`` engines for one workload; ``source`` says file and line."""

    machine: str
    engines: int
    workload: str
    capacity: float
    source: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What moving from one machine to another does: ``capacity_ratio`` of the whole, ``speed_per_engine`` of one."""

    engines: int
    capacity_ratio: float
    speed_per_engine: float
    source: str

    def applied(self, station: Station) -> Station:
        """The station on the other machine: its engines and their speed, with the source added.

        The logical engines and the cap of an LPAR are its own and stay, as far as the machine has that many engines.
        """
        source = "; ".join(text for text in (station.source, self.source) if text)
        speeds = tuple(dict.fromkeys(station.speeds))
        if len(speeds) > 1:
            raise NetworkError(f"station {station.name!r} has engines of different speed; give them by hand")
        servers, lpar = self.engines, station.lpar
        if lpar is not None:
            servers = min(station.servers, self.engines)
            if not isinstance(lpar.cap, str):
                lpar = replace(lpar, cap=min(lpar.cap, float(servers)))
        speed = speeds[0] * self.speed_per_engine
        return replace(station, servers=servers, speeds=(speed,), lpar=lpar, source=source)


@dataclass(frozen=True, slots=True)
class CapacityTable:
    """Rows of a table."""

    rows: tuple[Capacity, ...]

    def row(self, machine: str, workload: str) -> Capacity:
        """The row of a machine and workload; raises :class:`NetworkError` naming what there is."""
        for row in self.rows:
            if row.machine == machine and row.workload.casefold() == workload.casefold():
                return row
        choices = sorted({f"{r.machine} {r.workload}" for r in self.rows})
        raise NetworkError(f"no capacity of {machine!r} for {workload!r}; known: {', '.join(choices[:12])}")

    def effect(self, measured_on: str, target: str, workload: str) -> Effect:
        """The effect of moving ``workload`` from the machine it was measured on to another."""
        base, other = self.row(measured_on, workload), self.row(target, workload)
        speed = (other.capacity / other.engines) / (base.capacity / base.engines)
        return Effect(other.engines, other.capacity / base.capacity, speed, f"{base.source}; {other.source}")


def moved(network: Network, effect: Effect, stations: Sequence[str] = ()) -> Network:
    """The network with its engine pools on another machine: ``stations``, or all whose component is ``cp``.

    Where one of them is an LPAR, its machine gets the engines of the table and all LPARs of that machine move.

    Raises :class:`NetworkError` for an unknown station, and where no station is an engine pool.
    """
    names = tuple(stations) or tuple(s.name for s in network.stations if s.component == "cp")
    unknown = sorted(set(names) - set(network.station_names))
    if unknown or not names:
        what = f"no station {unknown[0]!r}" if unknown else "no station has component = 'cp'"
        raise NetworkError(f"{what}; name the engine pools to move of: {', '.join(network.station_names)}")
    machines = {s.lpar.cec for s in network.stations if s.lpar is not None and s.name in names}
    pools = tuple(
        effect.applied(s) if s.name in names or (s.lpar is not None and s.lpar.cec in machines) else s
        for s in network.stations
    )
    cecs = tuple(replace(c, engines=float(effect.engines)) if c.name in machines else c for c in network.cecs)
    return replace(network, stations=pools, cecs=cecs)


def read_capacity_table(text: str, source: str) -> CapacityTable:
    """A table from CSV text.

    Parameters
    ----------
    text : str
        A machine and an engines column, and either ``workload`` and ``capacity`` or one column for each workload.
    source : str
        Name of the table in every figure.

    Raises
    ------
    NetworkError
        A line cannot be read, or there is none.
    """
    reader = csv.DictReader(io.StringIO(text))
    rows: list[Capacity] = []
    for line in reader:
        record = {k.strip().lower(): v.strip() for k, v in line.items() if k and isinstance(v, str)}
        rows.extend(_capacities(record, f"{source}, line {reader.line_num}"))
    if not rows:
        raise NetworkError(f"{source}: no row with a machine, its engines and a capacity")
    return CapacityTable(tuple(rows))


def _capacities(record: dict[str, str], source: str) -> list[Capacity]:
    machine = next((record[name] for name in _MACHINE if record.get(name)), "")
    engines = next((record[name] for name in _ENGINES if record.get(name)), "")
    if not machine or not engines:
        raise NetworkError(f"{source}: needs a machine ({', '.join(_MACHINE)}) and engines ({', '.join(_ENGINES)})")
    try:
        count = int(engines)
        if "capacity" in record:
            figures = {record.get("workload", ""): float(record["capacity"])}
        else:
            figures = {k: float(v) for k, v in record.items() if k not in (*_MACHINE, *_ENGINES) and _is_number(v)}
    except ValueError as error:
        raise NetworkError(f"{source}: {error}") from error
    if count < 1 or any(not value > 0 for value in figures.values()):
        raise NetworkError(f"{source}: engines and capacities must be positive")
    return [Capacity(machine, count, workload, value, source) for workload, value in figures.items()]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
