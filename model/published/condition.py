"""Conditions of figures and points: `key=value; key=value` as text and as a mapping."""

from collections.abc import Mapping
from functools import cache


@cache
def parse_condition(condition: str) -> dict[str, str]:
    """The condition as a mapping, made once and not to be changed; parts without an equals sign are left out."""
    pairs = (part.split("=", 1) for part in condition.split(";") if "=" in part)
    return {key.strip(): value.strip() for key, value in pairs}


def condition_text(pairs: Mapping[str, str]) -> str:
    """The inverse of `parse_condition`."""
    return "; ".join(f"{key}={value}" for key, value in pairs.items())
