"""A load on a system (scenario), the record it starts from (anchor), and what the system does (state).

Arrays have the draws first and the loads second, ``(draws, loads)``; transaction classes come last.
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
    """Demand models evaluated at once; arrays have the models first: (models, draws or 1, 1)."""

    reference: Array
    scale: Array
    low: Array
    high: Array
    coef: tuple[Array, Array, Array]
    certain: Array
    drift: Array

    @classmethod
    def of(cls, models: Sequence[DemandModel]) -> Demands:
        """Demand models, in this order."""

        def each(values: Sequence[float]) -> Array:
            return np.array(values, float)[:, None, None]

        def drawn(values: Sequence[Array]) -> Array:
            return np.stack(values)[:, :, None]

        return cls(
            reference=each([demand.reference_rate for demand in models]),
            scale=each([demand.scale for demand in models]),
            low=each([demand.support[0] for demand in models]),
            high=each([demand.support[1] for demand in models]),
            coef=tuple(drawn([demand.coef[:, i] for demand in models]) for i in range(3)),  # type: ignore[arg-type]
            certain=drawn([1.0 + demand.noise for demand in models]),
            drift=drawn([demand.drift for demand in models]),
        )

    @cached_property
    def certain_inside(self) -> Array:
        return np.maximum(self.certain, 0.0)

    def usage(self, driver: Array) -> Array:
        """Engines in use, (models, draws, loads), at the driver's values of that shape; never below zero."""
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


def engines_in_use(demand: DemandModel, regressor: Array) -> Array:
    """Engines in use by one demand model at values of its regressor, both (draws, loads); never below zero."""
    return np.asarray(Demands.of((demand,)).usage(regressor[None])[0])


@dataclass(frozen=True)
class Anchor:
    """The record that a question starts from, and the model's values there.

    Attributes
    ----------
    rates : ndarray of shape (1, 1, classes)
        recorded transactions/s.
    usage : mapping
        recorded over modelled engines in use, (draws, 1), by series.
    busy : ndarray of shape (draws, 1)
        engines that the LPAR used beyond the sum of its series.
    engines, work : ndarray of shape (draws, 1)
        engines that it used, and those of its transactions.
    ziip_busy, ziip_modelled : ndarray of shape (draws, 1)
        busy zIIPs, recorded and modelled.
    response, modelled_ms : mapping
        responses in ms, (draws, 1), by metric and class: recorded, with their scatter, and modelled.
    p90, waits : mapping
        recorded over modelled ratio of 90th percentile and mean, and factor on the waits, by metric and class.
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

    Attributes
    ----------
    rates : ndarray of shape (draws or 1, loads, classes)
        transactions/s.
    engines, ziips : float
        CPs and zIIPs of the LPAR.
    cost, ziip_cost : ndarray of shape (draws,) or float
        factors on the time of all work on CPs and on zIIPs.
    work : ndarray or float
        factor on the CPU time of transactions.
    machine, msu_per_engine
        name and rating of another machine; empty and None for the recorded one.
    extra : mapping
        engines by series that a recorded interval used beyond its demand.
    others : ndarray or float
        engines that the other LPARs of the machine use.
    cpc : Machine or None
        the machine with its changes; None for the recorded one.
    limits : mapping
        planned servers by limit, a number or (1, loads).
    threads, ziips_left : float or None
        threads of a zIIP core, and zIIPs that the machine leaves; None for the recorded ones.
    recorded : tuple of int
        recorded intervals that the loads start from.
    think_s : ndarray of shape (draws or 1, loads or 1, classes), or None
        think times of users; 0 for classes without users.
    users : ndarray of shape (draws, loads, classes), or None
        users, who then make the rate; 0 where ``rates`` apply.
    anchor : Anchor or None
        the record that the loads start from.
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

    def thinking(self, class_names: Sequence[str]) -> dict[str, Array]:
        """How long users think, (draws or 1, loads or 1) in s, of the classes that have any."""
        if self.think_s is None:
            return {}
        some = np.flatnonzero((self.think_s > 0).any(axis=(0, 1))).tolist()
        return {class_names[i]: self.think_s[:, :, i] for i in some}

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
    there is; ``carried_state`` is the state of the carried load, None where that is all of it. Rates of users in
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
    carried_state: State | None = None

    @property
    def carried(self) -> State:
        """The state of the carried load."""
        return self.carried_state or self

    @property
    def offered_where_full(self) -> State:
        """The offered load of what is full, and the carried load of everything else."""
        if self.carried_state is None:
            return self
        used, full = self.carried_state, self.carried_state.busy >= self.available
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
