"""What a network is made of: stations, passive resources, routes and transaction classes.

Times are seconds and rates are per second. Everything is immutable; a what-if is a new network made with
``dataclasses.replace``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from model.network.distributions import Distribution
from model.network.scheduling import DISCIPLINES, Discipline, Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class Smt:
    """Two hardware threads a core: ``gain`` is the rate of a core with both threads active, one thread being 1.

    ``packing`` says where a thread goes when a core is idle: ``spread`` takes the idle core, ``dense`` first fills
    the cores that already run one thread.
    """

    gain: float
    packing: Literal["spread", "dense"] = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class LparShare:
    """Share of an LPAR's pool in the physical engines of a CEC, by weight.

    ``cap`` is ``none``, ``share`` (hard cap at the weight's share) or a number of engines. Under ``vertical``
    polarity the work beyond the entitlement runs on low-polarity engines, whose work costs ``low_cost`` times
    as much (1 = no cache effect).
    """

    cec: str
    weight: float
    cap: Literal["none", "share"] | float = "none"
    polarity: Literal["horizontal", "vertical"] = "horizontal"
    low_cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """Where a request goes that finds every engine (thread, under SMT) busy and ``waiting`` others besides, waiting or
    sharing: zIIP work on CPs."""

    to: str
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A place of service: an engine pool, device, link, coupling facility or pure delay.

    - ``scheduling``: ``fcfs``; ``hol`` (non-preemptive priority); ``preemptive`` (preemptive resume, FCFS within a
      level); ``ps`` (equal sharing); ``dps`` (sharing by class weight); ``priority_ps`` (levels served strictly
      in order, sharing within); ``delay`` (no queue).
    - ``servers``: engines (cores under ``smt``). ``speeds``: one relative speed for all, or one each, the fastest
      free one being taken (``fcfs`` and ``hol`` only).
    - ``cost_by_busy``: multiplier of the work while 1, 2, … engines are busy (last one holds beyond): utilisation
      and cache effect.
    - ``overhead_s`` is added to every visit (latency of a link type, set-up of a request) and ``cost_s_per_byte`` for
      each byte a visit moves (bandwidth, encryption).
    - ``capacity``: places including those in service; ``when_full`` turns a request away (``reject``) or leaves it
      holding its previous engine (``block``).
    - ``component``: what kind of thing it is in reports (cp, ziip, dasd, channel, link, cf, …).
    - ``source``: where speeds, SMT gain, costs and overheads come from; required when any is given.

    A field's metadata has its ``least`` value, and says whether a value other than the default needs a source
    (``sourced``); :mod:`model.network.validation` checks both.
    """

    name: str
    servers: int = field(default=1, metadata={"least": 1})
    scheduling: Scheduling = "fcfs"
    component: str = ""
    speeds: tuple[float, ...] = field(default=(1.0,), metadata={"sourced": True})
    cost_by_busy: tuple[float, ...] = field(default=(), metadata={"sourced": True})
    overhead_s: float = field(default=0.0, metadata={"sourced": True, "least": 0})
    cost_s_per_byte: float = field(default=0.0, metadata={"sourced": True, "least": 0})
    smt: Smt | None = field(default=None, metadata={"sourced": True})
    lpar: LparShare | None = None
    overflow: Overflow | None = None
    capacity: int | None = None
    when_full: Literal["reject", "block"] = "reject"
    source: str = ""

    @property
    def discipline(self) -> Discipline:
        """What its scheduling means."""
        return DISCIPLINES[self.scheduling]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cec:
    """A machine whose ``engines`` physical engines are shared by the LPAR pools that name it."""

    name: str
    engines: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A passive resource: units taken and given back along a route (MXT, TCBs, regions, threads, locks, buffers).

    ``instances`` independent copies are picked at random on each acquire (a set of locks or latches);
    ``queue_limit`` turns away whoever finds that many waiting. ``scheduling`` orders the queue.
    """

    name: str
    capacity: int
    kind: str = ""
    instances: int = 1
    scheduling: Literal["fcfs", "hol"] = "fcfs"
    queue_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Service at a station, ``count`` times on average (a whole part always, a fraction by chance).

    ``holding`` names resources taken, in order, before each visit and given back after it; ``size_bytes`` is what one
    visit moves.
    """

    station: str
    service: Distribution
    count: float = 1.0
    size_bytes: float = 0.0
    holding: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CfRequest:
    """A coupling-facility request issued from an engine.

    The engine first runs ``issue``. A ``sync`` request then keeps that engine until the facility has answered;
    an ``async`` one runs ``async_issue`` more, frees the engine and waits; ``heuristic`` goes async while the
    facility's smoothed service time (queueing included) exceeds ``threshold_s``.
    """

    station: str
    service: Distribution
    engine: str
    issue: Distribution
    mode: Literal["sync", "async", "heuristic"] = "sync"
    async_issue: Distribution | None = None
    threshold_s: float = 0.0
    count: int = 1
    size_bytes: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquire:
    """Take ``units`` of a passive resource, waiting for them by name."""

    resource: str
    units: int = 1
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Give ``units`` of a passive resource back."""

    resource: str
    units: int = 1
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Continue at a label with its probability; what is left of 1 continues with the next step. ``end`` ends."""

    to: tuple[tuple[str, float], ...]
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Run the branches at the same time and continue when the last one is done."""

    branches: tuple[tuple[Step, ...], ...]
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Become another class: its priority, weight and route from its start. The response goes on being measured
    under the class in which the transaction began."""

    to: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Run a named procedure ``times`` over: routing, function shipping, program-to-program conversation."""

    procedure: str
    times: int = 1
    label: str = ""


Step = Visit | CfRequest | Acquire | Release | Go | Fork | Switch | Call
Route = tuple[Step, ...]


_ONE = Distribution.deterministic(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """An open arrival stream.

    ``interarrival`` between arrivals (exponential = Poisson), each bringing ``batch`` transactions (a count
    distribution; what is not whole is rounded by chance, so that the mean stays). With ``on`` and ``off`` the stream
    runs only during on periods.
    """

    interarrival: Distribution
    batch: Distribution = _ONE
    on: Distribution | None = None
    off: Distribution | None = None

    @classmethod
    def poisson(cls, rate_per_s: float) -> Arrivals:
        """Poisson arrivals at a rate per second."""
        return cls(interarrival=Distribution.exponential(1.0 / rate_per_s))

    @property
    def rate_per_s(self) -> float:
        """Mean transactions per second."""
        rate = self.batch.mean / self.interarrival.mean
        if self.on is not None and self.off is not None:
            rate *= self.on.mean / (self.on.mean + self.off.mean)
        return rate

    @property
    def is_poisson(self) -> bool:
        """Whether transactions come one by one, after times that are exponential and nothing else."""
        gap = self.interarrival
        return self.on is None and self.batch == _ONE and gap.kind == "exponential" and gap.offset == 0

    @property
    def dispersion(self) -> float:
        """Variance over mean of the number of transactions that come in a long time; 1 for Poisson.

        That of a renewal stream is the squared variation of its times, that of batches and on periods follows from the
        number of batches, and of the time that is on (Cox, *Renewal Theory*, 1962, sections 4.5 and 7.4).
        """
        gap, count = self.interarrival, self.batch.mean
        part = count - math.floor(count) if self.batch.scv == 0 else 0.0
        out = 1 + count * (gap.scv - 1) + count - 1 + (self.batch.scv * count**2 + part * (1 - part)) / count
        if self.on is not None and self.off is not None:
            on, off = self.on.mean, self.off.mean
            varies = (off**2 * on**2 * self.on.scv + on**2 * off**2 * self.off.scv) / (on + off) ** 3
            out += count * varies / gap.mean * (on + off) / on
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionClass:
    """A kind of transaction: open (``arrivals``), closed (``users`` with ``think``), or, with neither, fed by a
    trace or entered by ``Switch``. A higher ``priority`` goes first; ``weight`` is its share under ``dps``."""

    name: str
    route: Route
    arrivals: Arrivals | None = None
    users: int = 0
    think: Distribution | None = None
    priority: int = 0
    weight: float = 1.0
