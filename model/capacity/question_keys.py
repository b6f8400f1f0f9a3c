"""Reading a capacity question: keys, classes and loads, with messages a planner can act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from model.capacity.cache import cached
from model.capacity.values import QuestionError, must_be_positive

if TYPE_CHECKING:
    # A list of keys is shown without loading NumPy.
    from model.capacity.parameters import Point, SystemParameters

LOADS = ("etr_tps", "cpu_busy_pct", "point")
LPARS = ("cpc", "add_lpar", "remove_lpar")
CAPS = ("cap", "cap_engines", "cap_msu")
CPC = (*LPARS, "physical_cps", "physical_ziips", "weight", *CAPS)
ZIIPS = "ziip_engines"
CHANGES = ("engines", ZIIPS, "smt", "machine", *CPC)
GROWTH = "growth_pct"
PLANNED = ("growth_pct_per_year", "step_pct", "season_pct")
KEYS = (*LOADS, "when", "shift", GROWTH, *PLANNED, *CHANGES)
OBSERVED = "response_ms."
NUMBERS = ("growth_pct.", "growth_pct_per_year.", "rate.", "limit.", OBSERVED)
MOVE_TO, MOVE_FROM = "move_to.", "move_from."
PREFIXES = (*NUMBERS, "step_pct.", "season_pct.", "adjust.", MOVE_TO, MOVE_FROM)
MOVES, OFFLOADS = (MOVE_TO, MOVE_FROM), (ZIIPS, "adjust.")
CONFIGURATION = (*CHANGES, "limit.", "adjust.")
"""How keys begin that move classes, move work to zIIPs, and change the configuration."""
TEXTS = ("point", "when", "shift", "machine", "cap", "smt", "step_pct", "season_pct", *LPARS)
SHORT_HISTORY = "short history"
"""What begins a note on records that are too short to tell growth."""
MOST_TPS = 1e12


def asks_for(question: Mapping[str, Any], beginnings: tuple[str, ...]) -> bool:
    """Whether a question has a key that begins so: what only such questions need is loaded for these."""
    return any(str(key).startswith(beginnings) for key in question)


def takes_number(key: str) -> bool:
    """Whether a key of loads, engines or limits takes a number only; what others take depends on the system."""
    return (key in KEYS and key not in TEXTS) or key.startswith(NUMBERS)


def systems_with_conditions(conditions: Mapping[str, Any]) -> set[str]:
    """The systems of which studies say something."""
    return cached(conditions, "systems", lambda: {row["system"] for row in conditions.get("rows", ())})


def has_conditions(bundle: Mapping[str, Any], system: str) -> bool:
    """Whether a system was measured at conditions, in a study or runs of its own."""
    return system in systems_with_conditions(bundle.get("conditions", {}))


def askable(bundle: Mapping[str, Any]) -> set[str]:
    """The systems that can be predicted, by a network or by the studies."""
    return {*bundle["systems"], *systems_with_conditions(bundle.get("conditions", {}))}


def system_entry(bundle: Mapping[str, Any], system: str) -> SystemParameters:
    """The system's part of the bundle; an LPAR is also found by its SMF identifier. The other systems, and the ratings
    of machines and the calendar that stand beside the bundle, are in it."""
    systems = bundle["systems"]
    if system in systems:
        return _of_installation(systems[system], bundle)
    named = [name for name, parameters in systems.items() if parameters.smf_sid.upper() == str(system).upper()]
    if len(named) == 1:
        return _of_installation(systems[named[0]], bundle)
    reason = bundle.get("refused", {}).get(system)
    if reason:
        raise QuestionError("system", system, f"system: {system} cannot be asked: {reason}")
    if system in askable(bundle):
        refusal = f"system: {system} has figures by condition and no network; ask predict, sweep or what-if"
        raise QuestionError("system", system, refusal)
    if system in bundle.get("conditions", {}).get("facts", {}):
        refusal = f"system: {system} is known by its configuration alone; load its records and run `etalon fit`"
        raise QuestionError("system", system, refusal)
    refusal = f"system: {system!r} is not in model {bundle['model_version']}; load its records and run `etalon fit`"
    raise QuestionError("system", system, refusal, askable(bundle))


def _of_installation(parameters: SystemParameters, bundle: Mapping[str, Any]) -> SystemParameters:
    """The system's part with the other systems, the ratings of machines and the calendar that the installation has now;
    the very same one for the same."""
    systems = bundle["systems"]
    files = {key: bundle[key] for key in ("machine_ratings", "calendar") if bundle.get(key)}
    more = files | ({"installation": systems} if len(systems) > 1 else {})
    if not more:
        return parameters
    return cached(parameters, ("beside", id(systems), repr(files)), lambda: replace(parameters, **more))


def with_cap_unit(question: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The question with a cap that is a number as ``cap_engines``, and a note that says so."""
    if "cap" not in question or isinstance(question["cap"], bool):
        return question, ()
    try:
        engines = float(question["cap"])
    except (TypeError, ValueError):
        return question, ()
    rest = {key: value for key, value in question.items() if key != "cap"}
    note = f"cap: {engines:g} is taken as engines; write cap_engines={engines:g}, or cap_msu for MSU"
    return {**rest, "cap_engines": question["cap"]}, (note,)


def not_understood(key: str, others: Iterable[str] = ()) -> QuestionError:
    """The refusal of an unknown key, with the keys of networks and any others that are known."""
    shown = {*KEYS, *others, *(f"{prefix}NAME" for prefix in PREFIXES)}
    return QuestionError(key, key, f"at: unknown key {key!r}", shown)


def check_keys(at: Mapping[str, Any]) -> None:
    """Refuse unknown keys and more than one way of saying the load."""
    for key in at:
        if key not in KEYS and (not str(key).startswith(PREFIXES) or str(key) in PREFIXES):
            raise not_understood(str(key))
    given = [key for key in LOADS if key in at]
    if len(given) > 1:
        raise QuestionError(given[1], at[given[1]], f"at: {' and '.join(given)} both set the load; give one of them")
    for load in ("etr_tps", "cpu_busy_pct"):
        others = [key for key in at if str(key) == GROWTH or str(key).startswith((f"{GROWTH}.", "rate."))]
        if load in at and others:
            raise QuestionError(
                others[0], at[others[0]], f"at: {load} already sets the load; leave out {', '.join(others)}, or {load}"
            )
    for key in ("when", "shift"):
        if "point" in at and key in at:
            raise QuestionError(key, at[key], f"at: point and {key} both set the load; give one of them")


def observed_classes(parameters: SystemParameters, at: Mapping[str, Any]) -> dict[str, float]:
    """Mean responses in ms that ``response_ms.CLASS`` says were measured, by class.

    Raises:
        QuestionError: a class has no response here, a name stands for several, a value is no time, or the question
            changes what the responses were measured on.
    """
    responses: dict[str, float] = {}
    for key in (str(key) for key in at if str(key).startswith(OBSERVED)):
        name = key.removeprefix(OBSERVED)
        members = streams_named(parameters, key, name)
        variable = [one for one, law in parameters.responses.items() if law.interval_sd or law.transaction_sd]
        streams = [parameters.classes[member].name for member in members]
        if len(streams) > 1:
            raise QuestionError(key, name, f"{key}: {name!r} stands for several classes; name them one by one", streams)
        if streams[0] not in variable:
            text = f"{key}: the variation of response times of {name} between intervals is not known"
            raise QuestionError(key, name, text, variable)
        responses[streams[0]] = must_be_positive(key, at[key])
        others = [
            str(one) for one in at if one not in ("when", "etr_tps") and not str(one).startswith(("rate.", OBSERVED))
        ]
        if others:
            text = f"{key}: says what was measured at a load; ask for {', '.join(others)} without it"
            raise QuestionError(key, at[key], text)
    return responses


def point_entry(parameters: SystemParameters, value: Any) -> Point:
    """The measured point of that name; 5, 5.0 and "5" are the same name."""
    text = str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    for point in parameters.points:
        if point.point == text:
            return point
    raise QuestionError("point", text, f"point: {text!r} was not measured", [p.point for p in parameters.points])


def streams_named(parameters: SystemParameters, field: str, name: str) -> tuple[int, ...]:
    """The streams that a service class, report class, workload or transaction class stands for.

    Raises:
        QuestionError: the name is unknown, or stands for different sets of streams.
    """
    wanted = name.strip().casefold()
    members_of: dict[str, tuple[int, ...]] = {}
    names_of_classes: set[str] = set()
    for kind in ("name", "report_class", "workload"):
        names = [str(getattr(stream, kind)) for stream in parameters.classes]
        names_of_classes.update(filter(None, names))
        members = tuple(i for i, own in enumerate(names) if own.casefold() == wanted)
        if members:
            members_of[kind] = members
    for own, shares in parameters.mixes.items():
        if all(share == 1.0 for share in shares.values()):
            names_of_classes.add(own)
            if own.casefold() == wanted:
                members_of["mix"] = tuple(i for i, stream in enumerate(parameters.classes) if stream.name in shares)
    if not members_of:
        reasons = {one.casefold(): why for one, why in parameters.without_transactions.items()}
        text = reasons.get(wanted, f"no class {name!r} has ended transactions here")
        raise QuestionError(field, name, f"{field}: {text}", names_of_classes)
    if len(set(members_of.values())) > 1:
        kinds = {"name": "service class", "report_class": "report class", "workload": "workload", "mix": "groups file"}
        meant = "; ".join(
            f"{kinds[kind]}: {', '.join(parameters.classes[i].name for i in members)}"
            for kind, members in members_of.items()
        )
        raise QuestionError(field, name, f"{field}: {name!r} stands for several ({meant}); name the classes")
    return next(iter(members_of.values()))
