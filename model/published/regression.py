"""Gaussian-process regression of the figures of a study over the conditions that it varies.

The logarithm of a figure of a cell (a quantity of a system with options, at a level x of the table's covariate) is

    ln y = m(x) + w1(x) a + w2(x) b + r(ln x) + e,        e ~ N(0, noise^2 + se^2)

Without a covariate w1 = 1 and w2 = 0. With one, y follows the trend f = a + b u(x), of which w1 = a / f and w2 = b / f
are the derivatives of ln f by ln a and ln b: the regression is made linear at its own posterior (Gauss-Newton). u is x
for customers, who hold something each, and 1 / x for pieces of a size; what has neither grows by a power of x.

The effects a and b are sums of random effects over the factors of the table and their products (functional analysis of
variance), r is a Matern 3/2 process of the series and an exponential one that systems share:

    K = sum_t sd_t^2 K_t,        K_t(c, c') = product over the factors of t of [same level of c and c']

Levels of options are compared by the words that they share, systems and parts by how much their measured figures
differ. Standard deviations sd_t are the maximum of the posterior under log-normal priors (`PRIORS`), found when a model
is fitted (`model.published.hyperparameters`). What is needed to predict is NumPy alone.

References: Rasmussen and Williams 2006, *Gaussian Processes for Machine Learning*, 2.2 and 5.4; Durrande and others
2013, *Journal of Multivariate Analysis* 115 (kernels of analysis of variance).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.published.definitions import OVER_INTERVAL, interval_s
from model.published.observations import ALTERNATIVES, CUSTOMERS, RELEASES, RUN_S, SIZES, WORKLOAD
from model.published.tables import (
    COUNTED_IN_RUN,
    POINT,
    SYSTEM,
    TIMES,
    Cell,
    Table,
    Tables,
    is_closed,
    is_total,
    number,
)

Array = NDArray[np.float64]

RELEASE = RELEASES[0]
RISING = ("storage", "buffers", *TIMES)
"""Kinds of quantities that more customers do not lower."""
WORK = ("engine time", "SU")
LOADED = (*TIMES, "throughput", "count", "1/s", "users")
"""Kinds that differ between two systems as their loads do, where nothing measured says by how much."""
LINEARIZATIONS = 3
LEAST_SHARE = 1e-4
"""A part of a trend is kept above this share of the whole, so that it has a logarithm."""
LAWFUL, LEAST_LAWFUL = 0.003, 3
"""A series of so many levels that is within this share of its own trend is interpolated by it."""
LEAST_FULL = 2
"""Levels of users at the most throughput that show a resource to be full."""
LEAST_PAIRS = 2
"""So many quantities measured in two systems tell a metric apart from the others of its kind."""
LEAST_COMMON, APART = 2, 0.3
"""Figures in common that tell how alike two systems or parts are; ln of the factor at which they are little so."""
LEAST_SPREAD_PARTS, SPREAD_PRIOR, SPREAD_FLOOR = 4, 2.0, 1e-4
JITTER = 1e-9
RESIDUAL_LENGTH, SHARED_LENGTH = 2.0, 1.5
"""Length scales in ln x."""
SPREADS = {**dict.fromkeys(WORK, 0.015), "storage": 0.03, "us": 0.03, "s": 0.15, "ms": 0.15, "pct": 0.15}
"""Median spread of ln(ratio) between two levels of an option, by kind of quantity. Engine time per transaction is
repeated within 1 to 3 % where releases count as equal (ims14_z14, ims10 claims)."""
OTHER_SPREAD = 0.05
SWITCHED_ON, SWITCHED_ON_MEDIAN = "yes", 0.6745
"""What is switched on is work to do: the median of a half-normal distribution of the usual spread."""
FIXED = 0.01


@dataclass(frozen=True)
class Prior:
    """A log-normal prior of a standard deviation: its median, and the standard deviation of its logarithm."""

    median: float
    log_sd: float


class Context:
    """What regressions take of all tables: values, loads, and which cells belong together."""

    def __init__(self, tables: Tables, facts: Mapping[str, Mapping[str, str]]) -> None:
        self.tables, self.facts = tables, facts
        self._by_kind: dict[tuple[str, str, bool, bool], list[Cell]] = defaultdict(list)
        for block, table in tables.blocks.items():
            for cell, (value, _) in table.values.items():
                if value > 0:
                    self._by_kind[block[0], self.kind(cell), is_total(cell), cell.x is None].append(cell)

    def table(self, cell: Cell) -> Table:
        """The table of a cell."""
        return self.tables.blocks[cell.block]

    def kind(self, cell: Cell) -> str:
        """The kind of quantity of a cell; the throughput of a population is one of its own."""
        table = self.table(cell)
        return "population" if is_closed(table, cell) else table.kind(cell)

    def value(self, cell: Cell) -> float:
        """The measured value that is regressed: of the throughput of a population, its response or cycle time."""
        value = self.table(cell).values[cell][0]
        return self.cycle_s(cell, value) if is_closed(self.table(cell), cell) else value

    def cycle_s(self, cell: Cell, throughput: float) -> float:
        """Users over throughput, less the time that they are known to think (Little's law)."""
        assert cell.x is not None
        return cell.x / throughput - self.tables.think_s(cell, self.facts)

    def log_work(self, cell: Cell) -> float | None:
        """ln of the transactions that a figure is the work of, a second or over the interval that it is a total of;
        None where it is no work, or that is not known.
        """
        table = self.table(cell)
        over_s = interval_s(table, cell)
        of_run = table.mart_metrics.get(cell.metric, "") in COUNTED_IN_RUN
        if over_s is None and (of_run or (cell.metric, table.unit(cell)) in OVER_INTERVAL):
            over_s = number(self.facts.get(cell.system, {}).get(RUN_S, ""))
        rate = self.tables.work_rate(cell) if over_s is None else self.tables.rate(cell)
        return math.log(rate * (over_s or 1.0)) if rate else None

    def relative_se(self, cell: Cell) -> float:
        """Standard error of a measured value, relative to it."""
        value, se = self.table(cell).values[cell]
        return se / value

    def alike(self, cell: Cell) -> list[Cell]:
        """The measured cells of a study of the same kind, totals apart from what is no total."""
        return self._by_kind[cell.block[0], self.kind(cell), is_total(cell), cell.x is None]

    def group(self, cell: Cell) -> Group | None:
        """The measured cells that tell a cell; None without any."""
        alike = self.alike(cell)
        metric = [other for other in alike if other.block == cell.block and other.metric == cell.metric]
        place = " | ".join((*cell.block, self.kind(cell), "total" if is_total(cell) else ""))
        if cell.x is not None:
            return self._of_covariate(cell, metric, place)
        by_part: dict[object, set[str]] = defaultdict(set)
        for other in metric:
            by_part[parts(other)].add(other.system)
        optional = options(cell)
        if not optional and sum(len(systems) > 1 for systems in by_part.values()) >= LEAST_PAIRS:
            return Group(f"{place} | {cell.metric}", tuple(metric), True)
        keys = optional.keys()
        related = tuple(
            other
            for other in alike
            if other.block == cell.block or (keys and other.metric == cell.metric and options(other).keys() == keys)
        )
        elsewhere = cell.metric if any(other.block != cell.block for other in related) else ""
        return Group(f"{place} | all {elsewhere}", related) if related else None

    def _of_covariate(self, cell: Cell, metric: list[Cell], place: str) -> Group | None:
        part = [other for other in metric if parts(other) == parts(cell)]
        same = [other for other in part if options(other) == options(cell)]
        series = [other for other in same if replace(other, x=None) == replace(cell, x=None)]
        if is_closed(self.table(cell), cell):
            chosen, name = (series, f"of {cell.system}") if len(series) > 1 else (metric, "")
        elif len(series) > 1 or (series and not options(cell)):
            chosen, name = same, f"{parts(cell)} {sorted(options(cell).items())}"
        else:
            chosen, name = part or metric, f"{parts(cell) if part else ''}"
        return Group(f"{place} | {cell.metric} | {name}", tuple(chosen)) if chosen else None


@dataclass(frozen=True)
class Group:
    """Cells that are regressed together; `single` if they are of one metric that its own figures tell apart."""

    name: str
    cells: tuple[Cell, ...]
    single: bool = False


def options(cell: Cell) -> dict[str, str]:
    """The levels of a cell that stand for each other: its release and options."""
    return {RELEASE if key in RELEASES else key: level for key, level in cell.factors if key in ALTERNATIVES}


def parts(cell: Cell) -> tuple[tuple[str, str], ...]:
    """The levels of a cell that are parts of one measurement."""
    return tuple(pair for pair in cell.factors if pair[0] not in (*ALTERNATIVES, POINT))


@dataclass(frozen=True)
class _Features:
    """Cells as arrays: codes of factors, weights of the effects a and b, ln x, words of options."""

    codes: Mapping[str, NDArray[np.int64]]
    first: Array
    second: Array
    mean: Array
    log_x: Array
    words: Mapping[str, Array]
    switched_on: Array
    scale: Array
    steepness: Array


class Regression:
    """A regression of one group, conditioned on its measured cells.

    `choose` gives the standard deviations of the terms each time the regression is made linear anew.
    """

    def __init__(
        self, context: Context, group: Group, choose: Callable[[Regression], Mapping[str, float]] | None = None
    ) -> None:
        self.context, self.group = context, group
        cells = self.cells = group.cells
        self.kind = context.kind(cells[0])
        self.covariate = cells[0].x is not None
        self.series: dict[Cell, list[Cell]] = defaultdict(list)
        for cell in cells:
            self.series[replace(cell, x=None)].append(cell)
        loads = [load for cell in cells if (load := self._load(cell)) is not None]
        self._usual_load, self._loads_known = float(np.median(loads)) if loads else 0.0, len(loads) == len(cells)
        self._logs = np.array([math.log(context.value(cell)) - self._offset(cell) for cell in cells])
        self._se = np.array([context.relative_se(cell) for cell in cells])
        self._metrics = {(cell.block, cell.metric) for cell in cells}
        self._systems = sorted({cell.system for cell in cells})
        levels_of_cells = [options(cell) for cell in cells]
        self._options = sorted({key for levels in levels_of_cells for key in levels})
        varied = [key for key in self._options if len({levels.get(key) for levels in levels_of_cells}) > 1]
        self._codes: dict[str, dict[object, int]] = defaultdict(dict)
        self._steepness: dict[str, float] = {}
        self._plain_words: set[int] = set()
        self._scales = self._spread_of_systems()
        self._start_trend()
        self._correlations: dict[str, Array] = {}
        steep = self.covariate and len(self._systems) > 1 and any(key != RELEASE for key in varied)
        for turn in range(LINEARIZATIONS if self.trend in ("affine", "inverse") or steep else 1):
            if turn:
                self._linearize(steep)
            self._build()
            chosen = {} if choose is None else choose(self)
            self.sd = {term: chosen.get(term, prior.median) for term, prior in self.priors.items()}
            self._solve()
        self._terms.clear()

    def predict(self, cell: Cell) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm of a cell, as `Context.value` has it."""
        series = self.series.get(replace(cell, x=None), [])
        if cell.x is not None and (estimate := self._filling(cell, series) or self._by_own_levels(cell, series)):
            return estimate
        at = self._encode([cell])
        terms, prior = self._components(at, self._at), self._components(at, at)
        across = sum(self.sd[term] ** 2 * matrix[0] for term, matrix in terms.items() if term in self.sd)
        variance = sum(self.sd[term] ** 2 * float(matrix[0, 0]) for term, matrix in prior.items() if term in self.sd)
        variance += (self.sd["noise"] * float(at.scale[0])) ** 2
        variance -= float(across @ self._inverse @ across)
        mean = float(across @ self._weights) + float(at.mean[0]) + self._offset(cell) + self._centre
        return mean, math.sqrt(max(variance, JITTER))

    def components(self) -> tuple[dict[str, Array], Array, Array, Array]:
        """The kernel of every term at the measured cells, the noise's own scale and known variance, and the target."""
        return self._terms, self._at.scale**2, self._se**2 + JITTER, self._target

    @property
    def priors(self) -> dict[str, Prior]:
        """The prior of every term's standard deviation."""
        return {term: self._prior(term) for term in (*self._terms, "noise")}

    def _by_own_levels(self, cell: Cell, series: Sequence[Cell]) -> tuple[float, float] | None:
        """Mean and standard deviation by the trend of the series alone, where all of its levels lie on it."""
        if self.trend not in ("affine", "inverse") or len(series) < LEAST_LAWFUL:
            return None
        u, y = np.array([self._u(other.x) for other in series]), np.array([self.context.value(c) for c in series])
        a, b = non_negative_line(u, y)
        off = float(np.abs(np.log((a + b * u) / y)).max())
        return (math.log(a + b * self._u(cell.x)), max(off, LEAST_SHARE)) if off < LAWFUL else None

    def _filling(self, cell: Cell, series: Sequence[Cell]) -> tuple[float, float] | None:
        """Of users who think, of whom none waits until a resource is full: the response is that of no waiting, or users
        over the most throughput less the time they think (asymptotic bounds; Denning and Buzen 1978, *ACM Computing
        Surveys* 10), where all measured levels are within these.
        """
        assert cell.x is not None
        think_s = self.context.tables.think_s(cell, self.context.facts)
        if self.kind != "population" or not think_s or len(series) < LEAST_LAWFUL:
            return None
        users, response = np.array([c.x for c in series]), np.array([self.context.value(c) for c in series])
        throughput = users / (response + think_s)
        least, most = response.min(), throughput.max()
        if np.sum(throughput > (1.0 - LAWFUL) * most) < LEAST_FULL:
            return None

        def bound(count: Array) -> Array:
            return np.maximum(least, count / most - think_s)

        off = float(np.abs(np.log(bound(users) / response)).max())
        return (math.log(bound(np.array(cell.x))), max(off, LEAST_SHARE)) if off < LAWFUL else None

    def _load(self, cell: Cell) -> float | None:
        return None if cell.x is not None else self.context.log_work(cell)

    def _offset(self, cell: Cell) -> float:
        """ln of the transactions that a figure is the work of, so that work is compared at equal transactions."""
        if self.covariate:
            return 0.0
        load = self._load(cell)
        return self._usual_load if load is None else load

    def _spread_of_systems(self) -> dict[str, float]:
        """How much more the parts of one system differ than those of another, of the parts that all have."""
        if not self.group.single:
            return {}
        logs_of: dict[str, dict[object, float]] = defaultdict(dict)
        for cell, log in zip(self.cells, self._logs, strict=True):
            logs_of[cell.system][parts(cell)] = float(log)
        common = sorted(set.intersection(*(set(values) for values in logs_of.values())), key=repr)
        if len(logs_of) < 2 or len(common) < LEAST_SPREAD_PARTS:
            return {}
        logs = {
            system: math.log(np.var([values[part] for part in common]) + SPREAD_FLOOR)
            for system, values in logs_of.items()
        }
        usual, weight = sum(logs.values()) / len(logs), len(common) / (len(common) + SPREAD_PRIOR)
        return {system: math.exp(0.5 * (log - usual) * weight) for system, log in logs.items()}

    def _start_trend(self) -> None:
        """The trend that all series have in common, each at its own height."""
        self.trend = ""
        if not self.covariate:
            return
        covariate = str(self.context.table(self.cells[0]).covariate)
        rising = self.kind in RISING or self.kind == "population"
        self.trend = "affine" if covariate.endswith(CUSTOMERS) and rising else "power"
        if covariate.endswith(SIZES):
            self.trend = "inverse"
        self._reference = math.exp(sum(math.log(cell.x or 1.0) for cell in self.cells) / len(self.cells))
        if self.trend == "power":
            return
        heights = {
            series: math.exp(np.mean([math.log(self.context.value(cell)) for cell in cells]))
            for series, cells in self.series.items()
        }
        u, y = np.array([self._u(cell.x) for cell in self.cells]), np.exp(self._logs)
        a = b = 1.0
        for _ in range(LINEARIZATIONS + 1):
            height = np.array([heights[replace(cell, x=None)] for cell in self.cells])
            a, b = non_negative_line(u, y / height)
            for series, cells in self.series.items():
                logs = [math.log(self.context.value(cell) / (a + b * self._u(cell.x))) for cell in cells]
                heights[series] = math.exp(np.mean(logs))
        self._common = max(a, LEAST_SHARE * (a + b)), max(b, LEAST_SHARE * (a + b))
        self._trends = dict.fromkeys(self.series, self._common)

    def _u(self, x: float | None) -> float:
        assert x is not None
        return self._reference / x if self.trend == "inverse" else x / self._reference

    def _basis(self, cell: Cell) -> tuple[float, float, float]:
        """Weights of the effects a and b on ln y, and the mean that the linear trend leaves."""
        if cell.x is None:
            return 1.0, 0.0, 0.0
        if self.trend == "power":
            return 1.0, math.log(cell.x / self._reference), 0.0
        a, b = self._trends.get(replace(cell, x=None), self._common)
        f = a + b * self._u(cell.x)
        first = a / f
        return first, 1.0 - first, math.log(f) - first * math.log(a) - (1.0 - first) * math.log(b)

    def _linearize(self, steep: bool) -> None:
        """Take trends, and how steep options are by system, from the posterior."""
        if self.trend in ("affine", "inverse"):
            for series, cells in self.series.items():
                apart = self._effect(cells[0], 0.0, 1.0) - self._effect(cells[0], 1.0, 0.0)
                share = 1.0 / (1.0 + math.exp(min(max(apart, math.log(LEAST_SHARE)), -math.log(LEAST_SHARE))))
                self._trends[series] = share, 1.0 - share
        if steep:
            self._take_steepness()

    def _take_steepness(self) -> None:
        """An option may change what is larger by more: systems at the levels that all of them have."""
        at: dict[tuple[tuple[str, str], ...], set[str]] = defaultdict(set)
        levels = [tuple(sorted(options(cell).items())) for cell in self.cells]
        for cell, level in zip(self.cells, levels, strict=True):
            at[level].add(cell.system)
        common = [level for level, systems in at.items() if len(systems) == len(self._systems)]
        words = [(key, word) for level in common for key, text in level for word in text.split()]
        self._plain_words = {self._codes["words"][word] for word in words if word in self._codes["words"]}
        effects = {}
        for system in self._systems:
            mine = [(cell, level) for cell, level in zip(self.cells, levels, strict=True) if cell.system == system]
            there = [next(cell for cell, its_level in mine if its_level == level) for level in common] or [mine[0][0]]
            terms = None if common else ("system", "system x quantity")
            effects[system] = float(np.mean([self._effect(cell, 1.0, 0.0, terms) for cell in there]))
        middle = sum(effects.values()) / len(effects)
        self._steepness = {system: effect - middle for system, effect in effects.items()}

    def _effect(self, cell: Cell, first: float, second: float, only: tuple[str, ...] | None = None) -> float:
        """Posterior mean of the effect a or b of a cell's series."""
        at = replace(self._encode([cell]), first=np.array([first]), second=np.array([second]))
        terms = self._components(at, self._at)
        chosen = [term for term in terms if term in self.sd and not term.endswith("residual")]
        return self._centre * (only is None) + sum(
            self.sd[term] ** 2 * float(terms[term][0] @ self._weights)
            for term in chosen
            if only is None or term in only
        )

    def _code(self, factor: str, levels: Iterable[object]) -> NDArray[np.int64]:
        codes = self._codes[factor]
        code = [-1 if level is None else codes.setdefault(level, len(codes)) for level in levels]
        return np.array(code, dtype=np.int64)

    def _encode(self, cells: Sequence[Cell]) -> _Features:
        basis = np.array([self._basis(cell) for cell in cells])
        facts = self.context.facts
        run = [facts.get(cell.system, {}).get(WORKLOAD) or cell.system for cell in cells]
        metrics = [cell.metric for cell in cells]
        quantities = [(cell.block[1], cell.metric, cell.subject, parts(cell)) for cell in cells]
        levels = [options(cell) for cell in cells]
        codes = {
            "quantity": self._code("quantity", quantities),
            "metric": self._code("metric", metrics),
            "part": self._code("part", [(c.block[1], parts(c)) if parts(c) else None for c in cells]),
            "system": self._code("system", [cell.system for cell in cells]),
            "workload": self._code("workload", zip(quantities, run, strict=True)),
            "treatment": self._code(
                "treatment", [(c.system, tuple(sorted(o.items()))) for c, o in zip(cells, levels, strict=True)]
            ),
        }
        words = {}
        for key in self._options:
            rows = [self._code("words", [(key, word) for word in one.get(key, "").split()]) for one in levels]
            words[key] = np.zeros((len(cells), 1 + max((int(row.max()) for row in rows if len(row)), default=0)))
            for matrix, row in zip(words[key], rows, strict=True):
                matrix[row] = 1.0
        on = [sum(level.casefold() == SWITCHED_ON for level in one.values()) for one in levels]
        switched_on = np.array(on, float) * (self.kind in WORK)
        return _Features(
            codes,
            basis[:, 0],
            basis[:, 1],
            basis[:, 2] + SWITCHED_ON_MEDIAN * self._spread * switched_on,
            np.array([math.nan if cell.x is None else math.log(cell.x) for cell in cells]),
            words,
            switched_on,
            np.array([self._scales.get(cell.system, 1.0) for cell in cells]),
            np.array([self._steepness.get(cell.system, 0.0) for cell in cells]),
        )

    @property
    def _spread(self) -> float:
        return SPREADS.get(self.kind, OTHER_SPREAD)

    def _build(self) -> None:
        self._at = self._encode(self.cells)
        if not self._correlations:
            self._correlations = {
                "system": self._correlation("system", lambda cell: cell.system),
                "part": self._correlation("part", lambda cell: (cell.block[1], parts(cell))),
            }
        codes = self._at.codes
        self._has_workloads = len(set(codes["workload"])) > len(set(codes["quantity"]))
        self._has_parts = bool(np.any(codes["part"] >= 0))
        self._terms = self._components(self._at, self._at)
        target = self._logs - self._at.mean
        self._centre = float(target.mean())
        self._target = target - self._centre

    def _correlation(self, factor: str, level: Callable[[Cell], object]) -> Array:
        """How alike the levels of a factor are, 0 to 1, by the figures of the block that they have in common."""
        codes = self._codes[factor]
        correlation = np.eye(max(len(codes), 1))
        if self.covariate or len(codes) < 3:
            return correlation
        logs_of: dict[object, dict[object, float]] = defaultdict(dict)
        first = self.cells[0]
        for cell in self.context.alike(first):
            if cell.block == first.block and level(cell) in codes:
                rest = replace(cell, system="") if factor == SYSTEM else replace(cell, factors=())
                apart = parts(cell) if factor == SYSTEM else ()
                place = rest, apart, tuple(options(cell).items())
                logs_of[level(cell)][place] = math.log(self.context.value(cell)) - self._offset(cell)
        names = list(codes)
        for i, one in enumerate(names):
            for j, other in enumerate(names[:i]):
                common = logs_of[one].keys() & logs_of[other]
                both = [abs(logs_of[one][place] - logs_of[other][place]) for place in common]
                if len(both) >= LEAST_COMMON:
                    correlation[i, j] = correlation[j, i] = math.exp(-((float(np.median(both)) / APART) ** 2))
        values, vectors = np.linalg.eigh(correlation)
        correlation = (vectors * np.maximum(values, 1e-6)) @ vectors.T
        size = np.sqrt(np.diag(correlation))
        return np.asarray(correlation / np.outer(size, size), dtype=np.float64)

    def _alike(self, factor: str, one: _Features, other: _Features) -> Array:
        correlation = self._correlations[factor]
        a, b, most = one.codes[factor], other.codes[factor], len(correlation)
        seen = np.outer((a >= 0) & (a < most), (b >= 0) & (b < most))
        near = correlation[np.ix_(np.clip(a, 0, most - 1), np.clip(b, 0, most - 1))]
        return np.where(seen, near, (a[:, None] == b) & (a[:, None] >= 0))

    def _components(self, one: _Features, other: _Features) -> dict[str, Array]:
        """The kernel of every term between two sets of cells."""

        def same(factor: str) -> Array:
            a, b = one.codes[factor], other.codes[factor]
            return ((a[:, None] == b) & (a[:, None] >= 0)).astype(np.float64)

        first, second = np.outer(one.first, other.first), np.outer(one.second, other.second)
        quantity, metric, system = same("quantity"), same("metric"), self._alike("system", one, other)
        part, near = same("part"), quantity
        if not self.covariate and self._has_parts:
            part = self._alike("part", one, other)
            near = np.where(quantity > 0, quantity, metric * part)
        many = len(self._metrics) > 1 and not self.covariate
        kernels: dict[str, Array] = {}

        def add(term: str, kernel: Array) -> None:
            kernels[term] = kernels.get(term, 0.0) + kernel * first
            if self.covariate:
                kernels[f"{term}, slope"] = kernels.get(f"{term}, slope", 0.0) + kernel * second

        add("quantity", near)
        if not self.covariate:
            kernels["metric"] = metric * first
            if self._has_parts:
                kernels["own quantity"] = quantity * first
        if self._has_workloads:
            kernels["workload"] = same("workload") * first
        if many:
            kernels["part"] = part * first
        if not self.covariate or len(self._codes["quantity"]) > 1:
            add("system", system)
        add("system x quantity", system * near)
        if not self.covariate:
            kernels["system x own quantity"] = same("system") * quantity * first
        for key in self._options:
            width = max(one.words[key].shape[1], other.words[key].shape[1])
            left, right = (np.pad(f.words[key], ((0, 0), (0, width - f.words[key].shape[1]))) for f in (one, other))
            level, name = left @ right.T, "release" if key == RELEASE else "option"
            add(name, level)
            add(f"{name} x quantity", level * near)
            if self._steepness and key != RELEASE:
                steep = np.array([float(code not in self._plain_words) for code in range(width)])
                kernel = ((left * steep) @ right.T) * np.outer(one.steepness, other.steepness) * first
                kernels["steepness"] = kernels.get("steepness", 0.0) + kernel
        treatment = same("treatment")
        if self._options:
            add("cell", near * treatment)
        if self._options and self.kind in WORK:
            kernels["switched on"] = np.outer(one.switched_on, other.switched_on) * first
        if self._scales:
            scale = np.outer(one.scale, other.scale)
            for term in ("quantity", "own quantity", "part", "system x quantity", "system x own quantity"):
                if term in kernels:
                    kernels[term] = kernels[term] * scale
        if self.covariate:
            apart = np.abs(one.log_x[:, None] - other.log_x)
            smooth = math.sqrt(3.0) * apart / RESIDUAL_LENGTH
            kernels["residual"] = quantity * treatment * (1.0 + smooth) * np.exp(-smooth)
            if self._options or len(self._systems) > 1:
                kernels["shared residual"] = quantity * np.exp(-apart / SHARED_LENGTH)
        return kernels

    def _prior(self, term: str) -> Prior:
        spread, work, power = self._spread, self.kind in WORK, self.trend == "power"
        covariate = self.covariate
        if term == "noise":
            by_kind = {"storage": 0.002, "buffers": 0.002, "s": 0.01 if covariate else 0.002, "ms": 0.03}
            return Prior(by_kind.get(self.kind, 0.003), 1.0)
        if term == "system":
            if self.kind == "storage":
                return Prior(0.03, 1.2)
            if self.group.single:
                return Prior(1.0, FIXED)
            return Prior(1.0 if self.kind in LOADED and not self._loads_known else 0.25, 1.0)
        return {
            "quantity": Prior(3.0, FIXED) if covariate else Prior(1.0, 1.0),
            "quantity, slope": Prior(1.0 if power else 3.0, FIXED),
            "own quantity": Prior(0.3, 1.0),
            "metric": Prior(2.0, FIXED),
            "workload": Prior(0.3 if covariate else 1.0, 1.0),
            "part": Prior(1.0, 0.7),
            "system, slope": Prior(0.2, 1.2),
            "system x quantity": Prior(0.2 if covariate else spread if work else 0.1, 1.2),
            "system x quantity, slope": Prior(0.2, 1.2),
            "system x own quantity": Prior(0.03, 1.0),
            "option": Prior(0.5 if covariate else spread, 1.2),
            "option, slope": Prior(0.5, 1.2),
            "option x quantity": Prior(0.7 * spread, 1.2),
            "option x quantity, slope": Prior(0.2, 1.2),
            "release": Prior(0.5, 1.0) if covariate else Prior(0.1 * spread, 1.0),
            "release, slope": Prior(0.5, 1.2),
            "release x quantity": Prior(0.15 * spread, 0.7),
            "release x quantity, slope": Prior(0.2, 1.2),
            "steepness": Prior(2.0, 0.7),
            "switched on": Prior(0.5 * spread, FIXED),
            "cell": Prior(max(0.7 * spread, 0.01), 1.0),
            "cell, slope": Prior(max(0.5 * spread, 0.01), 1.0),
            "residual": Prior(0.02, 1.5),
            "shared residual": Prior(0.02, 1.5),
        }[term]

    def _solve(self) -> None:
        covariance = sum(self.sd[term] ** 2 * matrix for term, matrix in self._terms.items())
        covariance += np.diag((self.sd["noise"] * self._at.scale) ** 2 + self._se**2 + JITTER)
        self._inverse = np.linalg.inv(covariance)
        self._weights = self._inverse @ self._target


def non_negative_line(u: Array, y: Array) -> tuple[float, float]:
    """Coefficients a, b >= 0 of y = a + b u, least squares of relative errors."""
    columns = np.stack([1.0 / y, u / y], axis=1)
    coefficients = np.linalg.lstsq(columns, np.ones(len(y)), rcond=None)[0]
    if coefficients.min() < 0.0 or len(y) < 2:
        alone = columns.sum(axis=0) / (columns**2).sum(axis=0)
        off = ((columns * alone - 1.0) ** 2).sum(axis=0)
        coefficients = np.where(np.arange(2) == np.argmin(off), alone, 0.0)
    return float(coefficients[0]), float(coefficients[1])
