"""The keys and levels that questions about a system may name, and the cells that they are about."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from model.capacity.adjustments import POPULATIONS
from model.capacity.values import QuestionError
from model.published.definitions import followers
from model.published.observations import ALTERNATIVES, RELEASES, Identity
from model.published.prediction import Predictor
from model.published.tables import SYSTEM, Cell, Table, level_change, number, written

MOST = 1e12


class Conditions:
    """The keys and levels of all systems of a model.

    `answered` says whether a system has any figure at a level that it was not measured at.
    """

    def __init__(
        self,
        predictor: Predictor,
        facts: Mapping[str, Mapping[str, str]],
        answered: Callable[[str, Mapping[str, str]], bool],
    ) -> None:
        self._predictor = predictor
        self._tables = predictor.tables
        self._facts = facts
        self._answered = answered
        self._keys_of: dict[str, dict[str, tuple[str, ...]]] = {}

    def keys(self, system: str) -> dict[str, tuple[str, ...]]:
        """The keys a question about a system may name, with the levels known of each."""
        if system not in self._keys_of:
            self._keys_of[system] = self._known_keys(system)
        return self._keys_of[system]

    def numbers(self, system: str) -> set[str]:
        """The keys of a system whose levels are numbers."""
        return {table.covariate for table in self.of(system) if table.covariate is not None}

    def _known_keys(self, system: str) -> dict[str, tuple[str, ...]]:
        by_key: dict[str, set[str]] = {}
        for table in self.of(system):
            for key in self.keys_of(table, system):
                by_key.setdefault(key, set()).update(self._levels(table, system, key))
        for entry in self._predictor.identities:
            for key, level in entry.condition.items() if entry.system == system else ():
                by_key.setdefault(key, set()).add(level)
        return {key: tuple(sorted(levels, key=_order)) for key, levels in sorted(by_key.items()) if levels}

    def of(self, system: str) -> Iterator[Table]:
        """Tables that have the system, or another system that runs the same workload."""
        for table in self._tables.blocks.values():
            others = {cell.system for cell in table.values}
            if system in others or any(self._predictor.same_workload(system, other) for other in others):
                yield table

    @staticmethod
    def measures(table: Table, system: str) -> bool:
        """Whether a table has any figure of a system."""
        return any(cell.system == system for cell in table.values)

    @staticmethod
    def keys_of(table: Table, system: str) -> set[str]:
        """The conditions of a table's figures of a system; of all its figures where it has none of the system."""
        of_system = {key for cell in table.values if cell.system == system for key in table.condition(cell)}
        return of_system or {key for cell in table.values for key in table.condition(cell)}

    def _levels(self, table: Table, system: str, key: str) -> set[str]:
        """Levels a system was measured at, and those to which other systems show how its own levels change."""
        conditions = [table.condition(cell) for cell in table.values if cell.system == system]
        of_system = {condition[key] for condition in conditions if key in condition}
        if of_system and (key == table.covariate or key in table.fixed.get(system, {})):
            return of_system
        return of_system | {
            other
            for other in {*table.levels[key], *self._instead(table, key, of_system)}
            if other not in of_system
            and (not of_system or any(self._tables.shows(table.block[0], key, level, other) for level in of_system))
            and self._answered(system, {key: other})
        }

    def _instead(self, table: Table, key: str, of_system: set[str]) -> set[str]:
        """Levels of other tables of the study that differ in one word from one of a system's own, such as V10 and V9.
        What adds words to it is particular to its table.
        """
        others = (other for block, other in self._tables.blocks.items() if block[0] == table.block[0])
        levels = {level for other in others for level in other.levels.get(key, ())} if key in ALTERNATIVES else set()
        return {level for level in levels if any(_one_word(*level_change(mine, level)) for mine in of_system)}

    def key(self, table: Table, system: str, key: str) -> str | None:
        """The table's name of an asked key: one population may be called users here and sessions there."""
        if key in self.keys_of(table, system):
            return key
        return table.covariate if key in POPULATIONS and table.covariate in POPULATIONS else None

    def check(self, system: str, at: Mapping[str, Any]) -> dict[str, list[str]]:
        """The levels that every asked key stands for. Raises QuestionError for an unknown key or level."""
        keys, facts = self.keys(system), self._facts.get(system, {})
        numeric = self.numbers(system)
        levels: dict[str, list[str]] = {}
        for given, value in at.items():
            text = f"{value:.12g}" if isinstance(value, int | float) else str(value)
            key = given
            for names in (RELEASES, POPULATIONS):
                if given in names and given not in keys:
                    key = next((name for name in names if name in keys), given)
            if key not in keys:
                if key in facts:
                    if not covers(facts[key], text):
                        raise QuestionError(key, text, f"{key}: only {facts[key]!r} was measured", [facts[key]])
                    continue
                raise QuestionError(key, key, f"at: unknown key {key!r} for {system}", keys)
            if key in numeric:
                x = number(text.replace(",", ""))
                if x is None or x > MOST:
                    refusal = f"{key} must be a number above 0 and at most {MOST:g} (got {text!r})"
                    raise QuestionError(key, text, refusal)
                levels[key] = [f"{x:.12g}"]
                continue
            levels[key] = (
                [text]
                if text in keys[key]
                else [level for level in keys[key] if text.split() and set(text.split()) <= set(level.split())]
            )
            if not levels[key]:
                raise QuestionError(key, text, f"{key}: {text!r} was not measured", keys[key])
        counts = [key for key in levels if key in POPULATIONS]
        if len({levels[key][0] for key in counts}) > 1:
            raise QuestionError(counts[1], levels[counts[1]][0], f"{' and '.join(counts)} are one population")
        return levels

    def cells(self, table: Table, system: str, levels: Mapping[str, str]) -> list[Cell]:
        """The cells of a system that a table can be asked for at some levels."""
        chosen: dict[Cell, None] = {}
        of_system = [cell for cell in table.values if cell.system == system]
        others = [
            cell
            for cell in table.values
            if cell.system != system and self._predictor.same_workload(system, cell.system)
        ]
        siblings = [cell.at_level(SYSTEM, system) for cell in others]
        fixed = table.fixed.get(system, {})
        lent = set() if of_system else {pair for cell in others for pair in table.fixed.get(cell.system, {}).items()}
        for cell in (*of_system, *siblings, *followers(table, system)):
            moved: Cell | None = cell
            for key, level in levels.items():
                name = self.key(table, system, key)
                if moved is None or name is None:
                    moved = None
                elif name == table.covariate:
                    moved = replace(moved, x=number(level))
                elif name in fixed or (name, level) in lent:
                    moved = moved if fixed.get(name, level) == level else None
                else:
                    is_level = moved.level(name) is not None and table.may_have(moved.metric, name, level)
                    moved = moved.at_level(name, level) if is_level else None
            if moved is not None and (moved == cell or table.together(moved)):
                chosen[moved] = None
        return list(chosen)

    def identities(self, system: str, levels: Mapping[str, str]) -> Iterator[Identity]:
        """What follows of a system at some levels."""
        seen = set()
        for row in self._predictor.identities:
            rest = {key: level for key, level in row.condition.items() if key not in levels}
            place = (row.table, row.metric, written(rest))
            if row.system != system or not levels.keys() <= row.condition.keys() or place in seen:
                continue
            if all(self._may_move(row, key, level) for key, level in levels.items()):
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


def covers(fact: str, text: str) -> bool:
    """Whether a level is the configuration's: its value, one of several (`20;40`), or within a range (`8 to 128`)."""
    x, ends = number(text), [number(end) for end in fact.split(" to ")]
    if x is not None and len(ends) == 2 and ends[0] is not None and ends[1] is not None:
        return ends[0] <= x <= ends[1]
    return text in (fact, *fact.split(";"))


def _one_word(one: str, other: str) -> bool:
    return len(one.split()) == len(other.split()) == 1


def _order(level: str) -> tuple[bool, float, str]:
    value = number(level)
    return value is None, value or 0.0, level
