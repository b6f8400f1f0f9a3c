"""A load on a system (scenario), the record it starts from (anchor), and what the system does (state).

Arrays have the draws first and the loads second, ``(draws, loads)``; transaction classes, called streams here, come
last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.parameters import DemandModel, Machine

Array = NDArray[np.float64]

CURVATURE_RANGE = 4.0
"""Multiple of the highest calibrated load up to which a demand is a parabola; beyond it, a line."""
LPAR = "lpar"
WORK = "work"
CAPTURED = "captured"
CAPTURED_BUT_ZIIP = "captured_but_ziip"
ZIIP_WORK = "ziip_work"
ON_ZIIPS = ":ziip"
"""End of the name of a series of work on zIIPs."""
RESPONSE = "response_ms"


@lru_cache
def normal_scores(draws: int, seed: int) -> Array:
    """(draws,) standard normal deviates in equal strata, 0 for the centre; not to be written to."""
    strata = (np.arange(draws - 1) + 0.5) / max(draws - 1, 1)
    scores = np.array([NormalDist().inv_cdf(float(part)) for part in strata])
    np.random.default_rng(seed).shuffle(scores)
    out = np.append(0.0, scores)
    out.flags.writeable = False
    return out


@dataclass(frozen=True)
class Demands:
    """Utilization laws evaluated at once; arrays have the laws first: (laws, draws or 1, 1)."""

    reference: Array
    scale: Array
    low: Array
    high: Array
    coef: tuple[Array, Array, Array]
    certain: Array
    drift: Array

    @classmethod
    def of(cls, laws: Sequence[DemandModel]) -> Demands:
        """These laws, in this order."""

        def each(values: Sequence[float]) -> Array:
            return np.array(values, float)[:, None, None]

        def drawn(values: Sequence[Array]) -> Array:
            return np.stack(values)[:, :, None]

        return cls(
            reference=each([law.reference_rate for law in laws]),
            scale=each([law.scale for law in laws]),
            low=each([law.support[0] for law in laws]),
            high=each([law.support[1] for law in laws]),
            coef=tuple(drawn([law.coef[:, i] for law in laws]) for i in range(3)),  # type: ignore[arg-type]
            certain=drawn([1.0 + law.noise for law in laws]),
            drift=drawn([law.drift for law in laws]),
        )

    @cached_property
    def certain_inside(self) -> Array:
        return np.maximum(self.certain, 0.0)

    def usage(self, driver: Array) -> Array:
        """Engines in use, (laws, draws, loads), at the driver's values of that shape; never below zero."""
        x = driver / self.reference
        fixed, each, curve = self.coef
        if ((self.low <= driver) & (driver <= self.high)).all():
            mean = fixed + x * (each + curve * (x - 1.0))
            return np.asarray(self.scale * np.maximum(mean, 0.0) * self.certain_inside)
        # Below the range measured, a negative fixed part shrinks with the load: no work takes less than no engines.
        start, edge = self.low / self.reference, CURVATURE_RANGE * self.high / self.reference
        with np.errstate(divide="ignore", invalid="ignore"):
            if (fixed < 0).any():
                fixed = np.where((fixed < 0) & (x < start), fixed * x / start, fixed)
            far = x > edge
            near = np.minimum(x, edge)
            mean = fixed + near * (each + curve * (near - 1.0))
            if far.any():
                mean = mean + np.where(far, np.maximum((x - edge) * (each + curve * (2.0 * edge - 1.0)), 0.0), 0.0)
            mean = np.maximum(mean, 0.0)
            # One over the other is nowhere above 1 where it is no number.
            further = np.maximum(driver / self.high, np.where(driver > 0, self.low / driver, 0.0))
            distance = np.log(np.maximum(further, 1.0))
        return np.asarray(self.scale * mean * np.maximum(self.certain + self.drift * distance, 0.0))


def engines_in_use(law: DemandModel, regressor: Array) -> Array:
    """Engines in use, (draws, loads), by one law at values of its regressor of that shape; never below zero."""
    return np.asarray(Demands.of((law,)).usage(regressor[None])[0])


@dataclass(frozen=True)
class Anchor:
    """What was recorded of the intervals that a question starts from, and what the model makes of them.

    ``rates`` (1, 1, classes) recorded transactions/s; ``usage`` factors (draws, 1) on the engines of single series;
    ``busy`` (draws, 1) engines that the LPAR used beyond the sum of its series; ``engines`` all that it used, and
    ``work`` those by its transactions; ``ziip_busy`` busy zIIPs recorded and ``ziip_modelled`` the model's;
    ``response`` (draws, 1) what was recorded in ms, with its scatter, and ``modelled_ms`` what the model has there,
    ``waits`` the factor on its waits that the record tells, ``p90`` the factor on the ratio of 90th percentile and
    mean, by metric and class.
    """

    rates: Array
    usage: Mapping[str, Array] = field(default_factory=dict)
    busy: Array | float = 0.0
    engines: Array | float = 0.0
    work: Array | float = 0.0
    ziip_busy: Array | float = 1.0
    ziip_modelled: Array | float = 1.0
    response: Mapping[tuple[str, str], Array] = field(default_factory=dict)
    p90: Mapping[tuple[str, str], Array] = field(default_factory=dict)
    modelled_ms: Mapping[tuple[str, str], Array] = field(default_factory=dict)
    waits: Mapping[tuple[str, str], Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """Loads on a system; arrays broadcast to (draws, loads).

    ``rates`` is (draws or 1, loads, streams) transactions/s. ``extra`` adds engines by series, what a recorded interval
    had beyond its law, and the parts of volumes that other LPARs use; ``others`` is what these use of the machine, in
    engines; ``threads`` those of a zIIP core, None for as many as it has; ``ziips_left`` what the machine leaves of the
    zIIPs, None for all. ``cost`` and ``ziip_cost``, (draws,), multiply the time of all work on CPs and zIIPs, ``work``
    that of the transactions on CPs; ``machine`` and ``msu_per_engine`` are name and rating of the machine moved to,
    empty and None for that of the records; ``cpc`` is the machine with what is changed of it, None for the one
    recorded; ``limits`` are planned servers, by limit, a number or (1, loads); ``recorded`` are the recorded intervals
    it starts from.
    ``think_s`` (draws or 1, loads or 1, streams) is how long users of a class think between transactions, 0 where it
    has none; ``users`` (draws, loads, streams) how many there are, who then make the rate, 0 where it is as ``rates``
    say; ``anchor`` is the record that the question starts from.
    """

    rates: Array
    engines: float
    ziips: float = 0.0
    cost: Array | float = 1.0
    ziip_cost: Array | float = 1.0
    work: Array | float = 1.0
    machine: str = ""
    msu_per_engine: float | None = None
    extra: Mapping[str, Array] = field(default_factory=dict)
    others: Array | float = 0.0
    cpc: Machine | None = None
    limits: Mapping[str, Array | float] = field(default_factory=dict)
    threads: float | None = None
    ziips_left: float | None = None
    recorded: tuple[int, ...] = ()
    think_s: Array | None = None
    users: Array | None = None
    anchor: Anchor | None = None

    def thinking(self, streams: Sequence[str]) -> dict[str, Array]:
        """How long users think, (draws or 1, loads or 1) in s, of the streams that have any."""
        if self.think_s is None:
            return {}
        some = np.flatnonzero((self.think_s > 0).any(axis=(0, 1))).tolist()
        return {streams[i]: self.think_s[:, :, i] for i in some}

    def at_loads(self, chosen: Sequence[int] | NDArray[np.intp]) -> Scenario:
        """The scenario at some of its loads; what is the same for all of its loads stays."""
        loads = self.rates.shape[1]

        def at(values: Any) -> Any:
            if isinstance(values, np.ndarray) and values.ndim > 1 and values.shape[1] == loads:
                return values[:, chosen]
            return values

        cut = {name: at(getattr(self, name)) for name in ("rates", "work", "others", "think_s", "users")}
        limits, extra = ({name: at(values) for name, values in of.items()} for of in (self.limits, self.extra))
        return replace(self, limits=limits, extra=extra, **cut)

    def offered(self) -> Scenario:
        """The scenario at its offered rates, whatever rates its users make."""
        return replace(self, users=None)

    @cached_property
    def total_rates(self) -> Array:
        """Transactions/s of all classes, (draws or 1, loads)."""
        return np.asarray(self.rates.sum(axis=2))


@dataclass(frozen=True)
class State:
    """The state of a system at a scenario; arrays are (draws, loads). Without responses nothing is known of limits.

    ``usage``, ``busy``, ``ziip_busy``, ``machine_busy`` and ``limits`` are those of the offered load, also beyond what
    there is; ``through`` is the state of the carried load, None where that is all of it. Rates of users in
    ``scenario`` are those they make.
    """

    scenario: Scenario
    usage: Mapping[str, Array]
    busy: Array
    available: Array
    ziip_busy: Array | None
    machine_busy: Array | None
    response_ms: Mapping[tuple[str, str], Array] = field(default_factory=dict)
    using_ms: Mapping[tuple[str, str], Array] = field(default_factory=dict)
    waiting_ms: Mapping[tuple[str, str], Mapping[str, Array]] = field(default_factory=dict)
    p90_ms: Mapping[tuple[str, str], Array] = field(default_factory=dict)
    limits: Mapping[str, Array] = field(default_factory=dict)
    through: State | None = None

    @property
    def used(self) -> State:
        """The state of what gets through: what is really used."""
        return self.through or self

    @property
    def filled(self) -> State:
        """The offered load of what is full, and the carried load of everything else."""
        if self.through is None:
            return self
        used, full = self.through, self.through.busy >= self.available
        return replace(
            self,
            usage={name: np.where(full, self.usage[name], one) for name, one in used.usage.items()},
            busy=np.where(full, self.busy, used.busy),
            machine_busy=used.machine_busy,
            ziip_busy=used.ziip_busy,
            limits={name: np.where(one >= 1.0, one, used.limits[name]) for name, one in self.limits.items()},
        )

    def at_load(self, i: int) -> State:
        """The state at one of the loads, as arrays of that load alone."""
        return self.at_loads([i])

    def at_loads(self, chosen: Sequence[int] | NDArray[np.intp]) -> State:
        """The state at some of its loads."""

        def some(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: some(item) for key, item in value.items()}
            if isinstance(value, State):
                return value.at_loads(chosen)
            return value[:, chosen] if isinstance(value, np.ndarray) else value

        parts = {field.name: some(getattr(self, field.name)) for field in fields(self) if field.name != "scenario"}
        return State(scenario=self.scenario.at_loads(chosen), **parts)

    def with_loads(self, loads: NDArray[np.intp], there: State) -> State:
        """The state that at some of its loads is another one, which has these alone."""
        if len(loads) == self.busy.shape[1]:
            return there

        def both(value: Any, other: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: both(item, other[key]) for key, item in value.items()}
            if not isinstance(value, np.ndarray):
                return value
            merged = value.copy()
            merged[:, loads] = other
            return merged

        parts = {field.name: both(getattr(self, field.name), getattr(there, field.name)) for field in fields(self)[1:]}
        rates = np.broadcast_to(self.scenario.rates, (*self.busy.shape, self.scenario.rates.shape[2]))
        return State(scenario=replace(self.scenario, rates=both(rates, there.scenario.rates)), **parts)
