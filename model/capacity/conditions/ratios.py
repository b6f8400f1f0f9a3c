"""Ratios between named levels: a release, an option, a machine, another system of the study.

The ratio wanted is taken from the ratios of the same two levels that the same metric, or other metrics of the table,
show at other conditions and systems. ln(ratio) has mean zero and the spread that such ratios were measured with; a
ratio that agrees in more (metric, system, other conditions) says more about the one that is wanted. Between two systems
or two parts of a measurement, a metric that shows ratios of its own is predicted by these alone: the shortest times of
two runs may be equal where the longest are not.

Work goes with the transaction rate, what a run counts also with how long it took. The longest of n times that have a
heavy tail grows as n to the power of its extreme value index, their standard deviation half a power less (de Haan and
Ferreira 2006, *Extreme Value Theory*).
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

from model.capacity.conditions.definitions import OVER_INTERVAL, SECTION, interval_s
from model.capacity.conditions.mixtures import Belief, sample_quantiles
from model.capacity.conditions.names import ALTERNATIVES, RATES
from model.capacity.conditions.rows import RUN_S
from model.capacity.conditions.spreads import Levels, Seen, levels_of, posterior
from model.capacity.conditions.tables import POINT, SYSTEM, TIMES, Cell, Table, Tables, is_work, level_change, number

SPREADS = {"engine time": 0.015, "SU": 0.015, "storage": 0.03, "us": 0.03, "s": 0.15, "ms": 0.15, "pct": 0.15}
"""Median spread of ln(ratio) between two levels of a name, by sort of quantity. Engine time per transaction is
repeated within 1 to 3 % where releases count as equal (ims14_z14, ims10 claims)."""
OTHER_SPREAD = 0.05
LEAST_SPREAD, UNSEEN_SPREAD, COMPARED_SPREAD = 0.05, 1.0, 0.25
"""Spread between two systems or two parts of a measurement: at least, and where no such ratio was seen; of what two
systems of one workload take for a transaction or hold, which differs by 0 to 40 % (cics53_z13, ims14_z14, cics22_java).
"""
FULL_PCT = 100.0
MOST, MOST_SDS = 0.9, 1.645
"""What a metric may do that shows no such ratio itself: as most of the others, which is so many spreads."""
SWITCHED_ON, WORK = {("no", "yes"): 1.0, ("yes", "no"): -1.0}, ("engine time", "SU")
"""What is switched on is work to do: before any ratio is seen it has mean and spread of a half-normal distribution."""
HALF_NORMAL_MEAN, HALF_NORMAL_SD = math.sqrt(2.0 / math.pi), math.sqrt(1.0 - 2.0 / math.pi)
MOST_SLOPE = 1.0
"""A ratio goes with the value at most so that an e-fold at one level is a third of one at the other."""
FAILED = "failed"
COUNTED = ("passed", FAILED, "tasks")
"""Metrics of the marts that count what happened in a run."""
EXTREMES = {"response_max_s": (0.5, 0.5), "response_stddev_s": (0.2, 0.3)}
"""Powers of the number of transactions by which metrics of the marts grow, with their standard deviations: the extreme
value index is 0 without a heavy tail, and above 1 where one event held up all who came."""
MOST_RATIOS = 80
MACHINE, OTHER_PARTS = "machine", 2
"""Between two runs on one machine, so many other parts of a measurement tell a part; one changes for reasons of its
own."""
OTHER_PAIRS, APPEARING = 2.0, 0.1
"""How many pairs of a metric itself the pairs of other metrics count for that show something at one level and nothing
at the other, and how many do before any is seen."""
PARTS = 3
"""So many parts show how alike two systems are in them."""
OWN_RATIOS = 2
"""How many ratios of its own tell a metric apart from others, between systems and parts."""


@dataclass(frozen=True)
class Ratio:
    """What is believed of value / value of the donor, how many ratios of these levels it rests on, and how many of them
    are of the same metric.
    """

    belief: Belief
    seen: int
    own: int


class Ratios:
    """Ratios of named levels of all tables; changes are gathered when first asked for."""

    def __init__(self, tables: Tables, facts: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._tables = tables
        self._facts = facts or {}
        self._seen: dict[tuple[str, str, str], list[Seen]] = {}
        self._shown: set[tuple[str, str, tuple[str, str], str]] = set()
        self._zeros: dict[tuple[str, str, str], list[tuple[str, bool]]] = {}
        self._loads: dict[Cell, tuple[float | None, float | None]] = {}

    def ratio(self, donor: Cell, wanted: Cell, key: str, value: float) -> Ratio:
        """The ratio of a wanted cell to a donor that differs from it in one named condition, and has this value."""
        one, other = donor.level(key) or "", wanted.level(key) or ""
        change = (one, other) if key == SYSTEM else level_change(one, other)
        study = donor.block[0]
        seen = self._gather(study, key, *change)
        kind = self._tables.blocks[donor.block].kind(donor)
        rest = frozenset(donor.labels) & frozenset(wanted.labels)
        if donor.x is not None:
            rest |= {("", str(donor.x))}
        middle = value * math.sqrt(self.work(donor, wanted))
        mine = Seen(0.0, middle, donor.block, kind, donor.metric, donor.system, rest)
        apart = key not in ALTERNATIVES
        used = self._telling(mine, donor, wanted, key, seen)
        own = sum(entry.metric == donor.metric for entry in used)
        prior = self._apart_by(donor, wanted, key, seen, own) if apart else SPREADS.get(kind, OTHER_SPREAD)
        on = SWITCHED_ON.get((change[0].lower(), change[1].lower()), 0.0) if kind in WORK else 0.0
        centre = on * HALF_NORMAL_MEAN * prior
        prior *= HALF_NORMAL_SD if on else 1.0
        prior = math.hypot(prior, self._extreme(donor, wanted)[1])
        belief = _between(mine, used, levels_of(key), prior, centre)
        if on and used and (study, key, change, kind) not in self._shown:
            belief = belief.scaled(1.0, HALF_NORMAL_SD / HALF_NORMAL_MEAN * abs(math.log(belief.median())))
        if apart and key != SYSTEM:
            systems = {entry.system for entry in used}
            belief = belief.scaled(1.0, math.hypot(self._changed(donor, systems), self._apart(donor, key, systems)))
        return Ratio(belief, len(used), own)

    def _telling(self, mine: Seen, donor: Cell, wanted: Cell, key: str, seen: list[Seen]) -> list[Seen]:
        """The ratios seen that say something of the wanted one, those that say most first."""
        alike = [
            entry
            for entry in seen
            if entry.kind == mine.kind and (entry.block == mine.block or entry.metric == mine.metric)
        ]
        if key == SYSTEM and self._load(donor)[0] and self._one_machine(donor.system, wanted.system):
            others = {_part(entry) for entry in alike} - {_part(mine)}
            if len(others) < OTHER_PARTS:
                alike = [entry for entry in alike if _part(entry) == _part(mine)]
        own = [entry for entry in alike if entry.metric == mine.metric]
        if key not in ALTERNATIVES and len(own) >= OWN_RATIOS:
            alike = own
        return sorted(alike, key=lambda entry: -sum(levels_of(key).alike(mine, entry)))[:MOST_RATIOS]

    def _apart_by(self, donor: Cell, wanted: Cell, key: str, seen: list[Seen], own: int) -> float:
        """The spread between two systems or two parts of a measurement, before ratios of the metric itself say more."""
        if key == SYSTEM and not own:
            apart = self._loads_apart(donor, wanted) if self._of_the_load(donor, wanted) else 0.0
            return min(math.hypot(COMPARED_SPREAD, apart), UNSEEN_SPREAD)
        if not seen:
            return UNSEEN_SPREAD
        sizes = [abs(entry.log) for entry in seen]
        return max(median(sizes) if own else sample_quantiles(sizes, MOST)[0] / MOST_SDS, LEAST_SPREAD)

    def _changed(self, donor: Cell, systems: Collection[str]) -> float:
        """By how much a part takes more or less work for a transaction than in runs on the same machine, ln of it."""
        value = self._tables.value(donor)
        changes = []
        for system in systems:
            other = donor.at_level(SYSTEM, system)
            there = self._tables.value(other)
            known = value and there and value[0] > 0 and there[0] > 0 and self._load(donor)[0] and self._load(other)[0]
            if value and there and known and self._one_machine(donor.system, system):
                changes.append(abs(math.log(value[0] / there[0] / self.work(other, donor))))
        return median(changes) if changes else 0.0

    def _apart(self, donor: Cell, key: str, systems: Collection[str]) -> float:
        """By how much ratios between parts differ from those in systems that show them, ln: standard deviation, as
        of the parts that both have; 0 where the system shows the ratio itself, or few parts do.
        """
        table = self._tables.blocks[donor.block]
        levels = [donor.at_level(key, level) for level in table.levels[key]]
        spreads = []
        for system in systems:
            pairs = [(table.values.get(cell), table.values.get(cell.at_level(SYSTEM, system))) for cell in levels]
            logs = [math.log(one[0] / other[0]) for one, other in pairs if one and other and min(one[0], other[0]) > 0]
            if len(logs) >= PARTS:
                spreads.append(math.sqrt(2.0) * stdev(logs))
        return 0.0 if donor.system in systems or not spreads else median(spreads)

    def appears(self, donor: Cell, wanted: Cell, key: str) -> float:
        """The chance that something is at a level where a donor shows nothing at another, as of such pairs seen.

        Those of the metric itself count in full, all others together as `OTHER_PAIRS` of them, each metric once.
        """
        one, other = donor.level(key) or "", wanted.level(key) or ""
        change = (one, other) if key == SYSTEM else level_change(one, other)
        self._gather(donor.block[0], key, *change)
        pairs = self._zeros[f"{donor.block[0]} {key}", *change]
        by_metric: dict[str, list[bool]] = defaultdict(list)
        for metric, found in pairs:
            by_metric[metric].append(found)
        usual = (sum(map(fmean, by_metric.values())) + 2.0 * APPEARING) / (len(by_metric) + 2.0)
        own = [found for metric, found in pairs if metric == donor.metric]
        return (sum(own) + OTHER_PAIRS * usual) / (len(own) + OTHER_PAIRS)

    def _one_machine(self, *systems: str) -> bool:
        """Whether systems are runs on one machine, whose engines are as fast for all parts of them."""
        machines = {self._facts.get(system, {}).get(MACHINE) for system in systems}
        return len(machines) == 1 and None not in machines

    def seen(self, study: str, key: str, one: str, other: str) -> bool:
        """Whether any two cells of a study differ by this change of levels."""
        return bool(self._gather(study, key, *level_change(one, other)))

    def work(self, one: Cell, other: Cell) -> float:
        """How many times the transactions of one cell the other's work is of; 1 where that is not known.

        Work goes with the transaction rate, the total of a report's interval or of a run with the transactions in it,
        so that the lengths of both have to be known. The longest times of a run are longer the more there are.
        """
        known = self._known_work(one, other)
        return math.exp(self._extreme(one, other)[0]) if known is None else known

    def _known_work(self, one: Cell, other: Cell) -> float | None:
        (rate, over_s), (other_rate, other_s) = self._load(one), self._load(other)
        if rate and other_rate and (over_s is None) == (other_s is None):
            return other_rate * (other_s or 1.0) / (rate * (over_s or 1.0))
        return None

    def _of_the_load(self, one: Cell, other: Cell) -> bool:
        """Whether a metric goes with the load of a system in a way that is not known: a rate, a time, failures, or work
        where the rate of either system is not known.
        """
        table = self._tables.blocks[one.block]
        unit, name = table.unit(one), self._mart_metric(one)
        if one.metric in RATES or table.kind(one) in TIMES or name == FAILED:
            return True
        goes_with_load = is_work(one.metric, unit) or name in COUNTED or (one.metric, unit) in OVER_INTERVAL
        return goes_with_load and self._known_work(one, other) is None

    def _loads_apart(self, one: Cell, other: Cell) -> float:
        """By how much a quantity that goes with the load may differ for that alone, ln of it: a time by at most what
        waiting for engines as busy as both were has it longer, 1 / (1 - busy); infinite where that is not known.
        """
        times = self._tables.blocks[one.block].kind(one) in TIMES
        free = [1.0 - (self._tables.busy_pct(cell) or FULL_PCT) / FULL_PCT for cell in (one, other)]
        return abs(math.log(free[0] / free[1])) if times and min(free) > 0.0 else math.inf

    def _extreme(self, one: Cell, other: Cell) -> tuple[float, float]:
        """ln of how many times as large the most extreme times of the other cell's run are, and its standard deviation,
        for the number of transactions alone; 0 for other metrics and where that is not known.
        """
        power, sd = EXTREMES.get(self._mart_metric(one), (0.0, 0.0))
        if one.system == other.system or not power:
            return 0.0, 0.0
        ends = [(self._tables.rate(cell), self._run_s(cell)) for cell in (one, other)]
        (rate, over_s), (other_rate, other_s) = ends
        if not (rate and over_s and other_rate and other_s):
            return 0.0, 0.0
        more = math.log(other_rate * other_s / (rate * over_s))
        return power * more, sd * abs(more)

    def _mart_metric(self, cell: Cell) -> str:
        return self._tables.blocks[cell.block].mart_metrics.get(cell.metric, "")

    def _run_s(self, cell: Cell) -> float | None:
        """How long the run of a cell's system took."""
        return number(self._facts.get(cell.system, {}).get(RUN_S, ""))

    def _load(self, cell: Cell) -> tuple[float | None, float | None]:
        """The transaction rate of a cell whose metric is work, and the seconds that it is a total over: the interval
        that fields of its report show, or the length of the run.
        """
        if cell not in self._loads:
            table = self._tables.blocks[cell.block]
            over_s = interval_s(table, cell)
            of_run = self._mart_metric(cell) in COUNTED or (cell.metric, table.unit(cell)) in OVER_INTERVAL
            if over_s is None and of_run:
                over_s = self._run_s(cell)
            self._loads[cell] = self._tables.work_rate(cell) if over_s is None else self._tables.rate(cell), over_s
        return self._loads[cell]

    def _gather(self, study: str, key: str, gone: str, come: str) -> list[Seen]:
        place = (f"{study} {key}", gone, come)
        if place in self._seen:
            return self._seen[place]
        found: list[Seen] = []
        zeros = self._zeros.setdefault(place, [])
        for block, table in self._tables.blocks.items():
            if block[0] != study:
                continue
            for name, level, other in _changes(table, key, gone, come):
                for cell in table.holding.get((name, level), ()):
                    value, there = table.values[cell][0], table.values.get(cell.at_level(name, other), (math.nan,))[0]
                    if math.isnan(there):
                        continue
                    if value == 0 or there == 0:
                        zeros.append((cell.metric, value != there))
                    if value > 0 and there > 0:
                        rest = frozenset(pair for pair in cell.labels if pair[0] != name)
                        if cell.x is not None:
                            rest |= {("", str(cell.x))}
                        log = math.log(there / value / self.work(cell, cell.at_level(name, other)))
                        self._shown.add((study, name, (gone, come), table.kind(cell)))
                        middle = math.sqrt(value * there)
                        found.append(Seen(log, middle, block, table.kind(cell), cell.metric, cell.system, rest))
        self._seen[place] = found
        return found


def _changes(table: Table, key: str, gone: str, come: str) -> Iterator[tuple[str, str, str]]:
    """Names of a table with two levels each that make the wanted change.

    Another condition may make the same change: a release is a version here and a variant there, and one option is
    switched on as another is.
    """
    if key == SYSTEM:
        yield SYSTEM, gone, come
        return
    for name in ALTERNATIVES if key in ALTERNATIVES else (key,):
        for level, other in table.changes.get((name, (gone, come)), ()):
            yield name, level, other


def _between(donor: Seen, used: list[Seen], levels: Levels, prior: float, centre: float) -> Belief:
    """The wanted ratio. Where it goes with the value, that is the geometric mean of both levels, so that a ratio says
    the same from either of them: it is linear in the mean, and tells the mean from what a donor shows.
    """

    def at(middle: float) -> Belief:
        return posterior(replace(donor, value=math.exp(middle)), used, levels, prior, centre)

    if not (used and levels.slope and donor.value > 0.0):
        return posterior(donor, used, levels, prior, centre)
    alike = [levels.alike(donor, entry) for entry in used]
    near = fmean(math.log(entry.value) for entry, found in zip(used, alike, strict=True) if found == max(alike))
    log = math.log(at(near).median())
    slope = math.log(at(near + 1.0).median()) - log
    kept = min(max(slope, -MOST_SLOPE), MOST_SLOPE)
    away = (math.log(donor.value) + log / 2.0 - near) / (1.0 - kept / 2.0)
    return at(near + away * (kept / slope if slope else 1.0)).widened(1.0 / (1.0 - kept / 2.0))


def _part(entry: Seen) -> frozenset[tuple[str, str]]:
    """The part of a measurement that a ratio is of, whatever section of a report has it."""
    return frozenset(label for label in entry.labels if label[0] not in ("", SECTION, POINT, *ALTERNATIVES))
