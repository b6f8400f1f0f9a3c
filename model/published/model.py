"""Answers from the studies: the metrics of a system at a condition, measured or not."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from model.capacity.parameters import cached
from model.capacity.values import QuestionError
from model.published.conditions import Conditions
from model.published.observations import Identity, Observation, Operand
from model.published.prediction import FOLLOWS, Predictor, Value, family
from model.published.tables import Cell, Table, Tables, is_closed, written

FEW_POINTS = 3
NEARER_LEVELS = "levels left out were nearer to the mean of their neighbours than to the prediction"
NEARER_FIGURES = "figures left out were nearer to their other level than to the prediction"


@dataclass(frozen=True)
class Output:
    """One metric at a condition with its 90 % interval.

    `evidence` names the table, the basis in words, the number of measured levels, the measured value where there is
    one, and whether the condition lies outside the measured ones.
    """

    metric: str
    condition: Mapping[str, str]
    value: float
    lo: float
    hi: float
    unit: str
    notes: tuple[str, ...]
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class Users:
    """A population of users whose throughput follows a law.

    `throughput` gives its lower limit, median and upper limit per second for a number of users. From `least` to `most`
    users were measured, who think `think_s` between requests (0 where that is not known). `unit` is that of the
    throughput.
    """

    key: str
    table: str
    unit: str
    least: float
    most: float
    think_s: float
    throughput: Callable[[float], tuple[float, float, float]]


class Published:
    """A fitted model, ready to answer."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model = model
        self._predictor = predictor(model)
        self._tables = self._predictor.tables
        self._conditions = Conditions(
            self._predictor, model["facts"], lambda system, levels: any(True for _ in self._predict(system, levels))
        )

    def systems(self) -> tuple[str, ...]:
        """The systems that can be asked."""
        return tuple(sorted({row.system for row in self._tables.rows}))

    def keys(self, system: str) -> dict[str, tuple[str, ...]]:
        """The keys a question about a system may name, with the levels known of each."""
        return self._conditions.keys(system)

    def numbers(self, system: str) -> set[str]:
        """The keys of a system whose levels are numbers, so that others can be asked than those known."""
        return self._conditions.numbers(system)

    def users(self, system: str) -> Users | None:
        """The population of a system; None where no throughput of users was measured at several levels."""
        for table in self._tables.blocks.values():
            for cell in table.by_series:
                points = table.series(cell)
                if cell.system == system and is_closed(table, cell) and len(points) > 1 and table.covariate:

                    def throughput(count: float, cell: Cell = cell) -> tuple[float, float, float]:
                        value = self._predictor.value(replace(cell, x=count))
                        assert value is not None
                        return value.low, value.value, value.high

                    place = table.covariate, table.block[1], table.unit(cell)
                    think_s = self._tables.think_s(cell, self._model["facts"])
                    return Users(*place, points[0][0], points[-1][0], think_s, throughput)
        return None

    def predict(self, system: str, at: Mapping[str, Any] | None = None) -> list[Output]:
        """The metrics of a system at a condition.

        A named condition that is not asked for is answered at all its levels, a numeric one at the measured levels. A
        level may be named by some of its words (`V10` for `IMS V10 OTMA`); all levels that have them are answered.
        Raises QuestionError for an unknown system, key or level.
        """
        if system not in self.systems():
            raise QuestionError("system", system, f"system: {system!r} was not measured at conditions", self.systems())
        outputs: dict[tuple[str, str, str], Output] = {}
        levels = self._conditions.check(system, at) if at else {}
        for chosen in product(*levels.values()):
            for output in self._predict(system, dict(zip(levels, chosen, strict=True))):
                outputs[output.evidence["table"], output.metric, written(output.condition)] = output
        return self._once(system, list(outputs.values()))

    def _predict(self, system: str, levels: Mapping[str, str]) -> Iterator[Output]:
        for table in self._conditions.of(system):
            measured = levels or self._conditions.measures(table, system) or not self._conditions.keys_of(table, system)
            if not measured or not all(self._conditions.key(table, system, key) for key in levels):
                continue
            for cell in self._conditions.cells(table, system, levels):
                value = self._predictor.value(cell)
                if value is not None:
                    yield self._output(table, cell, value)
        for entry in self._conditions.identities(system, levels):
            condition = {**entry.condition, **levels}
            value = self._predictor.identity(entry, condition)
            if value is not None:
                evidence = {"table": entry.table, "basis": FOLLOWS}
                yield Output(entry.metric, condition, value.value, value.low, value.high, entry.unit, (), evidence)

    def _once(self, system: str, outputs: list[Output]) -> list[Output]:
        """Each figure once: one that several tables print alike, whatever words they have for the system, and of the
        tables that tell it those of the system.
        """
        tables = {table.block[1]: table for table in self._conditions.of(system)}
        lent = {name for name, table in tables.items() if not self._conditions.measures(table, system)}
        of_system = {(o.metric, written(o.condition)) for o in outputs if o.evidence["table"] not in lent}
        kept: dict[tuple[str, str, float], Output] = {}
        for output in outputs:
            table = output.evidence["table"]
            if table in lent and (output.metric, written(output.condition)) in of_system:
                continue
            fixed = tables[table].fixed.get(system, {}) if table in tables else {}
            place = {key: "" if key in fixed else level for key, level in output.condition.items()}
            kept.setdefault((output.metric, written(place), output.value), output)
        return list(kept.values())

    def _output(self, table: Table, cell: Cell, value: Value) -> Output:
        notes = [value.note] if value.note else []
        evidence: dict[str, Any] = {"table": table.block[1], "basis": value.basis}
        measured = table.values.get(cell)
        if measured is not None:
            evidence["measured"] = measured[0]
        if value.inference is not None:
            evidence["points"] = value.inference.points
            evidence["extrapolated"] = value.inference.extrapolated
            if cell.x is not None and 0 < value.inference.points < FEW_POINTS:
                points = value.inference.points
                notes.append(f"{points} measured level(s) of {table.covariate} are too few to judge the trend")
            if value.inference.extrapolated:
                notes.append(f"outside the measured levels of {table.covariate}")
            behind = family(table, cell) in self._model.get("behind", ())
            if behind and measured is None:
                notes.append(NEARER_LEVELS if value.inference.points else NEARER_FIGURES)
        return Output(
            cell.metric,
            table.condition(cell),
            value.value,
            value.low,
            value.high,
            table.unit(cell),
            tuple(notes),
            evidence,
        )


SCHEMA = "etalon-conditions/6"


def fit(
    rows: Iterable[Observation],
    facts: Mapping[str, Mapping[str, str]],
    identities: Iterable[Identity] = (),
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """The model of all systems as plain values for JSON.

    Args:
        rows: one a metric and condition; `model.published.reading.read_catalogue` reads those of the studies.
        facts: configuration of each system by attribute.
        identities: what follows from other values.
        seed: of the draws that totals and ratios are made of.
    """
    from model.published.hyperparameters import FIT_ITERATIONS, REFIT_ITERATIONS, fitted
    from model.published.leave_one_out import behind, left_out, scales

    observations = tuple(rows)
    tables = Tables(observations)
    hyperparameters = Predictor(tables, facts, choose=fitted(FIT_ITERATIONS)).hyperparameters()
    experiments = left_out(tables, facts, fitted(REFIT_ITERATIONS, hyperparameters))
    figures = [figure for experiment in experiments for figure in experiment.figures()]
    return {
        "schema": SCHEMA,
        "seed": seed,
        "rows": [asdict(row) for row in observations],
        "facts": {system: dict(facts_of) for system, facts_of in facts.items()},
        "identities": [asdict(entry) for entry in identities],
        "hyperparameters": hyperparameters,
        "scales": scales(figures),
        "behind": behind(figures),
    }


def predictor(model: Mapping[str, Any]) -> Predictor:
    """What predicts from a fitted model, with NumPy alone."""
    return Predictor(
        Tables(Observation(**row) for row in model["rows"]),
        model["facts"],
        tuple(
            Identity(**{**entry, "operands": tuple(Operand(**operand) for operand in entry["operands"])})
            for entry in model["identities"]
        ),
        model["scales"],
        lambda regression: model["hyperparameters"].get(regression.group.name, {}),
        model["seed"],
    )


def predict(model: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> list[Output]:
    """The metrics of a system at a condition, from what `fit` gave; see `Published.predict`."""
    return published(model).predict(system, at)


def published(model: Mapping[str, Any]) -> Published:
    """A fitted model, ready to answer, made once for as long as it is in use."""
    return cached(model, "published", lambda: Published(model))
