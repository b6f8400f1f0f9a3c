"""The rules of language that can be checked: length of sentences, and terms that have one form."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.shared import ROOT

LONGEST = 28
"""Words of a sentence of prose."""
GENERATED = re.compile(r"^<!-- (Generated|Made) by")
PAGES = [
    path
    for path in sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
    if not GENERATED.match(path.read_text(encoding="utf-8")) and "field-reference" not in path.parts
]
END = re.compile(r"(?:(?<=[.!?:;])|(?<=[.!?]\*\*))\s+(?=[A-Z*`0-9(]|code)")
"""Where a sentence ends and the next begins."""
LONG = {
    "hex-examples.md": 3,
    "ims-log-layouts.md": 1,
}
"""Pages with longer sentences, and how many: mostly lists of names within a sentence."""
DESCRIBED = [*sorted((ROOT / "dbt" / "models").rglob("*.yml")), ROOT / "dbt" / "dbt_project.yml"]
NO_PROSE = re.compile(r"\b(SELECT|FROM|NOT NULL|FILTER|select|from \w+\.)|<\w+|\n\n|\|")
PACKAGES = ("expectations", "ingest", "model", "pipelines", "serve", "state")
TERMS = {
    "utilization": r"utilisation",
    "percentage point": r"percent points?\b",
    "service units per second": r"service units a second",
    "corrected": r"\bmended\b",
    "baseline": r"\bnaive (answer|way)",
    "probability": r"\bchance to (fill|be) first",
    "R4HA": r"R4H[^A]",
}
"""The form of a term, and a pattern of other forms."""


def sentences(text: str) -> list[str]:
    """The sentences of a page's prose: paragraphs and items of lists, without tables, code, formulas and headings."""
    text = re.sub(r"^---\n.*?^---\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^( *)```.*?^\1```", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    kept: list[str] = []
    for line in text.splitlines():
        if re.match(r"^(\||#|    \S|!\[)", line):
            kept.append("")
        elif re.match(r"^\s*([-*]|\d+\.) ", line):
            kept += ["", re.sub(r"^\s*([-*]|\d+\.) ", "", line)]
        else:
            kept.append(line)
    found = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(kept)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        words = re.sub(r"`[^`]*`", "code", words)
        found += filter(None, END.split(words))
    return found


def length(sentence: str) -> int:
    """How many words a sentence has."""
    return len(re.findall(r"[^\W_][\w'’-]*", sentence))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page: Path) -> None:
    long = [sentence for sentence in sentences(page.read_text(encoding="utf-8")) if length(sentence) > LONGEST]
    assert len(long) <= LONG.get(page.name, 0), "\n".join(long)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_term_has_one_form(page: Path) -> None:
    prose = "\n".join(sentences(page.read_text(encoding="utf-8")))
    assert {term: found[0] for term, form in TERMS.items() if (found := re.search(form, prose))} == {}


def descriptions(entry: object) -> Iterator[str]:
    """Every description within a YAML document."""
    if isinstance(entry, dict):
        for key, value in entry.items():
            if key == "description" and isinstance(value, str):
                yield value
            else:
                yield from descriptions(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from descriptions(value)


@pytest.mark.parametrize("file", DESCRIBED, ids=lambda file: str(file.relative_to(ROOT)))
def test_descriptions_of_marts_and_metrics_are_short(file: Path) -> None:
    found = [
        part for text in descriptions(yaml.safe_load(file.read_text(encoding="utf-8"))) for part in sentences(text)
    ]
    assert [sentence for sentence in found if length(sentence) > LONGEST] == []


def test_meanings_of_columns_are_short() -> None:
    columns = yaml.safe_load((ROOT / "dbt" / "columns.yml").read_text(encoding="utf-8"))
    assert [text for text in columns.values() for part in sentences(text) if length(part) > LONGEST] == []


def messages(module: Path) -> Iterator[str]:
    """The texts of a module that are not docstrings, a value within one as a word."""
    nodes = list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))
    apart = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    apart |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "value" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.value


def long_messages(package: str) -> dict[str, list[str]]:
    """Sentences of messages that are too long, by module. SQL, markup and tables are none."""
    found = {}
    for module in sorted((ROOT / package).rglob("*.py")):
        prose = [text for text in messages(module) if len(text.split()) > LONGEST and not NO_PROSE.search(text)]
        if long := [part for text in prose for part in sentences(text) if length(part) > LONGEST]:
            found[str(module.relative_to(ROOT))] = long
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_notes_and_descriptions_are_short(package: str) -> None:
    assert long_messages(package) == {}


def test_the_exceptions_are_needed() -> None:
    pages = {page.name: page for page in PAGES}
    for name, count in LONG.items():
        found = sentences(pages[name].read_text(encoding="utf-8"))
        assert count - sum(length(sentence) > LONGEST for sentence in found) < 5, name
