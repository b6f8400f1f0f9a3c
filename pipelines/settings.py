"""How nights are run: `etalon.toml` in the state folder, and environment variables, which win over it."""

import datetime as dt
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from ingest.containers.limits import DEFAULT, Limits
from model.calendar import Calendar, CalendarError
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from state.settings import FILE, read_toml


def _plain(value: Any) -> Any:
    return Path(value).expanduser() if isinstance(value, str) and "://" not in value else value


def without_password(text: str) -> str:
    """A text with addresses, without their passwords."""
    return re.sub(r"(://[^:@/\s]*):[^\s]*@", r"\1:***@", text)


#: A folder of this machine, or an address that fsspec knows, such as `s3://bucket/landing`.
Folder = Annotated[Path | str, BeforeValidator(_plain)]


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Landing(Section):
    """Where files arrive, and when they are complete."""

    folder: Folder | None = Field(
        default=None, description="folder in which files arrive; default: ETALON_HOME/landing"
    )
    systems: dict[str, list[str]] = Field(
        default={},
        description="patterns of file names by system; other files are reported and not loaded. Default: all files",
    )
    marker: str | None = Field(
        default=None, min_length=2, description="a file is complete when a file with its name and this ending exists"
    )
    settle_s: float = Field(
        default=60, ge=0, description="without a marker: a file is complete after this time without a change"
    )
    archive: Folder | None = Field(
        default=None, description="folder to which loaded files are moved; default: they stay"
    )

    @model_validator(mode="after")
    def _one_place(self) -> "Landing":
        if self.archive is not None and isinstance(self.archive, str) != isinstance(self.folder, str):
            raise ValueError("archive: where one of folder and archive is an address, the other is, too")
        return self

    def system_of(self, name: str) -> str | None:
        """The system that a file's name stands for; None where patterns are given and none fits."""
        if not self.systems:
            return ""
        return next((sid for sid, names in self.systems.items() if any(fnmatch(name, one) for one in names)), None)


class Archives(Section):
    """How much of a compressed file or an archive is unpacked, with all that is inside it."""

    members: int = Field(default=DEFAULT.members, ge=1, description="highest number of files in an archive")
    free_bytes: int = Field(default=DEFAULT.free_bytes, ge=0, description="unpacked bytes that every archive may have")
    ratio: float = Field(default=DEFAULT.ratio, ge=1, description="beyond that, unpacked bytes per packed byte")
    most_bytes: int = Field(default=DEFAULT.most_bytes, ge=1, description="highest number of unpacked bytes")
    seconds: float = Field(default=DEFAULT.seconds, gt=0, description="time limit for unpacking an archive")

    @property
    def limits(self) -> Limits:
        """The same for what unpacks."""
        return Limits(**self.model_dump())


class Coverage(Section):
    """Expected records."""

    expected: dict[str, list[str]] = Field(
        default={},
        description="record types by system, such as {SYSA = ['70.1', '72.3']}; default: learned from the records",
    )
    weeks: int = Field(default=4, ge=1, le=52, description="weeks from which the usual number of records is learned")
    least_pct: float = Field(
        default=50, gt=0, le=100, description="fewer records than this share of the usual number are reported"
    )


class Notify(Section):
    """Whom to notify, and when not to."""

    to: list[SecretStr] = Field(default=[], description="addresses of Apprise, such as mailto://, slack:// or json://")
    quiet: tuple[dt.time, dt.time] | None = Field(
        default=None, description="start and end (UTC) of the quiet hours, in which only failures are sent"
    )
    link: str | None = Field(default=None, pattern=r"^https?://", description="address of `etalon serve`, for links")


class Reports(Section):
    """Reports that nights write."""

    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = Field(
        default=[], description="days (UTC) on whose nights reports are written; default: none"
    )
    of: list[str] = Field(default=["all"], min_length=1, description="LPARs, machines, or all")
    to: list[Literal["html", "pdf", "xlsx"]] = Field(default=["html"], min_length=1, description="forms")
    shift: str = Field(default="", description="shift of the calendar for recorded figures")
    keep: int = Field(default=12, ge=1, description="number of latest days whose reports are kept")


def _calendar(described: Any) -> Any:
    return described if isinstance(described, Calendar) else Calendar.of(described)


class Build(Section):
    """How a night loads dumps and builds the marts."""

    runner: str | None = Field(default=None, description="engine, as for `etalon build --runner`")
    window: str | None = Field(
        default=None, pattern=r"^\d{1,4}[hd]$", description="length of windows such as 6h; default: all at once"
    )


class Lake(Section):
    """Where published tables are written as Delta tables."""

    address: Folder | None = Field(default=None, description="folder, or address such as s3://bucket/etalon")


class Settings(BaseSettings):
    """All of it. `ETALON_LANDING__SETTLE_S=5` is `settle_s` of `[landing]`."""

    model_config = SettingsConfigDict(
        env_prefix="ETALON_", env_nested_delimiter="__", extra="forbid", frozen=True, arbitrary_types_allowed=True
    )

    landing: Landing = Landing()
    archives: Archives = Archives()
    build: Build = Build()
    lake: Lake = Lake()
    coverage: Coverage = Coverage()
    calendar: Annotated[Calendar, BeforeValidator(_calendar)] = Calendar.of(None)
    notify: Notify = Notify()
    reports: Reports = Reports()
    retain: dict[str, int] = Field(
        default={},
        description="days to keep by table pattern, such as {'raw.smf110_*' = 35}; other tables are kept for ever",
    )
    fit: bool = Field(default=True, description="whether the night calibrates and validates a model")
    fit_days: int = Field(default=91, ge=14, description="days before a system's last interval that calibration uses")

    mlflow_server: SecretStr | None = Field(
        default=None,
        description="database server of the model registry, such as postgresql+psycopg2://…; default: SQLite",
    )

    @property
    def registry_server(self) -> str | None:
        """The address of the model registry's database server, password included; None for SQLite."""
        return None if self.mlflow_server is None else self.mlflow_server.get_secret_value()

    @model_validator(mode="after")
    def _check_shift(self) -> "Settings":
        try:
            self.calendar.condition(self.reports.shift)
        except CalendarError as error:
            raise ValueError(f"reports.{error}") from None
        return self

    @model_validator(mode="after")
    def _days(self) -> "Settings":
        for pattern, days in self.retain.items():
            if days < 1 or "." not in pattern:
                raise ValueError(f"retain: {pattern!r} = {days}: must be schema.table = days, at least 1")
        return self


def read(home: Home) -> Settings:
    """The settings of a state folder and the environment. EtalonError names file or variable, field and remedy."""
    path = home.root / FILE

    class FromFile(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return env_settings, InitSettingsSource(settings_cls, content)

    try:
        content = read_toml(path)
        return FromFile()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "settings"
        variable = "ETALON_" + "__".join(str(part) for part in first["loc"]).upper()
        message = "unknown setting" if first["type"] == "extra_forbidden" else first["msg"]
        raise EtalonError(f"{path}, or {variable}: {field}: {message}", Exit.NO_INPUT) from error
    except (ValueError, ArithmeticError, OSError, RecursionError) as error:
        raise EtalonError(f"{path}: {error}; correct it: docs/operations.md has an example", Exit.NO_INPUT) from error
