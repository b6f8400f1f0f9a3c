"""Metrics that the documents define by others: a value follows from what it is made of, or from what it is made into.

The fields of the workload activity report are defined in *z/OS Resource Measurement Facility Report Analysis*: service
units are seconds times the service units per second of the machine, `/SEC` and `APPL %` divide by the interval, and
`ABSRPTN` by the transactions resident.
"""

from dataclasses import dataclass, replace

from model.published.tables import Cell, Table

SECTION = "section"
AGREEING, LEAST_AGREEING = 0.005, 0.5
"""Values obey a definition within rounding, at least so large a share of those that were measured."""

WHOLE_PCT = 100.0
Term = tuple[str, str]
ANY = ""
"""Whatever unit a metric is in."""


@dataclass(frozen=True)
class Definition:
    """Metric = factor x sum of `parts` x `times` / `over`, each a metric with its unit, of one system and condition.

    A factor that is not given is one of the system (engine speed, interval) and seen where all of it was measured.
    """

    metric: Term
    parts: tuple[Term, ...]
    times: Term | None = None
    over: Term | None = None
    factor: float | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        """All that the metric is made of."""
        return *self.parts, *(term for term in (self.times, self.over) if term is not None)

    def operands(self, table: Table, cell: Cell) -> list[Cell] | None:
        """The cells a cell is made of; None where the table has not all of them."""
        operands = [_same_condition(table, cell, *term) for term in self.terms]
        return [other for other in operands if other is not None] if None not in operands else None

    def made(self, values: list[float]) -> float | None:
        """The metric but for a factor that is not given, from values in the order of `terms`; None over zero."""
        made, rest = sum(values[: len(self.parts)]), values[len(self.parts) :]
        if self.times is not None:
            made *= rest.pop(0)
        if self.over is not None:
            if rest[0] == 0:
                return None
            made /= rest[0]
        return made * (1.0 if self.factor is None else self.factor)


UNITS, PER_SECOND, SECONDS, ENGINES = "service units", "service units/s", "s", "pct of one CP"
_OTHER_SECONDS = (("SRB", SECONDS), ("RCT", SECONDS), ("IIT", SECONDS), ("HST", SECONDS))
_CP_SECONDS, _TCB_SECONDS = (("CPU", SECONDS), *_OTHER_SECONDS), (("TCB", SECONDS), *_OTHER_SECONDS)
_RATE, _ENDED = ("END/S", "tran/s"), ("ENDED", "count")

DEFINITIONS: tuple[Definition, ...] = (
    Definition(("itr_tps", ANY), (("etr_tps", ANY),), over=("cpu_busy_pct", ANY), factor=100.0),
    Definition(
        ("service_units_per_tran", ANY), (("service_units_total", ANY),), over=("tran_rate_tps", ANY), factor=1.0
    ),
    Definition(("CPU", UNITS), (("CPU", SECONDS),)),
    Definition(("CPU", UNITS), (("TCB", SECONDS),)),
    Definition(("SRB", UNITS), (("SRB", SECONDS),)),
    Definition(("TOT", UNITS), (("IOC", UNITS), ("CPU", UNITS), ("MSO", UNITS), ("SRB", UNITS)), factor=1.0),
    Definition(("/SEC", PER_SECOND), (("TOT", UNITS),), _RATE, _ENDED, 1.0),
    Definition(("/SEC", PER_SECOND), (("TOT", UNITS),)),
    Definition(("ABSRPTN", PER_SECOND), (("/SEC", PER_SECOND),), over=("AVG", "average"), factor=1.0),
    Definition(("ABSRPTN", PER_SECOND), (("/SEC", PER_SECOND),)),
    Definition(("TRX SERV", PER_SECOND), (("ABSRPTN", PER_SECOND),), factor=1.0),
    Definition(("CP", ENGINES), _CP_SECONDS, _RATE, _ENDED, 100.0),
    Definition(("CP", ENGINES), _CP_SECONDS),
    Definition(("APPL %", ENGINES), _TCB_SECONDS),
)
"""ITR = ETR / busy (ims10, ims14_z14); then the workload activity report."""


_APPL, _PER_SECOND = DEFINITIONS[-1], DEFINITIONS[7]
OVER_INTERVAL = {*_TCB_SECONDS, *((metric, UNITS) for metric in ("IOC", "CPU", "MSO", "SRB", "TOT"))}
"""Fields that are totals over the interval of the report, with their units."""


def interval_s(table: Table, cell: Cell) -> float | None:
    """The seconds over which a field of the report is a total, as other fields show them; None of other metrics."""
    if (cell.metric, table.unit(cell)) not in OVER_INTERVAL:
        return None
    for definition, whole in ((_APPL, WHOLE_PCT), (_PER_SECOND, 1.0)):
        if factor := _factor(table, definition, cell.system):
            return whole / factor
    return None


@dataclass(frozen=True)
class Following:
    """A cell = factor x what a definition makes of its operands, or the one operand of which it is made into."""

    definition: Definition
    operands: tuple[Cell, ...]
    factor: float

    def value(self, values: list[float]) -> float | None:
        """The cell, given its operands."""
        made = self.definition.made(values)
        return None if made is None else self.factor * made


def following(table: Table, cell: Cell) -> list[Following]:
    """What a cell may be computed from, what was measured first."""
    ways = []
    for definition in DEFINITIONS:
        if _is(table, cell, definition.metric):
            operands = definition.operands(table, cell)
            factor = None if operands is None else _factor(table, definition, cell.system)
            if operands is not None and factor is not None:
                ways.append(Following(definition, tuple(operands), factor))
        elif len(definition.terms) == 1 and _is(table, cell, definition.terms[0]):
            made = _same_condition(table, cell, *definition.metric)
            factor = _factor(table, definition, cell.system)
            if made is not None and made in table.values and factor:
                ways.append(Following(definition, (made,), 1.0 / factor))
    return sorted(ways, key=lambda entry: any(operand not in table.values for operand in entry.operands))


def _is(table: Table, cell: Cell, term: Term) -> bool:
    metric, unit = term
    return cell.metric == metric and unit in (ANY, table.unit(cell))


def _measured(table: Table, metric: str, unit: str) -> tuple[Cell, ...]:
    units = table.units.get(metric, {})
    return tuple(cell for cells in units.values() for cell in cells) if unit == ANY else units.get(unit, ())


def _same_condition(table: Table, cell: Cell, metric: str, unit: str) -> Cell | None:
    """The cell of another metric at the same condition, in the section of the report that has it; None without one."""
    cells = _measured(table, metric, unit)
    if cell.level(SECTION) is None:
        return replace(cell, metric=metric) if cells else None
    sections = sorted({other.level(SECTION) or "" for other in cells if other.level(SECTION)})
    others = [replace(cell.at_level(SECTION, section), metric=metric) for section in sections]
    return next((other for other in others if other in table.values), others[0] if others else None)


def _factor(table: Table, definition: Definition, system: str) -> float | None:
    """The factor by which the measured values obey a definition; None where they do not, or none shows it.

    A factor that is given is checked on all systems, one that is not is that of the system itself.
    """
    pairs = []
    for cell in _measured(table, *definition.metric):
        if definition.factor is None and cell.system != system:
            continue
        operands = definition.operands(table, cell)
        if operands is not None and all(operand in table.values for operand in operands):
            made = definition.made([table.values[operand][0] for operand in operands])
            if made:
                pairs.append((table.values[cell][0], made))
    if not pairs:
        return None if definition.factor is None else 1.0
    factor = 1.0 if definition.factor is not None else sum(value for value, _ in pairs) / sum(made for _, made in pairs)
    obeyed = [abs(factor * made - value) <= AGREEING * abs(value) for value, made in pairs]
    return factor if sum(obeyed) >= LEAST_AGREEING * len(obeyed) else None


def followers(table: Table, system: str) -> list[Cell]:
    """Cells of a system that were not measured and follow from measured ones, directly or through others."""
    measured = [cell for cell in table.values if cell.system == system]
    derived = []
    for definition in DEFINITIONS:
        if _factor(table, definition, system) is None:
            continue
        for cell in [cell for cell in measured if _is(table, cell, definition.parts[0])]:
            made = _same_condition(table, cell, *definition.metric)
            if made is not None and made not in table.values and made not in derived:
                derived.append(made)
                measured.append(made)
    return derived
