"""How published metrics hang together, and what follows when their printed digits are taken together.

Two kinds of identity hold between the metrics of one measured point: products (ITR = ETR / busy) and sums (total CPU =
sum of the groups). Each printed figure admits an interval; an identity narrows the interval of every metric in it by
those of the others. Narrowing to a fixed point leaves the values that agree with everything printed, or shows that the
paper contradicts itself. (Interval constraint propagation; Davis, *Artificial Intelligence* 32, 1987.)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.lab.errors import LabError
from model.published.printed import Interval, decimals, printed_interval, rounded_interval, transpositions

UNBOUNDED = Interval(0.0, math.inf)
SETTLED = 1e-13
SHRINK_STEP = 2.0**-10


@dataclass(frozen=True, slots=True)
class Product:
    """`constant` x product of metric ** exponent = 1, with exponents +1 or -1 and positive metrics."""

    exponents: Mapping[str, int]
    constant: float = 1.0

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of this identity."""
        return tuple(self.exponents)

    def implied(self, metric: str, intervals: Mapping[str, Interval]) -> Interval:
        """The values of `metric` the others admit."""
        lo = hi = self.constant
        for other, exponent in self.exponents.items():
            if other == metric:
                continue
            low, high = intervals[other]
            lo *= low if exponent > 0 else _reciprocal(high)
            hi *= high if exponent > 0 else _reciprocal(low)
        return Interval(_reciprocal(hi), _reciprocal(lo)) if self.exponents[metric] > 0 else Interval(lo, hi)


@dataclass(frozen=True, slots=True)
class Sum:
    """`total` = sum of `parts`, all of them positive."""

    total: str
    parts: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of this identity."""
        return (self.total, *self.parts)

    def implied(self, metric: str, intervals: Mapping[str, Interval]) -> Interval:
        """The values of `metric` the others admit."""
        lo = sum(intervals[part].lo for part in self.parts if part != metric)
        hi = sum(intervals[part].hi for part in self.parts if part != metric)
        return (
            Interval(lo, hi)
            if metric == self.total
            else Interval(intervals[self.total].lo - hi, intervals[self.total].hi - lo)
        )


Identity = Product | Sum


class ContradictionError(LabError):
    """The printed figures of one identity admit no common values."""

    def __init__(self, identity: Identity, metric: str) -> None:
        super().__init__(f"no value of {metric} agrees with {', '.join(identity.metrics)} as printed")
        self.identity = identity


@dataclass(frozen=True, slots=True)
class Misprint:
    """A printed figure set aside because it contradicts others, and the arithmetic that shows it."""

    metric: str
    printed: str
    arithmetic: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """Values that agree with everything printed, and the figures that had to be set aside for it."""

    values: Mapping[str, float]
    misprints: tuple[Misprint, ...]


def identities(engines: int) -> tuple[Identity, ...]:
    """The identities between the metrics of a point measured on `engines` CPs."""
    return (
        Product({"etr_tps": 1, "itr_tps": -1, "cpu_busy_pct": -1}, 100.0),
        Product({"cpu_us_per_tran": 1, "etr_tps": 1, "cpu_busy_pct": -1}, 100.0 / (engines * 1e6)),
        Product({"lpar_busy_pct": 1, "cpu_busy_pct": -1}),
        Product({"total_tps": 1, "etr_tps": -1}),
        Sum("total_cics_cpu_pct", ("tor_cpu_pct", "aor_cpu_pct", "for_cpu_pct")),
    )


def narrow(known: Mapping[str, Interval], among: Iterable[Identity]) -> dict[str, Interval]:
    """The intervals of all metrics after every identity has been applied until nothing changes.

    Identities with two or more unknown metrics narrow nothing and are left out. Raises ContradictionError when an
    identity admits no value of one of its metrics.
    """
    intervals = dict(known)
    usable = [
        identity
        for identity in among
        if sum(metric not in known for metric in identity.metrics) < 2
        and any(metric in known for metric in identity.metrics)
    ]
    for identity in usable:
        for metric in identity.metrics:
            intervals.setdefault(metric, UNBOUNDED)
    changed = True
    while changed:
        changed = False
        for identity in usable:
            for metric in identity.metrics:
                before = intervals[metric]
                after = before.meet(identity.implied(metric, intervals))
                if after is None:
                    raise ContradictionError(identity, metric)
                moved = max(after.lo - before.lo, 0.0 if after.hi == before.hi else before.hi - after.hi)
                if moved > SETTLED * max(1.0, after.lo):
                    intervals[metric], changed = after, True
    return intervals


def resolve(
    printed: Mapping[str, str], among: Iterable[Identity], peers: Sequence[Mapping[str, str]] = ()
) -> Resolution:
    """Values of all metrics that agree with what is printed, as far from the limits of every figure as they can be.

    `printed` maps metrics to figures as printed, `peers` holds the same of other points of the same series. Figures are
    read as rounded; as rounded or truncated where that admits no common value; and where that does not either, the part
    of a sum that is most likely misprinted is set aside and follows from the rest. A contradictory product raises
    ContradictionError.
    """
    identities_ = tuple(among)
    kept = dict(printed)
    misprints: list[Misprint] = []
    while True:
        try:
            return Resolution(_settle(kept, identities_), tuple(misprints))
        except ContradictionError as contradiction:
            if not isinstance(contradiction.identity, Sum):
                raise
            misprint = suspect(kept, contradiction.identity, peers)
            misprints.append(misprint)
            del kept[misprint.metric]


def suspect(printed: Mapping[str, str], identity: Sum, peers: Sequence[Mapping[str, str]] = ()) -> Misprint:
    """The part of a contradictory sum that is most likely misprinted, with the arithmetic that shows it.

    A part which agrees once two neighbouring digits are exchanged comes before one that does not; then one whose share
    of the total comes nearer to that of the other points; then the one that has to change least.
    """
    total = printed[identity.total]
    addition = " + ".join(printed[part] for part in identity.parts)
    added = sum(float(printed[part]) for part in identity.parts)
    places = max(decimals(printed[metric]) for metric in identity.metrics)
    admitted = {metric: printed_interval(printed[metric]) for metric in identity.metrics}
    candidates: list[tuple[bool, bool, float, str, str]] = []
    for part in identity.parts:
        text = printed[part]
        implied = identity.implied(part, admitted)
        swapped = [other for other in transpositions(text) if printed_interval(other).meet(implied)]
        other = swapped[0] if swapped else f"{(implied.lo + implied.hi) / 2:.{decimals(text)}f}"
        usual = [
            float(peer[part]) / float(peer[identity.total]) for peer in peers if {part, identity.total} <= set(peer)
        ]
        strays = bool(usual) and _distance(other, total, usual) > _distance(text, total, usual)
        candidates.append((not swapped, strays, abs(float(other) - float(text)) / float(text), part, other))
    no_swap, _, _, part, other = min(candidates)
    reason = "the smallest change that agrees" if no_swap else "two digits exchanged"
    return Misprint(
        part,
        printed[part],
        f"{addition} = {added:.{places}f}, but the printed total is {total}; {part} agrees as {other} ({reason})",
    )


def _distance(part: str, total: str, usual: Sequence[float]) -> float:
    return abs(float(part) / float(total) - sum(usual) / len(usual))


def _settle(printed: Mapping[str, str], among: tuple[Identity, ...]) -> dict[str, float]:
    """Values inside the intervals of all figures, shrunk about their centres as far as the identities allow."""
    try:
        full = {metric: rounded_interval(text) for metric, text in printed.items()}
        narrow(full, among)
    except ContradictionError:
        full = {metric: printed_interval(text) for metric, text in printed.items()}
        narrow(full, among)
    infeasible, feasible = 0.0, 1.0
    while feasible - infeasible > SHRINK_STEP:
        trial = (infeasible + feasible) / 2
        try:
            narrow(_shrunk(full, trial), among)
            feasible = trial
        except ContradictionError:
            infeasible = trial
    intervals = narrow(_shrunk(full, feasible), among)
    for metric, interval in full.items():
        value = intervals[metric].nearest((interval.lo + interval.hi) / 2)
        intervals = narrow({**intervals, metric: Interval(value, value)}, among)
    return {
        metric: (interval.lo + interval.hi) / 2 for metric, interval in intervals.items() if not math.isinf(interval.hi)
    }


def _shrunk(intervals: Mapping[str, Interval], factor: float) -> dict[str, Interval]:
    shrunk = {}
    for metric, (lo, hi) in intervals.items():
        centre, radius = (lo + hi) / 2, factor * (hi - lo) / 2
        shrunk[metric] = Interval(centre - radius, centre + radius)
    return shrunk


def _reciprocal(value: float) -> float:
    if value == 0:
        return math.inf
    return 0.0 if math.isinf(value) else 1 / value
