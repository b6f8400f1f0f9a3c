"""The settings of a state folder, `etalon.toml`, as plain values; each room checks the tables that it uses."""

from pathlib import Path
from typing import Any

import tomli

FILE = "etalon.toml"


def read_toml(path: Path) -> dict[str, Any]:
    """The content of the file; empty where there is none. Raises OSError, and ValueError for what is no TOML."""
    try:
        return tomli.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
