"""What a simulation answers: estimates by class, station and resource, and the bottlenecks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.network.limits import Limit
from model.network.simulator.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Part:
    """Mean seconds of one transaction's response at one station or resource."""

    using_s: float
    waiting_s: float


@dataclass(frozen=True, slots=True)
class ClassResult:
    """One class. ``percentiles_s`` maps 50, 90, … to response times; ``parts`` splits the mean response by station
    and resource name (branches of a fork overlap, so their parts can add up to more), ``percentile_parts`` the
    responses around each percentile. ``lost_per_s`` counts transactions turned away at a full station or queue."""

    throughput_per_s: Estimate
    response_s: Estimate
    response_sd_s: float
    percentiles_s: dict[float, Estimate]
    inside: Estimate
    lost_per_s: Estimate
    parts: dict[str, Part]
    percentile_parts: dict[float, dict[str, Part]]


@dataclass(frozen=True, slots=True)
class Polarity:
    """How PR/SM polarises an LPAR's logical engines, and how much of the low ones is used.

    ``entitled_engines`` is the LPAR's part of the machine by weight: ``high`` engines are wholly entitled, a ``medium``
    one to what is left, the ``low`` ones to nothing. ``low_in_use`` is the mean work beyond the entitlement, in
    engines; the other low engines are ``parked``, on average. Source: IBM, *LPAR Entitlement Calculator*, z/VM
    performance tips (www.ibm.com/support/pages/zvm/perf/tips/lparcalc.html).
    """

    entitled_engines: float
    high: int
    medium: int
    low: int
    low_in_use: float
    parked: float


@dataclass(frozen=True, slots=True)
class StationResult:
    """One station. ``utilization`` is busy engines over engines (mean customers inside for a delay),
    ``utilization_by_class`` its division; ``spin_utilization`` is the part spent waiting for synchronous
    coupling-facility requests. ``thread_density`` is mean active threads while a core is busy, under SMT only;
    ``overflow_per_s`` went to the overflow station, ``rejected_per_s`` was turned away because it was full;
    ``async_share`` of heuristic requests went asynchronously; ``polarity`` is that of a vertically polarised LPAR."""

    visits_per_s: Estimate
    utilization: Estimate
    utilization_by_class: dict[str, float]
    spin_utilization: float
    residence_s: Estimate
    residence_s_by_class: dict[str, Estimate]
    residence_percentiles_s: dict[float, Estimate]
    waiting_s: float
    queue_length: Estimate
    queue_length_by_class: dict[str, Estimate]
    throughput_by_class_per_s: dict[str, Estimate]
    waited_share: float
    thread_density: Estimate | None
    overflow_per_s: float
    rejected_per_s: float
    async_share: float | None
    polarity: Polarity | None


@dataclass(frozen=True, slots=True)
class ResourceResult:
    """One passive resource: units ``in_use`` on average, the share of them, how often the limit was reached (an
    acquire had to wait or was refused), the mean wait of all acquires and of those that waited, and refusals."""

    acquired_per_s: Estimate
    in_use: Estimate
    utilization: Estimate
    limit_reached_per_s: Estimate
    waited_share: Estimate
    wait_s: Estimate
    wait_when_waited_s: float
    waiting: Estimate
    refused_per_s: float


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """A finished simulation. ``limits`` are engines, machines and resources in the order in which they bind;
    ``bottleneck`` and ``second_bottleneck`` are its first two names. ``settled`` is false when the warm-up could
    not be found from the run in some replication, as under a load that a limit cannot carry; the figures are then not
    to be relied on. ``overloaded`` names what the arrivals alone overload, with what they ask of it as a part
    of what it can do."""

    network: str
    seed: int
    replications: int
    level: float
    simulated_s: float
    warm_up_s: float
    settled: bool
    transactions: int
    precise: bool
    classes: dict[str, ClassResult]
    stations: dict[str, StationResult]
    resources: dict[str, ResourceResult]
    machines: dict[str, Estimate]
    limits: tuple[Limit, ...]
    overloaded: Mapping[str, float] = field(default_factory=dict)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know before relying on the figures; empty when there is nothing."""
        out = []
        full = [f"{limit.name} is {limit.utilisation:.1%} busy" for limit in self.limits if limit.utilisation > 0.99]
        if self.overloaded:
            out.append(
                f"more arrives than {' and '.join(self.overloaded)} can serve: queues grow for ever, and the figures "
                "only say how far they got"
            )
        elif not self.settled:
            out.append(
                "the run had not settled: simulate longer"
                + (f", or lower the load ({', '.join(full)})" if full else "")
            )
        if not self.precise:
            out.append("the precision asked for was not reached")
        return tuple(out)

    @property
    def bottleneck(self) -> str:
        """Name of the limit that binds first ('' when there is none)."""
        return self.limits[0].name if self.limits else ""

    @property
    def second_bottleneck(self) -> str:
        """Name of the limit that binds next ('' when there is none)."""
        return self.limits[1].name if len(self.limits) > 1 else ""
