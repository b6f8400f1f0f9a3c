"""Twins as files: writing a drawn one, and those that come with Etalon."""

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from model.names import file_name
from model.network import Network
from model.network.toml import toml_key, toml_text

NAMED = Path(__file__).resolve().parent / "twins"
"""The folder of the twins that come with Etalon, one of each family."""


def save(content: Mapping[str, Any], network: Network, folder: Path) -> Path:
    """Write a twin and its network; returns the path of the twin."""
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name(content["system_id"])
    (folder / f"{name}.network.toml").write_text(network.to_toml(), encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(_table({"network": f"{name}.network.toml", **content}, ()), encoding="utf-8")
    return path


def _table(content: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """A table and those below it; what is deeper than two levels is written inline."""
    flat = {key: value for key, value in content.items() if not isinstance(value, Mapping) or len(path) >= 2}
    lines = [f"[{'.'.join(path)}]"] if path and flat else []
    lines += [f"{toml_key(key)} = {_value(value)}" for key, value in flat.items()]
    text = "\n".join(lines) + "\n" if lines else ""
    for key, value in content.items():
        if key not in flat:
            text += ("\n" if text else "") + _table(value, (*path, toml_key(key)))
    return text


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return toml_text(value) if isinstance(value, str) else str(value)
