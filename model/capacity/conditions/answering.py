"""Answers from condition laws: the metrics of a system at a condition, measured or not."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

from model.capacity.conditions.beliefs import family
from model.capacity.conditions.definitions import followers
from model.capacity.conditions.evaluating import FOLLOWS, Evaluator, Value
from model.capacity.conditions.fitting import evaluator
from model.capacity.conditions.rows import Identity
from model.capacity.conditions.series import is_closed
from model.capacity.conditions.tables import POPULATIONS, RELEASES, SYSTEM, Cell, Table, number
from model.capacity.questions import QuestionError

FEW_POINTS = 3
NEARER_LEVELS = "levels left out were nearer to the mean of their neighbours than to the law"
NEARER_FIGURES = "figures left out were nearer to their other level than to the ratio"
MOST = 1e12


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


class Laws:
    """A fitted model, ready to answer."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model = model
        self._evaluator: Evaluator = evaluator(model)
        self._tables = self._evaluator.tables
        self._keys_of: dict[str, dict[str, tuple[str, ...]]] = {}

    def systems(self) -> tuple[str, ...]:
        """The systems that can be asked."""
        return tuple(sorted({row.system for row in self._tables.rows}))

    def keys(self, system: str) -> dict[str, tuple[str, ...]]:
        """The keys a question about a system may name, with the levels known of each."""
        if system not in self._keys_of:
            self._keys_of[system] = self._known_keys(system)
        return self._keys_of[system]

    def _known_keys(self, system: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, set[str]] = {}
        for table in self._of(system):
            for key in self._keys(table, system):
                found.setdefault(key, set()).update(self._levels(table, system, key))
        return {key: tuple(sorted(levels, key=_order)) for key, levels in sorted(found.items()) if levels}

    def users(self, system: str) -> Users | None:
        """The population of a system; None where no throughput of users was measured at several levels."""
        for table in self._tables.blocks.values():
            for cell in table.by_series:
                points = table.series(cell)
                if cell.system == system and is_closed(table, cell) and len(points) > 1 and table.numeric:

                    def throughput(count: float, cell: Cell = cell) -> tuple[float, float, float]:
                        found = self._evaluator.value(replace(cell, x=count))
                        assert found is not None
                        return found.low, found.value, found.high

                    place = table.numeric, table.block[1], table.unit(cell)
                    think_s = self._evaluator.beliefs.laws.think_time(cell, points)
                    return Users(*place, points[0][0], points[-1][0], think_s, throughput)
        return None

    def predict(self, system: str, at: Mapping[str, Any] | None = None) -> list[Output]:
        """The metrics of a system at a condition.

        A named condition that is not asked for is answered at all its levels, a numeric one at the measured levels. A
        level may be named by some of its words (`V10` for `IMS V10 OTMA`); all levels that have them are answered.
        Raises QuestionError for an unknown system, key or level.
        """
        if system not in self.systems():
            raise QuestionError("system", system, f"system: {system!r} has no condition laws", self.systems())
        outputs: dict[tuple[str, str, str], Output] = {}
        levels = self._check(system, at) if at else {}
        for chosen in product(*levels.values()):
            for output in self._predict(system, dict(zip(levels, chosen, strict=True))):
                outputs[output.evidence["table"], output.metric, _written(output.condition)] = output
        return self._once(system, list(outputs.values()))

    def _predict(self, system: str, asked: Mapping[str, str]) -> Iterator[Output]:
        for table in self._of(system):
            known = asked or self._measures(table, system) or not self._keys(table, system)
            if not known or not all(self._key(table, system, key) for key in asked):
                continue
            for cell in self._cells(table, system, asked):
                found = self._evaluator.value(cell)
                if found is not None:
                    yield self._output(table, cell, found)
        for entry in self._identities(system, asked):
            condition = {**entry.condition, **asked}
            found = self._evaluator.identity(entry, condition)
            if found is not None:
                evidence = {"table": entry.table, "basis": FOLLOWS}
                yield Output(entry.metric, condition, found.value, found.low, found.high, entry.unit, (), evidence)

    def _once(self, system: str, outputs: list[Output]) -> list[Output]:
        """Each figure once: one that several tables print alike, whatever words they have for the system, and of the
        tables that tell it those of the system.
        """
        tables = {table.block[1]: table for table in self._of(system)}
        lent = {name for name, table in tables.items() if not self._measures(table, system)}
        own = {(o.metric, _written(o.condition)) for o in outputs if o.evidence["table"] not in lent}
        kept: dict[tuple[str, str, float], Output] = {}
        for output in outputs:
            table = output.evidence["table"]
            if table in lent and (output.metric, _written(output.condition)) in own:
                continue
            fixed = tables[table].fixed.get(system, {}) if table in tables else {}
            place = {key: "" if key in fixed else level for key, level in output.condition.items()}
            kept.setdefault((output.metric, _written(place), output.value), output)
        return list(kept.values())

    def _of(self, system: str) -> Iterator[Table]:
        """Tables that have the system, or another system that runs the same workload."""
        for table in self._tables.blocks.values():
            others = {cell.system for cell in table.values}
            if system in others or any(self._evaluator.beliefs.same_workload(system, other) for other in others):
                yield table

    @staticmethod
    def _measures(table: Table, system: str) -> bool:
        return any(cell.system == system for cell in table.values)

    @staticmethod
    def _keys(table: Table, system: str) -> set[str]:
        of_system = {key for cell in table.values if cell.system == system for key in table.condition(cell)}
        return of_system or {key for cell in table.values for key in table.condition(cell)}

    def _levels(self, table: Table, system: str, key: str) -> set[str]:
        """Levels a system was measured at, and those to which other systems show how its own levels change."""
        conditions = [table.condition(cell) for cell in table.values if cell.system == system]
        own = {condition[key] for condition in conditions if key in condition}
        if own and (key == table.numeric or key in table.fixed.get(system, {})):
            return own
        ratios = self._evaluator.beliefs.ratios
        return own | {
            other
            for other in table.levels[key]
            if other not in own
            and (not own or any(ratios.seen(table.block[0], key, level, other) for level in own))
            and next(self._predict(system, {key: other}), None) is not None
        }

    def _key(self, table: Table, system: str, key: str) -> str | None:
        """The table's name of an asked key: one population may be called users here and sessions there."""
        if key in self._keys(table, system):
            return key
        return table.numeric if key in POPULATIONS and table.numeric in POPULATIONS else None

    def _check(self, system: str, at: Mapping[str, Any]) -> dict[str, list[str]]:
        """The levels that every asked key stands for."""
        known, facts = self.keys(system), self._model["facts"].get(system, {})
        numeric = {table.numeric for table in self._of(system)}
        asked: dict[str, list[str]] = {}
        for given, value in at.items():
            text = f"{value:.12g}" if isinstance(value, int | float) else str(value)
            key = given
            for names in (RELEASES, POPULATIONS):
                if given in names and given not in known:
                    key = next((name for name in names if name in known), given)
            if key not in known:
                if key in facts:
                    if not _covers(facts[key], text):
                        raise QuestionError(key, text, f"{key}: only {facts[key]!r} was measured", [facts[key]])
                    continue
                raise QuestionError(key, key, f"at: {key!r} is not understood for {system}", known)
            if key in numeric:
                x = number(text.replace(",", ""))
                if x is None or x > MOST:
                    raise QuestionError(key, text, f"{key}: {text!r} is no number above 0 and at most {MOST:g}")
                asked[key] = [f"{x:.12g}"]
                continue
            asked[key] = (
                [text]
                if text in known[key]
                else [level for level in known[key] if text.split() and set(text.split()) <= set(level.split())]
            )
            if not asked[key]:
                raise QuestionError(key, text, f"{key}: {text!r} was not measured", known[key])
        counts = [key for key in asked if key in POPULATIONS]
        if len({asked[key][0] for key in counts}) > 1:
            raise QuestionError(counts[1], asked[counts[1]][0], f"{' and '.join(counts)} are one population")
        return asked

    def _cells(self, table: Table, system: str, asked: Mapping[str, str]) -> list[Cell]:
        found: dict[Cell, None] = {}
        own = [cell for cell in table.values if cell.system == system]
        others = [
            cell
            for cell in table.values
            if cell.system != system and self._evaluator.beliefs.same_workload(system, cell.system)
        ]
        siblings = [cell.at_level(SYSTEM, system) for cell in others]
        fixed = table.fixed.get(system, {})
        lent = set() if own else {pair for cell in others for pair in table.fixed.get(cell.system, {}).items()}
        for cell in (*own, *siblings, *followers(table, system)):
            moved: Cell | None = cell
            for key, level in asked.items():
                name = self._key(table, system, key)
                if moved is None or name is None:
                    moved = None
                elif name == table.numeric:
                    moved = replace(moved, x=number(level))
                elif name in fixed or (name, level) in lent:
                    moved = moved if fixed.get(name, level) == level else None
                else:
                    known = moved.level(name) is not None and table.may_have(moved.metric, name, level)
                    moved = moved.at_level(name, level) if known else None
            if moved is not None and (moved == cell or table.together(moved)):
                found[moved] = None
        return list(found)

    def _identities(self, system: str, asked: Mapping[str, str]) -> Iterator[Identity]:
        seen = set()
        for row in self._evaluator.identities:
            rest = {key: level for key, level in row.condition.items() if key not in asked}
            place = (row.table, row.metric, _written(rest))
            if row.system != system or not asked.keys() <= row.condition.keys() or place in seen:
                continue
            if all(self._may_move(row, key, level) for key, level in asked.items()):
                seen.add(place)
                yield row

    def _may_move(self, entry: Identity, key: str, level: str) -> bool:
        """Whether an identity holds at another level too: what it is made of is then taken at that level."""
        if entry.condition[key] == level:
            return True
        moving = [operand for operand in entry.operands if operand.constant is None and key not in operand.condition]
        return bool(moving) and all(
            (table := self._tables.blocks.get((entry.study, operand.table or entry.table))) is not None
            and table.may_have(operand.metric or entry.metric, key, level)
            for operand in moving
        )

    def _output(self, table: Table, cell: Cell, found: Value) -> Output:
        notes = []
        evidence: dict[str, Any] = {"table": table.block[1], "basis": found.basis}
        measured = table.values.get(cell)
        if measured is not None:
            evidence["measured"] = measured[0]
        if found.inference is not None:
            evidence["points"] = found.inference.points
            evidence["extrapolated"] = found.inference.extrapolated
            if cell.x is not None and 0 < found.inference.points < FEW_POINTS:
                points = found.inference.points
                notes.append(f"{points} measured level(s) of {table.numeric} are too few to judge the law")
            if found.inference.extrapolated:
                notes.append(f"outside the measured levels of {table.numeric}")
            behind = family(table, cell) in self._model.get("behind", ())
            if behind and measured is None:
                notes.append(NEARER_LEVELS if found.inference.points else NEARER_FIGURES)
        return Output(
            cell.metric,
            table.condition(cell),
            found.value,
            found.low,
            found.high,
            table.unit(cell),
            tuple(notes),
            evidence,
        )


def predict(model: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> list[Output]:
    """The metrics of a system at a condition, from what `fit` gave; see `Laws.predict`."""
    return laws(model).predict(system, at)


def laws(model: Mapping[str, Any]) -> Laws:
    """A fitted model, ready to answer; the last ones are kept."""
    return _laws(id(model), model["seed"], _Held(model))


def _covers(fact: str, text: str) -> bool:
    """Whether a level is the configuration's: its value, one of several (`20;40`), or within a range (`8 to 128`)."""
    x, ends = number(text), [number(end) for end in fact.split(" to ")]
    if x is not None and len(ends) == 2 and ends[0] is not None and ends[1] is not None:
        return ends[0] <= x <= ends[1]
    return text in (fact, *fact.split(";"))


def _written(condition: Mapping[str, str]) -> str:
    return "; ".join(f"{key}={level}" for key, level in sorted(condition.items()))


def _order(level: str) -> tuple[bool, float, str]:
    value = number(level)
    return value is None, value or 0.0, level


class _Held:
    """A model as an argument of a cache: equal to all others, so that only the identity counts."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.model = model

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.model is self.model


@lru_cache(maxsize=2)
def _laws(_identity: int, _seed: int, held: _Held) -> Laws:
    return Laws(held.model)
