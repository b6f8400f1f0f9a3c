"""What a twin's TOML file says: a network, how its load varies through days, what is recorded, and what is asked."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tomli

from model.capacity.values import QuestionError, cap_to_share, must_be_positive, smt_threads
from model.lab.errors import LabError
from model.network import Arrivals, Network, TransactionClass

AT_KEYS = ("growth_pct", "engines", "ziip_engines", "weight", "cap", "cap_engines", "limit", "smt", "when")
"""What a question may change; `growth_pct` and `limit` are also followed by a point and a name."""
PEAK = "peak"
"""The recorded interval in which the LPAR was busiest."""
HOURS = 168
_OFFICE_DAY = (
    0.5, 0.45, 0.4, 0.4, 0.45, 0.55, 0.75, 1.05, 1.4, 1.7, 1.8, 1.75, 1.55, 1.6, 1.75, 1.7, 1.55, 1.3, 1.1, 0.95, 0.8,
    0.7, 0.6, 0.55,
)  # fmt: skip
_OFFICE_WEEKEND = 0.5
_NIGHT_HOURS = (20, 21, 22, 23, 0, 1, 2, 3, 4)
_NIGHT, _DAY = 2.2, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class ClassLoad:
    """Load of one class of the network, and the WLM class in which its transactions end.

    `rate_per_s` is the mean of the first week; users of a closed class think longer or shorter for it. `hour_factors`
    (168,) have mean 1; `noise_cv` varies the rate from interval to interval. `goal_ms` of 0: twice the usual response.
    `region` is the service class of the regions that the transactions run in, whose records have their CPU and I/O;
    empty: those of the transactions do.
    """

    service_class: str
    importance: int
    workload: str
    rate_per_s: float
    growth_pct_per_week: float
    hour_factors: np.ndarray
    noise_cv: float
    goal_ms: int
    region: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose truth is simulated: the changes `at` an interval of `system` (empty: the twin's first)."""

    name: str
    system: str
    at: Mapping[str, Any]

    @property
    def when(self) -> str:
        """The recorded interval it starts from: a local start, or `peak`."""
        value = self.at.get("when", PEAK)
        return value.isoformat() if isinstance(value, date) else str(value).strip()


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """A described network and its load; times are UTC without zone. `missing_days` (local) are not recorded.

    Uncaptured time is `fixed_engines` of every LPAR and `per_captured` of what its classes use on CPs.
    """

    system_id: str
    network: Network
    start_utc: datetime
    days: int
    interval_s: int
    seed: int
    utc_offset_hours: float
    classes: Mapping[str, ClassLoad]
    fixed_engines: float
    per_captured: float
    service_units_per_s: float
    smt_gain: float
    missing_days: tuple[date, ...]
    questions: tuple[Question, ...]

    @property
    def starts(self) -> list[datetime]:
        """Start of each interval, UTC."""
        count = self.days * 86_400 // self.interval_s
        return [self.start_utc + timedelta(seconds=self.interval_s * i) for i in range(count)]

    def local(self, moment: datetime) -> datetime:
        """Local time of a UTC time."""
        return moment + timedelta(hours=self.utc_offset_hours)

    @classmethod
    def load(cls, path: Path | str) -> "Twin":
        """Read a twin and the network file that it names.

        Raises LabError naming the file and the key.
        """
        path = Path(path)
        try:
            content = tomli.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise LabError(f"{path}: no TOML: {error}") from error
        try:
            network = Network.load(path.parent / str(_need(content, "network")))
            return cls.of(content, network)
        except OSError as error:
            raise LabError(f"{path}: network: {error.filename} cannot be read: {error.strerror}") from error
        except (TypeError, ValueError, ArithmeticError, AttributeError, KeyError) as error:
            raise LabError(f"{path}: {error}") from error

    @classmethod
    def of(cls, content: Mapping[str, Any], network: Network) -> "Twin":
        """The twin that the TOML's `content` describes. Raises LabError naming the key."""
        _only(content, "the twin", (
            "system_id", "network", "start_utc", "days", "interval_s", "seed", "utc_offset_hours", "classes",
            "uncaptured", "ask", "missing_days", "service_units_per_s", "smt_gain",
        ))  # fmt: skip
        given = _need(content, "classes")
        network = _with_arrivals(network, given)
        unknown = set(given) ^ {c.name for c in network.classes if c.arrivals is not None or c.users}
        if unknown:
            raise LabError(f"classes: {', '.join(sorted(unknown))} must stand both here and in the network")
        uncaptured = content.get("uncaptured", {})
        _only(uncaptured, "uncaptured", ("fixed_engines", "per_captured"))
        twin = cls(
            system_id=str(_need(content, "system_id")),
            network=network,
            start_utc=_utc(_need(content, "start_utc"), "start_utc"),
            days=int(content.get("days", 21)),
            interval_s=int(content.get("interval_s", 900)),
            seed=int(content.get("seed", 1)),
            utc_offset_hours=float(content.get("utc_offset_hours", 0.0)),
            classes={name: _class(name, given[name], network) for name in network.class_names if name in given},
            fixed_engines=float(uncaptured.get("fixed_engines", 0.0)),
            per_captured=float(uncaptured.get("per_captured", 0.0)),
            service_units_per_s=float(content.get("service_units_per_s", 50_000.0)),
            smt_gain=float(content.get("smt_gain", 1.25)),
            missing_days=tuple(_day(day) for day in content.get("missing_days", ())),
            questions=tuple(_question(name, entry) for name, entry in content.get("ask", {}).items()),
        )
        _check(twin)
        return twin


def hour_factors(shape: str | Sequence[float]) -> np.ndarray:
    """The factors of `office`, `flat` or `night`, or those given, brought to a mean of 1.

    Raises LabError for another name, another number of factors, or factors below zero.
    """
    if isinstance(shape, str):
        if shape not in _SHAPES:
            raise LabError(f"hour_of_week {shape!r} is none of {', '.join(_SHAPES)}, and no list of {HOURS} factors")
        factors = _SHAPES[shape]()
    else:
        factors = np.array(shape, float)
    if factors.shape != (HOURS,) or not np.all(np.isfinite(factors)) or factors.min() < 0 or factors.sum() <= 0:
        raise LabError(f"hour_of_week needs {HOURS} factors of zero or more, not all zero; it has {factors.size}")
    return factors / factors.mean()


def _office() -> np.ndarray:
    day = np.array(_OFFICE_DAY)
    return np.concatenate([np.tile(day, 5), np.tile(_OFFICE_WEEKEND * day, 2)])


def _night() -> np.ndarray:
    return np.tile([_NIGHT if hour in _NIGHT_HOURS else _DAY for hour in range(24)], 7)


_SHAPES = {"office": _office, "flat": lambda: np.ones(HOURS), "night": _night}


def described_rate_per_s(cls: TransactionClass) -> float:
    """Transactions a second that the network describes: of users, those they would send if nothing took time."""
    if cls.users:
        return cls.users / cls.think.mean if cls.think is not None and cls.think.mean > 0 else math.inf
    return cls.arrivals.rate_per_s if cls.arrivals is not None else 0.0


def _with_arrivals(network: Network, given: Mapping[str, Any]) -> Network:
    """The network with Poisson arrivals in classes that have neither arrivals nor users but a rate in the twin."""
    classes = tuple(
        replace(c, arrivals=Arrivals.poisson(float(given[c.name]["rate_per_s"])))
        if c.arrivals is None and not c.users and given.get(c.name, {}).get("rate_per_s")
        else c
        for c in network.classes
    )
    return replace(network, classes=classes)


def _class(name: str, entry: Mapping[str, Any], network: Network) -> ClassLoad:
    where = f"classes.{name}"
    _only(entry, where, (
        "service_class", "importance", "workload", "rate_per_s", "growth_pct_per_week", "hour_of_week", "noise_cv",
        "goal_ms", "region",
    ))  # fmt: skip
    load = ClassLoad(
        service_class=str(_need(entry, "service_class", where)),
        importance=int(entry.get("importance", 3)),
        workload=str(entry.get("workload", "ONLINE")),
        rate_per_s=float(
            entry.get("rate_per_s", described_rate_per_s(next(c for c in network.classes if c.name == name)))
        ),
        growth_pct_per_week=float(entry.get("growth_pct_per_week", 0.0)),
        hour_factors=hour_factors(entry.get("hour_of_week", "flat")),
        noise_cv=float(entry.get("noise_cv", 0.0)),
        goal_ms=int(entry.get("goal_ms", 0)),
        region=str(entry.get("region", "")),
    )
    if len(load.region) > 8:
        raise LabError(f"{where}: region, a service class, has up to 8 characters (got {load.region!r})")
    if not 1 <= len(load.service_class) <= 8 or len(load.workload) > 8:
        raise LabError(f"{where}: names of service classes and workloads have 1 to 8 characters")
    if not 1 <= load.importance <= 5:
        raise LabError(f"{where}: importance is 1 to 5, got {load.importance}")
    if load.noise_cv < 0 or load.rate_per_s < 0 or load.growth_pct_per_week <= -100:
        raise LabError(f"{where}: rate_per_s and noise_cv are zero or more, growth_pct_per_week is above -100")
    return load


def _question(name: str, entry: Mapping[str, Any]) -> Question:
    _only(entry, f"ask.{name}", ("at", "system"))
    at = _flat(_need(entry, "at", f"ask.{name}"))
    unknown = [key for key in at if key.partition(".")[0] not in AT_KEYS]
    if unknown:
        raise LabError(f"ask.{name}: no change {', '.join(unknown)}; known: {', '.join(AT_KEYS)}")
    readers: Mapping[str, Callable[[Any], object]] = {
        "cap": cap_to_share,
        "cap_engines": partial(must_be_positive, "cap_engines"),
        "smt": smt_threads,
    }
    for key, read in readers.items():
        try:
            if key in at:
                read(at[key])
        except QuestionError as error:
            raise LabError(f"ask.{name}: {error}") from None
    return Question(name, str(entry.get("system", "")), at)


def _flat(at: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of an inline table with dotted keys, as `growth_pct.CLASS`."""
    flat: dict[str, Any] = {}
    for key, value in at.items():
        flat |= (
            {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, Mapping) else {key: value}
        )
    return flat


def _check(twin: Twin) -> None:
    if twin.days < 1 or twin.interval_s < 60 or 86_400 % twin.interval_s:
        raise LabError("days is at least 1, interval_s at least 60 and a part of a day")
    if twin.fixed_engines < 0 or twin.per_captured < 0 or twin.service_units_per_s <= 0:
        raise LabError("fixed_engines and per_captured are zero or more, service_units_per_s is above zero")
    goals: dict[str, tuple[int, str]] = {}
    ending = {load.service_class for load in twin.classes.values()}
    for name, load in twin.classes.items():
        if load.region in ending:
            raise LabError(f"classes.{name}: region {load.region} is a service class in which transactions end")
        if goals.setdefault(load.service_class, (load.importance, load.workload)) != (load.importance, load.workload):
            raise LabError(
                f"classes.{name}: service class {load.service_class} has another importance or workload before"
            )
    recorded = [start for start in map(twin.local, twin.starts) if start.date() not in twin.missing_days]
    for question in twin.questions:
        try:
            interval_of(question.when, recorded)
        except LabError as error:
            raise LabError(f"ask.{question.name}: {error}") from None


def interval_of(when: str, starts: Sequence[datetime]) -> int | None:
    """Which recorded interval, by local start, a `when` names; None for the busiest. LabError for any other."""
    if when.casefold() == PEAK:
        return None
    local = [start.replace(tzinfo=None) for start in starts]
    try:
        return local.index(datetime.fromisoformat(when))
    except ValueError:
        raise LabError(
            f"when: {when!r} is neither {PEAK} nor the local start of a recorded interval, such as "
            f"{local[0].isoformat(timespec='minutes')}"
        ) from None


def _utc(value: Any, key: str) -> datetime:
    if not isinstance(value, datetime):
        raise LabError(f"{key} is no time; write it as 2026-09-07T00:00:00Z")
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def _day(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


def _need(entry: Mapping[str, Any], key: str, where: str = "the twin") -> Any:
    if key not in entry:
        raise LabError(f"{where}: {key} is missing")
    return entry[key]


def _only(entry: Mapping[str, Any], where: str, allowed: tuple[str, ...]) -> None:
    unknown = set(entry) - set(allowed)
    if unknown:
        raise LabError(f"{where}: no key {', '.join(sorted(unknown))}; known: {', '.join(allowed)}")
