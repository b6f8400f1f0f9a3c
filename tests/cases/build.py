"""Small builders of networks for the simulator, and station figures read back from a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from model.network import Arrivals, Distribution, Go, Network, Route, Station, TransactionClass, Visit
from model.network.simulator import SimulationResult

Exp = Distribution.exponential


def station(name: str, servers: int, scheduling: str = "ps", **options: Any) -> Station:
    """A station; ``servers`` below one is a delay."""
    if servers < 1:
        return Station(name=name, scheduling="delay")
    return Station(name=name, servers=servers, scheduling=scheduling, **options)  # type: ignore[arg-type]


def visits_route(names: Sequence[str], visits: Sequence[float], service: Sequence[Any]) -> Route:
    """Each station in turn, as often as it is visited; ``service`` are means of exponentials or distributions."""
    return tuple(
        Visit(station=n, service=s if isinstance(s, Distribution) else Exp(float(s)), count=float(v))
        for n, v, s in zip(names, visits, service, strict=True)
        if v > 0 and (isinstance(s, Distribution) or s > 0)
    )


def random_route(names: Sequence[str], visits: Sequence[float], service: Sequence[Any]) -> Route:
    """One visit a transaction, to a station chosen by its share of the visits: independent of where it was before."""
    used = [
        (n, float(v), s if isinstance(s, Distribution) else Exp(float(s)))
        for n, v, s in zip(names, visits, service, strict=True)
        if v > 0 and (isinstance(s, Distribution) or s > 0)
    ]
    total = sum(v for _, v, _ in used)
    out: list[Any] = [Go(to=tuple((f"at {n}", v / total) for n, v, _ in used[1:]))]
    for i, (n, _, s) in enumerate(used):
        out.append(Visit(station=n, service=s, label=f"at {n}"))
        if i < len(used) - 1:
            out.append(Go(to=(("end", 1.0),)))
    return tuple(out)


def closed(name: str, route: Route, users: int, think: float = 0.0, **options: Any) -> TransactionClass:
    """A closed class with exponential think time."""
    return TransactionClass(name=name, route=route, users=users, think=Exp(think) if think > 0 else None, **options)


def opened(name: str, route: Route, rate: float, **options: Any) -> TransactionClass:
    """A Poisson class."""
    return TransactionClass(name=name, route=route, arrivals=Arrivals.poisson(rate), **options)


class Run:
    """Station figures of a simulation as values with half-widths, (stations, classes)."""

    def __init__(self, result: SimulationResult, network: Network) -> None:
        stations, classes = network.station_names, network.class_names
        shape = (len(stations), len(classes))
        self.queue, self.flow = np.zeros(shape), np.zeros(shape)
        self.queue_half, self.flow_half = np.zeros(shape), np.zeros(shape)
        self.response, self.response_half = np.zeros(len(classes)), np.zeros(len(classes))
        self.rate, self.rate_half = np.zeros(len(classes)), np.zeros(len(classes))
        self.utilisation, self.utilisation_half = np.zeros(len(stations)), np.zeros(len(stations))
        self.visit_response, self.visit_response_half = np.zeros(shape), np.zeros(shape)
        self.lost = np.zeros(len(classes))
        self.waited = np.zeros(len(stations))
        self.result = result
        for k, name in enumerate(stations):
            at = result.stations[name]
            self.utilisation[k], self.utilisation_half[k] = at.utilization.value, at.utilization.half_width
            self.waited[k] = at.waited_share
            for r, c in enumerate(classes):
                for table, values in (
                    ("queue", at.queue_length_by_class),
                    ("flow", at.throughput_by_class_per_s),
                    ("visit_response", at.residence_s_by_class),
                ):
                    if c in values:
                        getattr(self, table)[k, r] = values[c].value
                        getattr(self, f"{table}_half")[k, r] = values[c].half_width
        for r, c in enumerate(classes):
            here = result.classes[c]
            self.response[r], self.response_half[r] = here.response_s.value, here.response_s.half_width
            self.rate[r], self.rate_half[r] = here.throughput_per_s.value, here.throughput_per_s.half_width
            self.lost[r] = here.lost_per_s.value
