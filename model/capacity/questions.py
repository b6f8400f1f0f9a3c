"""Reading a capacity question: keys, classes and loads, with messages a planner can act on."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from model.capacity.derived import derived

LOADS = ("etr_tps", "cpu_busy_pct", "point")
LPARS = ("cpc", "add_lpar", "remove_lpar")
CAPS = ("cap", "cap_engines", "cap_msu")
CPC = (*LPARS, "physical_cps", "physical_ziips", "weight", *CAPS)
CHANGES = ("engines", "ziip_engines", "smt", "machine", *CPC)
GROWTH = "growth_pct"
PLANNED = ("growth_pct_per_year", "step_pct", "season_pct")
KEYS = (*LOADS, "when", "shift", GROWTH, *PLANNED, *CHANGES)
OBSERVED = "response_ms."
NUMBERS = ("growth_pct.", "growth_pct_per_year.", "rate.", "limit.", OBSERVED)
MOVE_TO, MOVE_FROM = "move_to.", "move_from."
PREFIXES = (*NUMBERS, "step_pct.", "season_pct.", "adjust.", MOVE_TO, MOVE_FROM)
TEXTS = ("point", "when", "shift", "machine", "cap", "smt", "step_pct", "season_pct", *LPARS)
SHORT_HISTORY = "short history"
"""What begins a note on records that are too short to tell growth."""
MOST_ENGINES = 256
MOST_TPS = 1e12


class QuestionError(ValueError):
    """A question that cannot be answered.

    ``field`` and ``value`` say where, ``allowed`` and ``nearest`` what would do.
    """

    def __init__(self, field: str, value: Any, message: str, allowed: Iterable[str] = ()) -> None:
        self.field = field
        self.value = value
        self._said = message
        self.allowed = sorted(map(str, allowed))
        close = difflib.get_close_matches(str(value), self.allowed, n=1, cutoff=0.5)
        self.nearest = close[0] if close else None
        self.message = message
        if self.nearest:
            self.message += f"; did you mean {self.nearest}?"
        if self.allowed:
            self.message += f" (allowed: {', '.join(self.allowed)})"
        super().__init__(self.message)

    def also(self, allowed: Iterable[str]) -> QuestionError:
        """The same refusal where more would do."""
        return QuestionError(self.field, self.value, self._said, {*self.allowed, *map(str, allowed)})


def takes_number(key: str) -> bool:
    """Whether a key of loads, engines or limits takes a number only; what others take depends on the system."""
    return (key in KEYS and key not in TEXTS) or key.startswith(NUMBERS)


def systems_with_conditions(conditions: Mapping[str, Any]) -> set[str]:
    """The systems of which studies say something."""
    return derived(conditions, "systems", lambda: {row["system"] for row in conditions.get("rows", ())})


def has_conditions(bundle: Mapping[str, Any], system: str) -> bool:
    """Whether a system was measured at conditions, in a study or runs of its own."""
    return system in systems_with_conditions(bundle.get("conditions", {}))


def askable(bundle: Mapping[str, Any]) -> set[str]:
    """The systems that can be predicted, by a network or by the studies."""
    return {*bundle["systems"], *systems_with_conditions(bundle.get("conditions", {}))}


def system_entry(bundle: Mapping[str, Any], system: str) -> Mapping[str, Any]:
    """The system's part of the bundle; an LPAR is also found by its SMF identifier. The other systems, and the ratings
    of machines and the calendar that stand beside the bundle, are in it."""
    systems = bundle["systems"]
    if system in systems:
        return _of_installation(systems[system], bundle)
    named = [name for name, entry in systems.items() if str(entry.get("smf_sid", "")).upper() == str(system).upper()]
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


def _of_installation(entry: Mapping[str, Any], bundle: Mapping[str, Any]) -> Mapping[str, Any]:
    """The system's part with the other systems, the ratings of machines and the calendar that the installation has now;
    the very same one for the same."""
    systems = bundle["systems"]
    files = {key: bundle[key] for key in ("machine_ratings", "calendar") if bundle.get(key)}
    beside = files | ({"installation": systems} if len(systems) > 1 else {})
    return derived(entry, ("beside", id(systems), repr(files)), lambda: {**entry, **beside}) if beside else entry


def positive(field: str, value: Any, most: float = math.inf) -> float:
    """A finite number above zero and at most ``most``."""
    number = finite(field, value)
    if number <= 0 or number > most:
        limit = f" and at most {said(most)}" if math.isfinite(most) else ""
        raise QuestionError(field, value, f"{field} must be above 0{limit} (got {value!r})")
    return number


def finite(field: str, value: Any) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise QuestionError(field, value, f"{field} must be a number (got {value!r})") from None
    if not math.isfinite(number):
        raise QuestionError(field, value, f"{field} must be finite (got {value!r})")
    return number


def growth(field: str, value: Any) -> float:
    """The factor that a growth in percent stands for."""
    number = finite(field, value)
    if number < -100:
        raise QuestionError(field, value, f"{field} must be at least -100 % (got {value!r})")
    if number > 1e6:
        raise QuestionError(field, value, f"{field} must be at most 1,000,000 % (got {value!r})")
    return 1.0 + number / 100.0


def whole(field: str, value: Any, least: int = 1) -> int:
    """A whole number of engines from ``least`` to 256."""
    number = finite(field, value)
    if number != int(number) or not least <= number <= MOST_ENGINES:
        raise QuestionError(field, value, f"{field} must be an integer from {least} to {MOST_ENGINES} (got {value!r})")
    return int(number)


def with_cap_unit(asked: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The question with a cap that is a number as ``cap_engines``, and a note that says so."""
    if "cap" not in asked or isinstance(asked["cap"], bool):
        return asked, ()
    try:
        engines = float(asked["cap"])
    except (TypeError, ValueError):
        return asked, ()
    rest = {key: value for key, value in asked.items() if key != "cap"}
    note = f"cap: {engines:g} is taken as engines; write cap_engines={engines:g}, or cap_msu for MSU"
    return {**rest, "cap_engines": asked["cap"]}, (note,)


def cap_to_share(value: Any) -> bool:
    """Whether an LPAR is held to its share by weight.

    Raises:
        QuestionError: the value is neither on nor off.
    """
    word = str(value).casefold()
    if word in ("yes", "on", "share", "no", "off", "none"):
        return word in ("yes", "on", "share")
    text = "cap: takes on (held to its share by weight) or off; an absolute cap is cap_engines=N or cap_msu=N"
    raise QuestionError("cap", value, text, ("on", "off"))


def threads_asked(value: Any) -> float:
    """Threads of a zIIP core: 1 or off, 2 or on."""
    threads = {"1": 1.0, "off": 1.0, "2": 2.0, "on": 2.0}.get(str(value).casefold().removesuffix(".0"))
    if threads is None:
        raise QuestionError("smt", value, "smt must be off (1 thread per core) or on (2)", ("on", "off"))
    return threads


def not_understood(key: str, known: Iterable[str] = ()) -> QuestionError:
    """The refusal of an unknown key, with the keys of networks and any others that are known."""
    shown = {*KEYS, *known, *(f"{prefix}NAME" for prefix in PREFIXES)}
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


def observed_classes(entry: Mapping[str, Any], at: Mapping[str, Any]) -> dict[str, float]:
    """Mean responses in ms that ``response_ms.CLASS`` says were measured, by class.

    Raises:
        QuestionError: a class has no response here, a name stands for several, a value is no time, or the question
            changes what the responses were measured on.
    """
    found: dict[str, float] = {}
    for key in (str(key) for key in at if str(key).startswith(OBSERVED)):
        name = key.removeprefix(OBSERVED)
        members = streams_named(entry, key, name)
        known = [one for one, law in entry["response"].items() if law.get("interval_sd") or law.get("transaction_sd")]
        streams = [entry["streams"][member]["name"] for member in members]
        if len(streams) > 1:
            raise QuestionError(key, name, f"{key}: {name!r} stands for several classes; name them one by one", streams)
        if streams[0] not in known:
            text = f"{key}: the variation of response times of {name} between intervals is not known"
            raise QuestionError(key, name, text, known)
        found[streams[0]] = positive(key, at[key])
        others = [
            str(one) for one in at if one not in ("when", "etr_tps") and not str(one).startswith(("rate.", OBSERVED))
        ]
        if others:
            text = f"{key}: says what was measured at a load; ask for {', '.join(others)} without it"
            raise QuestionError(key, at[key], text)
    return found


def point_entry(entry: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """The measured point of that name; 5, 5.0 and "5" are the same name."""
    text = str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    for point in entry["points"]:
        if point["point"] == text:
            return point
    raise QuestionError("point", text, f"point: {text!r} was not measured", [p["point"] for p in entry["points"]])


def streams_named(entry: Mapping[str, Any], field: str, name: str) -> tuple[int, ...]:
    """The streams that a service class, report class, workload or transaction class stands for.

    Raises:
        QuestionError: the name is unknown, or stands for different sets of streams.
    """
    wanted = name.strip().casefold()
    found: dict[str, tuple[int, ...]] = {}
    known: set[str] = set()
    for kind in ("name", "report_class", "workload"):
        names = [str(stream.get(kind) or "") for stream in entry["streams"]]
        known.update(filter(None, names))
        members = tuple(i for i, own in enumerate(names) if own.casefold() == wanted)
        if members:
            found[kind] = members
    for own, shares in entry.get("mixes", {}).items():
        if all(share == 1.0 for share in shares.values()):
            known.add(own)
            if own.casefold() == wanted:
                found["mix"] = tuple(i for i, stream in enumerate(entry["streams"]) if stream["name"] in shares)
    if not found:
        reasons = {one.casefold(): why for one, why in entry.get("no_streams", {}).items()}
        text = reasons.get(wanted, f"no class {name!r} has ended transactions here")
        raise QuestionError(field, name, f"{field}: {text}", known)
    if len(set(found.values())) > 1:
        kinds = {"name": "service class", "report_class": "report class", "workload": "workload", "mix": "groups file"}
        meant = "; ".join(
            f"{kinds[kind]}: {', '.join(entry['streams'][i]['name'] for i in members)}"
            for kind, members in found.items()
        )
        raise QuestionError(field, name, f"{field}: {name!r} stands for several ({meant}); name the classes")
    return next(iter(found.values()))


def said(value: float, digits: int = 6) -> str:
    """A number in a sentence: 127,900 where digits alone would be 1.279e+05."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def as_text(value: float) -> str:
    """A number as it was asked: 5 for 5.0, 110560.9 for 110560.9."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
