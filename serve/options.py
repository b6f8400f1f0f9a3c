"""The keys that a question about a system can set, with today's values: the fields of the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from model.calendar import Calendar
from model.capacity.adjustments import OFF, ON, Adjustment, quantity_of
from model.capacity.bundle import has_conditions
from model.capacity.configuration import MOST_PLACES
from model.capacity.parameters import Machine, SystemParameters, ZiipPool, adjustments_from_plain
from model.hardware.ratings import identity, rated
from serve.schemas import Option

if TYPE_CHECKING:
    from model.published.ask import Condition

UNITS = {"kb": "KB", "mb": "MB", "tps": "transactions/s"}
"""Units by the last word of a key."""
SHARES = [OFF, ON, "0.1", "0.25", "0.5", "0.75"]
"""Shares of the work for which a published effect can be asked; on: the share it was measured on."""
ADDED = "a system, or NAME:CPS:WEIGHT:BUSY"
"""What stands for an LPAR to come."""
KEYS = {"etr_tps": "Transactions per second", "engines": "General-purpose CPs", "think_time": "Think time, s"}
KEYS |= {"file_size": "File size, MB"}
SHORT = {word: word.upper() for word in ("http", "ifp", "ims", "jvm", "lpar", "lu2")}
SHORT |= {"aors": "AORs", "fors": "FORs", "tors": "TORs", "tran": "transaction"}


def of_network(parameters: SystemParameters) -> list[Option]:
    """The keys besides the load that can be asked of a system of the bundle."""
    engines, machine = parameters.engines, parameters.machine
    most = max(2.0 * engines, machine.engines if machine else 0.0)
    options = []
    if parameters.recorded is not None:
        shifts = Calendar.of(parameters.calendar).shifts
        options.append(Option(key="shift", label="Shift of the baseline", today="", choices=["", *shifts]))
    options.append(Option(key="engines", label="General-purpose CPs", today=engines, least=1, most=most))
    ziips = parameters.ziip or ZiipPool()
    most_ziips = max(2.0 * ziips.engines + 2.0, engines)
    options.append(Option(key="ziip_engines", label="zIIPs", today=ziips.engines, least=0, most=most_ziips))
    if ziips.threads > 1.0:
        options.append(Option(key="smt", label="SMT of the zIIPs", today="on", choices=["on", "off"]))
    weights = parameters.weights
    if machine and weights and weights.total > weights.own:
        weight = weights.own
        options.append(Option(key="weight", label="Weight of the LPAR", today=weight, least=1, most=3 * weight))
        today = "on" if machine.capped else "off"
        options.append(Option(key="cap", label="Capped at its share by weight", today=today, choices=["off", "on"]))
        held_to = machine.cap_engines
        options.append(Option(key="cap_engines", label="Absolute cap, engines", today=held_to, least=0.1, most=most))
        if each := parameters.msu_per_engine:
            msu = None if held_to is None else each * held_to
            options.append(Option(key="cap_msu", label="Absolute cap, MSU", today=msu, least=1, most=each * most))
    if machine:
        options += _of_cpc(parameters, machine)
    options += _moves(parameters)
    ratings = parameters.machine_ratings
    machines = rated(ratings)
    if parameters.service_units_per_s or identity(parameters.machine_type, ratings) in machines:
        options.append(Option(key="machine", label="Machine", today="", choices=["", *machines]))
    for limit in parameters.limits:
        if limit.kind == "devices":
            continue
        one = Option(key=f"limit.{limit.name}", label=f"Places of {limit.name}", today=None)
        if limit.reached:
            one.today = places = float(limit.inferred[0])
            one.least, one.most = places / MOST_PLACES, places * MOST_PLACES
        options.append(one)
    for name, law in parameters.responses.items():
        if law.interval_sd or law.transaction_sd:
            options.append(Option(key=f"response_ms.{name}", label=f"Measured response of {name}, ms", today=None))
    return options + _effects(parameters.adjustments, {"cpu"}, parameters.parts)


def _of_cpc(parameters: SystemParameters, machine: Machine) -> list[Option]:
    """What can be changed of the CPC that an LPAR shares: its engines, its LPARs, and another one in its place."""
    physical = machine.engines
    options = [Option(key="physical_cps", label="Physical CPs of the CPC", today=physical, least=1, most=2 * physical)]
    if machine.ziips:
        label = "Physical zIIPs of the CPC"
        most = 2 * machine.ziips + 2
        options.append(Option(key="physical_ziips", label=label, today=machine.ziips, least=1, most=most))
    options.append(Option(key="add_lpar", label="LPAR to add to the CPC", today=None, hint=ADDED))
    lpars = [one.name for one in machine.others if one.name]
    if lpars:
        options.append(Option(key="remove_lpar", label="LPAR to remove from the CPC", today="", choices=["", *lpars]))
    others = (one.machine for one in parameters.installation.values() if one.recorded is not None)
    cpcs = sorted({one.name for one in others if one} - {machine.name})
    if cpcs:
        options.append(Option(key="cpc", label="Move the LPAR to CPC", today="", choices=["", *cpcs]))
    return options


def _moves(parameters: SystemParameters) -> list[Option]:
    """Classes that can move to another recorded LPAR of the installation, and those of others that can come."""
    installation = parameters.installation.items()
    others = {name: one for name, one in installation if one.smf_sid != parameters.smf_sid}
    others = {name: one for name, one in others.items() if one.recorded is not None}
    choices = ["", *sorted(others)]
    away = [
        Option(key=f"move_to.{one.name}", label=f"Move {one.name} to LPAR", today="", choices=choices)
        for one in (parameters.classes if others else ())
    ]
    coming: dict[str, list[str]] = {}
    for name, other in sorted(others.items()):
        for one in other.classes:
            coming.setdefault(one.name, []).append(name)
    return away + [
        Option(key=f"move_from.{name}", label=f"Move {name} here from LPAR", today="", choices=["", *systems])
        for name, systems in sorted(coming.items())
    ]


def of_conditions(bundle: Mapping[str, Any], system: str) -> tuple[list[Option], list[Option]]:
    """What can be asked of a system measured at conditions, and what picks figures of one measurement."""
    if not has_conditions(bundle, system):
        return [], []
    # Loaded for systems with studies alone.
    from model.published.ask import conditions_of
    from model.published.system import Studied

    conditions, studies = conditions_of(bundle, system), bundle["conditions"]
    figures = (row for row in studies["rows"] if row["system"] == system)
    quantities = {quantity_of(row["metric"], row["unit"]) for row in figures} - {None}
    adjustments = adjustments_from_plain(studies.get("adjustments", {}))
    effects = _effects(adjustments, quantities, Studied(bundle, system).levels)
    changes = [_condition(one) for one in conditions if not one.selects]
    return changes + effects, [_condition(one) for one in conditions if one.selects]


def _condition(one: Condition) -> Option:
    """A field for a key: a choice of levels, or a number about those measured."""
    label = KEYS.get(one.key) or _in_words(one.key)
    if not one.is_number:
        return Option(key=one.key, label=label, today="", choices=["", *one.levels])
    measured = [float(level) for level in one.levels]
    option = Option(key=one.key, label=label, today=one.today, measured=measured)
    if measured:
        option.least, option.most = measured[0] / 2, 2 * measured[-1]
    return option


def _in_words(key: str) -> str:
    """A key in words: `buffer_kb` as Buffer, KB."""
    words = key.split("_")
    unit = UNITS.get(words[-1])
    text = " ".join(SHORT.get(word, word) for word in (words[:-1] if unit else words))
    return text[:1].upper() + text[1:] + (f", {unit}" if unit else "")


def _effects(
    adjustments: Mapping[str, Adjustment], quantities: Collection[str | None], parts: Collection[str]
) -> list[Option]:
    """The published effects that change any of these quantities, those about traffic of such parts first."""
    options = []
    for name, about in sorted(adjustments.items(), key=lambda one: (not one[1].concerns(parts), one[0])):
        if about.quantities & set(quantities):
            where = dict.fromkeys(source.partition(":")[0] for source in about.sources)
            meaning = f"{about.changes}; from {', '.join(where)}"
            options.append(Option(key=f"adjust.{name}", label=about.title, today=OFF, choices=SHARES, meaning=meaning))
    return options
