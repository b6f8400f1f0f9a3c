"""What the service can be told from outside: environment variables that begin with ``ETALON_``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Configuration of one service process.

    Every field is an environment variable (``home`` is ``ETALON_HOME``, and so on); an explicit argument wins over it.
    """

    model_config = SettingsConfigDict(env_prefix="ETALON_", frozen=True)

    home: Path = Field(default=Path(".etalon"), description="state folder that holds the champion and the snapshot")
    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8321, ge=1, le=65535, description="port to listen on")
    token: SecretStr | None = Field(
        default=None, min_length=1, description="bearer token; without it the service asks for none"
    )

    @property
    def champion(self) -> Path:
        """The exported bundle."""
        return self.home / "models" / "champion.json"

    @property
    def snapshot(self) -> Path:
        """The published read-only database."""
        return self.home / "published" / "etalon.duckdb"

    @property
    def quality(self) -> Path:
        """The data-quality site."""
        return self.home / "quality"


class SettingsError(ValueError):
    """A setting cannot be used; the message names its variable."""

    exit_code = 2


def settings(**given: Any) -> Settings:
    """The settings of the environment with `given` before them. Raises SettingsError for the first that is wrong."""
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise SettingsError(f"ETALON_{str(first['loc'][0]).upper()}: {first['msg']}") from None
