"""Parameters of a calibrated system: what calibration writes and every answer reads, as typed values."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from model.capacity.adjustments import Adjustment
from model.capacity.samples import ONE, ZERO, Intervals, ParametersError, Samples, filled, read
from model.queueing.lpar_share import Sharer

Array = NDArray[np.float64]

T = TypeVar("T")
LAST_WEEK, PROPORTIONAL = "same hour last week", "busy in proportion to the work of transactions"
USUAL, MMC = "usual response", "M/M/c with the measured service time"
LATER, HIGHER = "later days", "higher load"
"""What a backtest holds out."""
PLAINLY = 0.9
"""Median error of a baseline over that of the model below which the baseline is used."""
KEPT = 512
"""Most values that are kept."""


@dataclass(frozen=True)
class TransactionClass:
    """A class of transactions.

    Attributes
    ----------
    name, report_class, workload : str
    importance : int
        of the WLM goal, 0 for system work.
    cpu_scatter_s : float
        standard deviation of the CPU time of one transaction, s.
    thinking_noise : Samples
        relative error of a think time, from samples of one second.
    growth : Growth or None
        of the rate.
    """

    name: str
    report_class: str = ""
    workload: str = ""
    importance: int = 3
    cpu_scatter_s: float = 0.0
    thinking_noise: Samples = ZERO
    growth: Growth | None = None


@dataclass(frozen=True)
class Growth:
    """Growth a week as a logarithm, with the drift of its level, seasons, and errors of earlier forecasts."""

    rate: Samples
    drift_sd: float = 0.0
    weekday: tuple[float, ...] = ()
    month_end: float = 0.0
    backtest: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class DemandModel:
    r"""Demand model of a component: engines in use against a regressor.

    :math:`U = s\,(b_0 + x (b_1 + b_2 (x - 1)))\,(1 + e)` with :math:`x` the regressor over ``reference_rate``,
    :math:`s` the ``scale``, and ``coef`` (1 + samples, 3): intercept, demand and curvature.

    Attributes
    ----------
    regressor : str
        a class, a workload, or work of other components.
    engine : str
        ``cp``, ``ziip``, or ``ziip_busy`` for busy cores against work.
    priority : int
        dispatching priority, 0 the highest.
    additive : bool
        whether the component counts in the total.
    support : tuple of float
        least and highest regressor observed.
    noise, drift : Samples
        relative errors: always, and for each e-fold outside ``support``.
    metrics : tuple of str
        metrics that report this component.
    """

    regressor: str
    reference_rate: float
    scale: float
    support: tuple[float, float]
    coef: Samples
    noise: Samples
    drift: Samples
    engine: str = "cp"
    priority: int = 0
    additive: bool = True
    total: bool = False
    assumed: bool = False
    points: int = 1
    origin: str = "measured"
    evidence: str = ""
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResponseModel:
    """Mean response of a class: service, delays for CPs and zIIPs, waits for limits, and a rest.

    Attributes
    ----------
    series, ziip_series : tuple of str
        components whose CPU time is its service.
    rest_ms : Samples
        time that neither engines nor limits explain, ms.
    growing_ms : Samples
        growth of that time from an idle LPAR to a full one, ms.
    short, long, machine, ziip_queue : Samples
        factors of the delays by short and by long pieces of work, by other LPARs, and for zIIPs.
    load, measured_slowdown
        by how much the rest follows the slowdown, and the slowdown where it was measured.
    noise : Samples
        relative error of a measured point.
    change_sd, interval_sd, interval_wait_sd, transaction_sd : float
        relative errors: of a predicted change of log response, of one interval, of its share of waiting, and of one
        transaction.
    usual_ms : float
        median recorded.
    p90, p90_waiting : Samples or None
        90th percentile over the mean, without waiting and of waiting alone.
    """

    metric: str
    class_name: str
    series: tuple[str, ...]
    ziip_series: tuple[str, ...] = ()
    rest_ms: Samples = ZERO
    growing_ms: Samples = ZERO
    short: Samples = ONE
    long: Samples = ZERO
    machine: Samples = ZERO
    ziip_queue: Samples = ONE
    load: Samples = ZERO
    noise: Samples = ZERO
    measured_slowdown: float = 1.0
    change_sd: float = 0.0
    interval_sd: float = 0.0
    interval_wait_sd: float = 0.0
    transaction_sd: float = 0.0
    usual_ms: float = 0.0
    p90: Samples | None = None
    p90_waiting: Samples | None = None
    origin: str = "measured"
    evidence: str = ""
    points: int = 1
    relative: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Metric and class."""
        return self.metric, self.class_name

    def scatter(self, share: Array | float, ended: Array | float) -> Array:
        """Relative scatter of the response in an interval with so many transactions, of which so much is waiting."""
        always = np.hypot(self.interval_sd, self.transaction_sd / np.sqrt(np.maximum(ended, 1.0)))
        return np.asarray(np.hypot(always, self.interval_wait_sd * np.asarray(share)))


@dataclass(frozen=True)
class Limit:
    """A passive resource that transactions of some classes hold for a time: regions, a TCB, a lock, threads, volumes.

    Attributes
    ----------
    kind : str
        ``limit`` or ``devices``.
    members : tuple of str
        classes that hold it.
    weights : tuple of float
        wait of each member over the mean of all; empty for alike.
    servers, queues : Samples
        places of one queue, and queues side by side.
    hold_s : Samples
        holding time without waits for CPs, s; 0 where nobody waited in the records.
    variability : Samples
        factor of the wait of exponential holding times.
    on_engines : bool
        whether waits for CPs stretch the holding time.
    determined : bool
        whether the records tell its utilization; otherwise it is never a bottleneck.
    """

    name: str
    members: tuple[str, ...]
    kind: str = "limit"
    weights: tuple[float, ...] = ()
    servers: Samples = ONE
    queues: Samples = ONE
    hold_s: Samples = ZERO
    variability: Samples = ONE
    on_engines: bool = False
    determined: bool = False

    @property
    def reached(self) -> bool:
        """Whether anybody waited for it in the records."""
        return bool(self.hold_s[0] > 0.0)

    @property
    def inferred(self) -> Array:
        """(1 + samples,) places of all its queues; 1 where it is not ``reached``."""
        return np.asarray(self.servers * self.queues)

    @property
    def resource(self) -> str:
        """Name in answers."""
        return self.name if self.kind == "devices" else f"limit {self.name}"

    def places(self, planned: Mapping[str, Array | float]) -> Array:
        """(1 + samples, loads or 1) places of one queue, with those ``planned`` by limit.

        A plan changes every sample by the same ratio: a sample of fewer places has a shorter holding time.
        """
        number = planned.get(self.name)
        if number is None:
            return self.servers[:, None]
        return np.maximum(self.servers[:, None] * (np.asarray(number, float) / self.inferred[0]), 1e-3)

    def holds_back(self, planned: Mapping[str, Any]) -> bool:
        """Whether anybody may wait for it."""
        return self.reached or self.name in planned


@dataclass(frozen=True)
class Overflow:
    """Eligible work that runs on CPs: always (``floor``), and the part ``taken`` of work that waits longer than
    ``patience``, in mean services."""

    floor: Samples
    taken: Samples
    patience: Samples


@dataclass(frozen=True)
class ZiipPool:
    """zIIPs of the LPAR: engines, threads a core, what a second thread adds (``gain``), and what overflows."""

    engines: float = 0.0
    threads: float = 1.0
    gain: Samples = ONE
    overflow: Overflow | None = None


@dataclass(frozen=True)
class BusyCost:
    """Growth of the CPU cost with utilization, from the utilization ``reference`` on."""

    slope: Samples
    reference: float = 0.0


@dataclass(frozen=True)
class NWay:
    """Exponents of the cost against the number of engines: around the ratings of a rated machine, and without one."""

    unrated: Samples
    rated: Samples = ZERO


@dataclass(frozen=True)
class Machine:
    """The machine (CPC) that an LPAR shares.

    Attributes
    ----------
    engines, ziips : float
        shared physical CPs and zIIPs; no zIIPs where none are recorded.
    share : float
        of the LPAR by weight.
    capped : bool
        whether its share is a cap.
    management : float
        engines used by PR/SM.
    others : tuple of Sharer
        the other LPARs.
    cap_engines : float or None
        absolute cap.
    lpar : str
        name of the LPAR there.
    """

    name: str
    engines: float
    share: float
    capped: bool
    management: float
    others: tuple[Sharer, ...] = ()
    cap_engines: float | None = None
    lpar: str = ""
    ziips: float = 0.0


@dataclass(frozen=True)
class Weights:
    """Weight of the LPAR, and of all LPARs of its machine."""

    own: float
    total: float


@dataclass(frozen=True)
class Point:
    """A measured point: rates by class in transactions/s, and the published condition by metric."""

    point: str
    etr_tps: float
    rates: Mapping[str, float]
    conditions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RecordedIntervals:
    """What was recorded, interval by interval.

    Attributes
    ----------
    start_local : tuple of str
    seconds : float
        usual length of an interval.
    rates : Intervals
        (classes, intervals) transactions/s.
    users, thinking : Intervals or None
        (classes, intervals) users, and those of them who think; None where no class has users.
    extra : mapping
        engines of work without transactions beyond its demand model, by component.
    cpu_busy_pct, busy, ziip_busy, engines : Intervals or None
        busy in percent, engines busy, zIIPs busy, and logical CPs.
    component_engines, response_ms, p90_ms : mapping
        engines in use by component, and responses by class.
    others, lpars, ziip_others
        engines that the other LPARs use: all, each by name, and of zIIPs.
    busy_sd, ziip_busy_sd : float
        relative scatter of the work of one interval.
    """

    start_local: tuple[str, ...]
    seconds: float
    rates: Intervals
    users: Intervals | None = None
    thinking: Intervals | None = None
    extra: Mapping[str, Intervals] = field(default_factory=dict)
    cpu_busy_pct: Intervals | None = None
    busy: Intervals | None = None
    ziip_busy: Intervals | None = None
    engines: Intervals | None = None
    component_engines: Mapping[str, Intervals] = field(default_factory=dict)
    response_ms: Mapping[str, Intervals] = field(default_factory=dict)
    p90_ms: Mapping[str, Intervals] = field(default_factory=dict)
    others: Intervals | None = None
    lpars: Mapping[str, Intervals] = field(default_factory=dict)
    ziip_others: Intervals | None = None
    busy_sd: float = 0.0
    ziip_busy_sd: float = 0.0

    @cached_property
    def times(self) -> NDArray[np.datetime64]:
        """(intervals,) local starts."""
        return np.array(self.start_local, "datetime64[s]")


@dataclass(frozen=True, eq=False)
class SystemParameters:
    """Everything that answers need of one calibrated system.

    ``demands`` are by component, ``busy_components`` those that add up to the busy of the LPAR. A system with a history
    has ``recorded`` intervals, of which ``peak`` is the busiest; one that was measured at points has ``points``. Costs
    of transactions are those since ``steady_since``, the local start of an interval. Shares in ``mixes`` make workloads
    of classes. ``installation`` (the other systems), ``machine_ratings`` and ``calendar`` come from files of the
    installation and are not stored here.
    """

    engines: float
    classes: tuple[TransactionClass, ...]
    busy_components: tuple[str, ...]
    demands: Mapping[str, DemandModel]
    responses: Mapping[str, ResponseModel] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    ziip: ZiipPool | None = None
    busy_cost: BusyCost | None = None
    n_way: NWay = field(default_factory=lambda: NWay(ZERO))
    pool_deficit: Samples = ONE
    machine: Machine | None = None
    weights: Weights | None = None
    others_noise: Samples = ZERO
    others_pieces: Samples = ZERO
    others_growth: Growth | None = None
    recorded: RecordedIntervals | None = None
    peak: int = 0
    points: tuple[Point, ...] = ()
    operating_point: str = ""
    workload: str = ""
    machine_type: str = ""
    software: str = ""
    smf_sid: str = ""
    support_tps: tuple[float, float] = (0.0, math.inf)
    mixes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    main_total: str = ""
    exhaustive: bool = False
    busy_assumed: bool = False
    service_units_per_s: float | None = None
    msu_per_engine: float | None = None
    intervals: int = 0
    seconds: float = 0.0
    period: tuple[str, str] | None = None
    steady_since: str = ""
    relatives: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    divided: tuple[str, ...] = ()
    without_transactions: Mapping[str, str] = field(default_factory=dict)
    adjustments: Mapping[str, Adjustment] = field(default_factory=dict)
    offloaded: bool = False
    gate: Mapping[str, Any] | None = None
    kept: Mapping[str, str] | None = None
    definition: str | None = None
    installation: Mapping[str, SystemParameters] = field(default_factory=dict, metadata={"stored": False})
    machine_ratings: Sequence[Mapping[str, Any]] = field(default=(), metadata={"stored": False})
    calendar: Mapping[str, Any] | None = field(default=None, metadata={"stored": False})

    def __post_init__(self) -> None:
        named = {*self.busy_components, *filter(None, (self.main_total,))}
        named.update(name for one in self.responses.values() for name in one.series)
        if lacking := named - self.demands.keys():
            raise ParametersError(f"demands: {min(lacking)} has no demand")
        for name, value in filled(self, 1 + self.samples).items():
            object.__setattr__(self, name, value)

    @property
    def samples(self) -> int:
        """Number of posterior samples, without the best estimate."""
        return max((np.size(demand.noise) for demand in self.demands.values()), default=1) - 1

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of workloads, components and classes."""
        return (*self.demands, *self.class_names)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in order."""
        return tuple(one.name for one in self.classes)


def from_plain(value: Mapping[str, Any]) -> SystemParameters:
    """Parameters of plain JSON values.

    Raises
    ------
    ParametersError
        a field is missing, unknown or of another type.
    """
    return read(SystemParameters, value, "parameters")


def adjustments_from_plain(value: Mapping[str, Any]) -> dict[str, Adjustment]:
    """What-if adjustments of plain JSON values; errors as :func:`from_plain`."""
    return {name: read(Adjustment, one, f"adjustments.{name}") for name, one in value.items()}


def used_baselines(gate: Mapping[str, Any] | None) -> dict[str, str]:
    """The baseline by class that predicts changes of its response, where higher loads were closer to it; of the class
    with the empty name, changes of busy.

    Parameters
    ----------
    gate
        Validation of a system, if any.

    Returns
    -------
    dict
        :data:`USUAL` (the response stays as recorded) or :data:`MMC` (it changes as M/M/c has it) by class;
        :data:`PROPORTIONAL` of busy.
    """
    compared = (gate or {}).get("baselines", ())
    return {one["class"]: one["baseline"] for one in compared if is_used_baseline(one)}


def is_used_baseline(one: Mapping[str, Any]) -> bool:
    """Whether a backtest shows a baseline that predicts changes of busy or of a class's response more closely."""
    closer = one["baseline_pct"] < PLAINLY * one["model_pct"]
    usable = (USUAL, MMC) if one["class"] else (PROPORTIONAL,)
    return bool(one.get("held_out") == HIGHER and one["baseline"] in usable and closer)


_derived: OrderedDict[tuple[int, Hashable], tuple[Any, Any]] = OrderedDict()


def cached(part: Any, name: Hashable, make: Callable[[], T]) -> T:
    """``make()``, made once for this very ``part`` (by identity) and ``name``.

    Nothing is kept of an empty part, which may be another one each time.
    """
    if part is None or (isinstance(part, dict) and not part):
        return make()
    key = (id(part), name)
    entry = _derived.get(key)
    if entry is not None and entry[0] is part:
        _derived.move_to_end(key)
        return cast(T, entry[1])
    value = make()
    _derived[key] = (part, value)
    while len(_derived) > KEPT:
        _derived.popitem(last=False)
    return value
