"""Pages made of templates: the data-quality site, and what pages elsewhere share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from expectations.result import MOST_EXAMPLES, Finding, QualityResult

TEMPLATES = Path(__file__).with_name("templates")
_FRONT_PAGE_EXAMPLES = 5
_FILES = ("file", "counted_in")


_CLOCKS = {"interval": "UTC", "last_written": "local time", "day": "local time"}
"""The clock of columns whose names do not say it."""


@cache
def templates(*folders: Path) -> Environment:
    """The templates of these folders and of the site; what they are given is text, unless it says it is markup."""
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"label": _label, "shown": _shown}
    return environment


def stylesheet() -> str:
    """The style sheet of all pages."""
    return (TEMPLATES / "page.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Chart:
    """A system's chart: its name, what is drawn, the drawing."""

    system: str
    caption: str
    svg: str


def front_page(result: QualityResult, *, made_at: str, charts: Sequence[Chart], files: Sequence[dict[str, Any]]) -> str:
    """HTML of the front page; everything it needs is in it or beside it."""
    about = {"extent": result.extent, "made_at": made_at, "charts": charts, "files": files}
    shown = {"result": result, "verdict": result.verdict, "most_examples": _FRONT_PAGE_EXAMPLES}
    return templates().get_template("index.html").render(about | shown)


def suites_page(findings: Sequence[Finding], titles: Mapping[str, str]) -> str:
    """HTML of all expectations by suite, each with its examples and an anchor of its rule's name.

    `titles` is the title of each frame by its name.
    """
    about = {"verdict": "", "findings": findings, "titles": titles, "most_examples": MOST_EXAMPLES}
    return templates().get_template("suites.html").render(about)


def _label(name: str) -> str:
    """A column name in words, its unit or clock in brackets."""
    if name in _CLOCKS:
        return f"{name.replace('_', ' ')} ({_CLOCKS[name]})"
    for ending, unit in (("_us_per_tran", "us/tran"), ("_pct", "%"), ("_s", "s"), ("_ms", "ms")):
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} ({unit})"
    return name.replace("_", " ")


def _shown(value: Any, name: str = "") -> str:
    """A value as shown; of a file its name alone, as the site is served to others than those of the machine."""
    if name in _FILES and value:
        return PurePath(str(value)).name
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)
