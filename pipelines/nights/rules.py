"""The rules of alerts: what is shipped, and `alerts.toml` in the state folder, whose tables replace rules by name."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from model.calendar import Calendar, CalendarError
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from state.settings import read_toml

FILE = "alerts.toml"
SHIPPED = Path(__file__).with_name(FILE)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Rule(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(default=True, description="whether the rule is active")
    severity: Literal["failure", "warning", "news"] = Field(
        default="warning", description="failure: sent in quiet hours, too"
    )

    def applies_to(self, *names: str | None) -> bool:
        """Whether the rule looks at something of these LPARs or CPCs."""
        patterns: list[str] = getattr(self, "systems", ["*"])
        return any(fnmatchcase(name or "", pattern) for name in names for pattern in patterns)


class Measured(Rule):
    """A rule about recorded intervals."""

    systems: list[str] = Field(default=["*"], min_length=1, description="patterns of LPARs and CPCs")
    shift: str = Field(default="", description="a shift of the calendar; all intervals without it")
    above: float = Field(gt=0, allow_inf_nan=False)
    intervals: int = Field(default=1, ge=1, le=96, description="number of consecutive intervals")


class PerformanceIndex(Measured):
    """A service class period misses its goal."""

    kind: Literal["performance_index"]
    above: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    importance: int = Field(default=5, ge=1, le=5, description="lowest importance that counts")


class CpuBusy(Measured):
    """The CPs of an LPAR or a CPC are busy."""

    kind: Literal["cpu_busy"]
    above: float = Field(default=95.0, gt=0, le=100)


class R4ha(Measured):
    """The R4HA comes near defined capacity or the limit of a capacity group."""

    kind: Literal["r4ha"]
    above: float = Field(default=95.0, gt=0, le=1000)


class ZiipOverflow(Measured):
    """zIIP-eligible work runs on CPs."""

    kind: Literal["ziip_overflow"]
    above: float = Field(default=10.0, gt=0, le=100)


class Headroom(Rule):
    """A resource reaches its target soon."""

    kind: Literal["headroom"]
    systems: list[str] = Field(default=["*"], min_length=1, description="patterns of systems")
    months: float = Field(default=6.0, gt=0, le=36)


class Gap(Rule):
    """Records are missing."""

    kind: Literal["gap"]


class Drift(Rule):
    """A model drifts from the records."""

    kind: Literal["drift"]


AnyRule = Annotated[
    PerformanceIndex | CpuBusy | R4ha | ZiipOverflow | Headroom | Gap | Drift, Field(discriminator="kind")
]
_RULES: TypeAdapter[dict[str, AnyRule]] = TypeAdapter(dict[str, AnyRule])
KINDS = [get_args(rule.model_fields["kind"].annotation)[0] for rule in get_args(get_args(AnyRule)[0])]


def read(home: Home, calendar: Calendar) -> dict[str, Any]:
    """The rules by name. EtalonError (NO_INPUT) names file, rule and field, and what is allowed."""
    path = home.root / FILE
    try:
        custom = read_toml(path)
    except (ValueError, OSError, RecursionError) as error:
        raise EtalonError(f"{path}: {error}; correct it: docs/planning.md has an example", Exit.NO_INPUT) from error
    rules = _checked({**read_toml(SHIPPED), **custom}, path)
    for name, rule in rules.items():
        try:
            calendar.condition(getattr(rule, "shift", ""))
        except CalendarError as error:
            raise EtalonError(f"{path}: {name}.{error}", Exit.NO_INPUT) from error
    return rules


def _checked(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for name in content:
        if not _NAME.fullmatch(name):
            raise EtalonError(
                f"{path}: [{name}]: the name of a rule must consist of lower-case letters, digits and -", Exit.NO_INPUT
            )
    try:
        return _RULES.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name, *rest = [str(part) for part in first["loc"] if part not in KINDS]
        field = ".".join([name, *rest])
        text = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        if first["type"].startswith("union_tag"):
            text = f"kind should be {', '.join(KINDS)}"
        raise EtalonError(f"{path}: {field}: {text}", Exit.NO_INPUT) from error
