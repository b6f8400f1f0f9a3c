"""What can be set of the service from outside: environment variables that begin with ``ETALON_``."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

import state.settings

# What RFC 6750 lets a bearer token be made of.
TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")


class Settings(BaseModel):
    """Configuration of one service process."""

    model_config = ConfigDict(frozen=True)

    home: Path = Field(default=Path(".etalon"), description="state folder with the champion and the snapshot")
    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8321, ge=1, le=65535, description="port to listen on")
    processes: int = Field(
        default_factory=lambda: min(os.cpu_count() or 1, 4),
        ge=1,
        le=64,
        description="processes that evaluate questions",
    )
    token: SecretStr | None = Field(
        default=None, description="a bearer token with all rights, in addition to those in the file"
    )
    allowed_hosts: frozenset[str] = Field(
        default=frozenset(), description="allowed host names, in addition to localhost and IP addresses"
    )

    @field_validator("token")
    @classmethod
    def _sendable(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not TOKEN.fullmatch(token.get_secret_value()):
            raise ValueError(
                "must consist of letters, digits and -._~+/, with = at the end only, and must not be empty"
            )
        return token

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _listed(cls, names: Any) -> Any:
        given = names.split(",") if isinstance(names, str) else names
        return frozenset(name.strip().lower() for name in given if name.strip())

    @model_validator(mode="after")
    def _guarded(self) -> Settings:
        if not is_loopback(self.host) and self.token is None and not self.tokens.exists():
            raise ValueError(
                f"ETALON_HOST: {self.host} can be reached from other machines, and no token protects it; "
                "make one with `etalon token NAME`, or set ETALON_TOKEN"
            )
        return self

    @property
    def champion(self) -> Path:
        """The exported bundle."""
        return self.home / "models" / "champion.json"

    @property
    def versions(self) -> Path:
        """The latest versions of the model."""
        return self.home / "models" / "versions.json"

    @property
    def snapshot(self) -> Path:
        """The published read-only database."""
        return self.home / "published" / "etalon.duckdb"

    @property
    def definitions(self) -> Path:
        """Digests of what the published marts are defined by."""
        return self.snapshot.with_name("definitions.json")

    @property
    def machines(self) -> Path:
        """The installation's ratings of machines."""
        return self.home / "machines.csv"

    @property
    def file(self) -> Path:
        """The settings of the state folder, of which the service reads the calendar."""
        return self.home / state.settings.FILE

    @property
    def prices(self) -> Path:
        """What an MSU and an hour of CPU cost the installation."""
        return self.home / "prices.csv"

    @property
    def quality(self) -> Path:
        """The data-quality site."""
        return self.home / "quality"

    @property
    def nights(self) -> Path:
        """What became of nights, a file and a page each."""
        return self.home / "nights"

    @property
    def tokens(self) -> Path:
        """Who may ask, with their tokens as digests."""
        return self.home / "tokens.json"


class SettingsError(ValueError):
    """A setting cannot be used; the message names its variable."""

    exit_code = 2


def settings(**given: Any) -> Settings:
    """The settings of the environment (``home`` is ``ETALON_HOME``, and so on) with `given` before them.

    Raises SettingsError for the first that is wrong.
    """
    variables = {name: f"ETALON_{name.upper()}" for name in Settings.model_fields}
    environment = {name: os.environ[variable] for name, variable in variables.items() if variable in os.environ}
    try:
        return Settings(**(environment | given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"ETALON_{str(first['loc'][0]).upper()}: {message}" if first["loc"] else message) from None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
